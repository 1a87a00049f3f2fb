// SPDX-License-Identifier: GPL-2.0
/* loss_delay.h: any state that it can have, all arguments that it allows. */
#include "hetcc/loss_delay.h"
#include "proof.h"

static struct loss_delay any_state(void)
{
	struct loss_delay e = {
		.high_us = nondet_u32(), .sum_us = nondet_u32(),
		.pkts = nondet_u16(), .lost = nondet_u16(),
		.doubt = nondet_u16(), .hole = nondet_bool(),
		.told = nondet_bool(), .hole_low = nondet_bool(),
		.hole_below = nondet_bool(),
	};
	u8 below = nondet_u8();

	e.below = below;
	return e;
}

static bool is_state(const struct loss_delay *e)
{
	return e->sum_us <= 4 * LOSS_DELAY_WAIT_MAX_US &&
	       e->pkts <= LOSS_DELAY_PKTS_MAX &&
	       e->lost <= LOSS_DELAY_PKTS_MAX &&
	       e->doubt <= LOSS_DELAY_PKTS_MAX && e->below <= LOSS_DELAY_ONE;
}

PROOF(start)
{
	struct loss_delay e = { 0 };

	loss_delay_init(&e);
	CHECK(is_state(&e) && !loss_delay_of_link(&e) && !loss_delay_heavy(&e));
}

PROOF(sample)
{
	struct loss_delay e = any_state();
	u32 wait_us = nondet_u32(), pkts = nondet_u32();
	bool hole = nondet_bool();

	ASSUME(is_state(&e) && pkts);
	loss_delay_sample(&e, wait_us, pkts, hole);
	CHECK(is_state(&e) && e.pkts && e.hole == hole && (hole || !e.told));
}

PROOF(lost)
{
	struct loss_delay e = any_state(), was = e;
	u32 wait_us = nondet_u32(), min_us = nondet_u32();
	u32 gap_us = nondet_u32(), pkts = nondet_u32();
	bool link;

	ASSUME(is_state(&e) && pkts);
	link = loss_delay_lost(&e, wait_us, min_us, gap_us, pkts);
	CHECK(is_state(&e));
	CHECK(e.lost > was.lost || e.lost == LOSS_DELAY_PKTS_MAX);
	CHECK(e.doubt == was.doubt || !link);
	/* CBMC does not see that a bit field is too narrow; here it would */
	CHECK(e.below >= was.below - was.below / 16);
}

PROOF(judge)
{
	struct loss_delay e = any_state();

	ASSUME(is_state(&e));
	CHECK(e.lost > 1 || e.doubt > 1 || !loss_delay_heavy(&e));
	CHECK(e.below || !loss_delay_of_link(&e));
}

PROOF(answered)
{
	struct loss_delay e = any_state(), was = e;

	ASSUME(is_state(&e));
	loss_delay_answered(&e);
	CHECK(is_state(&e) && !loss_delay_heavy(&e));
	CHECK(e.below == was.below && e.pkts == was.pkts);
}

PROOF(round)
{
	struct loss_delay e = any_state(), was = e;
	u32 level_us = nondet_u32(), wait_us = nondet_u32();

	ASSUME(is_state(&e));
	loss_delay_round(&e, level_us, wait_us, nondet_u32());
	CHECK(is_state(&e));
	CHECK(loss_delay_mean_us(&e) <=
	      max(loss_delay_mean_us(&was), wait_us));
	CHECK(loss_delay_mean_us(&e) >=
	      min(loss_delay_mean_us(&was), min_t(u32, wait_us, LOSS_DELAY_WAIT_MAX_US)));
	CHECK(e.high_us <= max(was.high_us, level_us));
	/* Counts die out */
	CHECK(was.lost ? e.lost < was.lost : !e.lost);
	CHECK(was.pkts ? e.pkts < was.pkts : !e.pkts);
	CHECK(was.doubt ? e.doubt < was.doubt : !e.doubt);
}
