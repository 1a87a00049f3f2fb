// SPDX-License-Identifier: GPL-2.0
/*
 * santacruz_law.h: every step of the window within its bounds, at all magnitudes; the
 * answer test tells our own queue from another path.
 */
#include "hetcc/santacruz_law.h"
#include "tap.h"

#define ROUNDS		100000

static u32 draw_window(void)
{
	return prng_log32(SANTACRUZ_LAW_WINDOW_MIN, SANTACRUZ_LAW_WINDOW_MAX);
}

static void test_op(void)
{
	s32 n_op = 3 * QUEUE_PKTS_ONE;
	int i;

	EXPECT_EQ_S(santacruz_law_op(2, n_op), n_op, "small window");
	EXPECT_EQ_S(santacruz_law_op(144, n_op), n_op, "where the root takes over");
	for (i = 0; i < ROUNDS; i++) {
		u32 window = draw_window();
		double root = sqrt(min(window, 1U << 23)) / 4 * QUEUE_PKTS_ONE;

		EXPECT_NEAR(santacruz_law_op(window, n_op), max(root, (double)n_op),
			    4, "window %u", window);
	}
}

/* Any pipe is full after O(log) rounds */
static void test_raise(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		u32 window = draw_window(), run = prng_range(0, 60);
		bool congested = i % 2;
		u32 pkts = santacruz_law_raise(window, false, run, congested);

		EXPECT_EQ(santacruz_law_raise(window, true, run, congested), 1,
			  "queue shows");
		EXPECT_IN(pkts, 1, max(window / (congested ? 16 : 4), 1U),
			  "window %u", window);
	}
	for (i = 0; i < 1000; i++) {
		u32 window = draw_window(), pipe = draw_window(), run = 0;

		while (window < pipe)
			window += santacruz_law_raise(window, false, run++, i % 2);
		EXPECT_IN(run, 0, i % 2 ? 320 : 80, "rounds to %u packets", pipe);
	}
}

static void test_deficit(void)
{
	u32 window = 1000;
	s32 ten = 10 * QUEUE_PKTS_ONE;

	EXPECT_EQ(santacruz_law_deficit(window, 1000, 0, false), 0, "nothing is missing");
	EXPECT_EQ(santacruz_law_deficit(window, 1000, -ten, false), 0, "too much");
	EXPECT_EQ(santacruz_law_deficit(window, 1000, ten, false), 5, "half of ten");
	EXPECT_EQ(santacruz_law_deficit(window, 994, ten, false), 2, "six are on their way");
	EXPECT_EQ(santacruz_law_deficit(window, 900, ten, false), 0, "more than that are");
	EXPECT_EQ(santacruz_law_deficit(window, 1000, QUEUE_PKTS_MAX, false), 250, "a quarter at most");
	EXPECT_EQ(santacruz_law_deficit(window, 1000, QUEUE_PKTS_MAX, true), 62, "a 16th");
}

static void test_widen(void)
{
	s32 op = 3 * QUEUE_PKTS_ONE;

	EXPECT_EQ(santacruz_law_widen(op, 1, 0), op, "one packet at once, no noise");
	EXPECT_EQ(santacruz_law_widen(op, 1, QUEUE_PKTS_ONE), op, "noise of a packet");
	EXPECT_EQ(santacruz_law_widen(op, 44, 5), op + 43 * QUEUE_PKTS_ONE, "burst");
	EXPECT_EQ(santacruz_law_widen(op, 4, 9 * QUEUE_PKTS_ONE),
		  op + 8 * QUEUE_PKTS_ONE, "noise above the burst");
	EXPECT_EQ(santacruz_law_widen(op, 1, S32_MAX),
		  op + S32_MAX / 2 - QUEUE_PKTS_ONE, "bounded");
}

static void test_lower(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		u32 window = draw_window(), sent = draw_window();
		u32 pkts = prng_log32(1, 1U << 22);
		u32 bursts = i % 2 ? 0 : draw_window();
		u32 left = santacruz_law_lower(window, sent, pkts << QUEUE_PKTS_SHIFT,
					       bursts);
		double right = (double)sent - pkts, least = max(window, sent) / 2;

		least = max(least, (double)bursts);
		EXPECT_EQ(left, (u32)min(max(right, least), (double)window),
			  "window %u, sent %u, excess %u, bursts %u", window, sent,
			  pkts, bursts);
	}
	EXPECT_EQ(santacruz_law_lower(80, 80, 672 << QUEUE_PKTS_SHIFT, 132), 80,
		  "a host's own path: three bursts of 64 kB");
}

