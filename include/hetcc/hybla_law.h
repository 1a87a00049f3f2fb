/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Normalised round trip time and window increments of TCP Hybla (Caini and
 * Firrincieli 2004): equation 5, rho = RTT / RTT0, and equation 9,
 *
 *   W += 2^rho - 1     slow start          per acknowledged segment
 *   W += rho^2 / W     congestion avoidance
 *
 * Both increments carry what is left of a whole segment to the next ACK.
 */
#ifndef HETCC_HYBLA_LAW_H
#define HETCC_HYBLA_LAW_H

#include "fixed.h"

/* rho: Q12, resolution 0.00024, 1 (the paper's floor) to 4096 */
#define HYBLA_LAW_RHO_SHIFT	FIXED_EXP_ARG_SHIFT
#define HYBLA_LAW_RHO_ONE	((u32)1 << HYBLA_LAW_RHO_SHIFT)
#define HYBLA_LAW_RHO_MAX	((u32)1 << 24)

/* Windows above this many segments do not occur */
#define HYBLA_LAW_CWND_MAX	((u32)1 << 24)

/**
 * struct hybla_law - Hybla state
 * @rho: normalised round trip time, Q12, never below 1
 * @ss_inc: slow start increment 2^rho - 1 per segment, Q16, at most 2^15
 * @frac: what is left of whole segments, Q16, below one
 * @rem: congestion avoidance: what is left of the division by W, below W
 */
struct hybla_law {
	u32 rho;
	u32 ss_inc;
	u32 frac;
	u32 rem;
};

/**
 * hybla_law_set_rho() - equation 5
 * @h: state
 * @rtt_us: round trip time
 * @rtt0_us: round trip time of the reference connection; 0 counts as 1
 */
static inline void hybla_law_set_rho(struct hybla_law *h, u32 rtt_us,
				     u32 rtt0_us)
{
	u32 rho = fixed_mul_div(rtt_us, HYBLA_LAW_RHO_ONE,
				max_t(u32, rtt0_us, 1));

	rho = clamp_t(u32, rho, HYBLA_LAW_RHO_ONE, HYBLA_LAW_RHO_MAX);
	if (rho == h->rho)
		return;
	h->rho = rho;
	h->ss_inc = fixed_exp2(rho) - FIXED_EXP_ONE;
}

/**
 * hybla_law_scale() - rho times a number of segments
 * @h: state
 * @pkts: segments of the reference connection
 *
 * Return: rho * @pkts rounded down, at most HYBLA_LAW_CWND_MAX.
 */
static inline u32 hybla_law_scale(const struct hybla_law *h, u32 pkts)
{
	u64 v = ((u64)h->rho * pkts) >> HYBLA_LAW_RHO_SHIFT;

	return (u32)min_t(u64, v, HYBLA_LAW_CWND_MAX);
}

/**
 * hybla_law_ss() - slow start part of equation 9
 * @h: state, rho at least 1, so that the increment is at least one segment
 * @room: segments up to ssthresh
 * @acked: segments newly acknowledged; on return those left over once
 *	   ssthresh is reached
 *
 * 2^31 * 2^32 + 2^16 < 2^64.
 *
 * Return: whole segments to add to the window, at most @room.
 */
static inline u32 hybla_law_ss(struct hybla_law *h, u32 room, u32 *acked)
{
	u64 total = (u64)h->ss_inc * *acked + h->frac;
	u64 need = (u64)room << FIXED_EXP_SHIFT;

	if (total < need) {
		*acked = 0;
		h->frac = total & (FIXED_EXP_ONE - 1);
		return (u32)(total >> FIXED_EXP_SHIFT);
	}
	*acked = (u32)div_u64(total - need, max_t(u32, h->ss_inc, 1));
	h->frac = 0;
	return room;
}

/**
 * hybla_law_ca() - congestion avoidance part of equation 9
 * @h: state
 * @cwnd: window in segments, at least 1
 * @acked: segments newly acknowledged
 *
 * rho^2 < 2^48 in Q24, 2^40 in Q16; @acked is cut to 2^20, so the product is
 * below 2^60. The remainder may stem from a larger window: it is cut to W - 1.
 *
 * Return: whole segments to add to the window.
 */
static inline u32 hybla_law_ca(struct hybla_law *h, u32 cwnd, u32 acked)
{
	u32 w = clamp_t(u32, cwnd, 1, HYBLA_LAW_CWND_MAX);
	u64 rho2 = ((u64)h->rho * h->rho) >>
		   (2 * HYBLA_LAW_RHO_SHIFT - FIXED_EXP_SHIFT);
	u64 gain = rho2 * min_t(u32, acked, 1U << 20) + min(h->rem, w - 1);
	u64 inc = div_u64(gain, w);

	h->rem = (u32)(gain - inc * w);
	inc += h->frac;
	h->frac = (u32)(inc & (FIXED_EXP_ONE - 1));
	return fixed_sat_u32(inc >> FIXED_EXP_SHIFT);
}

#endif /* HETCC_HYBLA_LAW_H */
