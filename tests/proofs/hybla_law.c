// SPDX-License-Identifier: GPL-2.0
/*
 * hybla_law.h: all round trips, rho of 1 to 4096, all windows; but for congestion
 * avoidance, where gain - gain / w * w is a product that no solver bounds in minutes.
 */
#include "proof.h"

static bool by_contract, by_remainder;
static u32 quotient_max;

/*
 * Slow start's quotient, as the lemma below says it is; congestion avoidance's, as the
 * language does: what it leaves is less than the divisor
 */
static inline u64 div_of_proof(u64 dividend, u32 divisor)
{
	u64 quotient = nondet_u32();

	CHECK(divisor);
	if (by_remainder) {
		quotient = nondet_u64();
		ASSUME(dividend - quotient * divisor < divisor);
		return quotient;
	}
	if (!by_contract)
		return div_u64(dividend, divisor);
	ASSUME(quotient <= quotient_max);
	return quotient;
}

#define div_u64 div_of_proof
#include "hetcc/hybla_law.h"
#undef div_u64

static bool is_state(const struct hybla_law *h)
{
	return h->rho >= HYBLA_LAW_RHO_ONE && h->rho <= HYBLA_LAW_RHO_MAX &&
	       h->ss_inc >= FIXED_EXP_ONE && h->ss_inc < FIXED_EXP_MAX &&
	       h->frac < FIXED_EXP_ONE;
}

static struct hybla_law any_state(void)
{
	struct hybla_law h = { nondet_u32(), nondet_u32(), nondet_u32(),
			       nondet_u32() };

	return h;
}

PROOF(set_rho)
{
	struct hybla_law h = any_state();

	ASSUME(is_state(&h) || (!h.rho && !h.frac));
	hybla_law_set_rho(&h, nondet_u32(), nondet_u32());
	CHECK(is_state(&h));
}

PROOF(scale)
{
	struct hybla_law h = any_state();

	ASSUME(is_state(&h));
	CHECK(hybla_law_scale(&h, nondet_u32()) <= HYBLA_LAW_CWND_MAX);
}

#ifdef __CPROVER__
__CPROVER_integer nondet_integer(void);

/* Of integers: what is left of the ACKs once ssthresh is reached is no more than there were */
LEMMA(left)
{
	__CPROVER_integer inc = nondet_integer(), acked = nondet_integer();
	__CPROVER_integer frac = nondet_integer(), left = nondet_integer();
	__CPROVER_integer zero = (__CPROVER_integer)0;

	ASSUME(acked >= zero && frac >= zero && frac < inc);
	ASSUME(left * inc <= inc * acked + frac);
	CHECK(left <= acked);
}
#endif

PROOF(slow_start)
{
	struct hybla_law h = any_state();
	u32 room = nondet_u32(), acked = nondet_u32(), was = acked, inc;

	ASSUME(is_state(&h));
	quotient_max = acked;
	by_contract = true;
	inc = hybla_law_ss(&h, room, &acked);
	CHECK(h.frac < FIXED_EXP_ONE && inc <= room && acked <= was);
}

/* Any window: what the division leaves, if it is what the language says */
TERMS(remainder)
{
	struct hybla_law h = any_state();
	u32 cwnd = nondet_u32(), acked = nondet_u32();

	by_remainder = true;
	hybla_law_ca(&h, cwnd, acked);
	CHECK(h.rem < clamp_t(u32, cwnd, 1, HYBLA_LAW_CWND_MAX));
}

/* As far as a SAT solver goes in seconds: rho up to 2, windows up to 2^5, one ACK */
PROOF(avoidance)
{
	struct hybla_law h = any_state();
	u32 cwnd = nondet_u32(), acked = nondet_u32();

	ASSUME(is_state(&h) && h.rho <= HYBLA_LAW_RHO_ONE << 1);
	ASSUME(cwnd && cwnd <= 1U << 5 && acked <= 1);
	hybla_law_ca(&h, cwnd, acked);
	CHECK(h.frac < FIXED_EXP_ONE && h.rem < cwnd);
}
