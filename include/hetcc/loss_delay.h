/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whose are the losses: a full queue's, or the link's? A queue loses a packet when it is
 * full, when packets wait longest. A link loses packets whatever the delay: half of them
 * when packets wait less than the mean. So for each loss the wait of the packet behind
 * it is compared with the mean wait, and the share of losses below it is kept. Losses of
 * one round met the same queue: they count as one, by their majority. Less than half of
 * what the queue has been seen to hold says it at once, as a full queue is not half empty,
 * unless round after round loses when packets wait longest: then it holds less than it did.
 * Until rounds enough have lost so, a loss that tells is not called a full queue's.
 * In a queue that stands near its highest all waits are alike, and a loss below the mean
 * says nothing: a flow that no loss reduces would keep it so. All only if that packet was
 * sent so soon after the lost one that it met the same queue.
 *
 * Times are microseconds. Plain integers, no socket.
 */
#ifndef HETCC_LOSS_DELAY_H
#define HETCC_LOSS_DELAY_H

#include "fixed.h"

/* Less than 1/64 of the round trip is noise */
#define LOSS_DELAY_NOISE_SHIFT	6
/* The mean wait is of 32 packets; a wait counts as 2^24 us (17 s) at most */
#define LOSS_DELAY_MEAN_SHIFT	5
#define LOSS_DELAY_WAIT_MAX_US	(((u32)1 << 24) - 1)
/* No packet yet in this round */
#define LOSS_DELAY_LEAST_NONE	255U
/* What a queue has held is forgotten by 1/256 a round */
#define LOSS_DELAY_FADE_SHIFT	8
/* Packets of a round that are enough for the queue to show */
#define LOSS_DELAY_ROUND_PKTS	4
/*
 * Counts are of some eight rounds and 2^13 packets at most; that of losses begins anew
 * with each reduction
 */
#define LOSS_DELAY_ROUNDS_SHIFT	3
#define LOSS_DELAY_PKTS_MAX	((u32)1 << 13)
/* Share of losses, Q7: weight of a round's 1/16; the link's from a quarter on */
#define LOSS_DELAY_SHIFT	7
#define LOSS_DELAY_ONE		((u32)1 << LOSS_DELAY_SHIFT)
#define LOSS_DELAY_WEIGHT_SHIFT	4
#define LOSS_DELAY_LINK		(LOSS_DELAY_ONE / 4)
/* A full queue's below this: five rounds in a row, from the first share on, lost at its top */
#define LOSS_DELAY_FULL		(3 * LOSS_DELAY_ONE / 16)
/* Losses of a round, above less below, 4 bits */
#define LOSS_DELAY_VOTES_MAX	7
/*
 * More than one packet in 12 (the wireless paper's worst link) is congestion, and half as many
 * unless the share is known to be the link's. Two may be lost by chance of however few.
 */
#define LOSS_DELAY_CEILING	12
#define LOSS_DELAY_CHANCE	2
/*
 * So is a loss that a full queue may have caused in each 48 packets (2 %, as BBRv3), mean
 * of eight such losses, one a round at most: a window of six packets has no share that
 * could be counted. Unless the share is known to be the link's.
 */
#define LOSS_DELAY_OFTEN_PKTS	48U
#define LOSS_DELAY_GAP_SHIFT	3
#define LOSS_DELAY_GAP_MAX	127U
#define LOSS_DELAY_GAP_FIRST	64U
#define LOSS_DELAY_LINK_CLEAR	(3 * LOSS_DELAY_ONE / 8)

/**
 * struct loss_delay - waits and losses of late
 * @sum_us: what a packet had to wait, mean of 32, LOSS_DELAY_MEAN_SHIFT more bits
 * @high_us: most that all packets of a round had to wait
 * @least: least round trip of this round less that of an empty path, loss_delay_coarse()
 * @pkts: packets that arrived
 * @lost: packets that were lost since the last reduction
 * @hole: something is missing, and what the packet behind it had to wait is known
 * @told: this packet has told of a loss: the next loss has another behind it
 * @doubt: a full queue may have lost one in this round
 * @hole_below: the packet behind the hole waited no longer than the mean
 * @below: share of losses when a packet waited no longer than the mean, 0..LOSS_DELAY_ONE: all
 * @gap_pkts: packets between two losses that a full queue may have caused, mean of eight,
 *	LOSS_DELAY_GAP_SHIFT more bits
 * @since_pkts: packets since the last of them, LOSS_DELAY_GAP_MAX at most
 * @hole_low: it waited less than half of what the queue has held
 * @hole_near: it was sent so soon after the lost one that the queue was the same
 * @stands: the queue stays near the highest that was seen
 * @votes: losses of this round above the mean wait, less those below it,
 *	+-LOSS_DELAY_VOTES_MAX
 */
struct loss_delay {
	u32 sum_us;
	u32 high_us:24,
	    least:8;
	u32 pkts:14,
	    lost:14,
	    hole:1,
	    told:1,
	    doubt:1,
	    hole_below:1;
	u32 below:8,
	    gap_pkts:10,
	    since_pkts:7,
	    hole_low:1,
	    hole_near:1,
	    stands:1;
	s32 votes:4;
};

