// SPDX-License-Identifier: GPL-2.0
/* loss_delay.h: any state that it can have, all arguments that it allows. */
#include "hetcc/loss_delay.h"
#include "proof.h"

static struct loss_delay any_state(void)
{
	struct loss_delay e = {
		.long_us = nondet_u32(), .high_us = nondet_u32(),
		.hole_us = nondet_u32(), .pkts = nondet_u16(),
		.lost = nondet_u16(), .doubt = nondet_u16(),
		.hole = nondet_bool(), .counted = nondet_bool(),
	};
	u8 full = nondet_u8();

	e.full = full;
	return e;
}

static bool is_state(const struct loss_delay *e)
{
	return e->long_us <= 1U << 31 && e->pkts <= LOSS_DELAY_PKTS_MAX &&
	       e->lost <= LOSS_DELAY_PKTS_MAX &&
	       e->doubt <= LOSS_DELAY_PKTS_MAX && e->full <= LOSS_DELAY_ONE;
}

PROOF(init)
{
	struct loss_delay e = { 0 };

	loss_delay_init(&e);
	CHECK(is_state(&e) && loss_delay_full(&e) && !loss_delay_heavy(&e));
}

PROOF(sample)
{
	struct loss_delay e = any_state(), was = e;
	u32 rtt_us = nondet_u32(), pkts = nondet_u32(), window = nondet_u32();

	ASSUME(is_state(&e) && window && pkts && pkts <= 1U << 31);
	ASSUME(rtt_us && rtt_us <= 1U << 31);
	loss_delay_sample(&e, rtt_us, pkts, window, nondet_bool());
	CHECK(is_state(&e));
	CHECK(e.long_us >= min(was.long_us, rtt_us) || !was.long_us);
	CHECK(e.long_us <= max(was.long_us, rtt_us));
}

PROOF(lost)
{
	struct loss_delay e = any_state(), was = e;
	u32 rtt_us = nondet_u32(), min_us = nondet_u32(), pkts = nondet_u32();

	ASSUME(is_state(&e) && pkts <= 1U << 30);
	loss_delay_lost(&e, rtt_us, min_us, pkts);
	CHECK(is_state(&e) && e.counted);
	CHECK(e.lost >= was.lost && e.doubt >= was.doubt);
	CHECK(e.doubt - was.doubt <= e.lost - was.lost || e.lost == LOSS_DELAY_PKTS_MAX);
	CHECK(!was.counted || e.full == was.full);
	CHECK(e.full >= was.full - was.full / 8);
}

PROOF(judge)
{
	struct loss_delay e = any_state();
	bool random;

	ASSUME(is_state(&e));
	random = loss_delay_random(&e);
	CHECK(!random || !loss_delay_full(&e));
	CHECK(e.lost > 1 || e.doubt > 1 || !loss_delay_heavy(&e));
}

PROOF(round)
{
	struct loss_delay e = any_state(), was = e;
	u32 level_us = nondet_u32();

	ASSUME(is_state(&e));
	loss_delay_round(&e, level_us, nondet_u32());
	CHECK(is_state(&e) && !e.counted);
	CHECK(e.high_us <= max(was.high_us, level_us));
	/* Counts die out */
	CHECK(was.lost ? e.lost < was.lost : !e.lost);
	CHECK(was.pkts ? e.pkts < was.pkts : !e.pkts);
	CHECK(was.doubt ? e.doubt < was.doubt : !e.doubt);
}
