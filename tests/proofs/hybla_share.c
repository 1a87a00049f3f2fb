// SPDX-License-Identifier: GPL-2.0
/*
 * hybla_share.h: any state, windows and rho as it says.
 *
 * Counts of segments are modulo 2^32:
 * wraps: hybla_share_ack: delivered - s->end
 * wraps: hybla_share_ack: delivered + tmp
 */
#include "hetcc/hybla_share.h"
#include "proof.h"

static struct hybla_share any_state(void)
{
	struct hybla_share s = {
		nondet_u64(), nondet_u32(), nondet_u32(), nondet_u32(),
		nondet_u32(), nondet_u32(), nondet_u32(), nondet_u32(),
		nondet_bool(), nondet_bool(), nondet_u8(),
	};

	return s;
}

static u32 any_rho(void)
{
	u32 rho = nondet_u32();

	return clamp(rho, HYBLA_LAW_RHO_ONE, HYBLA_LAW_RHO_MAX);
}

PROOF(ack)
{
	struct hybla_share s = any_state();
	u32 flight = nondet_u32();

	hybla_share_begin(&s, nondet_u32());
	CHECK(s.since == U32_MAX && !s.size);
	s = any_state();
	if (hybla_share_ack(&s, nondet_u32(), flight, nondet_u32(), nondet_u32()))
		CHECK(s.size == flight && !s.lost && !s.waited &&
		      s.rounds <= HYBLA_SHARE_STEPS * HYBLA_SHARE_STEP_ROUNDS);
	hybla_share_marked(&s);
	hybla_share_full(&s, nondet_u32());
}

/* Steps of all rounds: grow() has the first only */
PROOF(gain)
{
	struct hybla_share s = any_state();
	u32 wnd = nondet_u32(), rho = any_rho();
	u64 gain;

	ASSUME(wnd && wnd <= HYBLA_LAW_CWND_MAX);
	ASSUME(s.rounds <= HYBLA_SHARE_STEPS * HYBLA_SHARE_STEP_ROUNDS);
	gain = hybla_share_gain(&s, wnd, rho);
	CHECK(gain >= rho && gain <= 1ULL << 35);
}

/* As far as a SAT solver goes in seconds: rho up to 4, windows up to 2^8, 2^4 ACKs */
PROOF(grow)
{
	struct hybla_share s = any_state();
	u32 wnd = nondet_u32(), acked = nondet_u32();
	u32 rho = any_rho();

	ASSUME(rho <= HYBLA_LAW_RHO_ONE << 2 && acked <= 1U << 4);
	ASSUME(wnd && wnd <= 1U << 8);
	ASSUME(s.rounds < HYBLA_SHARE_STEP_ROUNDS);
	hybla_share_grow(&s, wnd, acked, rho);
	CHECK(s.rem < (u64)wnd << HYBLA_LAW_RHO_SHIFT);
}

PROOF(cut)
{
	struct hybla_share s = any_state();
	u32 wnd = nondet_u32(), acked = nondet_u32(), lost = nondet_u32();
	u32 rho = any_rho(), cut_milli = nondet_u32(), pkts;

	ASSUME(cut_milli >= 1 && cut_milli <= 1000 && s.frac < HYBLA_SHARE_ONE);
	pkts = hybla_share_cut(&s, wnd, acked, lost, rho, cut_milli);
	CHECK(pkts <= wnd / 2 && s.frac < HYBLA_SHARE_ONE);
	CHECK(lost || !pkts);
	CHECK(!pkts || hybla_share_repairs(&s, wnd, rho));
}

PROOF(full)
{
	struct hybla_share s = { .calm = nondet_bool() };
	bool full = nondet_bool();

	hybla_share_set_full(&s, full);
	CHECK(hybla_share_is_full(&s) == full);
	CHECK(hybla_share_no_queue(&s) == (s.calm && !full));
}
