/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Does a full queue lose packets, or the link? A packet that follows one that a full
 * queue dropped waited as long as any. One that follows a random loss waited as others
 * do: longer than three quarters of them in a quarter of the cases.
 *
 * Round trip times are microseconds. Plain integers, no socket.
 */
#ifndef HETCC_LOSS_DELAY_H
#define HETCC_LOSS_DELAY_H

#include "fixed.h"

/* The quantile moves by 1/64 of the round trip in a round */
#define LOSS_DELAY_STEP_SHIFT	6
/* Counts are of some eight rounds, and of 2^15 packets at most */
#define LOSS_DELAY_ROUNDS_SHIFT	3
#define LOSS_DELAY_PKTS_MAX	((u32)1 << 15)
/* Less than 1/64 of the round trip is noise */
#define LOSS_DELAY_NOISE_SHIFT	6
/* What a queue has held is forgotten by 1/64 a round */
#define LOSS_DELAY_FADE_SHIFT	6
/* Shares */
#define LOSS_DELAY_SHIFT	7
#define LOSS_DELAY_ONE		((u32)1 << LOSS_DELAY_SHIFT)
/* Weight of a loss: 1/8 */
#define LOSS_DELAY_WEIGHT_SHIFT	3
/*
 * More than one packet in 12 (the wireless paper's worst link) is congestion; and one
 * in 192 (0.5 %) if the delay next to them was half of the longest or more.
 */
#define LOSS_DELAY_CEILING	12
#define LOSS_DELAY_DOUBT_CEILING	192
/* Packets of a round that are enough for the queue to show */
#define LOSS_DELAY_ROUND_PKTS	4

/**
 * struct loss_delay - delays and losses of late
 * @long_us: three quarters of the packets have a shorter round trip
 * @high_us: most that all packets of a round had to wait
 * @hole_us: round trip of the packet behind the first that is missing
 * @pkts: packets that arrived
 * @lost: packets that were lost
 * @doubt: of these, when the queue may have been full
 * @full: share of losses behind which the delay was long; at first
 *	LOSS_DELAY_ONE * 3/4: congestion, until the link was seen to lose
 * @hole: something is missing, and hole_us is known
 * @counted: a loss of this round was
 */
struct loss_delay {
	u32 long_us;
	u32 high_us;
	u32 hole_us;
	u16 pkts;
	u16 lost;
	u16 doubt;
	u16 full:8,
	    hole:1,
	    counted:1;
};

static inline void loss_delay_init(struct loss_delay *e)
{
	e->full = LOSS_DELAY_ONE - LOSS_DELAY_ONE / 8;
}

/**
 * loss_delay_sample() - packets arrived
 * @e: estimator
 * @rtt_us: their round trip, 1..2^31
 * @pkts: 1..2^31
 * @window: packets of a round, at least 1
 * @hole: a packet before them is missing
 */
static inline void loss_delay_sample(struct loss_delay *e, u32 rtt_us, u32 pkts,
				     u32 window, bool hole)
{
	u32 step_us;

	pkts = min3(pkts, window, LOSS_DELAY_PKTS_MAX / 2);
	step_us = max_t(u32, fixed_mul_div(rtt_us >> LOSS_DELAY_STEP_SHIFT, pkts,
					   window), 1);
	if (!e->long_us)
		e->long_us = rtt_us;
	else if (rtt_us > e->long_us)
		e->long_us += min(step_us, rtt_us - e->long_us);
	else
		e->long_us -= min(step_us, e->long_us - rtt_us);
	if (hole && !e->hole)
		e->hole_us = rtt_us;
	e->hole = hole;
	if (e->pkts + pkts > LOSS_DELAY_PKTS_MAX) {
		e->pkts /= 2;
		e->lost /= 2;
		e->doubt /= 2;
	}
	e->pkts += pkts;
}

/**
 * loss_delay_lost() - packets were lost
 * @e: estimator
 * @rtt_us: round trip of the packet next to them
 * @min_us: round trip without a queue
 * @pkts: so many, at most 2^30
 */
static inline void loss_delay_lost(struct loss_delay *e, u32 rtt_us, u32 min_us,
				   u32 pkts)
{
	if (e->hole)
		rtt_us = e->hole_us;
	e->lost = min_t(u32, e->lost + pkts, LOSS_DELAY_PKTS_MAX);
	if (e->high_us > min_us >> LOSS_DELAY_NOISE_SHIFT &&
	    rtt_us - min(rtt_us, min_us) >= e->high_us / 2)
		e->doubt = min_t(u32, e->doubt + pkts, LOSS_DELAY_PKTS_MAX);
	if (e->counted)
		return;
	e->counted = 1;
	e->full -= e->full >> LOSS_DELAY_WEIGHT_SHIFT;
	if (rtt_us > e->long_us)
		e->full += LOSS_DELAY_ONE >> LOSS_DELAY_WEIGHT_SHIFT;
}

/**
 * loss_delay_heavy() - more is lost than a link loses
 * @e: estimator; one loss is not more than a link loses
 */
static inline bool loss_delay_heavy(const struct loss_delay *e)
{
	return e->lost > 1 + e->pkts / LOSS_DELAY_CEILING ||
	       e->doubt > 1 + e->pkts / LOSS_DELAY_DOUBT_CEILING;
}

/**
 * loss_delay_full() - are losses those of a full queue?
 * @e: estimator
 *
 * They come with long delays, and more often than chance (1/4) would have it: halfway
 * at least from that to always.
 */
static inline bool loss_delay_full(const struct loss_delay *e)
{
	return e->full > LOSS_DELAY_ONE * 3 / 4;
}

/**
 * loss_delay_random() - are losses the link's?
 * @e: estimator
 *
 * They come with any delay, and one in four at least with one that no full queue has.
 */
static inline bool loss_delay_random(const struct loss_delay *e)
{
	return !loss_delay_full(e) && 4 * (u32)e->doubt <= 3 * (u32)e->lost;
}

static inline u16 loss_delay_fade(u16 count)
{
	u32 round_up = (1U << LOSS_DELAY_ROUNDS_SHIFT) - 1;

	return count - ((count + round_up) >> LOSS_DELAY_ROUNDS_SHIFT);
}

/**
 * loss_delay_round() - a round is over
 * @e: estimator
 * @level_us: the least that a packet of it had to wait
 * @pkts: packets of it: a single one may have waited for a delayed ACK
 */
static inline void loss_delay_round(struct loss_delay *e, u32 level_us,
				    u32 pkts)
{
	e->counted = 0;
	e->pkts = loss_delay_fade(e->pkts);
	e->lost = loss_delay_fade(e->lost);
	e->doubt = loss_delay_fade(e->doubt);
	e->high_us -= e->high_us >> LOSS_DELAY_FADE_SHIFT;
	if (pkts >= LOSS_DELAY_ROUND_PKTS)
		e->high_us = max(e->high_us, level_us);
}

#endif /* HETCC_LOSS_DELAY_H */