static void test_drain(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		u32 window = draw_window(), queue = prng_log32(1, 1U << 22);
		u32 left = santacruz_law_drain(window, queue << QUEUE_PKTS_SHIFT);
		double rest = max((double)window - queue - 1, 0.0);

		EXPECT_NEAR(left, clamp(rest * 3 / 4, 4.0, max((double)window, 4.0)),
			    window < 4 ? 2 : 1, "window %u, queue %u", window, queue);
		EXPECT_TRUE(left <= window, "window %u", window);
		EXPECT_EQ(santacruz_law_drain(window, -5),
			  santacruz_law_drain(window, 0), "negative queue");
	}
}

/* What is taken out of our own queue shortens it; another path's delay stays */
static void test_answer(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		u32 ns = prng_log32(10000, 10000000), first = prng_log32(16, 10000);
		struct santacruz_law_answer a = {
			.first_us = (u32)((u64)first * ns / 1000),
			.first_pkts = first,
			.now_pkts = prng_range(0, first / 2 - 1),
			.pkts_ns = ns,
		};
		u32 due_us = (u32)((u64)(first - a.now_pkts) * ns / 1000);

		if (!due_us || a.first_us > 1U << 26)
			continue;
		a.now_us = a.first_us - min(due_us, a.first_us);
		EXPECT_TRUE(!santacruz_law_unanswered(&a), "all of it is ours");
		/* One of four flows took out its part */
		a.now_us = a.first_us - min(due_us, a.first_us) / 4;
		EXPECT_TRUE(!santacruz_law_unanswered(&a), "a quarter is ours");
		a.now_us = a.first_us;
		EXPECT_TRUE(santacruz_law_unanswered(&a), "%u us stand", a.first_us);
		a.now_us = a.first_us + 1000;
		EXPECT_TRUE(santacruz_law_unanswered(&a), "%u us grow", a.first_us);
		a.now_pkts = first;
		EXPECT_TRUE(!santacruz_law_unanswered(&a), "nothing taken out");
	}
}

/* Packets in flight queue for their service times at most; half as fast a link is allowed for */
static void test_foreign(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		u32 ns = prng_log32(1000, 100000000), pkts = prng_log32(1, 100000);
		u64 own_us = (u64)pkts * ns / 1000;

		if (!own_us || own_us > U32_MAX / 4)
			continue;
		EXPECT_TRUE(!santacruz_law_foreign(own_us, pkts, ns), "all ours");
		EXPECT_TRUE(!santacruz_law_foreign(2 * own_us, pkts, ns), "half as fast");
		EXPECT_TRUE(santacruz_law_foreign(2 * own_us + 3, pkts, ns),
			    "%u packets of %u ns", pkts, ns);
	}
	EXPECT_TRUE(!santacruz_law_foreign(U32_MAX, 0, 0), "nothing known");
	EXPECT_TRUE(!santacruz_law_foreign(U32_MAX, U32_MAX, U32_MAX), "largest");
	EXPECT_TRUE(santacruz_law_foreign(U32_MAX, 1, U32_MAX), "2^32 us, one packet of 4 s");
}

static void test_grew(void)
{
	struct santacruz_law_answer a = { .first_us = 8000 };

	a.now_us = 9000 + 100;
	EXPECT_TRUE(!santacruz_law_grew(&a, 100), "an eighth and a tick");
	a.now_us++;
	EXPECT_TRUE(santacruz_law_grew(&a, 100), "more");
}

static void test_gave_way(void)
{
	static const struct {
		u32 first, now;
		bool gave;
	} rows[] = { { 100, 76, false }, { 100, 75, true }, { 4, 4, false }, { 4, 3, true },
		     { 100, 200, false } };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct santacruz_law_answer a = {
			.first_pkts = rows[i].first, .now_pkts = rows[i].now,
		};

		EXPECT_EQ(santacruz_law_gave_way(&a), rows[i].gave, "%u to %u", a.first_pkts,
			  a.now_pkts);
	}
}

static const struct tap_case cases[] = {
	{ "operating point: n_op, or a quarter of the root", test_op },
	{ "raise: at most a quarter, any pipe in O(log) rounds", test_raise },
	{ "widen: by the burst or the noise, bounded", test_widen },
	{ "lower: what met the queue less the excess, half at most", test_lower },
	{ "drain: the queue and a quarter of the rest", test_drain },
	{ "answer: our own queue and another path", test_answer },
	{ "a delay that our packets cannot cause", test_foreign },
	{ "a delay that grew", test_grew },
	{ "a quarter of what was in flight", test_gave_way },
	{ "deficit: half of what is missing and not on its way", test_deficit },
};

TAP_MAIN(cases)
