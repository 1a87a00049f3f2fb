// SPDX-License-Identifier: GPL-2.0
/*
 * rtt_mean.h: a quarter of a window; what single round trips do to it; how far means of jitter
 * lie apart; samples in large windows; edges.
 */
#include "hetcc/rtt_mean.h"
#include "tap.h"

#define RTT_US		50000U
#define WND		1000U

static struct rtt_mean fresh(u32 rtt_us)
{
	struct rtt_mean m;

	rtt_mean_begin(&m, rtt_us);
	return m;
}

static void add_many(struct rtt_mean *m, u32 rtt_us, u32 wnd, int n)
{
	while (n--)
		rtt_mean_add(m, rtt_us, wnd);
}

static void test_begin(void)
{
	struct rtt_mean m = fresh(0);

	EXPECT_EQ(rtt_mean_us(&m), 0, "not known");
	EXPECT_EQ(rtt_mean_wait_us(&m, RTT_US), 0, "no wait");
	rtt_mean_add(&m, RTT_US, WND);
	EXPECT_EQ(rtt_mean_us(&m), RTT_US, "the first");
	EXPECT_EQ(m.dev_us, 0, "no deviation");
	m = fresh(RTT_US);
	EXPECT_EQ(rtt_mean_us(&m), RTT_US, "known");
	EXPECT_EQ(rtt_mean_wait_us(&m, RTT_US - 7), 7, "wait");
	EXPECT_EQ(rtt_mean_wait_us(&m, U32_MAX), 0, "less than the minimum");
}

/* From below and from above, to a microsecond */
static void test_settles(void)
{
	struct rtt_mean m = fresh(RTT_US);

	add_many(&m, RTT_US + 8000, WND, 300);
	EXPECT_IN(rtt_mean_us(&m), RTT_US + 7999, RTT_US + 8000, "from below");
	add_many(&m, RTT_US, WND, 300);
	EXPECT_IN(rtt_mean_us(&m), RTT_US, RTT_US + 1, "from above");
	EXPECT_IN(m.dev_us, 0, 32, "deviation");
}

/* A single one that is early or late is an eighth of it, and a 32nd of the deviation */
static void test_single(void)
{
	struct rtt_mean m = fresh(RTT_US);

	rtt_mean_add(&m, RTT_US + 32000, WND);
	EXPECT_EQ(rtt_mean_us(&m), RTT_US + 4000, "late");
	EXPECT_EQ(m.dev_us, 1000, "deviation");
	m = fresh(RTT_US);
	rtt_mean_add(&m, RTT_US - 32000, WND);
	EXPECT_EQ(rtt_mean_us(&m), RTT_US - 4000, "early");
	EXPECT_EQ(m.dev_us, 1000, "deviation");
}

