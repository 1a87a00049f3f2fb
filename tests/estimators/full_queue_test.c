// SPDX-License-Identifier: GPL-2.0
/*
 * full_queue.h: waits in units of the path, losses of a full queue and of a link told
 * apart for short and long paths, shallow and deep queues and jitter, the ceiling, and
 * what is forgotten.
 */
#include "hetcc/full_queue.h"
#include "tap.h"

#define MIN_US		40000U
#define PKT_BYTES	1448U

/* Waits of a packet in an order of their own */
typedef u32 (*wait_fn)(u32 packet);

/* A queue that fills and drains, 60 packets up and 20 down */
static u32 sawtooth_us(u32 packet)
{
	return packet % 80 < 60 ? packet % 80 * 50 : (80 - packet % 80) * 150;
}

static u32 jitter_us(u32 packet)
{
	(void)packet;
	return prng_range(0, 10000);
}

/* The ACK of one packet in nine was delayed for longer than any queue */
static u32 delayed_us(u32 packet)
{
	return packet % 9 ? sawtooth_us(packet) : 40000;
}

/* Most wait long and a few do not: the mean is near the longest */
static u32 mostly_long_us(u32 packet)
{
	(void)packet;
	return prng_range(0, 7) ? prng_range(8000, 10000) : 0;
}

static u32 none_us(u32 packet)
{
	(void)packet;
	return 0;
}

/* Round trips of a window of 1000 that slow start lets out: waits rise and the path empties */
static u32 round_us(u32 packet)
{
	return packet % 1000 < 900 ? packet % 1000 * 10 : 0;
}

/*
 * Packets of a path, 100 in a round; the one before the gap and the one after it are
 * seen, and the loss is told two packets later.
 */
static void run(struct full_queue *q, u32 packets, u32 min_us, wait_fn wait,
		bool (*lose)(u32 packet, u32 wait_us))
{
	u32 i, told = 0;

	for (i = 1; i <= packets; i++) {
		u32 wait_us = wait(i);

		if (!told && lose(i, wait_us)) {
			told = 3;
			continue;
		}
		full_queue_add(q, min_us + wait_us, min_us, told > 0, false);
		if (told && !--told)
			full_queue_lost(q, true);
		if (!(i % 100))
			full_queue_round(q, 1, 100, PKT_BYTES);
	}
}

static bool lose_full(u32 packet, u32 wait_us)
{
	return packet % 80 == 60 && wait_us == 3000;
}

static bool lose_random(u32 packet, u32 wait_us)
{
	(void)packet;
	(void)wait_us;
	return !prng_range(0, 99);
}

static struct full_queue fresh(void)
{
	struct full_queue q;

	full_queue_init(&q);
	return q;
}

static void test_full(void)
{
	u32 min_us;

	/* 3 ms of queue; of a longer path than 100 ms that is too small a part */
	for (min_us = 400; min_us <= 800000; min_us *= 2) {
		struct full_queue q = fresh();

		run(&q, 2000, min_us, sawtooth_us, lose_full);
		EXPECT_TRUE(min_us > 103000 || full_queue_is_it(&q),
			    "path of %u us", min_us);
		EXPECT_TRUE(min_us < 800000 / 2 || !full_queue_is_it(&q),
			    "path of %u us", min_us);
	}
}

/* Share of the looks at which losses of a link pass for those of a full queue */
static double wrong(wait_fn wait)
{
	struct full_queue q = fresh();
	u32 i, found = 0;

	run(&q, 5000, MIN_US, wait, lose_random);
	for (i = 0; i < 5000; i++) {
		run(&q, 200, MIN_US, wait, lose_random);
		found += full_queue_is_it(&q);
	}
	return found / 5000.0;
}

/* An ACK that waited for another packet is no queue: the mean stays below the longest */
static void test_delayed(void)
{
	struct full_queue q = fresh();

	run(&q, 5000, MIN_US, delayed_us, lose_full);
	EXPECT_TRUE(full_queue_is_it(&q), "delayed ACKs, full queue");
	EXPECT_TRUE(q.mean >> FULL_QUEUE_MEAN_SHIFT < q.high, "mean %u high %u",
		    q.mean >> FULL_QUEUE_MEAN_SHIFT, q.high);
	EXPECT_IN(wrong(delayed_us), 0, 0.01, "delayed ACKs, link");
}

static void test_random(void)
{
	EXPECT_IN(wrong(jitter_us), 0, 0.01, "jitter");
	EXPECT_IN(wrong(sawtooth_us), 0, 0.01, "sawtooth");
	EXPECT_IN(wrong(mostly_long_us), 0, 0.02, "mostly long");
	EXPECT_IN(wrong(none_us), 0, 0, "no queue");
}

