// SPDX-License-Identifier: GPL-2.0
/*
 * minrtt.h: a shorter path at once, a longer one after four looks that
 * agree, and no queue that comes and goes.
 */
#include "hetcc/minrtt.h"
#include "tap.h"

#define RTT_US		50000U
#define ROUNDS		2000

static u32 now_us;

/* A clock that wraps within the case */
static struct minrtt fresh(u32 rtt_us)
{
	struct minrtt m;

	minrtt_init(&m);
	now_us = U32_MAX - prng_range(0, 400000);
	if (rtt_us)
		minrtt_add(&m, now_us, rtt_us);
	return m;
}

/* Round trips of @rtt_us for @us. Return: the minimum was raised meanwhile */
static bool add_for(struct minrtt *m, u32 us, u32 rtt_us)
{
	bool raised = false;
	u32 step_us = max(us / 20, 1U), spent_us;

	for (spent_us = 0; spent_us < us; spent_us += step_us) {
		now_us += step_us;
		raised |= minrtt_add(m, now_us, rtt_us);
	}
	return raised;
}

/* One look at @rtt_us. Return: it raised the minimum */
static bool look(struct minrtt *m, u32 rtt_us)
{
	minrtt_look(m, now_us, rtt_us);
	return add_for(m, MINRTT_LOOK_RTTS * rtt_us + rtt_us, rtt_us);
}

static void test_first(void)
{
	struct minrtt m = fresh(0);

	EXPECT_EQ(m.min_us, MINRTT_NONE, "none");
	EXPECT_EQ(minrtt_add(&m, now_us, U32_MAX - 1), false, "first");
	EXPECT_EQ(m.min_us, U32_MAX - 1, "the largest");
	EXPECT_EQ(minrtt_add(&m, now_us, 1), false, "no raise");
	EXPECT_EQ(m.min_us, 1, "the smallest");
}

static void test_shorter(void)
{
	struct minrtt m = fresh(RTT_US);
	int i;

	for (i = 0; i < ROUNDS; i++) {
		u32 rtt_us = prng_range(RTT_US / 2, 2 * RTT_US);
		u32 want_us = min(m.min_us, rtt_us);

		minrtt_add(&m, now_us += 1000, rtt_us);
		EXPECT_EQ(m.min_us, want_us, "round trip of %u us", rtt_us);
	}
	look(&m, 2 * RTT_US);
	minrtt_look(&m, now_us, 2 * RTT_US);
	minrtt_add(&m, now_us, 10);
	EXPECT_EQ(m.min_us, 10, "while a look is open");
}

static void test_four_looks(void)
{
	struct minrtt m = fresh(RTT_US);
	int i;

	for (i = 1; i < MINRTT_LOOKS; i++) {
		EXPECT_EQ(look(&m, 2 * RTT_US), false, "look %d", i);
		EXPECT_EQ(m.min_us, RTT_US, "after look %d", i);
		EXPECT_EQ(m.row, i, "looks that agree");
	}
	EXPECT_EQ(look(&m, 2 * RTT_US), true, "the fourth");
	EXPECT_EQ(m.min_us, 2 * RTT_US, "raised");
	EXPECT_EQ(m.row, 0, "another row begins");
}

/* Longer by an eighth is the same path, by one more microsecond another one */
static void test_longer_edge(void)
{
	const u32 same_us = RTT_US + RTT_US / MINRTT_LONGER;
	struct minrtt m = fresh(RTT_US);
	int i;

	for (i = 0; i < 10; i++)
		EXPECT_EQ(look(&m, same_us), false, "an eighth longer");
	EXPECT_EQ(m.min_us, RTT_US, "no raise");
	for (i = 1; i < MINRTT_LOOKS; i++)
		look(&m, same_us + 1);
	EXPECT_EQ(look(&m, same_us + 1), true, "longer than that");
	EXPECT_EQ(m.min_us, same_us + 1, "raised");
}

/* Looks within a 32nd of the smallest agree, from above and from below */
static void test_same_edge(void)
{
	const u32 low_us = 2 * RTT_US, high_us = low_us + low_us / 32;
	struct minrtt m = fresh(RTT_US);

	look(&m, low_us);
	look(&m, high_us);
	EXPECT_EQ(m.row, 2, "a 32nd above");
	look(&m, high_us + 1);
	EXPECT_EQ(m.row, 1, "more than that is another row");
	EXPECT_EQ(m.low_us, high_us + 1, "which begins there");
	look(&m, low_us);
	EXPECT_EQ(m.row, 1, "more than a 32nd below, too");
	look(&m, high_us);
	look(&m, low_us);
	EXPECT_EQ(look(&m, high_us), true, "four of one row");
	EXPECT_EQ(m.min_us, low_us, "their smallest");
}

