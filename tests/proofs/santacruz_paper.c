// SPDX-License-Identifier: GPL-2.0
/*
 * santacruz_paper.h: any state that it can have, any times, any parameters.
 *
 * Times of both clocks and counts of packets are modulo 2^32:
 * wraps: santacruz_paper_relative_us: r_us - e->r_us
 * wraps: santacruz_paper_relative_us: s_us - e->s_us
 * wraps: queue_pkts_service_ns: r_us - s->r_us
 * wraps: queue_pkts_service_ns: delivered - s->delivered
 * wraps: queue_pkts_service_ns: (s32)span_us
 * wraps: santacruz_paper_begin: delivered +
 * wraps: santacruz_paper_reached: delivered - mark
 */
#include "hetcc/santacruz_paper.h"
#include "proof.h"

/* Parameters of the module: at most 1000 packets */
#define PARAM_MAX	(1000 * QUEUE_PKTS_ONE)
#define TICK_MAX_US	1000000U
#define WINDOW_MAX	((u32)1 << 30)

/* BPF has no return of a structure of this size */
static void any_state(struct santacruz_paper *e)
{
	u32 count = nondet_u32(), mode = nondet_u32();

	*e = (struct santacruz_paper){
		.s_us = nondet_u32(), .r_us = nondet_u32(),
		.iv = { nondet_u32(), nondet_u32() },
		.pkts_ns = nondet_u32(), .d_us = nondet_s32(),
		.sum_us = nondet_s32(), .n = nondet_s32(),
		.half = nondet_u32(), .end = nondet_u32(),
		.primed = nondet_bool(), .fresh = nondet_bool(),
		.startup = nondet_bool(),
		.count = count % (SANTACRUZ_PAPER_CONGESTED + 1),
		.mode = mode % (SANTACRUZ_PAPER_LOWER + 1),
	};
}

static bool is_state(const struct santacruz_paper *e)
{
	return e->sum_us >= -S32_MAX && e->n >= -QUEUE_PKTS_MAX &&
	       e->count <= SANTACRUZ_PAPER_CONGESTED &&
	       e->mode <= SANTACRUZ_PAPER_LOWER;
}

PROOF(sample)
{
	struct santacruz_paper e, was;
	u32 r_us = nondet_u32();

	any_state(&e);
	was = e;
	ASSUME(is_state(&e));
	santacruz_paper_sample(&e, nondet_u32(), r_us, nondet_u32());
	CHECK(is_state(&e) && e.primed && e.fresh && e.r_us == r_us);
	CHECK(was.primed || (!e.d_us && e.sum_us == was.sum_us));
}

PROOF(startup_over)
{
	struct santacruz_paper e;
	s32 n_op = nondet_s32();
	bool over;

	any_state(&e);
	ASSUME(is_state(&e) && n_op >= 0 && n_op <= PARAM_MAX);
	over = santacruz_paper_startup_over(&e, nondet_u32(), n_op);
	CHECK(!over || e.fresh || e.pkts_ns);
}

PROOF(choose)
{
	s32 n = nondet_s32(), n_op = nondet_s32(), delta = nondet_s32();
	u8 mode;

	ASSUME(n_op >= 0 && n_op <= PARAM_MAX && delta >= 0 && delta <= PARAM_MAX);
	mode = santacruz_paper_choose(n, n_op, delta);
	CHECK(mode != SANTACRUZ_PAPER_LOWER || n > n_op);
	CHECK(mode != SANTACRUZ_PAPER_RAISE || n <= max(n_op, 0));
	CHECK(n >= 1 || n + delta >= n_op || mode == SANTACRUZ_PAPER_RAISE);
}

PROOF(interval)
{
	struct santacruz_paper e, was;
	s32 n_op = nondet_s32(), delta = nondet_s32();
	u32 tick_us = nondet_u32();
	bool done;

	any_state(&e);
	was = e;
	ASSUME(is_state(&e) && tick_us <= TICK_MAX_US);
	ASSUME(n_op >= 0 && n_op <= PARAM_MAX && delta >= 0 && delta <= PARAM_MAX);
	done = santacruz_paper_interval(&e, nondet_u32(), n_op, delta, tick_us);
	CHECK(is_state(&e) && done == was.fresh && !e.fresh);
	CHECK(e.count <= was.count + 1);
	CHECK(!e.count || !done || e.n > was.n);
	CHECK(santacruz_paper_congested(&e) == (e.count == 2));
}

PROOF(step)
{
	struct santacruz_paper e;
	u32 delivered = nondet_u32(), window = nondet_u32(), left, pkts = nondet_u32();
	bool limited = nondet_bool();

	any_state(&e);
	ASSUME(is_state(&e) && window <= WINDOW_MAX && pkts <= WINDOW_MAX);
	santacruz_paper_begin(&e, nondet_u32(), pkts);
	left = santacruz_paper_step(&e, delivered, window, limited);
	CHECK(is_state(&e));
	CHECK(left <= window + 1 && left + 1 >= window);
	CHECK(left >= min(window, SANTACRUZ_PAPER_WINDOW_MIN));
	/* Once an interval */
	CHECK(left == window || santacruz_paper_step(&e, delivered, left, limited) == left);
}

PROOF(reduce)
{
	struct santacruz_paper e;
	u32 window = nondet_u32(), left = santacruz_paper_half(window);

	any_state(&e);
	CHECK(left >= SANTACRUZ_PAPER_WINDOW_MIN);
	CHECK(left <= max(window / 2, SANTACRUZ_PAPER_WINDOW_MIN));
	santacruz_paper_timeout(&e);
	CHECK(e.startup && !santacruz_paper_congested(&e));
}
