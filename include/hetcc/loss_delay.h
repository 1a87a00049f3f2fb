/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Was a packet lost because a queue was full? Then the packet behind it had to wait for
 * a full queue. If it waited less than half of what the queue has been seen to hold,
 * the queue was not full and the link has lost the packet. If it waited longer, the
 * queue may have been full: that is congestion, unless most losses of late were the
 * link's.
 *
 * Times are microseconds. Plain integers, no socket.
 */
#ifndef HETCC_LOSS_DELAY_H
#define HETCC_LOSS_DELAY_H

#include "fixed.h"

/* Less than 1/64 of the round trip is noise */
#define LOSS_DELAY_NOISE_SHIFT	6
/* What a queue has held is forgotten by 1/256 a round */
#define LOSS_DELAY_FADE_SHIFT	8
/* Counts are of some eight rounds, and of 2^15 packets at most */
#define LOSS_DELAY_ROUNDS_SHIFT	3
#define LOSS_DELAY_PKTS_MAX	((u32)1 << 15)
/* Share of losses, Q7: weight of a loss 1/16 */
#define LOSS_DELAY_SHIFT	7
#define LOSS_DELAY_ONE		((u32)1 << LOSS_DELAY_SHIFT)
#define LOSS_DELAY_WEIGHT_SHIFT	4
/*
 * More than one packet in 12 (the wireless paper's worst link) is congestion; and one
 * in 48, as BBRv3, if the queue may have been full.
 */
#define LOSS_DELAY_CEILING	12
#define LOSS_DELAY_DOUBT_CEILING	48
/* Packets of a round that are enough for the queue to show */
#define LOSS_DELAY_ROUND_PKTS	4

/**
 * struct loss_delay - delays and losses of late
 * @high_us: most that all packets of a round had to wait
 * @mean_us: what a packet had to wait, mean of some eight rounds
 * @pkts: packets that arrived
 * @lost: packets that were lost; twice, if no queue has been seen that could have been full
 * @doubt: of these, when the queue may have been full
 * @below: share of losses when a packet waited no longer than the mean,
 *	LOSS_DELAY_ONE: all
 * @hole: something is missing, and what the packet behind it had to wait is known:
 * @told: and has told of a loss: the next is another
 * @hole_low: less than half of what the queue has held
 * @hole_below: no longer than the mean
 */
struct loss_delay {
	u32 high_us;
	u32 mean_us;
	u16 pkts;
	u16 lost;
	u16 doubt;
	u16 below:8,
	    hole:1,
	    told:1,
	    hole_low:1,
	    hole_below:1;
};

/* Nothing says yet whose the losses are */
static inline void loss_delay_init(struct loss_delay *e)
{
	e->below = LOSS_DELAY_ONE / 4;
}

static inline void loss_delay_hole(struct loss_delay *e, u32 wait_us)
{
	e->hole_low = wait_us < e->high_us / 2;
	e->hole_below = wait_us <= e->mean_us;
}

/**
 * loss_delay_sample() - packets arrived
 * @e: estimator
 * @wait_us: round trip beyond that of an empty path, 0..2^31
 * @pkts: 1..2^31
 * @hole: a packet before them is missing
 */
static inline void loss_delay_sample(struct loss_delay *e, u32 wait_us, u32 pkts,
				     bool hole)
{
	pkts = min_t(u32, pkts, LOSS_DELAY_PKTS_MAX / 2);
	if (hole && !e->hole)
		loss_delay_hole(e, wait_us);
	e->hole = hole;
	e->told &= hole;
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
 * @wait_us: round trip of the packet next to them, beyond @min_us
 * @min_us: round trip without a queue
 * @gap_us: time between two packets: in a longer one a full queue may have emptied
 * @pkts: so many, 1..2^31
 *
 * Return: true if the queue was surely not full.
 */
static inline bool loss_delay_lost(struct loss_delay *e, u32 wait_us, u32 min_us,
				   u32 gap_us, u32 pkts)
{
	bool seen = e->high_us > min_us >> LOSS_DELAY_NOISE_SHIFT;

	if (!e->hole || e->told)
		loss_delay_hole(e, wait_us);
	e->told = e->hole;
	if (gap_us > e->high_us / 2)
		e->hole_low = 0;
	pkts = min_t(u32, pkts, LOSS_DELAY_PKTS_MAX / 4);
	if (!seen)
		pkts *= 2;
	else if (!e->hole_low)
		e->doubt = min_t(u32, e->doubt + pkts, LOSS_DELAY_PKTS_MAX);
	e->lost = min_t(u32, e->lost + pkts, LOSS_DELAY_PKTS_MAX);
	if (gap_us > e->high_us / 4)
		return !seen || e->hole_low;
	e->below -= e->below >> LOSS_DELAY_WEIGHT_SHIFT;
	if (e->hole_below)
		e->below += LOSS_DELAY_ONE >> LOSS_DELAY_WEIGHT_SHIFT;
	return !seen || e->hole_low;
}

/**
 * loss_delay_heavy() - more is lost than a link loses
 * @e: estimator
 */
static inline bool loss_delay_heavy(const struct loss_delay *e)
{
	return e->lost > 1 + e->pkts / LOSS_DELAY_CEILING ||
	       e->doubt > 1 + e->pkts / LOSS_DELAY_DOUBT_CEILING;
}

/**
 * loss_delay_of_link() - losses of late have nothing to do with the queue
 * @e: estimator
 *
 * What a link loses, it loses whatever the delay: half of it when a packet waits less
 * than the mean. A full queue loses when a packet waits longest.
 */
static inline bool loss_delay_of_link(const struct loss_delay *e)
{
	return e->below > (e->lost < 8 ? LOSS_DELAY_ONE / 4 : 3 * LOSS_DELAY_ONE / 16);
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
 * @wait_us: what the last packet of it had to wait
 * @pkts: packets of it: a single one may have waited for a delayed ACK
 */
static inline void loss_delay_round(struct loss_delay *e, u32 level_us,
				    u32 wait_us, u32 pkts)
{
	if (wait_us > e->mean_us)
		e->mean_us += (wait_us - e->mean_us) / 4;
	else
		e->mean_us -= (e->mean_us - wait_us) / 4;
	e->pkts = loss_delay_fade(e->pkts);
	e->lost = loss_delay_fade(e->lost);
	e->doubt = loss_delay_fade(e->doubt);
	e->high_us -= e->high_us >> LOSS_DELAY_FADE_SHIFT;
	if (pkts >= LOSS_DELAY_ROUND_PKTS)
		e->high_us = max(e->high_us, level_us);
}

#endif /* HETCC_LOSS_DELAY_H */