/* Share of losses below the mean, with what those of this round say together */
static inline u32 loss_delay_share(const struct loss_delay *e)
{
	u32 below = e->below;

	if (!e->votes)
		return below;
	/* To the nearest: rounded down, a share would stay above that of the losses by 1/16 */
	below -= (below + (1U << LOSS_DELAY_WEIGHT_SHIFT) / 2) >> LOSS_DELAY_WEIGHT_SHIFT;
	if (e->votes < 0)
		below += LOSS_DELAY_ONE >> LOSS_DELAY_WEIGHT_SHIFT;
	return below;
}

/* Three bits behind the first: a byte holds it, 0..231. Of two, the longer is never less */
static inline u32 loss_delay_coarse(u32 us)
{
	u32 shift = max(fls(us) - 4, 0);

	return (shift << 3) + (us >> shift);
}

/* Never more than what was made coarse, and less by an eighth at most */
static inline u32 loss_delay_fine(u32 coarse)
{
	u32 shift = max(coarse >> 3, 1U) - 1;

	return (coarse - (shift << 3)) << shift;
}

/* Mean wait, microseconds */
static inline u32 loss_delay_mean_us(const struct loss_delay *e)
{
	return e->sum_us >> LOSS_DELAY_MEAN_SHIFT;
}

/* Wait for the fullest queue that was seen; the mean is of round trips: no peer can hide it */
static inline u32 loss_delay_full_us(const struct loss_delay *e)
{
	return max_t(u32, e->high_us, loss_delay_mean_us(e));
}

/**
 * loss_delay_init() - nothing says yet whose the losses are
 * @e: estimator, all 0
 */
static inline void loss_delay_init(struct loss_delay *e)
{
	e->below = LOSS_DELAY_LINK;
	e->least = LOSS_DELAY_LEAST_NONE;
	e->gap_pkts = LOSS_DELAY_GAP_FIRST << LOSS_DELAY_GAP_SHIFT;
}

/* The packet behind a hole waited so long, and was sent so much later than the lost one */
static inline void loss_delay_hole(struct loss_delay *e, u32 wait_us, u32 gap_us)
{
	u32 full_us = loss_delay_full_us(e);

	e->hole_below = wait_us <= loss_delay_mean_us(e);
	e->hole_low = wait_us < full_us / 2 && gap_us <= full_us / 2;
	e->hole_near = gap_us <= full_us / 4;
}

/**
 * loss_delay_wait() - what a packet had to wait, for the mean
 * @e: estimator
 * @wait_us: round trip beyond that of an empty path, 0..2^31
 *
 * Of packets equally far apart, some ten in a round, and none that had to wait for
 * another at a receiver that delays its ACKs.
 */
static inline void loss_delay_wait(struct loss_delay *e, u32 wait_us)
{
	wait_us = min_t(u32, wait_us, LOSS_DELAY_WAIT_MAX_US);
	/* Never above 2^5 * 2^24 */
	if (e->sum_us)
		e->sum_us = e->sum_us - loss_delay_mean_us(e) + wait_us;
	else
		e->sum_us = wait_us << LOSS_DELAY_MEAN_SHIFT;
}

/**
 * loss_delay_sample() - packets arrived
 * @e: estimator
 * @wait_us: round trip beyond that of an empty path, 0..2^31
 * @pkts: 1..2^31
 * @hole: a packet before them is missing
 * @gap_us: that one was sent so much earlier, U32_MAX: unknown
 */
static inline void loss_delay_sample(struct loss_delay *e, u32 wait_us, u32 pkts,
				     bool hole, u32 gap_us)
{
	pkts = min_t(u32, pkts, LOSS_DELAY_PKTS_MAX / 2);
	e->least = min_t(u32, e->least,
			 loss_delay_coarse(min_t(u32, wait_us, LOSS_DELAY_WAIT_MAX_US)));
	if (hole && !e->hole)
		loss_delay_hole(e, wait_us, gap_us);
	e->hole = hole;
	e->told &= hole;
	e->since_pkts = min_t(u32, e->since_pkts + pkts, LOSS_DELAY_GAP_MAX);
	if (e->pkts + pkts > LOSS_DELAY_PKTS_MAX) {
		e->pkts /= 2;
		e->lost /= 2;
	}
	e->pkts += pkts;
}

/* A full queue may have lost a packet: counted once a round. Never above 2^3 * 255 */
static inline void loss_delay_doubt(struct loss_delay *e)
{
	if (e->doubt)
		return;
	e->doubt = 1;
	e->gap_pkts = e->gap_pkts - (e->gap_pkts >> LOSS_DELAY_GAP_SHIFT) +
		      e->since_pkts;
	e->since_pkts = 0;
}

