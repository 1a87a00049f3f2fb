// SPDX-License-Identifier: GPL-2.0
/*
 * loss_delay.h: losses behind long delays are a full queue's, losses behind any delay the
 * link's; more than a link loses is heavy.
 */
#include "hetcc/loss_delay.h"
#include "tap.h"

#define WINDOW		100
#define BASE_US		40000
#define QUEUE_US	20000

/*
 * Rounds of WINDOW packets, over a queue that fills and empties as a sawtooth of 8 rounds.
 * full: losses come at its top, else with probability loss at any time.
 */
static void send_rounds(struct loss_delay *e, u32 rounds, bool full, double loss)
{
	u32 round, i;

	for (round = 0; round < rounds; round++) {
		u32 wait_us = QUEUE_US * (round % 8) / 7;

		for (i = 0; i < WINDOW; i++) {
			u32 rtt_us = BASE_US + wait_us + prng_range(0, 200);
			bool lost = full ? round % 8 == 7 && i == WINDOW - 1 :
					   prng_unit() < loss;

			loss_delay_sample(e, rtt_us, 1, WINDOW, lost);
			if (lost)
				loss_delay_lost(e, rtt_us, BASE_US, 1);
		}
		loss_delay_round(e, wait_us, WINDOW);
	}
}

static void test_start(void)
{
	struct loss_delay e = { 0 };

	loss_delay_init(&e);
	EXPECT_TRUE(loss_delay_full(&e), "congestion, until shown otherwise");
	EXPECT_TRUE(!loss_delay_random(&e), "not the link's");
	EXPECT_TRUE(!loss_delay_heavy(&e), "nothing is lost");
	loss_delay_lost(&e, BASE_US, BASE_US, 1);
	EXPECT_TRUE(!loss_delay_heavy(&e), "one loss is not heavy");
}

static void test_full_queue(void)
{
	struct loss_delay e = { 0 };
	u32 i;

	loss_delay_init(&e);
	for (i = 0; i < 50; i++) {
		send_rounds(&e, 8, true, 0);
		EXPECT_TRUE(loss_delay_full(&e), "cycle %u: share %u", i, e.full);
		EXPECT_TRUE(!loss_delay_random(&e), "cycle %u", i);
	}
}

static void test_random_loss(void)
{
	static const double loss[] = { 0.005, 0.01, 0.02 };
	u32 i, j, random;

	for (i = 0; i < ARRAY_SIZE(loss); i++) {
		struct loss_delay e = { 0 };

		loss_delay_init(&e);
		send_rounds(&e, 400, false, loss[i]);
		for (j = 0, random = 0; j < 100; j++) {
			send_rounds(&e, 8, false, loss[i]);
			random += loss_delay_random(&e);
		}
		EXPECT_IN(random, 60, 100, "of 100 at a loss of %g", loss[i]);
	}
}

/* A longer path moves all round trips: the judgement stays */
static void test_path_does_not_matter(void)
{
	u32 i;

	for (i = 0; i < 200; i++) {
		struct loss_delay e = { 0 }, far = { 0 };
		u32 more_us = prng_range(0, 500), rtt_us, j;
		bool lost;

		loss_delay_init(&e);
		loss_delay_init(&far);
		for (j = 0; j < 1000; j++) {
			rtt_us = BASE_US + prng_range(0, QUEUE_US);
			lost = prng_unit() < 0.02;
			/* Steps are a part of the round trip: nearly the same path */
			loss_delay_sample(&e, rtt_us, 1, WINDOW, lost);
			loss_delay_sample(&far, rtt_us + more_us, 1, WINDOW, lost);
		}
		EXPECT_IN((double)far.long_us - e.long_us, more_us - 400.0,
			  more_us + 400.0, "%u us more", more_us);
	}
}

/* Three quarters of the packets are shorter */
static void test_long_is_a_quantile(void)
{
	struct loss_delay e = { 0 };
	u32 i, shorter = 0, n = 200000;

	for (i = 0; i < n; i++) {
		u32 rtt_us = BASE_US + prng_range(0, QUEUE_US);

		shorter += rtt_us <= e.long_us;
		loss_delay_sample(&e, rtt_us, 1, WINDOW, false);
	}
	EXPECT_IN((double)shorter / n, 0.3, 0.85, "shorter than long_us");
}

static void test_heavy(void)
{
	static const struct {
		double loss;
		u32 lo, hi;
	} rows[] = { { 0, 0, 0 }, { 0.02, 0, 20 }, { 0.25, 90, 100 } };
	u32 i, j, heavy;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct loss_delay e = { 0 };

		loss_delay_init(&e);
		for (j = 0, heavy = 0; j < 100; j++) {
			u32 k;

			for (k = 0; k < WINDOW; k++) {
				loss_delay_sample(&e, BASE_US, 1, WINDOW, false);
				if (prng_unit() < rows[i].loss)
					loss_delay_lost(&e, BASE_US, BASE_US, 1);
			}
			heavy += loss_delay_heavy(&e);
			loss_delay_round(&e, 0, WINDOW);
		}
		EXPECT_IN(heavy, rows[i].lo, rows[i].hi, "of 100 rounds at %g",
			  rows[i].loss);
	}
}

static const struct tap_case cases[] = {
	{ "at first a loss is congestion", test_start },
	{ "losses of a full queue", test_full_queue },
	{ "losses of the link", test_random_loss },
	{ "a longer path changes nothing", test_path_does_not_matter },
	{ "long_us is a quantile", test_long_is_a_quantile },
	{ "what is more than a link loses", test_heavy },
};

TAP_MAIN(cases)
