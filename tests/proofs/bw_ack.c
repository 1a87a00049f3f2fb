// SPDX-License-Identifier: GPL-2.0
/*
 * bw_ack.h: any state, all arguments, on what ewma.c proves of the average.
 *
 * Times are modulo 2^32:
 * wraps: bw_ack_add: now_us - b->start_us
 */
#include "ewma_contract.h"
#include "hetcc/bw_ack.h"

PROOF(add)
{
	struct bw_ack b = {
		.avg = { nondet_u64() }, .start_us = nondet_u32(),
		.bytes = nondet_u32(), .running = nondet_bool(),
		.limited = nondet_bool(),
	};
	u32 now_us = nondet_u32(), bytes = nondet_u32();
	u32 interval_us = nondet_u32(), alpha_permille = nondet_u32();

	ASSUME(b.avg.scaled <= EWMA_MAX << EWMA_SHIFT && alpha_permille <= 999);
	bw_ack_add(&b, now_us, bytes, interval_us, alpha_permille,
		   nondet_bool());
	CHECK(b.running && b.avg.scaled <= EWMA_MAX << EWMA_SHIFT);
	CHECK(bw_ack_get(&b) <= EWMA_MAX);
	bw_ack_pause(&b);
	CHECK(!b.running && !b.bytes);
}
