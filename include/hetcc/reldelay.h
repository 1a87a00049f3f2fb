/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Relative forward delay and the queue it stands for (Parsa and
 * Garcia-Luna-Aceves 1999, section 3.1).
 *
 *   D(j,i) = R(j,i) - S(j,i)          (1)  receive minus send interval
 *   n(t)   = n(t-1) + M(W)            (2)  packets in the bottleneck queue
 *
 * The sum of D telescopes: it is the difference of two forward offsets
 * (receiver's clock minus sender's clock). So the state is the offset, its
 * minimum on the empty path, and its level in the interval: the mean of the
 * minima of the interval's blocks. All times are 32-bit microseconds modulo
 * 2^32; offsets are compared by signed difference, which holds while clocks and
 * path stay within 35 min.
 */
#ifndef HETCC_RELDELAY_H
#define HETCC_RELDELAY_H

#include "clock_skew.h"
#include "delay_block.h"
#include "startup_queue.h"

/* Most blocks that an interval counts, and what each counts for: 16 s */
#define RELDELAY_BLOCKS_MAX	63U
#define RELDELAY_EXCESS_MAX_US	((s32)1 << 24)

/**
 * struct reldelay - relative delay estimator
 * @base_us: smallest offset seen, the empty path
 * @last_us: latest offset
 * @block: block under way, and how the interval is cut
 * @mark_us: last offset of the previous interval, for the sum rule
 * @sum_us: without the sum rule, what the minima of the interval's blocks exceed
 *	the base by; +-2^24 us a block
 * @r_us: receiver's time of the latest sample
 * @pkts_ns: pktS of equation 3, nanoseconds; 0 while unknown
 * @n: queue at the end of the last interval, Q8 packets
 * @iv: span of the interval
 * @start: during start-up
 * @skew: from then on
 * @tick_us: resolution of the receiver's clock, 1..100000
 * @blocks: complete ones of the interval
 * @jump: largest rise from one sample to the next of late, below 2^jump us
 * @primed: a first sample has set the base
 * @fresh: the interval has a sample
 * @steady: the base follows levels; in a start-up, single packets
 * @sum_rule: n is by equation 2 to the letter
 */
struct reldelay {
	u32 base_us;
	u32 last_us;
	struct delay_block block;
	union {
		u32 mark_us;
		s32 sum_us;
	};
	u32 r_us;
	u32 pkts_ns;
	s32 n;
	struct queue_pkts_span iv;
	union {
		struct startup_queue start;
		struct clock_skew skew;
	};
	u32 tick_us:17,
	    blocks:6,
	    jump:5,
	    primed:1,
	    fresh:1,
	    sum_rule:1,
	    steady:1;
};

/**
 * reldelay_restart() - begin a new interval
 * @e: estimator; base, pktS and n are kept
 * @keep_jump: else the largest jump fades by half
 */
static inline void reldelay_restart(struct reldelay *e, bool keep_jump)
{
	e->fresh = 0;
	if (!keep_jump && e->jump)
		e->jump--;
}

/**
 * reldelay_init() - before the first sample
 * @e: estimator, all zero but for tick_us, which is the caller's to set
 * @sum_rule: n by equation 2 to the letter
 */
static inline void reldelay_init(struct reldelay *e, bool sum_rule)
{
	e->sum_rule = sum_rule;
}

/**
 * reldelay_reset() - forget everything measured, for a changed clock
 * @e: estimator; tick, sum rule, phase and length of blocks are kept
 */
static inline void reldelay_reset(struct reldelay *e)
{
	e->fresh = 0;
	e->primed = 0;
	e->jump = 0;
	e->pkts_ns = 0;
	e->n = 0;
}

static inline void reldelay_note_jump(struct reldelay *e, u32 off_us)
{
	s32 rise_us = (s32)(off_us - e->last_us);

	if (rise_us > 0)
		e->jump = max_t(u32, e->jump, fls(rise_us));
}

/*
 * In a start-up: all blocks so far exceed a lower base by more. Sum and growth:
 * twice 63 * 2^24 us < 2^31.
 */
static inline void reldelay_rebase(struct reldelay *e, u32 off_us)
{
	u32 fall_us = min_t(u32, e->base_us - off_us, RELDELAY_EXCESS_MAX_US);
	s32 blocks = e->blocks;

	if (!e->sum_rule && e->fresh)
		e->sum_us = min(e->sum_us + blocks * (s32)fall_us,
				blocks * RELDELAY_EXCESS_MAX_US);
	e->base_us = off_us;
}

/* 64 * 2^24 us < 2^31 */
static inline void reldelay_block_close(struct reldelay *e)
{
	s32 excess_us = (s32)(e->block.min_us - e->base_us);

	if (e->sum_rule || e->blocks == RELDELAY_BLOCKS_MAX)
		return;
	e->sum_us += clamp(excess_us, -RELDELAY_EXCESS_MAX_US,
			   RELDELAY_EXCESS_MAX_US);
	e->blocks++;
}

/* Time of the latest sample within the interval, 64 us */
static inline u16 reldelay_at(const struct reldelay *e)
{
	return delay_block_at(e->iv.r_us, e->r_us);
}

static inline void reldelay_block_add(struct reldelay *e, u32 off_us)
{
	u16 at = reldelay_at(e);

	if (delay_block_is_over(&e->block, at)) {
		reldelay_block_close(e);
		delay_block_begin(&e->block, at, off_us);
	} else {
		delay_block_add(&e->block, off_us);
	}
}