/**
 * loss_delay_lost() - packets were lost
 * @e: estimator
 * @wait_us: what the packet next to them had to wait, 0..2^31
 * @min_us: round trip of an empty path
 * @gap_us: time between two packets
 * @pkts: so many, 1..2^31
 * @empty: the queue is known to be empty
 * @doubling: the window doubles in a round, and waits with it: above the mean says nothing
 *
 * Return: true if the queue was not full: empty, or none has been seen, or it was short.
 */
static inline bool loss_delay_lost(struct loss_delay *e, u32 wait_us, u32 min_us,
				   u32 gap_us, u32 pkts, bool empty, bool doubling)
{
	bool seen = loss_delay_full_us(e) > min_us >> LOSS_DELAY_NOISE_SHIFT;

	if (!e->hole || e->told)
		loss_delay_hole(e, wait_us, gap_us);
	e->told = e->hole;
	pkts = min_t(u32, pkts, LOSS_DELAY_PKTS_MAX / 4);
	if (seen && !e->hole_low && !empty)
		loss_delay_doubt(e);
	e->lost = min_t(u32, e->lost + pkts, LOSS_DELAY_PKTS_MAX);
	if (e->hole_near && !(e->hole_below ? e->stands : doubling))
		e->votes = clamp(e->votes + (e->hole_below ? -1 : 1),
				 -LOSS_DELAY_VOTES_MAX, LOSS_DELAY_VOTES_MAX);
	return !seen || empty ||
	       (e->hole_low && loss_delay_share(e) > LOSS_DELAY_FULL);
}

/**
 * loss_delay_clear() - the losses are known to be the link's
 * @e: estimator
 */
static inline bool loss_delay_clear(const struct loss_delay *e)
{
	return loss_delay_share(e) > LOSS_DELAY_LINK_CLEAR;
}

/**
 * loss_delay_often() - a full queue may lose packets more often than a link
 * @e: estimator
 */
static inline bool loss_delay_often(const struct loss_delay *e)
{
	return e->gap_pkts >> LOSS_DELAY_GAP_SHIFT < LOSS_DELAY_OFTEN_PKTS &&
	       !loss_delay_clear(e);
}

/**
 * loss_delay_heavy() - more is lost than a link loses
 * @e: estimator
 */
static inline bool loss_delay_heavy(const struct loss_delay *e)
{
	u32 doubt = !loss_delay_clear(e);

	return e->lost > LOSS_DELAY_CHANCE + (e->pkts >> doubt) / LOSS_DELAY_CEILING ||
	       loss_delay_often(e);
}

/**
 * loss_delay_of_link() - losses of late have nothing to do with the delay
 * @e: estimator
 */
static inline bool loss_delay_of_link(const struct loss_delay *e)
{
	return loss_delay_share(e) > LOSS_DELAY_LINK;
}

/**
 * loss_delay_open() - the last loss tells, and those of late have not said yet that a queue is full
 * @e: estimator
 */
static inline bool loss_delay_open(const struct loss_delay *e)
{
	return e->hole_near && loss_delay_share(e) >= LOSS_DELAY_FULL;
}

/**
 * loss_delay_answered() - the window was reduced: losses until now count no more
 * @e: estimator
 */
static inline void loss_delay_answered(struct loss_delay *e)
{
	e->lost = 0;
}

static inline u32 loss_delay_fade(u32 count)
{
	u32 round_up = ((u32)1 << LOSS_DELAY_ROUNDS_SHIFT) - 1;

	return count - ((count + round_up) >> LOSS_DELAY_ROUNDS_SHIFT);
}

/**
 * loss_delay_round() - a round is over
 * @e: estimator
 * @level_us: the least that a packet of it, and of the one before, had to wait, 0..2^26:
 *	in one round the only sample may have waited for a delayed ACK
 * @own_us: that much the sender itself keeps there
 * @pkts: packets of it
 *
 * Where all of them waited longer than the mean, on the way forth or there and back, it is
 * too old: a path that got longer would take ten rounds to show in it. Never above 2^5 * 2^24.
 */
static inline void loss_delay_round(struct loss_delay *e, u32 level_us, u32 own_us, u32 pkts)
{
	u32 high_us = e->high_us - (e->high_us >> LOSS_DELAY_FADE_SHIFT);
	u32 least_us = e->least < LOSS_DELAY_LEAST_NONE ? loss_delay_fine(e->least) : 0;

	level_us = min_t(u32, level_us, LOSS_DELAY_WAIT_MAX_US);
	e->doubt = 0;
	e->below = loss_delay_share(e);
	e->votes = 0;
	e->pkts = loss_delay_fade(e->pkts);
	e->lost = loss_delay_fade(e->lost);
	e->least = LOSS_DELAY_LEAST_NONE;
	e->stands = level_us > own_us && level_us >= high_us - high_us / 4;
	if (pkts >= LOSS_DELAY_ROUND_PKTS) {
		high_us = max(high_us, level_us);
		e->sum_us = max(e->sum_us, max(level_us, least_us) << LOSS_DELAY_MEAN_SHIFT);
	}
	e->high_us = high_us;
}

#endif /* HETCC_LOSS_DELAY_H */
