// SPDX-License-Identifier: GPL-2.0
/*
 * cubic_law.h: RFC 9438 in floating point, over all windows, times and round trips.
 */
#include "hetcc/cubic_law.h"
#include "tap.h"

#define ROUNDS		100000
#define RTT_MAX_MS	((u32)1 << 27)

/* RFC 9438, 4.2: W_cubic(t) = C (t - K)^3 + W_max, K = cbrt((W_max - cwnd) / C) */
static double rfc_k_s(double w_max)
{
	return cbrt((w_max - 0.7 * w_max) / 0.4);
}

static double rfc_cubic(double w_max, double t_s)
{
	return 0.4 * pow(t_s - rfc_k_s(w_max), 3) + w_max;
}

/* 4.3: W_est grows by 3 (1 - 0.7) / (1 + 0.7) a round trip */
static double rfc_reno(double w_max, double t_s, double rtt_s)
{
	return 0.7 * w_max + 3 * 0.3 / 1.7 * t_s / rtt_s;
}

static u32 draw_window(void)
{
	return prng_log32(1, CUBIC_LAW_WINDOW_MAX);
}

static void test_reduce(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		u32 window = draw_window();

		EXPECT_NEAR(cubic_law_reduce(window), 0.7 * window, 1, "%u", window);
	}
}

/* 4.7: W_max = cwnd (1 + 0.7) / 2 where it is below the one of before */
static void test_fast_convergence(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		u32 window = draw_window(), last = draw_window();

		EXPECT_NEAR(cubic_law_max(window, last),
			    window < last ? 0.85 * window : window, 1,
			    "%u after %u", window, last);
	}
}

static void test_window(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		u32 w_max = draw_window(), rtt_ms = prng_log32(1, 10000);
		u32 ms = prng_log32(1, CUBIC_LAW_MS_MAX);
		double t_s = ms / 1000.0, off_s = t_s - rfc_k_s(w_max);
		double want = max(rfc_cubic(w_max, t_s),
				  rfc_reno(w_max, t_s, rtt_ms / 1000.0));
		/* K is whole milliseconds */
		double slack = 1.2 + 0.4 * 3 * off_s * off_s / 1000;

		want = min(want, 2.0 * CUBIC_LAW_WINDOW_MAX);
		EXPECT_NEAR(cubic_law_window(w_max, ms, rtt_ms), want, slack,
			    "W_max %u, %u ms, round trip %u ms", w_max, ms, rtt_ms);
	}
}

/* It begins where the reduction leaves it, and is back at W_max after K */
static void test_begins_and_comes_back(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		u32 w_max = draw_window();
		u32 k_ms = (u32)(rfc_k_s(w_max) * 1000);

		EXPECT_NEAR(cubic_law_window(w_max, 0, RTT_MAX_MS), 0.7 * w_max,
			    1.2 + 1.2 * pow(k_ms / 1000.0, 2) / 1000, "W_max %u", w_max);
		if (k_ms < CUBIC_LAW_MS_MAX)
			EXPECT_NEAR(cubic_law_window(w_max, k_ms, RTT_MAX_MS), w_max,
				    1, "W_max %u after K", w_max);
	}
}

static void test_never_shrinks(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		u32 w_max = draw_window(), rtt_ms = prng_log32(1, RTT_MAX_MS);
		u32 a_ms = prng_log32(1, U32_MAX), b_ms = prng_log32(1, U32_MAX);
		u32 early = cubic_law_window(w_max, min(a_ms, b_ms), rtt_ms);
		u32 late = cubic_law_window(w_max, max(a_ms, b_ms), rtt_ms);

		EXPECT_TRUE(early <= late, "W_max %u: %u ms %u, %u ms %u", w_max,
			    min(a_ms, b_ms), early, max(a_ms, b_ms), late);
	}
	EXPECT_EQ(cubic_law_window(100, U32_MAX, 100),
		  cubic_law_window(100, CUBIC_LAW_MS_MAX, 100), "longest time");
}

static const struct tap_case cases[] = {
	{ "a congestion takes 30 %", test_reduce },
	{ "fast convergence", test_fast_convergence },
	{ "W_cubic and W_est of RFC 9438", test_window },
	{ "from 0.7 W_max to W_max in K", test_begins_and_comes_back },
	{ "time does not shrink it", test_never_shrinks },
};

TAP_MAIN(cases)