/* The smallest of a row, whichever it is, and of no row before */
static void test_smallest_of_row(void)
{
	const u32 low_us = 2 * RTT_US, high_us = low_us + low_us / 64;
	struct minrtt m = fresh(RTT_US);

	look(&m, low_us);
	look(&m, RTT_US);
	look(&m, high_us);
	look(&m, high_us - 100);
	look(&m, high_us);
	EXPECT_EQ(look(&m, high_us), true, "four");
	EXPECT_EQ(m.min_us, high_us - 100, "the second");
}

/* The smallest round trip of a look counts, not the last and not the first */
static void test_smallest_of_look(void)
{
	struct minrtt m = fresh(RTT_US);
	int i;

	for (i = 0; i < MINRTT_LOOKS; i++) {
		minrtt_look(&m, now_us, 3 * RTT_US);
		add_for(&m, RTT_US, 3 * RTT_US);
		add_for(&m, RTT_US, 2 * RTT_US);
		add_for(&m, 5 * RTT_US, 4 * RTT_US);
	}
	EXPECT_EQ(m.min_us, 2 * RTT_US, "the queue's delay is not the path's");
}

/* A look at the old round trip in between breaks the row */
static void test_row_broken(void)
{
	struct minrtt m = fresh(RTT_US);
	int i;

	for (i = 0; i < 100; i++) {
		look(&m, 2 * RTT_US);
		look(&m, 2 * RTT_US);
		look(&m, 2 * RTT_US);
		look(&m, RTT_US + RTT_US / 16);
	}
	EXPECT_EQ(m.min_us, RTT_US, "three at a time");
}

/*
 * A queue of others, anything up to five round trips at each look: four of
 * them agree by chance, but seldom.
 */
static void test_queue(void)
{
	u32 i, raised = 0;

	for (i = 0; i < ROUNDS; i++) {
		struct minrtt m = fresh(RTT_US);
		int looks;

		for (looks = 0; looks < 10; looks++)
			raised += look(&m, RTT_US + prng_range(0, 5 * RTT_US));
	}
	EXPECT_IN(raised, 0, ROUNDS / 200, "of %u connections", ROUNDS);
}

static void test_no_samples(void)
{
	struct minrtt m = fresh(RTT_US);
	int i;

	for (i = 0; i < 10; i++) {
		minrtt_look(&m, now_us, 2 * RTT_US);
		now_us += 10 * RTT_US;
		EXPECT_EQ(minrtt_add(&m, now_us, 2 * RTT_US), false,
			  "the first after the look is not of it");
		EXPECT_EQ(m.looking, false, "closed");
		EXPECT_EQ(m.row, 0, "nothing was seen");
	}
	EXPECT_EQ(m.min_us, RTT_US, "no raise");
}

static void test_no_minimum_yet(void)
{
	struct minrtt m = fresh(0);
	int i;

	for (i = 0; i < 10; i++) {
		minrtt_look(&m, now_us, 0);
		EXPECT_EQ(minrtt_add(&m, now_us, RTT_US), false, "first");
		EXPECT_EQ(look(&m, RTT_US), false, "nothing to be raised");
	}
	EXPECT_EQ(m.min_us, RTT_US, "minimum");
}

/* A look ends two round trips after it began, to the microsecond */
static void test_look_ends(void)
{
	struct minrtt m = fresh(RTT_US);
	u32 from_us = now_us;

	minrtt_look(&m, from_us, 2 * RTT_US);
	minrtt_add(&m, from_us + 4 * RTT_US - 1, 2 * RTT_US);
	EXPECT_EQ(m.looking, true, "open");
	EXPECT_EQ(m.look_us, 2 * RTT_US, "what it saw");
	minrtt_add(&m, from_us + 4 * RTT_US, 3 * RTT_US);
	EXPECT_EQ(m.looking, false, "closed");
	EXPECT_EQ(m.low_us, 2 * RTT_US, "without the one that closed it");
}

