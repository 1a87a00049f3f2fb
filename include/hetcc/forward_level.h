/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Level of the forward delay, one value a round trip: how long the packet that
 * waited least had to wait, and with how many in flight it was sent.
 *
 * Offsets are receiver's minus sender's clock (equation 1 of Santa Cruz telescopes
 * to their difference), 32-bit microseconds modulo 2^32, compared by signed
 * difference: clocks and path must stay within 35 min. Plain integers, no socket.
 */
#ifndef HETCC_FORWARD_LEVEL_H
#define HETCC_FORWARD_LEVEL_H

#include "queue_pkts.h"

/* Rounds of an epoch; what is remembered is of this epoch and the one before */
#define FORWARD_LEVEL_EPOCH	8
/* Noise: a weight of 1/8 for each round; 2^24 us at most */
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
 * @pkts_ns: least service time of a packet over a round; of this and of the previous
 *	epoch, 0: unknown
 * @primed: the base is known
 * @fresh: the round has a sample
 * @round: of the epoch, 0..FORWARD_LEVEL_EPOCH - 1
 * @spread: twice what packets of a round without queue had to wait more than the one
 *	that waited least, FORWARD_LEVEL_SPREAD_SHIFT more bits
 */
struct forward_level {
	u32 base_us;
	u32 min_us;
	u32 sent_pkts;
	u32 level_us;
	u32 pkts_ns[2];
	u32 primed:1,
	    fresh:1,
	    round:3,
	    spread:27;
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
	if (!e->primed) {
		e->primed = 1;
		e->base_us = off_us;
	}
	if (e->fresh && (s32)(off_us - e->min_us) >= 0)
		return;
	e->fresh = 1;
	e->min_us = off_us;
	e->sent_pkts = sent_pkts;
}

/**
 * forward_level_pkts_ns() - service time of a packet at the bottleneck
 * @e: estimator
 *
 * The least over 8 to 16 rounds: a pipe that is not full shows our own rate, which
 * says nothing of the link's.
 *
 * Return: nanoseconds, 0 if unknown.
 */
static inline u32 forward_level_pkts_ns(const struct forward_level *e)
{
	if (!e->pkts_ns[0] || !e->pkts_ns[1])
		return e->pkts_ns[0] | e->pkts_ns[1];
	return min(e->pkts_ns[0], e->pkts_ns[1]);
}

/**
 * forward_level_service() - equation 3 for a round
 * @e: estimator
 * @us: time in which
 * @pkts: so many packets were received; 0: unknown
 */
static inline void forward_level_service(struct forward_level *e, u32 us,
					 u32 pkts)
{
	u32 ns = pkts ? max_t(u32, fixed_mul_div(us, 1000, pkts), 1) : 0;

	if (ns && (!e->pkts_ns[0] || ns < e->pkts_ns[0]))
		e->pkts_ns[0] = ns;
}

/* The epoch becomes the previous one */
static inline void forward_level_next_epoch(struct forward_level *e)
{
	e->pkts_ns[1] = forward_level_pkts_ns(e) && !e->pkts_ns[0] ?
			e->pkts_ns[1] : e->pkts_ns[0];
	e->pkts_ns[0] = 0;
}

/* Microseconds that delays differ by where there is no queue */
static inline u32 forward_level_noise_us(const struct forward_level *e)
{
	return e->spread >> FORWARD_LEVEL_SPREAD_SHIFT;
}

/**
 * forward_level_noise() - the round just over had no queue
 * @e: estimator
 * @off_us: offset of any packet of it
 */
static inline void forward_level_noise(struct forward_level *e, u32 off_us)
{
	u32 us = forward_level_delay_us(e, off_us);

	us = min_t(u32, us - min(us, e->level_us), FORWARD_LEVEL_NOISE_MAX_US);
	e->spread = e->spread - forward_level_noise_us(e) + 2 * us;
}

/**
 * forward_level_round() - a round is over
 * @e: estimator; a level below the base takes it along
 *
 * Return: false if the round had no sample.
 */
static inline bool forward_level_round(struct forward_level *e)
{
	u32 level_us;

	if (!e->fresh)
		return false;
	e->fresh = 0;
	if ((s32)(e->min_us - e->base_us) < 0)
		e->base_us = e->min_us;
	level_us = forward_level_delay_us(e, e->min_us);
	e->level_us = level_us;
	e->round = (e->round + 1) % FORWARD_LEVEL_EPOCH;
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
