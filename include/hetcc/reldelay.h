/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Relative forward delay and the queue it stands for (Parsa and
 * Garcia-Luna-Aceves 1999, section 3.1).
 *
 *   D(j,i) = R(j,i) - S(j,i)          (1)  receive minus send interval
 *   n(t)   = n(t-1) + M(W)            (2)  packets in the bottleneck queue
 *   pktS   = R / packets received     (3)  service time of a packet
 *   M(W)   = sum(D) / pktS            (4)  over one window of data
 *
 * The sum of D telescopes: it is the difference of two forward offsets
 * (receiver's clock minus sender's clock). So the state is the offset, its
 * minimum on the empty path, and its level in the interval. All times are 32-bit
 * microseconds modulo 2^32; offsets are compared by signed difference, which
 * holds while clocks and path stay within 35 min.
 *
 * Jitter, aggregation, bursts, late ACKs and the receiver's tick lift offsets for
 * milliseconds; a queue of ours stands for a round trip. The level of an
 * interval is the mean of the minima of its blocks of 5 ms: a short noise is not
 * in it, a queue that comes and goes is.
 */
#ifndef HETCC_RELDELAY_H
#define HETCC_RELDELAY_H

#include "clock_skew.h"
#include "fixed.h"

/* n: Q8 packets, resolution 0.004, -2^23 to 2^23 packets */
#define QUEUE_PKTS_SHIFT	8
#define QUEUE_PKTS_ONE		((s32)1 << QUEUE_PKTS_SHIFT)
#define QUEUE_PKTS_MAX		S32_MAX

/* Samples of a standing-queue bucket, and ticks it must span */
#define STARTUP_QUEUE_ACKS	4
#define STARTUP_QUEUE_TICKS	4

/**
 * struct queue_pkts_span - where a run of packets began, for equation 3
 * @r_us: receiver's time of the packet that opened the run
 * @delivered: packets received up to and with it
 */
struct queue_pkts_span {
	u32 r_us;
	u32 delivered;
};

/**
 * struct startup_queue - buckets of ACKs, while a start-up runs
 * @bucket: spans of the current and the previous bucket
 * @min_us: smallest offset of the current and the previous bucket
 * @acks: samples in the current bucket, saturating
 * @full: complete buckets, saturating at 2
 */
struct startup_queue {
	struct queue_pkts_span bucket[2];
	u32 min_us[2];
	u8 acks;
	u8 full;
};

/*
 * Blocks of an interval: 5 ms each at least, 64 us less by rounding, and fewer than
 * 64. They are cut by the length of the interval before; in the first every sample
 * is a block.
 */
#define DELAY_BLOCK_US		5000U
#define DELAY_BLOCK_MAX		32U
#define RELDELAY_BLOCKS_MAX	63U
/* Most that a block counts for: 16 s */
#define RELDELAY_EXCESS_MAX_US	((s32)1 << 24)
/* Times within an interval: 64 us, up to 4 s */
#define DELAY_BLOCK_SHIFT	6

/**
 * struct reldelay - relative delay estimator
 * @base_us: smallest offset seen, the empty path
 * @last_us: latest offset
 * @min_us: smallest offset of the block under way
 * @mark_us: last offset of the previous interval, for the sum rule
 * @sum_us: without the sum rule, what the minima of the interval's blocks exceed
 *	the base by; +-2^24 us a block
 * @r_us: receiver's time of the latest sample
 * @pkts_ns: pktS of equation 3, nanoseconds; 0 while unknown
 * @n: queue at the end of the last interval, Q8 packets
 * @iv: span of the interval
 * @start: during start-up
 * @skew: from then on
 * @block_at: begin of the block under way since that of the interval, 64 us
 * @block_len: length of blocks, 64 us
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
	u32 min_us;
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
	u16 block_at;
	u16 block_len;
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
 * startup_queue_restart() - begin a start-up
 * @e: estimator; its clock skew is forgotten
 */
