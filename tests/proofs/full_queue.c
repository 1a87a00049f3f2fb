// SPDX-License-Identifier: GPL-2.0
/* full_queue.h: any state that it can have, all waits and losses. */
#include "hetcc/full_queue.h"
#include "proof.h"

static bool is_state(const struct full_queue *q)
{
	return q->mean >> FULL_QUEUE_MEAN_SHIFT <= q->high &&
	       q->bits >= -FULL_QUEUE_MAX &&
	       q->bits <= FULL_QUEUE_MAX;
}

static inline __attribute__((always_inline)) struct full_queue any_state(void)
{
	struct full_queue q = {
		.mean = nondet_u32(), .last = nondet_u16(),
		.edge = nondet_u16(), .high = nondet_u16(),
		.rate = nondet_u16(), .bits = nondet_s32(),
		.shift = nondet_u16(), .gap = nondet_bool(),
		.told = nondet_bool(), .low = nondet_u16(),
		.stood = nondet_u16(),
	};

	return q;
}

PROOF(init)
{
	struct full_queue q;

	full_queue_init(&q);
	CHECK(is_state(&q) && full_queue_may_be(&q) && !full_queue_is_it(&q));
}

PROOF(add)
{
	struct full_queue q = any_state();

	ASSUME(is_state(&q));
	full_queue_add(&q, nondet_u32(), nondet_u32(), nondet_bool(),
		       nondet_bool());
	CHECK(is_state(&q));
}

PROOF(lost)
{
	struct full_queue q = any_state();

	ASSUME(is_state(&q));
	full_queue_lost(&q, nondet_bool());
	CHECK(is_state(&q));
}

PROOF(size)
{
	struct full_queue q = any_state();
	u32 pkts = nondet_u32();

	full_queue_size(&q, pkts);
	CHECK(FULL_QUEUE_PKTS_SHIFT + q.shift <= FULL_QUEUE_PKTS_SHIFT_MAX);
	CHECK(pkts >> (FULL_QUEUE_PKTS_SHIFT + q.shift) == 0 ||
	      FULL_QUEUE_PKTS_SHIFT + q.shift == FULL_QUEUE_PKTS_SHIFT_MAX);
}

PROOF(round)
{
	struct full_queue q = any_state();
	u16 high = q.high;
	int bits = q.bits;
	u32 unit_bytes = nondet_u32();

	ASSUME(is_state(&q) && unit_bytes);
	full_queue_round(&q, nondet_u32(), nondet_u32(), unit_bytes);
	CHECK(is_state(&q) && q.high <= high && q.bits <= bits);
}

PROOF(catch_up)
{
	struct full_queue q = any_state();
	u32 mean = q.mean;

	ASSUME(is_state(&q));
	full_queue_catch_up(&q);
	CHECK(is_state(&q) && q.mean >= mean);
}

/* What is full may be full, unless it is the ceiling that says so */
PROOF(says)
{
	struct full_queue q = any_state();

	ASSUME(is_state(&q));
	CHECK(full_queue_may_be(&q) || !full_queue_is_it(&q) ||
	      q.rate > FULL_QUEUE_CEILING);
	CHECK(full_queue_is_here(&q) || q.rate <= FULL_QUEUE_CEILING);
}

PROOF(is_short)
{
	struct full_queue q = any_state();
	u32 min_us = nondet_u32(), wait_us = nondet_u32();

	CHECK(full_queue_is_short(&q, min_us, wait_us) || q.high);
}
