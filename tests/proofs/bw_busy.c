// SPDX-License-Identifier: GPL-2.0
/*
 * bw_busy.h: any state, all arguments that it allows, on what ewma.c proves of the average.
 *
 * Times are modulo 2^32:
 * wraps: bw_busy_run: b->ack_us - b->run.ack_us
 * wraps: bw_busy_run: a->now_us - b->ack_us
 * wraps: bw_busy_round: b->ack_us - b->round.ack_us
 * wraps: bw_busy_run_add: a->now_us - b->run.from_us
 * wraps: bw_busy_round: b->sent_us - b->round.from_us
 * wraps: bw_busy_round: (s32)sent_us
 * wraps: bw_busy_round: a->now_us - b->ack_us
 * wraps: bw_busy_begin: a->now_us - a->rtt_us
 * wraps: bw_busy_add: a->now_us - a->rtt_us
 * wraps: bw_busy_add: a->now_us - b->ack_us
 * wraps: bw_busy_add: sent_us - b->sent_us
 */
#include "ewma_contract.h"
#include "hetcc/bw_busy.h"

static struct bw_busy_stretch any_stretch(void)
{
	struct bw_busy_stretch s = { nondet_u32(), nondet_u32(), nondet_u32(),
				     nondet_u32() };

	return s;
}

static inline __attribute__((always_inline)) struct bw_busy any_state(void)
{
	struct bw_busy b = {
		.avg = { nondet_u64() }, .run = any_stretch(),
		.round = any_stretch(), .ack_us = nondet_u32(),
		.sent_us = nondet_u32(), .queue_us = nondet_u32(),
		.low_us = nondet_u32(), .standing_us = nondet_u32(),
		.running = nondet_bool(), .limited = nondet_bool(),
		.proven = nondet_bool(), .waited = nondet_bool(),
		.no_queue = nondet_bool(),
	};
	u32 lost = nondet_u32(), wary = nondet_u32();

	b.lost = lost % (BW_BUSY_LOST_MAX + 1);
	b.wary = wary % (BW_BUSY_WARY + 1);
	return b;
}

PROOF(add)
{
	struct bw_busy b = any_state();
	struct bw_busy_ack a = {
		.now_us = nondet_u32(), .bytes = nondet_u32(),
		.lost = nondet_u32(), .rtt_us = nondet_u32(),
		.rtt_min_us = nondet_u32(), .wait_us = nondet_u32(),
		.train_us = nondet_u32(), .alpha_permille = nondet_u32(),
		.limited = nondet_bool(),
	};

	ASSUME(b.avg.scaled <= EWMA_MAX << EWMA_SHIFT && a.alpha_permille <= 999);
	bw_busy_add(&b, &a);
	CHECK(b.running || !a.rtt_us);
	CHECK(bw_busy_get(&b) <= EWMA_MAX);
}

PROOF(rest)
{
	struct bw_busy b = any_state();

	CHECK(bw_busy_standing_us(&b) <= b.low_us);
	CHECK(!bw_busy_no_queue(&b) || !b.waited);
	CHECK(bw_busy_lost_bytes(&b) <= (u64)BW_BUSY_LOST_MAX << BW_BUSY_LOST_SHIFT);
	bw_busy_congested(&b);
	CHECK(b.wary == BW_BUSY_WARY);
	bw_busy_pause(&b);
	CHECK(!b.running);
}
