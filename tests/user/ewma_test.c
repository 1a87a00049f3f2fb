// SPDX-License-Identifier: GPL-2.0
/*
 * ewma.h: the filter against the paper's, from both sides, at the edges.
 */
#include "hetcc/ewma.h"
#include "ref_model.h"
#include "tap.h"

#define ROUNDS		200
#define SAMPLES		2000

static const u32 alphas[] = { 0, 1, 500, 800, 875, 900, 990, 999 };

static double average(const struct ewma *e)
{
	return (double)e->scaled / EWMA_ONE;
}

/*
 * ewma.h: settles to within 1 / (1 - alpha) / EWMA_ONE. The second
 * term is the rounding of the reference itself.
 */
static double bound(u32 alpha, double value)
{
	double one_less = (double)(FIXED_MILLI - alpha) / FIXED_MILLI;

	return (1.0 / EWMA_ONE + value * 1e-15) / one_less + value * 1e-14;
}

static void add_many(struct ewma *e, u64 sample, u32 alpha, int n)
{
	while (n--)
		ewma_add(e, sample, alpha);
}

static void test_start(void)
{
	struct ewma e = { 0 };

	EXPECT_EQ(ewma_get(&e), 0, "before the first sample");
	ewma_add(&e, 12345, 800);
	EXPECT_EQ(ewma_get(&e), 12345, "after the first sample");
	ewma_add(&e, 12445, 800);
	EXPECT_EQ(ewma_get(&e), 12365, "0.8 * 12345 + 0.2 * 12445");
}

static void random_run(u32 alpha, u64 top)
{
	struct ewma e = { 0 };
	double ref = 0;
	int i;

	for (i = 0; i < SAMPLES; i++) {
		u64 sample = prng_log(1, top);

		ewma_add(&e, sample, alpha);
		ref = i ? ref_fr_sec2_filter(ref, (double)sample,
					     alpha / 1000.0) : (double)sample;
		EXPECT_NEAR(average(&e), ref, bound(alpha, (double)top),
			    "alpha %u, sample %d of 1..%llu", alpha, i, top);
	}
}

static void test_random(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		u32 alpha = prng_range(0, 999);

		random_run(alpha, prng_log(2, EWMA_MAX));
	}
}

/* A change of 2^40 units decays to a unit of 2^-8 in ln(2^48) / (1 - alpha) */
static int samples_to_settle(u32 alpha)
{
	return 34 * FIXED_MILLI / (int)(FIXED_MILLI - alpha) + 100;
}

static void settle(u64 from, u64 to, u32 alpha)
{
	struct ewma e = { 0 };

	ewma_add(&e, from, alpha);
	add_many(&e, to, alpha, samples_to_settle(alpha));
	EXPECT_NEAR(average(&e), to, bound(alpha, 0),
		    "alpha %u, from %llu to %llu", alpha, from, to);
	if (alpha <= 800)
		EXPECT_EQ(ewma_get(&e), to,
			  "rounded, alpha %u, from %llu to %llu", alpha, from,
			  to);
}

static void test_settles(void)
{
	unsigned int i;
	u64 to;

	for (i = 0; i < ARRAY_SIZE(alphas); i++)
		for (to = 1; to < EWMA_MAX; to = to * 3 + 1) {
			settle(max_t(u64, to / 10, 1), to, alphas[i]);
			settle(to * 10, to, alphas[i]);
			settle(1, to, alphas[i]);
			settle(EWMA_MAX, to, alphas[i]);
		}
}

/* In-tree westwood loses 11 % of 125 bytes per jiffy from below */
static void test_both_sides_alike(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		struct ewma below = { 0 }, above = { 0 };
		u64 to = prng_log(2, EWMA_MAX / 2);
		u32 alpha = prng_range(0, 990);
		u64 by = prng_log(1, to / 2);
		int n = prng_range(1, 200);

		ewma_add(&below, to - by, alpha);
		ewma_add(&above, to + by, alpha);
		add_many(&below, to, alpha, n);
		add_many(&above, to, alpha, n);
		EXPECT_NEAR((double)to - average(&below),
			    average(&above) - (double)to, 1e-9 * (double)to,
			    "alpha %u, %llu +- %llu, %d samples", alpha, to,
			    by, n);
	}
}

static void test_stays_between(void)
{
	struct ewma e = { 0 };
	u64 low = U64_MAX, high = 0;
	int i;

	for (i = 0; i < SAMPLES; i++) {
		u64 sample = prng_log(1, EWMA_MAX);

		low = min(low, sample);
		high = max(high, sample);
		ewma_add(&e, sample, prng_range(0, 999));
		EXPECT_IN(ewma_get(&e), low, high, "sample %d", i);
	}
}

static void test_sample_clamped(void)
{
	struct ewma e = { 0 };

	ewma_add(&e, U64_MAX, 800);
	EXPECT_EQ(ewma_get(&e), EWMA_MAX, "first sample");
	ewma_add(&e, U64_MAX, 0);
	EXPECT_EQ(ewma_get(&e), EWMA_MAX, "later sample");
	ewma_add(&e, EWMA_MAX + 1, 0);
	EXPECT_EQ(ewma_get(&e), EWMA_MAX, "one above the maximum");
}

/* ewma.h: the signed product of the widest swing fits 64 bits */
static void test_full_swing(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(alphas); i++) {
		struct ewma down = { 0 }, up = { 0 };
		double a = alphas[i] / 1000.0, top = EWMA_MAX;

		ewma_add(&down, EWMA_MAX, alphas[i]);
		ewma_add(&down, 0, alphas[i]);
		EXPECT_NEAR(average(&down), ref_fr_sec2_filter(top, 0, a), 1,
			    "down, alpha %u", alphas[i]);
		ewma_add(&up, 1, alphas[i]);
		ewma_add(&up, EWMA_MAX, alphas[i]);
		EXPECT_NEAR(average(&up), ref_fr_sec2_filter(1, top, a), 1,
			    "up, alpha %u", alphas[i]);
	}
}

static const struct tap_case cases[] = {
	{ "the first sample starts the filter", test_start },
	{ "random samples: within 1/(1-alpha)/256 of the paper's filter",
	  test_random },
	{ "settles from below and from above", test_settles },
	{ "the error has no preferred side", test_both_sides_alike },
	{ "the average stays between the samples", test_stays_between },
	{ "samples above 2^40 - 1 are clamped", test_sample_clamped },
	{ "a swing over the whole range does not overflow", test_full_swing },
};

TAP_MAIN(cases)