/* In a large window the mean of the latest 64 would follow the waits, as long as they rise */
static void test_large(void)
{
	struct full_queue q = fresh();
	u32 i, n, above = 0, near = 0;

	full_queue_size(&q, 1000);
	for (i = 0; i < 100; i++)
		for (n = 0; n < 1000; n++) {
			full_queue_add(&q, MIN_US + round_us(n), MIN_US, false,
				       false);
			above += full_queue_is_here(&q);
			near += round_us(n) > 4500;
		}
	EXPECT_IN(above / 1e5, 0.3, 0.5, "packets that a link may lose");
	EXPECT_IN((double)above / near, 0.8, 1.25, "those of the fuller half");
}

/* The mean is of a round at least, and of 64, and of 8192 at most */
static void test_size(void)
{
	static const u32 pkts[] = { 0, 1, 63, 64, 1000, 8191, 8192, U32_MAX };
	static const u32 shift[] = { 6, 6, 6, 7, 10, 13, 13, 13 };
	struct full_queue q = fresh();
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pkts); i++) {
		full_queue_size(&q, pkts[i]);
		EXPECT_EQ(FULL_QUEUE_PKTS_SHIFT + q.shift, shift[i], "%u",
			  pkts[i]);
	}
}

/* A loss beside a wait that is longer or shorter than the mean by half a range */
static void lose(struct full_queue *q, bool above)
{
	q->told = false;
	q->stood = 0;
	q->mean = 100U << FULL_QUEUE_MEAN_SHIFT;
	q->high = 200;
	q->edge = above ? 150 : 50;
	full_queue_lost(q, true);
}

/* Two at first, twelve of a path whose losses were the link's; one below outweighs two */
static void test_evidence(void)
{
	struct full_queue q = fresh();
	u32 i;

	lose(&q, true);
	EXPECT_TRUE(!full_queue_is_it(&q), "one");
	lose(&q, true);
	EXPECT_TRUE(full_queue_is_it(&q), "two");
	lose(&q, false);
	EXPECT_TRUE(!full_queue_may_be(&q), "and one below");
	for (i = 0; i < 1000; i++)
		lose(&q, i % 2);
	for (i = 0; i < 1000; i++)
		lose(&q, false);
	for (i = 0; i < 11; i++)
		lose(&q, true);
	EXPECT_TRUE(!full_queue_is_it(&q), "eleven");
	lose(&q, true);
	EXPECT_TRUE(full_queue_is_it(&q), "twelve");
	for (i = 0; i < 1000; i++)
		lose(&q, true);
	lose(&q, false);
	EXPECT_TRUE(full_queue_is_it(&q), "one of many");
}

/* Losses of one round met the same queue */
static void test_once(void)
{
	struct full_queue q = fresh();
	u32 i;

	lose(&q, true);
	for (i = 0; i < 10; i++)
		full_queue_lost(&q, true);
	EXPECT_EQ(q.bits, FULL_QUEUE_BEGIN + 1, "one");
	full_queue_round(&q, 11, 1000, PKT_BYTES);
	full_queue_lost(&q, true);
	EXPECT_EQ(q.bits, FULL_QUEUE_BEGIN + 2, "one more");
}

/* A queue that is never less than half full, two of three losses above the mean */
static struct full_queue nearly_full(bool is_short)
{
	struct full_queue q = fresh();
	u32 i, n;

	for (i = 0; i < 30; i++) {
		for (n = 0; n < 133; n++)
			full_queue_add(&q, MIN_US + 1200 + n % 7 * 200, MIN_US,
				       false, false);
		q.edge = i % 3 ? 14 : 8;
		full_queue_lost(&q, is_short);
		full_queue_round(&q, 1, 133, PKT_BYTES);
	}
	return q;
}

/* After three rounds one below the mean says nothing any more, where nothing else tells */
static void test_stands(void)
{
	struct full_queue q = nearly_full(true);

	EXPECT_TRUE(full_queue_is_it(&q), "found out");
	q = nearly_full(false);
	EXPECT_TRUE(!full_queue_is_it(&q), "left to what sees it stand");
}

/* A wait above the mean, of a queue that has held three times as much */
static void test_half_empty(void)
{
	struct full_queue q = fresh();

	q.mean = 20U << FULL_QUEUE_MEAN_SHIFT;
	q.high = 90;
	q.edge = 30;
	EXPECT_TRUE(!full_queue_is_here(&q), "a third");
	full_queue_lost(&q, true);
	EXPECT_TRUE(!full_queue_may_be(&q), "the link's");
	q.edge = 45;
	EXPECT_TRUE(full_queue_is_here(&q), "half");
}

