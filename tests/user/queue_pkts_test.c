// SPDX-License-Identifier: GPL-2.0
/*
 * queue_pkts.h: equations 3 and 4, at their edges and against the paper's.
 */
#include "hetcc/queue_pkts.h"
#include "ref_model.h"
#include "tap.h"

#define ROUNDS		100000

static void test_pkts_edges(void)
{
	static const struct {
		u32 from_us, to_us, pkts, want;
	} rows[] = {
		{ 0, 0, 10, 0 },
		{ 0, 1000, 0, 0 },
		{ 1000, 999, 10, 0 },
		{ 0, 1U << 31, 1, 0 },
		{ 0, 1000, 1, 1000000 },
		{ 0, 1000, 3, 333333 },
		{ 0, 1, U32_MAX, 1 },
		{ U32_MAX, 999, 2, 500000 },
		{ 0, S32_MAX, 1, U32_MAX },
		{ 0, S32_MAX, 1000, S32_MAX },
		{ 5000000, 4294967 + 5000000, 1, 4294967000U },
		{ 0, 4294968, 1, U32_MAX },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 from = prng_u32();
		struct queue_pkts_span s = { rows[i].from_us, from };

		EXPECT_EQ(queue_pkts_service_ns(&s, rows[i].to_us,
						from + rows[i].pkts), rows[i].want,
			  "from %u to %u us, %u packets", rows[i].from_us,
			  rows[i].to_us, rows[i].pkts);
	}
}

static void test_to_pkts_edges(void)
{
	static const struct {
		s32 d_us;
		u32 pkts_ns;
		s32 want;
	} rows[] = {
		{ 0, 1, 0 },
		{ 1000, 0, 0 },
		{ -S32_MAX - 1, 0, 0 },
		{ 1000, 1000000, QUEUE_PKTS_ONE },
		{ -1000, 1000000, -QUEUE_PKTS_ONE },
		{ 1, 1000000000, 0 },
		{ -1, 1000000000, 0 },
		{ 8388607, 1000, 8388607 * QUEUE_PKTS_ONE },
		{ 8388608, 1000, QUEUE_PKTS_MAX },
		{ -8388608, 1000, -QUEUE_PKTS_MAX },
		/* |d| < 2^31 us: times 1000 * 2^8 < 2^49 */
		{ S32_MAX, 1, QUEUE_PKTS_MAX },
		{ S32_MAX, U32_MAX, 127999 },
		{ -S32_MAX - 1, 1, -QUEUE_PKTS_MAX },
		{ -S32_MAX - 1, U32_MAX, -128000 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		EXPECT_EQ_S(queue_pkts_from_us(rows[i].d_us, rows[i].pkts_ns),
			    rows[i].want, "%d us, pktS %u ns", rows[i].d_us,
			    rows[i].pkts_ns);
}

static void test_to_pkts_random(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		s32 d_us = (s32)prng_log32(1, S32_MAX) * (i % 2 ? 1 : -1);
		u32 pkts_ns = prng_log32(1, U32_MAX);
		double want = ref_santacruz_eq4(d_us * 1000.0, pkts_ns);

		want = clamp(want, -8388608.0, 8388608.0);
		EXPECT_NEAR((double)queue_pkts_from_us(d_us, pkts_ns) /
			    QUEUE_PKTS_ONE, want, 1.0 / QUEUE_PKTS_ONE,
			    "%d us, pktS %u ns", d_us, pkts_ns);
	}
}

static const struct tap_case cases[] = {
	{ "equation 3: edges, zero divisor, wrap", test_pkts_edges },
	{ "equation 4: edges, zero divisor, saturation", test_to_pkts_edges },
	{ "equation 4 on random operands", test_to_pkts_random },
};

TAP_MAIN(cases)