static inline void startup_queue_restart(struct reldelay *e)
{
	e->start.acks = 0;
	e->start.full = 0;
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

/* Time per packet since the span began, ns; 0 if nothing or no time passed */
static inline u32 queue_pkts_service_ns(const struct queue_pkts_span *s, u32 r_us,
					u32 delivered)
{
	u32 span_us = r_us - s->r_us, pkts = delivered - s->delivered;

	if (!pkts || !span_us || (s32)span_us < 0)
		return 0;
	/* 2^31 us * 1000 < 2^41 */
	return max_t(u32, fixed_mul_div(span_us, 1000, pkts), 1);
}

/**
 * queue_pkts_from_us() - equation 4: delay to packets
 * @d_us: relative delay, signed
 * @pkts_ns: service time of a packet; 0 (unknown) gives 0
 *
 * |d| < 2^31 us: times 1000 * 2^8 < 2^49.
 *
 * Return: packets in Q8, saturated to +-QUEUE_PKTS_MAX.
 */
static inline s32 queue_pkts_from_us(s32 d_us, u32 pkts_ns)
{
	u64 mag = d_us < 0 ? -(s64)d_us : d_us;
	u64 n;

	if (!pkts_ns)
		return 0;
	n = div_u64(mag * 1000 * QUEUE_PKTS_ONE, pkts_ns);
	n = min_t(u64, n, QUEUE_PKTS_MAX);
	return d_us < 0 ? -(s32)n : (s32)n;
}

static inline void startup_queue_open(struct reldelay *e, u32 delivered)
{
	e->start.bucket[0] = (struct queue_pkts_span){ e->r_us, delivered };
	e->start.min_us[0] = e->last_us;
	e->start.acks = 0;
}

/**
 * startup_queue_add() - account for one ACK of a start-up
 * @e: estimator, after reldelay_sample()
 * @delivered: packets received so far
 */
static inline void startup_queue_add(struct reldelay *e, u32 delivered)
{
	struct startup_queue *st = &e->start;

	if (e->iv.delivered == delivered) {
		st->full = 0;
		startup_queue_open(e, delivered);
		return;
	}
	if (st->acks >= STARTUP_QUEUE_ACKS &&
	    (s32)(e->r_us - st->bucket[0].r_us) >=
	    (s32)(STARTUP_QUEUE_TICKS * e->tick_us)) {
		st->bucket[1] = st->bucket[0];
		st->min_us[1] = st->min_us[0];
		st->full = min(st->full + 1, 2);
		startup_queue_open(e, delivered);
		return;
	}
	if (st->acks < STARTUP_QUEUE_ACKS)
		st->acks++;
	if ((s32)(e->last_us - st->min_us[0]) < 0)
		st->min_us[0] = e->last_us;
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
	s32 excess_us = (s32)(e->min_us - e->base_us);

	if (e->sum_rule || e->blocks == RELDELAY_BLOCKS_MAX)
		return;
	e->sum_us += clamp(excess_us, -RELDELAY_EXCESS_MAX_US,
			   RELDELAY_EXCESS_MAX_US);
	e->blocks++;
}

/* Of the latest sample; 0 if its time is before the interval's */
static inline u16 reldelay_at(const struct reldelay *e)
{
	s32 at_us = max_t(s32, (s32)(e->r_us - e->iv.r_us), 0);

	return (u16)min_t(u32, (u32)at_us >> DELAY_BLOCK_SHIFT, U16_MAX);
}

static inline void reldelay_block_add(struct reldelay *e, u32 off_us)
{
	u16 at = reldelay_at(e);

	if (at - e->block_at >= e->block_len) {
		reldelay_block_close(e);
		e->block_at = at;
		e->min_us = off_us;
	} else if ((s32)(off_us - e->min_us) < 0) {
		e->min_us = off_us;
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
	e->min_us = off_us;
	e->block_at = 0;
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

/* Blocks for an interval like the one that ends: equal, and 1/16 to spare */
static inline void reldelay_cut_blocks(struct reldelay *e)
{
	u32 at = reldelay_at(e);
	u32 blocks = (at << DELAY_BLOCK_SHIFT) / DELAY_BLOCK_US;

	at /= clamp(blocks, 1U, DELAY_BLOCK_MAX);
	at = max_t(u32, at + at / 16 + 1, DELAY_BLOCK_US >> DELAY_BLOCK_SHIFT);
	e->block_len = (u16)min_t(u32, at, U16_MAX);
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
	reldelay_cut_blocks(e);
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
	return queue_pkts_from_us(max_t(s32, (s32)(e->min_us - e->base_us), 0),
				  e->pkts_ns);
}

/**
 * struct startup_queue_len - what the last two buckets of ACKs say
 * @recent: smallest queue of the current bucket, Q8 packets: a burst counts
 * @standing: smallest queue of both, Q8 packets: what did not drain
 * @pkts_ns: service time over both, 0 if unknown
 */
struct startup_queue_len {
	s32 recent;
	s32 standing;
	u32 pkts_ns;
};

/**
 * startup_queue_get() - queue over the last two buckets
 * @e: estimator
 * @delivered: packets received so far, modulo 2^32
 *
 * One tick is taken off each offset, so that the quantisation of the base does
 * not pass for a queue.
 *
 * Return: all 0 while the previous bucket is missing or the current one holds
 * fewer than STARTUP_QUEUE_ACKS samples.
 */
static inline struct startup_queue_len startup_queue_get(const struct reldelay *e,
							 u32 delivered)
{
	s32 slack_us = e->tick_us > 1 ? (s32)e->tick_us : 0;
	const struct startup_queue *st = &e->start;
	struct startup_queue_len q = { 0 };
	s32 recent_us, before_us;

	if (!st->full || st->acks < STARTUP_QUEUE_ACKS)
		return q;
	q.pkts_ns = queue_pkts_service_ns(&st->bucket[1], e->r_us, delivered);
	recent_us = max_t(s32, (s32)(st->min_us[0] - e->base_us), 0) - slack_us;
	before_us = max_t(s32, (s32)(st->min_us[1] - e->base_us), 0) - slack_us;
	q.recent = queue_pkts_from_us(max_t(s32, recent_us, 0), q.pkts_ns);
	q.standing = min_t(s32, q.recent,
			   queue_pkts_from_us(max_t(s32, before_us, 0),
					      q.pkts_ns));
	return q;
}

/*
 * Resolution of a peer's timestamp clock (RFC 7323: 1 ms to 1 s, and
 * microseconds between Linux hosts that agree on it).
 */
/* Ten ticks of the coarsest clock that is told apart */
#define TSVAL_TICK_PROBE_US	1000000U

/**
 * tsval_tick_us() - classify a timestamp clock
 * @ticks: how far the peer's clock went
 * @elapsed_us: in this time, at least TSVAL_TICK_PROBE_US
 *
 * Return: 1, 1000, 4000, 10000 or 100000 us per tick; 0: none of these.
 */
static inline u32 tsval_tick_us(u32 ticks, u32 elapsed_us)
{
	static const u32 known[] = { 1, 1000, 4000, 10000, 100000 };
	u32 i;

	for (i = 0; i < 5; i++) {
		u64 us = (u64)ticks * known[i];

		if (us >= elapsed_us - elapsed_us / 3 &&
		    us <= (u64)elapsed_us + elapsed_us / 2)
			return known[i];
	}
	return 0;
}

#endif /* HETCC_RELDELAY_H */