/* A range of less than two units is noise: 0.3 ms at 40 ms */
static void test_noise(void)
{
	struct full_queue q = fresh();
	u32 i;

	for (i = 0; i < 1000; i++)
		full_queue_add(&q, MIN_US + i % 2 * 300, MIN_US, false, false);
	for (i = 0; i < 100; i++) {
		full_queue_lost(&q, true);
		full_queue_round(&q, 0, 100, PKT_BYTES);
	}
	EXPECT_EQ(q.bits, 0, "no evidence");
	EXPECT_TRUE(!full_queue_may_be(&q), "in the end");
}

/* Before the first loss nothing is known: waits decide */
static void test_unknown(void)
{
	struct full_queue q = fresh();

	EXPECT_TRUE(!full_queue_is_it(&q), "no proof");
	EXPECT_TRUE(full_queue_may_be(&q), "but possible");
}

/* The pair beside the gap counts, not what was seen since; in a repair each gap is new */
static void test_edge(void)
{
	struct full_queue q = fresh();
	u32 i;

	for (i = 0; i < 1000; i++)
		full_queue_add(&q, MIN_US, MIN_US, false, false);
	full_queue_add(&q, 2 * MIN_US, MIN_US, false, false);
	full_queue_add(&q, 2 * MIN_US, MIN_US, true, false);
	EXPECT_EQ(q.edge, 256, "after the gap");
	full_queue_add(&q, MIN_US, MIN_US, true, false);
	full_queue_add(&q, MIN_US, MIN_US, true, false);
	EXPECT_EQ(q.edge, 256, "stays");
	EXPECT_TRUE(full_queue_is_here(&q), "a long wait beside it");
	full_queue_add(&q, MIN_US + MIN_US / 2, MIN_US, true, true);
	EXPECT_EQ(q.edge, 128, "a new gap");
	full_queue_add(&q, MIN_US / 2, MIN_US, false, false);
	EXPECT_EQ(q.last, 0, "below the minimum");
	full_queue_add(&q, MIN_US, MIN_US, false, false);
	EXPECT_TRUE(!full_queue_is_here(&q), "none");
}

static void test_edges_of_numbers(void)
{
	static const u32 times[] = { 1, 2, 1000, MIN_US, 1U << 31, U32_MAX };
	unsigned int i, k, n;

	for (i = 0; i < ARRAY_SIZE(times); i++)
		for (k = 0; k < ARRAY_SIZE(times); k++) {
			struct full_queue q = fresh();

			for (n = 0; n < 300; n++) {
				full_queue_add(&q, n % 7 ? times[i] : times[k],
					       times[k], n % 3, n % 2);
				full_queue_lost(&q, true);
				full_queue_round(&q, times[i], times[k], PKT_BYTES);
				full_queue_size(&q, times[i]);
			}
			EXPECT_IN(q.bits, -FULL_QUEUE_MAX,
				  FULL_QUEUE_MAX, "%u over %u",
				  times[i], times[k]);
			EXPECT_TRUE(q.mean >> FULL_QUEUE_MEAN_SHIFT <= U16_MAX,
				    "%u over %u", times[i], times[k]);
		}
}

/* Rounds in which half is lost that lead above the ceiling */
static u32 rounds_of_half(u32 sent, u32 unit_bytes)
{
	struct full_queue q = fresh();
	u32 n = 0;

	q.bits = 0;
	while (!full_queue_is_it(&q) && n < 100) {
		full_queue_round(&q, sent / 2, sent, unit_bytes);
		n++;
	}
	return n;
}

/* A link that was away for some round trips is none that loses; a burst of 64 kB counts in full */
static void test_away(void)
{
	EXPECT_EQ(rounds_of_half(1000, PKT_BYTES), 6, "a large window");
	EXPECT_EQ(rounds_of_half(1000 * PKT_BYTES, 1), 6, "in bytes");
	EXPECT_EQ(rounds_of_half(90, PKT_BYTES), 1, "45 packets");
	EXPECT_EQ(rounds_of_half(12, PKT_BYTES), 1, "a small one");
	EXPECT_EQ(rounds_of_half(U32_MAX, 1), 6, "all there is");
	EXPECT_EQ(rounds_of_half(U32_MAX, U32_MAX), 6, "no burst is so short");
}

