/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Was a packet lost because a queue was full? Then the packets next to it waited as long
 * as any. Next to a packet that was lost at random they waited as others do.
 *
 * Round trip times are microseconds; a longer path moves all of them and changes
 * nothing. Plain integers, no socket.
 */
#ifndef HETCC_LOSS_DELAY_H
#define HETCC_LOSS_DELAY_H

#include "fixed.h"

/* Extremes approach each other by 1/16 a round */
#define LOSS_DELAY_FADE_SHIFT	4
/* Less than 1/64 of the round trip between them is noise */
#define LOSS_DELAY_NOISE_SHIFT	6
/* Share of the rounds with losses in which these were of a full queue: Q8 */
#define LOSS_DELAY_ONE		256U
/* Weight of a round: 1/4 */
#define LOSS_DELAY_WEIGHT_SHIFT	2
#define LOSS_DELAY_COUNT_MAX	63
/* One in sixteen at most is taken for the link's, Q16 */
#define LOSS_DELAY_FLOOR_MAX	(U16_MAX / 16)
/* 2 % of the packets, Q16 */
#define LOSS_DELAY_CEILING	(U16_MAX / 50)

/**
 * struct loss_delay - delays of late, and what losses had to do with them
 * @low_us: shortest of late
 * @high_us: longest of late
 * @full: share of rounds with losses of a full queue, LOSS_DELAY_ONE: all
 * @rate: share of all packets that was lost of late, Q16
 * @floor: what it does not fall below whatever is done, Q16
 * @high: losses of this round that were next to a long delay
 * @other: and the others
 */
struct loss_delay {
	u32 low_us;
	u32 high_us;
	u16 rate;
	u16 floor;
	u32 full:9,
	    high:6,
	    other:6;
};

/**
 * loss_delay_sample() - account for a round trip
 * @e: estimator
 * @rtt_us: 1..2^31
 */
static inline void loss_delay_sample(struct loss_delay *e, u32 rtt_us)
{
	if (!e->high_us || rtt_us < e->low_us)
		e->low_us = rtt_us;
	e->high_us = max(e->high_us, rtt_us);
}

/* The delay is in the upper quarter of a range that is more than noise */
static inline bool loss_delay_is_long(const struct loss_delay *e, u32 rtt_us)
{
	u32 range_us = e->high_us - e->low_us;

	return range_us > e->low_us >> LOSS_DELAY_NOISE_SHIFT &&
	       rtt_us > e->high_us - range_us / 4;
}

/**
 * loss_delay_lost() - packets were lost
 * @e: estimator
 * @rtt_us: round trip of the packet next to them
 * @startup: slow start, which fills a queue: one loss is enough
 *
 * Return: true if this is, as most of late were, the loss of a full queue.
 */
static inline bool loss_delay_lost(struct loss_delay *e, u32 rtt_us,
				   bool startup)
{
	if (!loss_delay_is_long(e, rtt_us)) {
		e->other += e->other < LOSS_DELAY_COUNT_MAX;
		return false;
	}
	e->high += e->high < LOSS_DELAY_COUNT_MAX;
	return startup || e->full > LOSS_DELAY_ONE / 2;
}

/*
 * Shares of the packets lost: of late, some eight rounds; and while there was no queue,
 * which is what the link loses.
 */
static inline void loss_delay_rate(struct loss_delay *e, u32 lost, u32 sent,
				   bool empty)
{
	s32 now = sent ? fixed_mul_div(lost, U16_MAX, sent) : 0;

	now = min(now, U16_MAX);
	e->rate += (now - e->rate) >> 3;
	if (empty)
		e->floor += (now - e->floor) >> 3;
}

/**
 * loss_delay_round() - a round is over
 * @e: estimator
 * @lost: packets lost in it
 * @sent: packets lost or delivered
 * @empty: no queue at all showed in it
 */
static inline void loss_delay_round(struct loss_delay *e, u32 lost, u32 sent,
				    bool empty)
{
	u32 fade_us = (e->high_us - e->low_us) >> LOSS_DELAY_FADE_SHIFT;

	loss_delay_rate(e, lost, sent, empty);
	if (e->high | e->other) {
		e->full -= e->full >> LOSS_DELAY_WEIGHT_SHIFT;
		if (e->high > e->other)
			e->full += LOSS_DELAY_ONE >> LOSS_DELAY_WEIGHT_SHIFT;
	}
	e->high = 0;
	e->other = 0;
	e->low_us += fade_us;
	e->high_us -= fade_us;
}

#endif /* HETCC_LOSS_DELAY_H */