/* Twice a round trip is to stay half of the clock's range */
static void test_bounds(void)
{
	struct minrtt m = fresh(RTT_US);

	minrtt_look(&m, now_us, (1U << 30) - 1);
	EXPECT_EQ(m.looking, true, "2^30 - 1");
	EXPECT_EQ(m.until_us, now_us + 0x7ffffffeU, "its end");
	minrtt_add(&m, now_us, RTT_US);
	EXPECT_EQ(m.looking, true, "not yet over");
	m = fresh(RTT_US);
	minrtt_look(&m, now_us, 1U << 30);
	EXPECT_EQ(m.looking, false, "2^30");
	minrtt_look(&m, now_us, U32_MAX);
	EXPECT_EQ(m.looking, false, "2^32 - 1");
	minrtt_look(&m, now_us, 0);
	minrtt_add(&m, now_us, 2 * RTT_US);
	EXPECT_EQ(m.looking, false, "a look of no length");
	EXPECT_EQ(m.row, 0, "sees nothing");
}

/*
 * The path gets 30 ms longer every 15 s; each second a loss lets the queue run
 * empty for a look, between them there is one.
 */
static void test_steps(void)
{
	struct minrtt m = fresh(RTT_US);
	u32 path_us = RTT_US, second, since = 0;

	for (second = 1; second < 120; second++) {
		since = second % 15 ? since + 1 : 0;
		path_us += since ? 0 : 30000;
		look(&m, path_us);
		add_for(&m, 400000, path_us + prng_range(5000, 100000));
		if (since + 1 >= MINRTT_LOOKS)
			EXPECT_EQ(m.min_us, path_us, "second %u", second);
		else
			EXPECT_TRUE(m.min_us <= path_us, "second %u", second);
	}
	minrtt_add(&m, ++now_us, RTT_US);
	EXPECT_EQ(m.min_us, RTT_US, "back at once");
}

/* Losses in every window: the next reduction comes before a look has ended */
static void test_frequent_losses(void)
{
	struct minrtt m = fresh(RTT_US);
	bool raised = false;
	int i;

	for (i = 0; i < 2 * MINRTT_LOOKS + 1; i++) {
		minrtt_look(&m, now_us, 2 * RTT_US);
		raised |= add_for(&m, 3 * RTT_US, 2 * RTT_US);
	}
	EXPECT_EQ(raised, true, "a look each round trip and a half");
	EXPECT_EQ(m.min_us, 2 * RTT_US, "raised");
}

/* One that has ended without a round trip gives way to the next */
static void test_expired_look(void)
{
	struct minrtt m = fresh(RTT_US);
	u32 from_us = now_us;

	minrtt_look(&m, from_us, RTT_US);
	minrtt_look(&m, from_us + 2 * RTT_US, RTT_US);
	EXPECT_EQ(m.until_us, from_us + 4 * RTT_US, "the next");
	minrtt_look(&m, from_us + 4 * RTT_US - 1, RTT_US);
	EXPECT_EQ(m.until_us, from_us + 4 * RTT_US, "which is still open");
}

/* Never above what was seen, never below the smallest since it was raised */
static void test_any_input(void)
{
	struct minrtt m = fresh(0);
	u32 low_us = U32_MAX, i, raises = 0;

	for (i = 0; i < 1000000; i++) {
		u32 rtt_us = prng_log32(1, U32_MAX - 1), before_us = m.min_us;

		now_us += prng_log32(1, U32_MAX);
		if (!prng_range(0, 5))
			minrtt_look(&m, now_us, prng_u32());
		low_us = min(low_us, rtt_us);
		if (minrtt_add(&m, now_us, rtt_us)) {
			raises++;
			EXPECT_TRUE(m.min_us <= rtt_us, "raise %u", raises);
		} else {
			EXPECT_EQ(m.min_us, min(before_us, rtt_us), "no raise");
		}
		EXPECT_TRUE(m.min_us >= low_us, "seen");
		EXPECT_TRUE(m.row < MINRTT_LOOKS, "row");
	}
}

static const struct tap_case cases[] = {
	{ "the first round trip", test_first },
	{ "a smaller one is believed at once", test_shorter },
	{ "four looks raise, three do not", test_four_looks },
	{ "longer by more than an eighth", test_longer_edge },
	{ "looks agree within a 32nd", test_same_edge },
	{ "a row is its smallest look", test_smallest_of_row },
	{ "a look is the smallest it saw", test_smallest_of_look },
	{ "a look at the old path breaks the row", test_row_broken },
	{ "a queue that comes and goes is no path", test_queue },
	{ "looks without a round trip", test_no_samples },
	{ "a look before the first round trip", test_no_minimum_yet },
	{ "a look is two round trips long", test_look_ends },
	{ "round trips of 2^30 us and more, and of none", test_bounds },
	{ "a path that gets longer by 30 ms every 15 s", test_steps },
	{ "a loss in every window still lets looks end", test_frequent_losses },
	{ "a look that has ended gives way", test_expired_look },
	{ "any input", test_any_input },
};

TAP_MAIN(cases)
