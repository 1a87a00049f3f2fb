// SPDX-License-Identifier: GPL-2.0
/*
 * bdp.h: the bandwidth-delay product against the paper's, over all rates and
 * round trips.
 */
#include "hetcc/bdp.h"
#include "ref_model.h"
#include "tap.h"

#define ROUNDS		200000

/* Rounding down thrice, and the units of 256 bytes/s of a high rate */
static void test_random(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		u64 rate = prng_log(1, EWMA_MAX);
		u32 rtt_us = prng_log32(1, U32_MAX);
		u32 a = prng_range(1000, 16000), mss = prng_log32(1, 65535);
		double want = ref_fr_sec3a((double)rate, rtt_us / 1e6,
					   a / 1000.0, mss);
		double lost = 1 + 1.0 / mss;

		if (rate > U32_MAX)
			lost += (4 + 256 * (rtt_us / 1e6)) / mss;
		EXPECT_IN(bdp_pkts(rate, rtt_us, mss, a),
			  fmin(want - lost, U32_MAX),
			  fmin(want * (1 + 1e-12), U32_MAX),
			  "%llu B/s, %u us, mss %u, a %u", rate, rtt_us, mss, a);
	}
}

static void test_edges(void)
{
	static const struct {
		u64 rate;
		u32 rtt_us, mss, a_milli, want;
	} rows[] = {
		{ 0, U32_MAX, 1, 1000, 0 },
		{ U64_MAX, U32_MAX, 0, 1000, 0 },
		{ 1000000, 1000000, 1000, 0, 1000 },
		{ 1000000, 1000000, 1000, 1000, 1000 },
		{ 1000000, 1000000, 1000, 2000, 500 },
		{ 1000000, 1000000, 1000, 1, 1000000 },
		{ 999999, 1000000, 1000, 1000, 999 },
		/* Both sides of 2^32 bytes/s, the largest 64-bit products */
		{ U32_MAX, U32_MAX, 65536, 1000, 281474976 },
		{ U32_MAX + 1ULL, U32_MAX, 65536, 1000, 281474976 },
		{ EWMA_MAX, 1000000, 65536, 1000, 16777215 },
		{ EWMA_MAX, 1000, 1448, 1000, 759331 },
		{ EWMA_MAX, U32_MAX, 1, 1000, U32_MAX },
		{ U64_MAX, 1000000, 65536, 1000, 16777215 },
		{ U64_MAX, U32_MAX, 1, 1, U32_MAX },
		{ U64_MAX, U32_MAX, 1, U32_MAX, 1099511627 },
		{ U64_MAX, 0, 1, 1000, 0 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		EXPECT_EQ(bdp_pkts(rows[i].rate, rows[i].rtt_us,
				   rows[i].mss, rows[i].a_milli),
			  rows[i].want, "row %u: %llu B/s, %u us, mss %u, a %u",
			  i, rows[i].rate, rows[i].rtt_us, rows[i].mss,
			  rows[i].a_milli);
}

static const struct tap_case cases[] = {
	{ "random operands against the paper", test_random },
	{ "edges and saturation", test_edges },
};

TAP_MAIN(cases)
