/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Level of the forward delay, one value a round trip: how long the packet that
 * waited least had to wait, and with how many in flight it was sent. A queue of ours
 * gets longer and shorter with what is in flight. Where the level moves of itself, and
 * less than our packets would move a queue, it is the path's and not a queue's.
 *
 * Offsets are receiver's minus sender's clock (equation 1 of Santa Cruz telescopes
 * to their difference), 32-bit microseconds modulo 2^32, compared by signed
 * difference: clocks and path must stay within 35 min. Plain integers, no socket.
 */
#ifndef HETCC_FORWARD_LEVEL_H
#define HETCC_FORWARD_LEVEL_H

#include "queue_pkts.h"

/* The least service time is forgotten by 1/16 a round */
#define FORWARD_LEVEL_SERVICE_SHIFT	4
/* Noise: a weight of 1/8 for each round; 2^23 us at most */
#define FORWARD_LEVEL_SPREAD_SHIFT	3
/* A delay counts as 2^26 us (67 s) at most */
#define FORWARD_LEVEL_MAX_US	((u32)1 << 26)
#define FORWARD_LEVEL_NOISE_MAX_US	((u32)1 << 22)

/**
 * struct forward_level - what the packets of the last rounds had to wait
 * @base_us: offset on the empty path
 * @min_us: least offset of the round
 * @sent_pkts: packets in flight when that one was sent
 * @level_us: the last round's least delay above the base
 * @pkts_ns: least service time of a packet over a round, 0: unknown
 * @primed: the base is known
 * @fresh: the round has a sample
 * @varies: the base is the mean of a path whose delay varies, not its least
 * @spread: twice what the level moves without our packets, mean of some eight rounds,
 *	FORWARD_LEVEL_SPREAD_SHIFT more bits
 * @moves: twice what it moves at all, the same
 */
struct forward_level {
	u32 base_us;
	u32 min_us;
	u32 sent_pkts;
	u32 level_us;
	u32 pkts_ns;
	u32 primed:1,
	    fresh:1,
	    varies:1,
	    spread:27;
	u32 moves;
};

/* Delay of an offset above the base: 0 below it */
static inline u32 forward_level_delay_us(const struct forward_level *e,
					 u32 off_us)
{
	s32 d_us = (s32)(off_us - e->base_us);

	return d_us < 0 ? 0 : min_t(u32, d_us, FORWARD_LEVEL_MAX_US);
}

/**
 * forward_level_reset() - clocks or path are others: forget the offsets
 * @e: estimator
 */
static inline void forward_level_reset(struct forward_level *e)
{
	e->primed = 0;
	e->fresh = 0;
	e->varies = 0;
}

/* The offset on the empty path is known */
static inline void forward_level_prime(struct forward_level *e, u32 off_us)
{
	e->primed = 1;
	e->base_us = off_us;
}

/**
 * forward_level_sample() - account for one ACK
 * @e: estimator
 * @off_us: offset of the packet that caused it
 * @sent_pkts: packets in flight when that packet was sent
 */
static inline void forward_level_sample(struct forward_level *e, u32 off_us,
					u32 sent_pkts)
{
	if (!e->primed)
		forward_level_prime(e, off_us);
	if (e->fresh && (s32)(off_us - e->min_us) >= 0)
		return;
	e->fresh = 1;
	e->min_us = off_us;
	e->sent_pkts = sent_pkts;
}

/**
 * forward_level_service() - equation 3 for a round
 * @e: estimator
 * @us: time in which
 * @pkts: so many packets were received; 0: unknown
 *
 * The least of some 16 rounds counts: a pipe that is not full shows our own rate,
 * which says nothing of the link's.
 */
static inline void forward_level_service(struct forward_level *e, u32 us,
					 u32 pkts)
{
	u32 ns = pkts ? max_t(u32, fixed_mul_div(us, 1000, pkts), 1) : 0;
	u32 rest = U32_MAX - e->pkts_ns;

	e->pkts_ns += min_t(u32, e->pkts_ns >> FORWARD_LEVEL_SERVICE_SHIFT, rest);
	if (ns && (!e->pkts_ns || ns < e->pkts_ns))
		e->pkts_ns = ns;
}

