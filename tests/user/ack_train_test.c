// SPDX-License-Identifier: GPL-2.0
/*
 * ack_train.h: the bandwidth-delay product from a train of ACKs, of six
 * segments and of a millisecond at least: whichever takes longer.
 */
#include "hetcc/ack_train.h"
#include "ref_model.h"
#include "tap.h"

#define ROUNDS		20000
#define MSS		1448
/* Enough for a millisecond of ACKs 2 us apart, one to open the train */
#define ACKS_MAX	512

/* ACKs of @per_ack segments at a constant rate */
struct train {
	double segment_us;
	u32 per_ack;
	u32 start_us;
};

static u32 arrival_us(const struct train *s, u32 ack)
{
	return s->start_us + (u32)(u64)(s->segment_us * s->per_ack * ack);
}

/* Return: first threshold the train gives within @acks ACKs, 0 if none */
static u32 run_train(const struct train *s, u32 acks, u32 rtt_us, u32 *used)
{
	struct ack_train t = { 0 };
	u32 bdp = 0;

	for (*used = 0; *used < acks && !bdp; (*used)++)
		bdp = ack_train_add(&t, arrival_us(s, *used), s->per_ack,
				    rtt_us);
	return bdp;
}

/* Return: ACKs of the shortest train that will do, with the opening one */
static u32 acks_needed(const struct train *s)
{
	u32 n = 1;

	while (n * s->per_ack < 6 ||
	       floor(s->segment_us * s->per_ack * n) < 1000)
		n++;
	return n + 1;
}

/* Both ends of the train are read to a microsecond; the result rounds down */
static void expect_bdp(const struct train *s, u32 rtt_us)
{
	u32 used, bdp = run_train(s, ACKS_MAX, rtt_us, &used);
	double pkts = (double)s->per_ack * (used - 1);
	double span = s->segment_us * pkts;
	double want = ref_hybla_sec331(pkts, span, rtt_us);

	EXPECT_EQ(used, acks_needed(s), "%g us per segment, %u per ACK: ACKs",
		  s->segment_us, s->per_ack);
	EXPECT_NEAR(bdp, want, want / (span - 1) + 1,
		    "%g us per segment, %u per ACK, rtt %u us", s->segment_us,
		    s->per_ack, rtt_us);
}

static void test_rates(void)
{
	static const double mbit[] = { 0.064, 1, 10, 100, 1000 };
	unsigned int i;
	u32 rtt_us;

	for (i = 0; i < ARRAY_SIZE(mbit); i++)
		for (rtt_us = 1000; rtt_us <= 2000000; rtt_us *= 2) {
			struct train s = { MSS * 8 / mbit[i], 1, 0 };

			for (s.per_ack = 1; s.per_ack <= 4; s.per_ack++)
				if (s.segment_us * s.per_ack < rtt_us / 2.0)
					expect_bdp(&s, rtt_us);
		}
}

static void test_random_rates(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		double segment_us = (double)prng_log(2000, 1000000000) / 1000;
		u32 per_ack = prng_range(1, 8);
		double gap_us = segment_us * per_ack;
		struct train s = { segment_us, per_ack, prng_u32() };

		expect_bdp(&s, prng_log32((u32)(2 * gap_us) + 4, 1U << 31));
	}
}

static void test_clock_wrap(void)
{
	struct train zero = { 1158.4, 2, 0 };
	u32 used, want = run_train(&zero, 64, 100000, &used);
	u32 start;

	for (start = U32_MAX - 10000; start > 10000; start += 100) {
		struct train s = { 1158.4, 2, start };

		EXPECT_EQ(run_train(&s, 64, 100000, &used), want,
			  "clock starts at %u", start);
	}
}

static void test_long_enough(void)
{
	struct ack_train t = { 0 };
	u32 i;

	for (i = 0; i < ACK_TRAIN_MIN_PKTS; i++)
		EXPECT_EQ(ack_train_add(&t, i * 1000, 1, 100000), 0,
			  "%u segments", i);
	EXPECT_EQ(ack_train_add(&t, i * 1000, 1, 100000), 100,
		  "%u segments", i);
}

static void test_opening_ack_not_counted(void)
{
	struct ack_train t = { 0 };

	EXPECT_EQ(ack_train_add(&t, 0, 1000000, 100000), 0, "opening");
	EXPECT_EQ(ack_train_add(&t, 1000, 10, 100000), 1000,
		  "10 segments in 1 ms");
}

static void test_gap(void)
{
	struct ack_train t = { 0 };
	const u32 rtt_us = 10001, half_us = rtt_us / 2;

	ack_train_add(&t, 0, 4, rtt_us);
	ack_train_add(&t, 100, 4, rtt_us);
	EXPECT_EQ(ack_train_add(&t, 100 + half_us, 4, rtt_us),
		  8 * rtt_us / (100 + half_us), "half a round trip goes on");
	EXPECT_EQ(ack_train_add(&t, 101 + 2 * half_us, 6, rtt_us), 0,
		  "more than half a round trip starts anew");
	EXPECT_EQ(t.pkts, 0, "the new train is empty");
	EXPECT_EQ(ack_train_add(&t, 1101 + 2 * half_us, 6, rtt_us),
		  6 * rtt_us / 1000, "rate of the new train alone");
}

