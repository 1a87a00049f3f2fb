// SPDX-License-Identifier: GPL-2.0
/*
 * fixed.h: products, saturation and powers of two; and the shim it stands on.
 */
#include "hetcc/fixed.h"
#include "tap.h"

#define RANDOM_ROUNDS	200000

/* fixed.h: relative error of 2^x; resolution, and twelve roundings in Q31 */
#define EXP2_ERROR	1e-4
#define EXP2_STEP	(1.0 / FIXED_EXP_ONE)
#define EXP2_PRODUCT	1e-8

static void test_division_semantics(void)
{
	EXPECT_EQ_S(div_s64(-7, 2), -3, "-7 / 2");
	EXPECT_EQ_S(div_s64(7, -2), -3, "7 / -2");
	EXPECT_EQ_S(div_s64(-(1LL << 62), 1000), -4611686018427387LL, "-2^62");
	EXPECT_EQ(div_u64(U64_MAX, U32_MAX), 0x100000001ULL, "U64_MAX / U32_MAX");
	EXPECT_EQ(div_u64(U64_MAX, 1), U64_MAX, "U64_MAX / 1");
	EXPECT_EQ(div64_u64(U64_MAX, U64_MAX), 1, "U64_MAX / U64_MAX");
	EXPECT_EQ(div64_u64(U64_MAX - 1, U64_MAX), 0, "below the divisor");
}

static void test_minmax_semantics(void)
{
	EXPECT_EQ_S(min(-1, 1), -1, "min, signed");
	EXPECT_EQ_S(max(-1, 1), 1, "max, signed");
	EXPECT_EQ(max_t(u32, -1, 1), U32_MAX, "max_t converts first");
	EXPECT_EQ(min_t(u64, U32_MAX + 1ULL, U32_MAX), U32_MAX, "min_t, u64");
	EXPECT_EQ_S(clamp(5, 1, 3), 3, "clamp, above");
	EXPECT_EQ_S(clamp(-5, 1, 3), 1, "clamp, below");
	EXPECT_EQ_S(clamp_t(s64, 2, 1, 3), 2, "clamp_t, inside");
	EXPECT_EQ_S(clamp_t(s64, -(1LL << 40), -S32_MAX, S32_MAX), -S32_MAX,
		    "clamp_t, s64");
}

static void test_types(void)
{
	EXPECT_EQ(U16_MAX, 65535, "U16_MAX");
	EXPECT_EQ_S((s16)U16_MAX, -1, "s16 is signed");
	EXPECT_EQ(sizeof(s16), 2, "s16 has 16 bits");
}

static void test_fls_semantics(void)
{
	int i;

	EXPECT_EQ_S(fls(0), 0, "fls(0)");
	for (i = 0; i < 32; i++) {
		EXPECT_EQ_S(fls(1U << i), i + 1, "fls(2^%d)", i);
		EXPECT_EQ_S(fls(2 * (1U << i) - 1), i + 1, "all ones to %d", i);
	}
}

static void expect_root(unsigned long x)
{
	u64 root = int_sqrt(x);

	EXPECT_TRUE(root <= U32_MAX && root * root <= x &&
		    (root == U32_MAX || x - root * root <= 2 * root),
		    "%llu is the root of %lu", root, x);
}

/* root^2 <= x < (root + 1)^2, of every width that unsigned long has */
static void test_int_sqrt_semantics(void)
{
	const unsigned long most = ~0UL;
	unsigned long x;
	int i;

	for (x = 0; x < 70000; x++)
		expect_root(x);
	for (x = 0; x <= 65535; x++) {
		EXPECT_EQ(int_sqrt(x * x), x, "root of %lu^2", x);
		expect_root(x * x - !!x);
	}
	for (i = 0; i < RANDOM_ROUNDS; i++)
		expect_root((unsigned long)prng_log(1, most));
	EXPECT_EQ(int_sqrt(most), sizeof(most) == 8 ? U32_MAX : U16_MAX,
		  "root of ULONG_MAX");
	expect_root(most >> 1);
}

static void test_sat_u32(void)
{
	EXPECT_EQ(fixed_sat_u32(0), 0, "0");
	EXPECT_EQ(fixed_sat_u32(U32_MAX - 1ULL), U32_MAX - 1, "2^32 - 2");
	EXPECT_EQ(fixed_sat_u32(U32_MAX), U32_MAX, "2^32 - 1");
	EXPECT_EQ(fixed_sat_u32(U32_MAX + 1ULL), U32_MAX, "2^32");
	EXPECT_EQ(fixed_sat_u32(U64_MAX), U32_MAX, "2^64 - 1");
}

/* One of two over any calls, also where the count wraps and where all is counted at once */
static void test_halve(void)
{
	u32 count = 0U - 1001, sum = 0, i, n;

	for (i = 0; i < 1000; i++) {
		n = prng_range(0, 5);
		count += n;
		sum += fixed_halve(count, n);
		EXPECT_EQ(sum, (count + 1001) / 2, "after %u", count + 1001);
	}
	EXPECT_EQ(fixed_halve(0, 0), 0, "none");
	EXPECT_EQ(fixed_halve(0, 1), 0, "the odd one, which wraps");
	EXPECT_EQ(fixed_halve(1, 1), 1, "the first");
	EXPECT_EQ(fixed_halve(U32_MAX, U32_MAX), 1U << 31, "all, from an even count");
	EXPECT_EQ(fixed_halve(0, U32_MAX), S32_MAX, "all, from an odd one");
}

