/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whose are the losses: a full queue's, or the link's? A queue loses a packet when it is
 * full, when packets wait longest. A link loses packets whatever the delay: half of them
 * when packets wait less than the mean. So for each loss the wait of the packet behind
 * it is compared with the mean wait, and the share of losses below it is kept. Less than
 * half of what the queue has been seen to hold says it at once: a full queue is not half
 * empty.
 *
 * Times are microseconds. Plain integers, no socket.
 */
#ifndef HETCC_LOSS_DELAY_H
#define HETCC_LOSS_DELAY_H

#include "fixed.h"

/* Less than 1/64 of the round trip is noise */
#define LOSS_DELAY_NOISE_SHIFT	6
/* The mean wait is of some four rounds; a wait counts as 2^26 us (67 s) at most */
#define LOSS_DELAY_MEAN_SHIFT	2
#define LOSS_DELAY_WAIT_MAX_US	((u32)1 << 26)
/* What a queue has held is forgotten by 1/256 a round */
#define LOSS_DELAY_FADE_SHIFT	8
/* Packets of a round that are enough for the queue to show */
#define LOSS_DELAY_ROUND_PKTS	4
/*
 * Counts are of some eight rounds and 2^15 packets at most; those of losses begin anew
 * with each reduction
 */
#define LOSS_DELAY_ROUNDS_SHIFT	3
#define LOSS_DELAY_PKTS_MAX	((u32)1 << 15)
/* Share of losses, Q7: weight of a loss 1/16; the link's from a quarter on */
#define LOSS_DELAY_SHIFT	7
#define LOSS_DELAY_ONE		((u32)1 << LOSS_DELAY_SHIFT)
#define LOSS_DELAY_WEIGHT_SHIFT	4
#define LOSS_DELAY_LINK		(LOSS_DELAY_ONE / 4)
/*
 * One loss a round, round after round: congestion would have ended it, so it takes more
 * evidence to call it that.
 */
#define LOSS_DELAY_OFTEN	8
#define LOSS_DELAY_LINK_OFTEN	(3 * LOSS_DELAY_ONE / 16)
/*
 * More than one packet in 12 (the wireless paper's worst link) is congestion; and one
 * in 48, as BBRv3, of those that a full queue may have lost.
 */
#define LOSS_DELAY_CEILING	12
#define LOSS_DELAY_DOUBT_CEILING	48

/**
 * struct loss_delay - waits and losses of late
 * @sum_us: what a packet had to wait, mean of some four rounds, LOSS_DELAY_MEAN_SHIFT
 *	more bits
 * @high_us: most that all packets of a round had to wait
 * @pkts: packets that arrived
 * @lost: packets that were lost since the last reduction; twice, if no queue has been
 *	seen that could be full
 * @doubt: of these, those that a full queue may have lost
 * @below: share of losses when a packet waited no longer than the mean,
 *	LOSS_DELAY_ONE: all
 * @hole: something is missing, and what the packet behind it had to wait is known
 * @told: this packet has told of a loss: the next loss has another behind it
 * @hole_below: it waited no longer than the mean
 * @hole_low: it waited less than half of what the queue has held
 */
struct loss_delay {
	u32 sum_us;
	u32 high_us;
	u16 pkts;
	u16 lost;
	u16 doubt;
	u16 below:8,
	    hole:1,
	    told:1,
	    hole_below:1,
	    hole_low:1;
};

/* Mean wait, microseconds */
static inline u32 loss_delay_mean_us(const struct loss_delay *e)
{
	return e->sum_us >> LOSS_DELAY_MEAN_SHIFT;
}

/* Wait for the fullest queue that was seen; the mean is of round trips: no peer can hide it */
static inline u32 loss_delay_full_us(const struct loss_delay *e)
{
	return max(e->high_us, loss_delay_mean_us(e));
}

/**
 * loss_delay_init() - nothing says yet whose the losses are
 * @e: estimator, all 0
 */
static inline void loss_delay_init(struct loss_delay *e)
{
	e->below = LOSS_DELAY_LINK;
}

static inline void loss_delay_hole(struct loss_delay *e, u32 wait_us)
{
	e->hole_below = wait_us <= loss_delay_mean_us(e);
	e->hole_low = wait_us < loss_delay_full_us(e) / 2;
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
 * @wait_us: what the packet next to them had to wait, 0..2^31
 * @min_us: round trip of an empty path
 * @gap_us: time between two packets: a full queue may have emptied meanwhile
 * @pkts: so many, 1..2^31
 *
 * Return: true if the queue was not full: none has been seen, or this one was short.
 */
static inline bool loss_delay_lost(struct loss_delay *e, u32 wait_us, u32 min_us,
				   u32 gap_us, u32 pkts)
{
	u32 full_us = loss_delay_full_us(e);
	bool seen = full_us > min_us >> LOSS_DELAY_NOISE_SHIFT;

	if (!e->hole || e->told)
		loss_delay_hole(e, wait_us);
	e->told = e->hole;
	e->hole_low &= gap_us <= full_us / 2;
	pkts = min_t(u32, pkts, LOSS_DELAY_PKTS_MAX / 4);
	if (!seen)
		pkts *= 2;
	else if (!e->hole_low)
		e->doubt = min_t(u32, e->doubt + pkts, LOSS_DELAY_PKTS_MAX);
	e->lost = min_t(u32, e->lost + pkts, LOSS_DELAY_PKTS_MAX);
	if (gap_us <= full_us / 4) {
		e->below -= e->below >> LOSS_DELAY_WEIGHT_SHIFT;
		if (e->hole_below)
			e->below += LOSS_DELAY_ONE >> LOSS_DELAY_WEIGHT_SHIFT;
	}
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
 * loss_delay_of_link() - losses of late have nothing to do with the delay
 * @e: estimator
 */
static inline bool loss_delay_of_link(const struct loss_delay *e)
{
	return e->below > (e->lost < LOSS_DELAY_OFTEN ?
			   LOSS_DELAY_LINK : LOSS_DELAY_LINK_OFTEN);
}

/**
 * loss_delay_answered() - the window was reduced: losses until now count no more
 * @e: estimator
 */
static inline void loss_delay_answered(struct loss_delay *e)
{
	e->lost = 0;
	e->doubt = 0;
}

static inline u16 loss_delay_fade(u16 count)
{
	u32 round_up = ((u32)1 << LOSS_DELAY_ROUNDS_SHIFT) - 1;

	return count - ((count + round_up) >> LOSS_DELAY_ROUNDS_SHIFT);
}

/**
 * loss_delay_round() - a round is over
 * @e: estimator
 * @level_us: the least that a packet of it had to wait
 * @wait_us: what its last packet had to wait, 0..2^31
 * @pkts: packets of it: a single one may have waited for a delayed ACK
 */
static inline void loss_delay_round(struct loss_delay *e, u32 level_us,
				    u32 wait_us, u32 pkts)
{
	e->pkts = loss_delay_fade(e->pkts);
	e->lost = loss_delay_fade(e->lost);
	e->doubt = loss_delay_fade(e->doubt);
	e->high_us -= e->high_us >> LOSS_DELAY_FADE_SHIFT;
	if (pkts >= LOSS_DELAY_ROUND_PKTS)
		e->high_us = max(e->high_us, level_us);
	/* Never above 4 * 2^26 */
	e->sum_us = e->sum_us - loss_delay_mean_us(e) +
		    min_t(u32, wait_us, LOSS_DELAY_WAIT_MAX_US);
}

#endif /* HETCC_LOSS_DELAY_H */
