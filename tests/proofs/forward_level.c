// SPDX-License-Identifier: GPL-2.0
/*
 * forward_level.h: any state that it can have, any offset.
 *
 * Offsets are modulo 2^32:
 * wraps: forward_level_delay_us: off_us - e->base_us
 * wraps: forward_level_sample: off_us - e->min_us
 * wraps: forward_level_round: e->min_us + slack_us
 * wraps: forward_level_round: least_us - e->base_us
 * wraps: forward_level_learn: e->min_us - e->base_us
 * wraps: forward_level_learn: e->base_us - e->min_us
 * wraps: forward_level_learn: e->base_us + up_us
 * wraps: forward_level_raise_base: e->base_us + us
 */
#include "hetcc/forward_level.h"
#include "proof.h"

/* Fixed point of forward_level_noise(): spread / 8 is at most twice the noise */
#define SPREAD_MAX	(2 * FORWARD_LEVEL_NOISE_MAX_US << FORWARD_LEVEL_SPREAD_SHIFT)

static struct forward_level any_state(void)
{
	struct forward_level e = {
		.base_us = nondet_u32(), .min_us = nondet_u32(),
		.sent_pkts = nondet_u32(), .level_us = nondet_u32(),
		.pkts_ns = nondet_u32(),
		.primed = nondet_bool(), .fresh = nondet_bool(),
		.varies = nondet_bool(),
	};
	u32 spread = nondet_u32(), moves = nondet_u32();

	e.spread = spread % (SPREAD_MAX + 8);
	e.moves = moves % (SPREAD_MAX + 8);
	return e;
}

static bool is_state(const struct forward_level *e)
{
	return e->level_us <= FORWARD_LEVEL_MAX_US &&
	       e->spread < SPREAD_MAX + 8 && e->moves < SPREAD_MAX + 8;
}

PROOF(sample)
{
	struct forward_level e = any_state(), was = e;
	u32 off_us = nondet_u32(), sent_pkts = nondet_u32();

	ASSUME(is_state(&e));
	forward_level_sample(&e, off_us, sent_pkts);
	CHECK(is_state(&e) && e.primed && e.fresh);
	CHECK(e.base_us == (was.primed ? was.base_us : off_us));
	CHECK(e.min_us == off_us || (was.fresh && e.min_us == was.min_us));
	CHECK(e.min_us != off_us || e.sent_pkts == sent_pkts ||
	      (was.fresh && was.min_us == off_us));
	forward_level_reset(&e);
	CHECK(!e.primed && !e.fresh);
	forward_level_prime(&e, off_us);
	CHECK(e.primed && !e.fresh && e.base_us == off_us);
}

PROOF(round)
{
	struct forward_level e = any_state(), was = e;
	bool done;

	ASSUME(is_state(&e));
	done = forward_level_round(&e);
	CHECK(done == was.fresh && !e.fresh && is_state(&e));
	CHECK(e.base_us == was.base_us || (e.base_us == was.min_us && !e.varies));
}

PROOF(noise)
{
	struct forward_level e = any_state(), was = e;
	u32 last_us = nondet_u32();

	ASSUME(is_state(&e) && last_us <= FORWARD_LEVEL_MAX_US);
	forward_level_noise(&e, last_us, nondet_u32());
	CHECK(is_state(&e));
	/* CBMC does not see that a bit field is too narrow; here it would */
	CHECK(e.spread >= was.spread - was.spread / 8);
	CHECK(SPREAD_MAX < 1U << 27);
	CHECK(forward_level_noise_us(&e) <= 2 * FORWARD_LEVEL_NOISE_MAX_US);
}

PROOF(moved)
{
	struct forward_level e = any_state();
	u32 last_us = nondet_u32();

	ASSUME(is_state(&e) && last_us <= FORWARD_LEVEL_MAX_US);
	forward_level_moved(&e, last_us);
	CHECK(is_state(&e));
	CHECK(forward_level_moves_us(&e) <= 2 * FORWARD_LEVEL_NOISE_MAX_US);
	CHECK(!forward_level_of_path(&e) || e.moves < e.spread);
}

/* The base moves towards the least offset of the round, and not beyond it */
PROOF(learn)
{
	struct forward_level e = any_state(), was = e, wraps = e;

	ASSUME(is_state(&e));
	forward_level_learn(&wraps);
	CHECK(is_state(&wraps) && wraps.varies);
	ASSUME(was.base_us < 1U << 31 && was.min_us < 1U << 31);
	forward_level_learn(&e);
	CHECK(was.min_us < was.base_us ?
	      e.base_us >= was.min_us && e.base_us <= was.base_us :
	      e.base_us <= was.min_us && e.base_us >= was.base_us);
}

PROOF(raise_base)
{
	struct forward_level e = any_state(), was = e;
	u32 us = nondet_u32();

	ASSUME(is_state(&e));
	forward_level_raise_base(&e, us);
	CHECK(is_state(&e) && e.level_us <= was.level_us);
}

PROOF(service)
{
	struct forward_level e = any_state(), was = e;
	u32 us = nondet_u32(), pkts = nondet_u32();

	forward_level_service(&e, us, pkts);
	CHECK(!pkts || e.pkts_ns);
	CHECK(!was.pkts_ns || e.pkts_ns);
	/* What is known grows by a 16th at most */
	CHECK(!was.pkts_ns || e.pkts_ns <= was.pkts_ns ||
	      e.pkts_ns - was.pkts_ns <= was.pkts_ns / 16);
}