/* A quarter of a small window is fewer samples */
static void test_small_window(void)
{
	static const struct {
		u32 wnd, part;
	} of[] = {
		{ 0, 1 }, { 1, 1 }, { 7, 1 }, { 8, 2 }, { 15, 2 }, { 16, 4 },
		{ 31, 4 }, { 32, 8 }, { 64, 8 }, { U32_MAX, 8 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(of); i++) {
		struct rtt_mean m = fresh(RTT_US);

		rtt_mean_add(&m, RTT_US + 6400, of[i].wnd);
		EXPECT_EQ(rtt_mean_us(&m), RTT_US + 6400 / of[i].part,
			  "window %u", of[i].wnd);
	}
}

/* Samples of a window whose packets come in bunches of @bunch, over @n windows */
static u32 samples(u32 wnd, u32 bunch, u32 n)
{
	u32 delivered = prng_range(0, U32_MAX / 2), count = 0, i;

	for (i = 0; i < n * wnd; i += bunch) {
		delivered += bunch;
		count += rtt_mean_is_due(delivered, bunch, wnd);
	}
	return count;
}

static void test_due(void)
{
	u32 wnd;

	for (wnd = 1; wnd < RTT_MEAN_SAMPLES; wnd++)
		EXPECT_EQ(samples(wnd, 1, 10), 10 * wnd, "each of %u", wnd);
	for (wnd = RTT_MEAN_SAMPLES; wnd < 20000; wnd += wnd / 3)
		EXPECT_IN(samples(wnd, 1, 10), 10 * RTT_MEAN_SAMPLES / 2,
			  10 * RTT_MEAN_SAMPLES + 1, "a window of %u", wnd);
	EXPECT_EQ(samples(1000, 100, 10), 100, "one of a bunch");
	EXPECT_TRUE(!rtt_mean_is_due(77, 0, 10), "nothing was delivered");
}

/*
 * With jitter alone the mean is hardly ever further above its least than counts as no queue;
 * with a queue of twice that it is.
 */
static void test_jitter(void)
{
	u32 jitter_us, i;

	for (jitter_us = 1000; jitter_us <= 64000; jitter_us *= 2) {
		struct rtt_mean m = fresh(0);
		u32 least_us = U32_MAX, waits = 0;

		for (i = 0; i < 10000; i++) {
			rtt_mean_add(&m, RTT_US + prng_range(0, jitter_us), WND);
			if (i < 100)
				continue;
			least_us = min(least_us, rtt_mean_us(&m));
			waits += rtt_mean_wait_us(&m, least_us) >
				 RTT_MEAN_DEVIATIONS * m.dev_us;
			EXPECT_IN(m.dev_us, jitter_us / 8, jitter_us / 2,
				  "jitter of %u us", jitter_us);
		}
		EXPECT_TRUE(waits < 100, "%u of 10000, %u us", waits, jitter_us);
		EXPECT_TRUE(least_us > RTT_US + jitter_us / 8, "a mean");
		add_many(&m, RTT_US + 2 * jitter_us, WND, 32);
		EXPECT_TRUE(rtt_mean_wait_us(&m, least_us) >
			    RTT_MEAN_DEVIATIONS * m.dev_us, "a queue");
	}
}

static void test_edges(void)
{
	struct rtt_mean m = fresh(U32_MAX);
	int i;

	EXPECT_EQ(rtt_mean_us(&m), RTT_MEAN_MAX_US, "longest");
	rtt_mean_add(&m, U32_MAX, WND);
	EXPECT_EQ(rtt_mean_us(&m), RTT_MEAN_MAX_US, "stays");
	add_many(&m, 1, WND, 1000);
	EXPECT_EQ(rtt_mean_us(&m), 1, "shortest");
	m = fresh(1);
	add_many(&m, U32_MAX, 1, 3);
	EXPECT_EQ(rtt_mean_us(&m), RTT_MEAN_MAX_US, "at once");
	for (i = 0; i < 100000; i++) {
		rtt_mean_add(&m, prng_log32(1, U32_MAX), prng_log32(1, U32_MAX));
		EXPECT_IN(rtt_mean_us(&m), 1, RTT_MEAN_MAX_US, "any input");
	}
}

/* A longer way: not below, not above, and what is not known stays so */
static void test_at_least(void)
{
	struct rtt_mean m = fresh(RTT_US);

	rtt_mean_at_least(&m, RTT_US - 1);
	EXPECT_EQ(rtt_mean_us(&m), RTT_US, "it is");
	m.dev_us = 7;
	rtt_mean_at_least(&m, RTT_US + 1);
	EXPECT_EQ(rtt_mean_us(&m), RTT_US + 1, "raised");
	EXPECT_EQ(m.dev_us, 7, "deviation");
	rtt_mean_at_least(&m, U32_MAX);
	EXPECT_EQ(rtt_mean_us(&m), RTT_MEAN_MAX_US, "the largest");
	m = fresh(0);
	rtt_mean_at_least(&m, RTT_US);
	EXPECT_EQ(rtt_mean_us(&m), 0, "not known");
}

static const struct tap_case cases[] = {
	{ "before and after the first", test_begin },
	{ "settles from both sides", test_settles },
	{ "a single one is an eighth", test_single },
	{ "a quarter of a small window", test_small_window },
	{ "32 samples of a window", test_due },
	{ "jitter is told from a queue", test_jitter },
	{ "edges and any input", test_edges },
	{ "a way that was not in it", test_at_least },
};

TAP_MAIN(cases)