/* Microseconds that the level moves by without our packets, twice */
static inline u32 forward_level_noise_us(const struct forward_level *e)
{
	return e->spread >> FORWARD_LEVEL_SPREAD_SHIFT;
}

/* Microseconds that it moves by, twice */
static inline u32 forward_level_moves_us(const struct forward_level *e)
{
	return e->moves >> FORWARD_LEVEL_SPREAD_SHIFT;
}

/* A mean of twice such distances, and one more; never above 2^3 * 2^23 */
static inline u32 forward_level_mean(u32 mean, s32 us)
{
	u32 away_us = min_t(u32, us < 0 ? -us : us, FORWARD_LEVEL_NOISE_MAX_US);

	return mean - (mean >> FORWARD_LEVEL_SPREAD_SHIFT) + 2 * away_us;
}

/**
 * forward_level_noise() - how far is the level from what our packets explain?
 * @e: estimator
 * @last_us: level of the round before, at most FORWARD_LEVEL_MAX_US
 * @last_pkts: packets in flight then; 0: unknown
 *
 * In a queue of ours each packet more makes the level rise by its service time. Where it
 * does not, or moves without, what stands is not our queue.
 */
static inline void forward_level_noise(struct forward_level *e, u32 last_us,
				       u32 last_pkts)
{
	bool fewer = e->sent_pkts < last_pkts;
	u32 pkts = fewer ? last_pkts - e->sent_pkts : e->sent_pkts - last_pkts;
	s32 due_us = min_t(u32, fixed_mul_div(pkts, e->pkts_ns, 1000),
			   FORWARD_LEVEL_NOISE_MAX_US);
	s32 off_us = (s32)e->level_us - (s32)last_us - (fewer ? -due_us : due_us);

	if (last_pkts)
		e->spread = forward_level_mean(e->spread, off_us);
}

/**
 * forward_level_moved() - how far is the level from that of the last round?
 * @e: estimator
 * @last_us: level of the round before, at most FORWARD_LEVEL_MAX_US
 */
static inline void forward_level_moved(struct forward_level *e, u32 last_us)
{
	e->moves = forward_level_mean(e->moves, (s32)e->level_us - (s32)last_us);
}

/* The level moves less than our packets would move a queue, by a quarter at least */
static inline bool forward_level_of_path(const struct forward_level *e)
{
	u32 spread = e->spread;

	return e->moves < spread - spread / 4;
}

/**
 * forward_level_learn() - no queue: what the packets of the last round had to wait is the path's
 * @e: estimator, primed
 *
 * The base moves there by an eighth, up or down.
 *
 * Return: microseconds up, 0: down.
 */
static inline u32 forward_level_learn(struct forward_level *e)
{
	u32 up_us = 0;

	e->varies = 1;
	if ((s32)(e->min_us - e->base_us) < 0)
		e->base_us -= (e->base_us - e->min_us) >> FORWARD_LEVEL_SPREAD_SHIFT;
	else
		up_us = (e->min_us - e->base_us) >> FORWARD_LEVEL_SPREAD_SHIFT;
	e->base_us += up_us;
	e->level_us -= min(e->level_us, up_us);
	return up_us;
}

/**
 * forward_level_round() - a round is over
 * @e: estimator; a level below the base takes it along, where the path's delay varies only
 *	one that is lower than it moves: no mean of the path's, but a queue that has gone
 *
 * Return: false if the round had no sample.
 */
static inline bool forward_level_round(struct forward_level *e)
{
	u32 slack_us = e->varies ? forward_level_noise_us(e) : 0;
	u32 least_us = e->min_us + slack_us;

	if (!e->fresh)
		return false;
	e->fresh = 0;
	if ((s32)(least_us - e->base_us) < 0) {
		e->varies = 0;
		e->base_us = e->min_us;
	}
	e->level_us = forward_level_delay_us(e, e->min_us);
	return true;
}

/**
 * forward_level_raise_base() - a delay is the path's
 * @e: estimator
 * @us: so much of it
 */
static inline void forward_level_raise_base(struct forward_level *e, u32 us)
{
	e->base_us += us;
	e->level_us -= min(e->level_us, us);
}

#endif /* HETCC_FORWARD_LEVEL_H */
