// SPDX-License-Identifier: GPL-2.0
/* loss_delay.h: any state that it can have, all arguments that it allows. */
#include "hetcc/loss_delay.h"
#include "proof.h"

static inline __attribute__((always_inline)) struct loss_delay any_state(void)
{
	u16 pkts = nondet_u16(), lost = nondet_u16(), gap = nondet_u16();
	u8 below = nondet_u8(), since = nondet_u8(), least = nondet_u8();
	u32 high_us = nondet_u32();
	s32 votes = nondet_s32();
	struct loss_delay e = {
		.sum_us = nondet_u32(),
		.hole = nondet_bool(), .told = nondet_bool(),
		.doubt = nondet_bool(), .hole_below = nondet_bool(),
		.hole_low = nondet_bool(), .hole_near = nondet_bool(),
		.stands = nondet_bool(),
	};

	/* CBMC does not see that a bit field is too narrow; here it would */
	ASSUME(pkts <= LOSS_DELAY_PKTS_MAX && lost <= LOSS_DELAY_PKTS_MAX);
	ASSUME(gap <= LOSS_DELAY_GAP_MAX << LOSS_DELAY_GAP_SHIFT);
	ASSUME(since <= LOSS_DELAY_GAP_MAX);
	ASSUME(votes >= -LOSS_DELAY_VOTES_MAX && votes <= LOSS_DELAY_VOTES_MAX);
	ASSUME(high_us <= LOSS_DELAY_WAIT_MAX_US);
	ASSUME(least == LOSS_DELAY_LEAST_NONE || least <= loss_delay_coarse(LOSS_DELAY_WAIT_MAX_US));
	e.high_us = high_us;
	e.least = least;
	e.pkts = pkts;
	e.lost = lost;
	e.gap_pkts = gap;
	e.below = below;
	e.since_pkts = since;
	e.votes = votes;
	CHECK(e.high_us == high_us && e.least == least);
	CHECK(e.pkts == pkts && e.lost == lost && e.gap_pkts == gap &&
	      e.below == below && e.since_pkts == since && e.votes == votes);
	return e;
}

static bool is_state(const struct loss_delay *e)
{
	return loss_delay_mean_us(e) <= LOSS_DELAY_WAIT_MAX_US &&
	       (e->least == LOSS_DELAY_LEAST_NONE ||
		e->least <= loss_delay_coarse(LOSS_DELAY_WAIT_MAX_US)) &&
	       e->pkts <= LOSS_DELAY_PKTS_MAX &&
	       e->lost <= LOSS_DELAY_PKTS_MAX &&
	       e->gap_pkts <= LOSS_DELAY_GAP_MAX << LOSS_DELAY_GAP_SHIFT &&
	       e->votes >= -LOSS_DELAY_VOTES_MAX && e->votes <= LOSS_DELAY_VOTES_MAX &&
	       e->below <= LOSS_DELAY_ONE;
}

PROOF(start)
{
	struct loss_delay e = { 0 };

	loss_delay_init(&e);
	CHECK(is_state(&e) && !loss_delay_of_link(&e) && !loss_delay_heavy(&e));
}

PROOF(coarse)
{
	u32 us = nondet_u32(), more_us = nondet_u32(), fine_us = loss_delay_fine(loss_delay_coarse(us));

	CHECK(fine_us <= us && us - fine_us <= us / 8);
	CHECK(loss_delay_coarse(us) < LOSS_DELAY_LEAST_NONE);
	CHECK(us > more_us || loss_delay_coarse(us) <= loss_delay_coarse(more_us));
}

PROOF(wait)
{
	struct loss_delay e = any_state();
	u32 wait_us = nondet_u32(), was_us, most_us;

	ASSUME(is_state(&e));
	was_us = loss_delay_mean_us(&e);
	most_us = min_t(u32, wait_us, LOSS_DELAY_WAIT_MAX_US);
	loss_delay_wait(&e, wait_us);
	CHECK(is_state(&e));
	CHECK(loss_delay_mean_us(&e) <= max(was_us, most_us));
	CHECK(loss_delay_mean_us(&e) >= min(was_us, most_us));
}

PROOF(sample)
{
	struct loss_delay e = any_state();
	u32 wait_us = nondet_u32(), pkts = nondet_u32(), gap_us = nondet_u32();
	bool hole = nondet_bool();

	ASSUME(is_state(&e) && pkts);
	loss_delay_sample(&e, wait_us, pkts, hole, gap_us);
	CHECK(is_state(&e) && e.pkts && e.hole == hole && (hole || !e.told));
}

PROOF(lost)
{
	struct loss_delay e = any_state(), was = e;
	u32 wait_us = nondet_u32(), min_us = nondet_u32();
	u32 gap_us = nondet_u32(), pkts = nondet_u32();
	bool empty = nondet_bool(), doubling = nondet_bool(), link;

	ASSUME(is_state(&e) && pkts);
	link = loss_delay_lost(&e, wait_us, min_us, gap_us, pkts, empty, doubling);
	CHECK(link || !empty);
	CHECK(is_state(&e));
	CHECK(e.lost > was.lost || e.lost == LOSS_DELAY_PKTS_MAX);
	CHECK(e.gap_pkts == was.gap_pkts || (!link && e.doubt && !was.doubt));
	CHECK(e.below == was.below);
	CHECK(!doubling || e.votes <= was.votes);
}

PROOF(judge)
{
	struct loss_delay e = any_state();

	ASSUME(is_state(&e));
	CHECK(e.lost > LOSS_DELAY_CHANCE || loss_delay_often(&e) || !loss_delay_heavy(&e));
	CHECK(!loss_delay_often(&e) || e.gap_pkts < LOSS_DELAY_OFTEN_PKTS << LOSS_DELAY_GAP_SHIFT);
	CHECK(loss_delay_share(&e) <= LOSS_DELAY_ONE);
	CHECK(!loss_delay_open(&e) || e.hole_near);
	CHECK(!loss_delay_clear(&e) || (loss_delay_of_link(&e) && !loss_delay_often(&e)));
}

PROOF(answered)
{
	struct loss_delay e = any_state(), was = e;

	ASSUME(is_state(&e));
	loss_delay_answered(&e);
	CHECK(is_state(&e) && loss_delay_heavy(&e) == loss_delay_often(&e));
	CHECK(e.below == was.below && e.pkts == was.pkts);
}

PROOF(round)
{
	struct loss_delay e = any_state(), was = e;
	u32 level_us = nondet_u32(), pkts = nondet_u32(), own_us = nondet_u32();

	ASSUME(is_state(&e) && level_us <= LOSS_DELAY_WAIT_MAX_US);
	loss_delay_round(&e, level_us, own_us, pkts);
	CHECK(is_state(&e) && !e.doubt && !e.votes);
	CHECK(e.below >= was.below - (was.below + 8) / 16);
	CHECK(e.below <= was.below + LOSS_DELAY_ONE / 16);
	CHECK(e.high_us <= max_t(u32, was.high_us, level_us));
	CHECK(loss_delay_mean_us(&e) <= max(max(loss_delay_mean_us(&was), level_us),
					    loss_delay_fine(was.least)));
	CHECK(pkts < LOSS_DELAY_ROUND_PKTS || loss_delay_mean_us(&e) >= level_us);
	/* Counts die out */
	CHECK(was.lost ? e.lost < was.lost : !e.lost);
	CHECK(was.pkts ? e.pkts < was.pkts : !e.pkts);
}