static void test_mul_div_edges(void)
{
	static const struct {
		u32 a, b, c, want;
	} rows[] = {
		{ 0, 0, 1, 0 },
		{ 1, 1, 2, 0 },
		{ 3, 1, 2, 1 },
		{ U32_MAX, 1, 1, U32_MAX },
		{ U32_MAX, 2, 3, 2863311530U },
		{ U32_MAX, U32_MAX, U32_MAX, U32_MAX },
		{ U32_MAX, U32_MAX, U32_MAX - 1, U32_MAX },
		{ U32_MAX, U32_MAX, 1, U32_MAX },
		{ U32_MAX, 2, 1, U32_MAX },
		{ 0, 0, 0, U32_MAX },
		{ 1, 1, 0, U32_MAX },
		{ U32_MAX, U32_MAX, 0, U32_MAX },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		EXPECT_EQ(fixed_mul_div(rows[i].a, rows[i].b, rows[i].c),
			  rows[i].want, "%u * %u / %u", rows[i].a, rows[i].b,
			  rows[i].c);
}

/* q = a * b / c rounded down means q * c <= a * b < (q + 1) * c */
static void test_mul_div_random(void)
{
	int i;

	for (i = 0; i < RANDOM_ROUNDS; i++) {
		u32 a = prng_log32(1, U32_MAX), b = prng_log32(1, U32_MAX);
		u32 c = prng_log32(1, U32_MAX);
		u64 product = (u64)a * b;
		u64 q = fixed_mul_div(a, b, c);

		EXPECT_TRUE(q * c <= product &&
			    (q == U32_MAX || product - q * c < c),
			    "%llu is %u * %u / %u", q, a, b, c);
	}
}

static void test_exp2_error(void)
{
	u32 x;

	for (x = 0; x < 15 * FIXED_EXP_ARG_ONE; x++) {
		double want = exp2((double)x / FIXED_EXP_ARG_ONE);

		EXPECT_NEAR((double)fixed_exp2(x) / FIXED_EXP_ONE, want,
			    want * EXP2_ERROR, "2^(%u/4096)", x);
	}
}

/* The roots are right to the last digit: only the result is cut */
static void test_exp2_resolution(void)
{
	u32 x;

	for (x = 0; x < 15 * FIXED_EXP_ARG_ONE; x++) {
		double want = exp2((double)x / FIXED_EXP_ARG_ONE);

		EXPECT_NEAR((double)fixed_exp2(x) / FIXED_EXP_ONE, want,
			    EXP2_STEP + want * EXP2_PRODUCT, "2^(%u/4096)", x);
	}
}

static void test_exp2_whole(void)
{
	u32 n;

	for (n = 0; n < 15; n++)
		EXPECT_EQ(fixed_exp2(n << FIXED_EXP_ARG_SHIFT),
			  (u64)FIXED_EXP_ONE << n, "2^%u", n);
}

static void test_exp2_monotone(void)
{
	u32 x;

	for (x = 1; x <= 15 * FIXED_EXP_ARG_ONE; x++) {
		u32 below = fixed_exp2(x - 1), here = fixed_exp2(x);

		EXPECT_IN(here, below + 1.0, FIXED_EXP_MAX, "x = %u", x);
	}
}

static void test_exp2_saturates(void)
{
	u32 edge = 15 * FIXED_EXP_ARG_ONE;

	EXPECT_EQ(FIXED_EXP_MAX, (1ULL << 15) * FIXED_EXP_ONE, "2^15 in Q16");
	EXPECT_IN(fixed_exp2(edge - 1), 0, FIXED_EXP_MAX - 1.0, "below 15");
	EXPECT_EQ(fixed_exp2(edge), FIXED_EXP_MAX, "15");
	EXPECT_EQ(fixed_exp2(edge + 1), FIXED_EXP_MAX, "above 15");
	EXPECT_EQ(fixed_exp2(1U << 31), FIXED_EXP_MAX, "2^31");
	EXPECT_EQ(fixed_exp2(U32_MAX), FIXED_EXP_MAX, "U32_MAX");
}

static const struct tap_case cases[] = {
	{ "shim: divisions mean what they mean in the kernel",
	  test_division_semantics },
	{ "shim: min, max and clamp mean what they mean in the kernel",
	  test_minmax_semantics },
	{ "shim: types of 16 bits", test_types },
	{ "shim: fls means what it means in the kernel", test_fls_semantics },
	{ "shim: int_sqrt means what it means in the kernel",
	  test_int_sqrt_semantics },
	{ "sat_u32 saturates at 2^32 - 1", test_sat_u32 },
	{ "one of two", test_halve },
	{ "mul_div edges: zero divisor, saturation, rounding down",
	  test_mul_div_edges },
	{ "mul_div is the exact quotient of random operands",
	  test_mul_div_random },
	{ "exp2 is within 1e-4 for every argument", test_exp2_error },
	{ "exp2 is cut to its resolution and no more", test_exp2_resolution },
	{ "exp2 of whole numbers is exact", test_exp2_whole },
	{ "exp2 rises with every step of its argument", test_exp2_monotone },
	{ "exp2 saturates at 2^15", test_exp2_saturates },
};

TAP_MAIN(cases)