static void test_no_time(void)
{
	struct ack_train t = { 0 };
	int i;

	for (i = 0; i < 20; i++)
		EXPECT_EQ(ack_train_add(&t, 77, 1, 50000), 0,
			  "ACK %d of the same microsecond", i);
	EXPECT_EQ(ack_train_add(&t, 1077, 1, 50000), 1000,
		  "20 segments in 1 ms");
}

static void expect_span(u32 start_us, u32 span_us, u32 want)
{
	struct ack_train t = { 0 };

	ack_train_add(&t, start_us, 1, 100000);
	EXPECT_EQ(ack_train_add(&t, start_us + span_us, 6, 100000), want,
		  "%u us from %u", span_us, start_us);
}

static void test_span_edge(void)
{
	static const u32 starts[] = { 0, 1, U32_MAX - 999, U32_MAX };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		expect_span(starts[i], 0, 0);
		expect_span(starts[i], 999, 0);
		expect_span(starts[i], 1000, 600);
		expect_span(starts[i], 1001, 599);
	}
}

/* ACKs 5 us apart from @now_us on: no estimate */
static void compressed(struct ack_train *t, u32 now_us, u32 acks)
{
	u32 i;

	for (i = 0; i < acks; i++)
		EXPECT_EQ(ack_train_add(t, now_us + 5 * i, 1, 40000), 0,
			  "ACK %u, %u us", i, now_us + 5 * i);
}

/* Ten per slot of a radio, 400 us: 30 segments in 1.2 ms; or 200 in 1 ms */
static void test_compressed(void)
{
	struct ack_train t = { 0 };
	u32 slot;

	for (slot = 0; slot < 3; slot++)
		compressed(&t, slot * 400, 10);
	EXPECT_EQ(t.pkts, 29, "one train");
	EXPECT_EQ(ack_train_add(&t, 1200, 1, 40000), 1000,
		  "30 segments in 1.2 ms");
	t.running = false;
	compressed(&t, 0, 200);
	EXPECT_EQ(ack_train_add(&t, 1000, 1, 40000), 8000,
		  "200 segments in 1 ms");
}

/* The next window is not part of a train that was too short in time */
static void test_compressed_windows(void)
{
	struct ack_train t = { 0 };
	u32 window;

	for (window = 0; window < 100; window++) {
		compressed(&t, window * 40000, 100);
		EXPECT_EQ(t.pkts, 99, "window %u", window);
	}
}

static void test_saturation(void)
{
	struct ack_train t = { 0 };

	ack_train_add(&t, 0, 1, U32_MAX);
	ack_train_add(&t, 0, U32_MAX, U32_MAX);
	EXPECT_EQ(ack_train_add(&t, 1000, U32_MAX, U32_MAX), U32_MAX, "result");
	EXPECT_EQ(t.pkts, U32_MAX, "segments");
	EXPECT_EQ(ack_train_add(&t, 1U << 31, 1, U32_MAX), U32_MAX,
		  "2^32 segments in 2^31 us, rtt 2^32 us");
}

/* A train slower than one segment per round trip still gives a window */
static void test_at_least_one(void)
{
	struct ack_train t = { 0 };
	u32 i, bdp = 0;

	for (i = 0; i <= 600; i++)
		bdp = ack_train_add(&t, i * 500, i % 100 == 99, 1000);
	EXPECT_EQ(t.pkts, 6, "segments");
	EXPECT_EQ(bdp, 1, "6 segments in 300 round trips");
}

static void test_no_round_trip(void)
{
	struct ack_train t = { 0 };
	u32 i;

	for (i = 0; i < 3000; i++)
		EXPECT_EQ(ack_train_add(&t, i, 1, i % 2), 0,
			  "rtt %u us: every gap ends the train", i % 2);
}

static const struct tap_case cases[] = {
	{ "64 kbit/s to 1 Gbit/s, 1 ms to 2 s, 1 to 4 segments per ACK",
	  test_rates },
	{ "random rates and round trips", test_random_rates },
	{ "the clock may wrap inside a train", test_clock_wrap },
	{ "six segments are enough, five are not", test_long_enough },
	{ "segments of the opening ACK do not count",
	  test_opening_ack_not_counted },
	{ "a gap above half a round trip starts anew", test_gap },
	{ "ACKs of one microsecond give no rate", test_no_time },
	{ "a millisecond is enough, 999 us are not", test_span_edge },
	{ "compressed ACKs: the train goes on until it is long enough",
	  test_compressed },
	{ "windows of compressed ACKs give nothing", test_compressed_windows },
	{ "huge counts and round trips saturate", test_saturation },
	{ "the threshold is at least one segment", test_at_least_one },
	{ "a round trip of 0 or 1 us gives nothing", test_no_round_trip },
};

TAP_MAIN(cases)
