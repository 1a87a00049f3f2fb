// SPDX-License-Identifier: GPL-2.0
/*
 * tsval_tick.h: which clock a peer's timestamps come from.
 */
#include "hetcc/tsval_tick.h"
#include "tap.h"

static const u32 known_us[] = { 1, 1000, 4000, 10000, 100000 };

/* Ticks that a clock @ppm too fast shows from @start_us on */
static u32 count_ticks(double tick_us, double ppm, double start_us,
		       double elapsed_us)
{
	double true_us = tick_us / (1 + ppm * 1e-6);

	return (u32)(s64)(floor((start_us + elapsed_us) / true_us) -
			  floor(start_us / true_us));
}

static void expect_tick(double tick_us, u32 want)
{
	int i;

	for (i = 0; i < 2000; i++) {
		/* A peer's clock that wraps within the probe tells nothing */
		u32 elapsed_us = prng_log32(TSVAL_TICK_PROBE_US, (u32)
					    (fmin(tick_us, 1) * (1U << 31)));
		double ppm = prng_unit() * 400 - 200;
		u32 n = count_ticks(tick_us, ppm, prng_unit() * 1e6,
				    elapsed_us);

		EXPECT_EQ(tsval_tick_us(n, elapsed_us), want,
			  "clock of %g us, %+.0f ppm: %u ticks in %u us",
			  tick_us, ppm, n, elapsed_us);
	}
}

static void test_known(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(known_us); i++)
		expect_tick(known_us[i], known_us[i]);
}

static void test_shortest_probe(void)
{
	unsigned int i;
	u32 elapsed_us, phase;

	for (i = 0; i < ARRAY_SIZE(known_us); i++)
		for (phase = 0; phase < 100; phase++)
			for (elapsed_us = TSVAL_TICK_PROBE_US;
			     elapsed_us < 5 * TSVAL_TICK_PROBE_US;
			     elapsed_us += 12347) {
				u32 n = count_ticks(known_us[i], 0,
						    phase * known_us[i] / 100.0,
						    elapsed_us);

				EXPECT_EQ(tsval_tick_us(n, elapsed_us),
					  known_us[i],
					  "clock of %u us: %u ticks in %u us",
					  known_us[i], n, elapsed_us);
			}
}

static void expect_unknown(const double *tick_us, unsigned int n)
{
	while (n--)
		expect_tick(tick_us[n], 0);
}

/* Faster than a microsecond, as no peer of Linux should have it */
static void test_fast(void)
{
	static const double tick_us[] = { 0.001, 0.1, 0.5 };

	expect_unknown(tick_us, ARRAY_SIZE(tick_us));
}

static void test_between(void)
{
	static const double tick_us[] = {
		2, 10, 100, 500, 2000, 20000, 40000,
	};

	expect_unknown(tick_us, ARRAY_SIZE(tick_us));
}

/* RFC 7323 allows ticks of up to a second */
static void test_slow(void)
{
	static const double tick_us[] = { 500000, 1000000 };

	expect_unknown(tick_us, ARRAY_SIZE(tick_us));
}

static void test_edges(void)
{
	static const struct {
		u32 ticks, elapsed_us, want;
	} rows[] = {
		{ 0, TSVAL_TICK_PROBE_US, 0 },
		{ 0, U32_MAX, 0 },
		{ 1, U32_MAX, 0 },
		{ U32_MAX, U32_MAX, 1 },
		/* TSval that went back by 1, by 100 and by half its range */
		{ U32_MAX, TSVAL_TICK_PROBE_US, 0 },
		{ U32_MAX - 99, TSVAL_TICK_PROBE_US, 0 },
		{ 1U << 31, TSVAL_TICK_PROBE_US, 0 },
		{ 2 * TSVAL_TICK_PROBE_US, TSVAL_TICK_PROBE_US, 0 },
		{ 10 * TSVAL_TICK_PROBE_US, TSVAL_TICK_PROBE_US, 0 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		EXPECT_EQ(tsval_tick_us(rows[i].ticks, rows[i].elapsed_us),
			  rows[i].want, "%u ticks in %u us", rows[i].ticks,
			  rows[i].elapsed_us);
}

static const struct tap_case cases[] = {
	{ "every known clock, +-200 ppm", test_known },
	{ "every known clock at the shortest probe",
	  test_shortest_probe },
	{ "clocks faster than a microsecond are refused",
	  test_fast },
	{ "clocks between the known ones are refused",
	  test_between },
	{ "clocks of 500 ms and 1 s are refused", test_slow },
	{ "edges, time that went back", test_edges },
};

TAP_MAIN(cases)