/**
 * reldelay_sample() - account for one ACK
 * @e: estimator
 * @s_us: when the packet that caused the ACK was sent, sender's clock
 * @r_us: when it arrived, receiver's clock
 * @delivered: packets received so far, modulo 2^32
 */
static inline void reldelay_sample(struct reldelay *e, u32 s_us, u32 r_us,
				   u32 delivered)
{
	u32 off_us = r_us - s_us;

	if (!e->primed) {
		e->primed = 1;
		e->base_us = off_us;
		e->last_us = off_us;
		if (e->sum_rule)
			e->mark_us = off_us;
	}
	reldelay_note_jump(e, off_us);
	if (!e->steady && (s32)(off_us - e->base_us) < 0)
		reldelay_rebase(e, off_us);
	e->r_us = r_us;
	e->last_us = off_us;
	if (e->fresh) {
		reldelay_block_add(e, off_us);
		return;
	}
	e->fresh = 1;
	e->iv = (struct queue_pkts_span){ r_us, delivered };
	delay_block_begin(&e->block, 0, off_us);
	e->blocks = 0;
	if (!e->sum_rule)
		e->sum_us = 0;
}

/**
 * reldelay_delay_us() - the level of the interval just evaluated
 * @e: estimator
 *
 * Return: mean of the blocks' least delays above the base, microseconds within
 * +-2^24, below 0 where the base has to follow; 0 with the sum rule.
 */
static inline s32 reldelay_delay_us(const struct reldelay *e)
{
	return e->sum_rule || !e->blocks ? 0 : e->sum_us / (s32)e->blocks;
}

/**
 * reldelay_settle() - let the base follow a level below it
 * @e: estimator after reldelay_interval(), steady
 * @near_us: by less than this the level may be luck: an eighth of it counts
 *
 * Return: true if it fell by more: the path is another one.
 */
static inline bool reldelay_settle(struct reldelay *e, u32 near_us)
{
	s32 below_us = -reldelay_delay_us(e);
	s32 luck_us = min_t(s32, below_us, min_t(u32, near_us, S32_MAX));

	if (below_us <= 0)
		return false;
	e->base_us -= below_us - (luck_us - luck_us / 8);
	return luck_us < below_us;
}

static inline s32 reldelay_summed(const struct reldelay *e)
{
	s32 d_us = (s32)(e->last_us - e->mark_us);
	s64 n = (s64)e->n + queue_pkts_from_us(d_us, e->pkts_ns);

	return (s32)clamp_t(s64, n, -QUEUE_PKTS_MAX, QUEUE_PKTS_MAX);
}

/**
 * reldelay_interval() - evaluate an interval, equations 2 to 4
 * @e: estimator; with sum_rule n grows by what the interval added, else it is
 *     the interval's level over pktS
 * @delivered: packets received so far, modulo 2^32
 *
 * Return: true if the interval held a measurement and @e->n is new.
 */
static inline bool reldelay_interval(struct reldelay *e, u32 delivered)
{
	u32 pkts_ns = queue_pkts_service_ns(&e->iv, e->r_us, delivered);

	if (!e->fresh)
		return false;
	if (pkts_ns)
		e->pkts_ns = pkts_ns;
	reldelay_block_close(e);
	delay_block_cut(&e->block, reldelay_at(e));
	if (e->sum_rule) {
		e->n = reldelay_summed(e);
		e->mark_us = e->last_us;
	} else {
		e->n = queue_pkts_from_us(max_t(s32, reldelay_delay_us(e), 0),
					  e->pkts_ns);
	}
	return true;
}

/**
 * reldelay_now() - queue that the latest packet met
 * @e: estimator
 * @pkts_ns: service time to translate with
 *
 * Return: packets, Q8.
 */
static inline s32 reldelay_now(const struct reldelay *e, u32 pkts_ns)
{
	return queue_pkts_from_us((s32)(e->last_us - e->base_us), pkts_ns);
}

/**
 * reldelay_block() - queue that no packet of the block under way fell below
 * @e: estimator whose interval has a sample
 *
 * Return: packets, Q8, not negative.
 */
static inline s32 reldelay_block(const struct reldelay *e)
{
	s32 d_us = (s32)(e->block.min_us - e->base_us);

	return queue_pkts_from_us(max_t(s32, d_us, 0), e->pkts_ns);
}

static inline struct startup_queue_ack
reldelay_startup_ack(const struct reldelay *e, u32 delivered)
{
	return (struct startup_queue_ack){
		.r_us = e->r_us,
		.off_us = e->last_us,
		.delivered = delivered,
		.tick_us = e->tick_us,
	};
}

/**
 * reldelay_startup_add() - the latest sample is of a start-up
 * @e: estimator, after reldelay_sample()
 * @delivered: packets received so far, modulo 2^32
 */
static inline void reldelay_startup_add(struct reldelay *e, u32 delivered)
{
	struct startup_queue_ack a = reldelay_startup_ack(e, delivered);

	startup_queue_add(&e->start, &a, e->iv.delivered == delivered);
}

/**
 * reldelay_startup_queue() - queue of a start-up
 * @e: estimator
 * @delivered: packets received so far, modulo 2^32
 *
 * Return: see startup_queue_get().
 */
static inline struct startup_queue_len
reldelay_startup_queue(const struct reldelay *e, u32 delivered)
{
	struct startup_queue_ack a = reldelay_startup_ack(e, delivered);

	return startup_queue_get(&e->start, &a, e->base_us);
}

#endif /* HETCC_RELDELAY_H */