/* More than 4 % over several rounds, and not the losses of one round */
static void test_ceiling(void)
{
	struct full_queue q = fresh();
	int i;

	q.bits = 0;
	full_queue_round(&q, 20, 100, PKT_BYTES);
	EXPECT_TRUE(!full_queue_is_it(&q), "one round of 20 %%");
	for (i = 0; i < 100; i++)
		full_queue_round(&q, 3, 100, PKT_BYTES);
	EXPECT_TRUE(!full_queue_is_it(&q), "3 %%");
	for (i = 0; i < 100; i++)
		full_queue_round(&q, 5, 100, PKT_BYTES);
	EXPECT_TRUE(full_queue_is_it(&q), "5 %%");
	for (i = 0; i < 100; i++)
		full_queue_round(&q, 0, 100, PKT_BYTES);
	EXPECT_TRUE(!full_queue_is_it(&q), "over");
	full_queue_round(&q, 9, 0, PKT_BYTES);
	EXPECT_TRUE(!full_queue_is_it(&q), "nothing was sent");
}

/* Waits of up to 3 ms: seen by those to whom 2.5 are one, not by those to whom 3.2 are none */
static void test_short(void)
{
	struct full_queue q = fresh();

	EXPECT_TRUE(full_queue_is_short(&q, MIN_US, 0), "nothing has waited");
	run(&q, 2000, MIN_US, sawtooth_us, lose_full);
	EXPECT_TRUE(!full_queue_is_short(&q, MIN_US, 2500), "of 3 ms");
	EXPECT_TRUE(full_queue_is_short(&q, MIN_US, 3200), "of 3 ms");
	full_queue_add(&q, U32_MAX, MIN_US, false, false);
	EXPECT_TRUE(full_queue_is_short(&q, MIN_US, 3200), "one that was delayed");
	full_queue_add(&q, U32_MAX, MIN_US, false, false);
	EXPECT_TRUE(!full_queue_is_short(&q, MIN_US, MIN_US), "up to 255 round trips");
}

/* The longest wait is forgotten; what losses have shown only other losses can change */
static void test_forgotten(void)
{
	struct full_queue q = fresh();
	u32 i, high;

	run(&q, 2000, MIN_US, sawtooth_us, lose_full);
	high = q.high;
	for (i = 0; i < 256; i++) {
		full_queue_add(&q, MIN_US, MIN_US, false, false);
		full_queue_round(&q, 0, 100, PKT_BYTES);
	}
	EXPECT_TRUE(full_queue_is_it(&q), "no loss");
	EXPECT_TRUE(q.high < high, "%u is shorter than %u", q.high, high);
	lose(&q, false);
	lose(&q, false);
	EXPECT_TRUE(!full_queue_is_it(&q), "two of a link");
}

/* A path that got longer: all of its packets wait longer than the mean of before, for a round */
static void test_longer_path(void)
{
	struct full_queue q = fresh();
	u32 i, round, mean;

	full_queue_size(&q, 8000);
	for (i = 0; i < 16000; i++)
		full_queue_add(&q, MIN_US + jitter_us(i), MIN_US, false, false);
	full_queue_round(&q, 0, 16000, PKT_BYTES);
	for (round = 0; round < 30; round++) {
		for (i = 0; i < 100; i++)
			full_queue_add(&q, 2 * MIN_US + jitter_us(i), MIN_US,
				       i == 50, false);
		full_queue_lost(&q, false);
		mean = q.mean >> FULL_QUEUE_MEAN_SHIFT;
		EXPECT_TRUE(round ? mean >= 256 : mean < 128, "%u: %u", round, mean);
		full_queue_catch_up(&q);
		full_queue_round(&q, 1, 100, PKT_BYTES);
	}
	mean = q.mean;
	full_queue_catch_up(&q);
	full_queue_round(&q, 0, 100, PKT_BYTES);
	EXPECT_EQ(q.mean, mean, "a round without a round trip");
}

static const struct tap_case cases[] = {
	{ "losses of a full queue, on any path", test_full },
	{ "delayed ACKs do not move the mean", test_delayed },
	{ "random losses, whatever the waits", test_random },
	{ "waits within a large window", test_large },
	{ "packets that the mean is of", test_size },
	{ "so many losses tell", test_evidence },
	{ "losses of a round", test_once },
	{ "a queue that stays nearly full", test_stands },
	{ "a queue that has held more", test_half_empty },
	{ "noise of the clock", test_noise },
	{ "nothing is known at first", test_unknown },
	{ "the pair beside the gap", test_edge },
	{ "the largest and smallest numbers", test_edges_of_numbers },
	{ "the ceiling", test_ceiling },
	{ "a link that was away", test_away },
	{ "a queue that waits do not show", test_short },
	{ "what is forgotten", test_forgotten },
	{ "a path that got longer", test_longer_path },
};

TAP_MAIN(cases)
