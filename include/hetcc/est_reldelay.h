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
 * minimum since the start ("the queues initially empty") and its mean over the
 * interval. All times are 32-bit microseconds modulo 2^32; offsets are compared
 * by signed difference, which holds while clocks and path stay within 35 min.
 */
#ifndef HETCC_EST_RELDELAY_H
#define HETCC_EST_RELDELAY_H

#include "fixed.h"

/* n: Q8 packets, resolution 0.004, -2^23 to 2^23 packets */
#define HETCC_RD_SHIFT		8
#define HETCC_RD_ONE		((s32)1 << HETCC_RD_SHIFT)
#define HETCC_RD_N_MAX		S32_MAX

/* Samples of a standing-queue bucket, and ticks it must span */
#define HETCC_RD_BUCKET_ACKS	4
#define HETCC_RD_BUCKET_TICKS	4

/**
 * struct hetcc_rd_span - receive interval of a run of packets, for equation 3
 * @r_us: receiver's time of the packet that opened the run
 * @pkts: packets received since, the opening one not included
 */
struct hetcc_rd_span {
	u32 r_us;
	u32 pkts;
};

/**
 * struct hetcc_rd - relative delay estimator
 * @sum_us: sum over the interval of (offset - @mark_us)
 * @samples: samples in the interval
 * @base_us: smallest offset seen, the empty path
 * @last_us: latest offset
 * @mark_us: last offset of the previous interval
 * @r_us: receiver's time of the latest sample
 * @pkts_ns: pktS of equation 3, nanoseconds; 0 while unknown
 * @n: queue at the end of the last interval, Q8 packets
 * @iv: span of the interval
 * @bucket: spans of the current and the previous bucket
 * @bucket_min_us: smallest offset of the current and the previous bucket
 * @bucket_acks: samples in the current bucket, saturating
 * @buckets: complete buckets, saturating at 2
 * @primed: a first sample has set the base
 */
struct hetcc_rd {
	s64 sum_us;
	u32 samples;
	u32 base_us;
	u32 last_us;
	u32 mark_us;
	u32 r_us;
	u32 pkts_ns;
	s32 n;
	struct hetcc_rd_span iv;
	struct hetcc_rd_span bucket[2];
	u32 bucket_min_us[2];
	u8 bucket_acks;
	u8 buckets;
	bool primed;
};

/**
 * hetcc_rd_restart() - begin a new interval and forget the buckets
 * @e: estimator; base, pktS and n are kept
 */
static inline void hetcc_rd_restart(struct hetcc_rd *e)
{
	e->sum_us = 0;
	e->samples = 0;
	e->iv.pkts = 0;
	e->bucket_acks = 0;
	e->buckets = 0;
}

/**
 * hetcc_rd_reset() - forget everything, for a changed clock
 * @e: estimator
 */
static inline void hetcc_rd_reset(struct hetcc_rd *e)
{
	hetcc_rd_restart(e);
	e->primed = false;
	e->pkts_ns = 0;
	e->n = 0;
}

/* (r - span) / pkts in ns; 0 if no time passed or nothing was received */
static inline u32 hetcc_rd_pkts(const struct hetcc_rd_span *s, u32 r_us)
{
	u32 span_us = r_us - s->r_us;

	if (!s->pkts || !span_us || (s32)span_us < 0)
		return 0;
	/* 2^31 us * 1000 < 2^41 */
	return max_t(u32, hetcc_mul_div(span_us, 1000, s->pkts), 1);
}

/**
 * hetcc_rd_to_pkts() - equation 4: delay to packets
 * @d_us: relative delay, signed
 * @pkts_ns: service time of a packet; 0 (unknown) gives 0
 *
 * |d| < 2^31 us: times 1000 * 2^8 < 2^49.
 *
 * Return: packets in Q8, saturated to +-HETCC_RD_N_MAX.
 */
static inline s32 hetcc_rd_to_pkts(s32 d_us, u32 pkts_ns)
{
	u64 mag = d_us < 0 ? -(s64)d_us : d_us;
	u64 n;

	if (!pkts_ns)
		return 0;
	n = div_u64(mag * 1000 * HETCC_RD_ONE, pkts_ns);
	n = min_t(u64, n, HETCC_RD_N_MAX);
	return d_us < 0 ? -(s32)n : (s32)n;
}

static inline void hetcc_rd_bucket_open(struct hetcc_rd *e, u32 off_us)
{
	e->bucket[0] = (struct hetcc_rd_span){ .r_us = e->r_us };
	e->bucket_min_us[0] = off_us;
	e->bucket_acks = 0;
}

static inline void hetcc_rd_bucket_add(struct hetcc_rd *e, u32 off_us, u32 pkts,
				       u32 tick_us)
{
	if (e->bucket_acks >= HETCC_RD_BUCKET_ACKS &&
	    (s32)(e->r_us - e->bucket[0].r_us) >=
	    (s32)(HETCC_RD_BUCKET_TICKS * tick_us)) {
		e->bucket[1] = e->bucket[0];
		e->bucket_min_us[1] = e->bucket_min_us[0];
		e->buckets = min(e->buckets + 1, 2);
		hetcc_rd_bucket_open(e, off_us);
		/* The packets of this sample belong to the bucket it closes */
		e->bucket[1].pkts += pkts;
		return;
	}
	e->bucket[0].pkts += pkts;
	if (e->bucket_acks < HETCC_RD_BUCKET_ACKS)
		e->bucket_acks++;
	if ((s32)(off_us - e->bucket_min_us[0]) < 0)
		e->bucket_min_us[0] = off_us;
}

/**
 * hetcc_rd_sample() - account for one ACK
 * @e: estimator
 * @s_us: when the packet that caused the ACK was sent, sender's clock
 * @r_us: when it arrived, receiver's clock (a multiple of @tick_us)
 * @pkts: packets received since the previous sample
 * @tick_us: resolution of @r_us
 */
static inline void hetcc_rd_sample(struct hetcc_rd *e, u32 s_us, u32 r_us,
				   u32 pkts, u32 tick_us)
{
	u32 off_us = r_us - s_us;

	e->r_us = r_us;
	e->last_us = off_us;
	if (!e->primed) {
		e->primed = true;
		e->base_us = off_us;
		e->mark_us = off_us;
	} else if ((s32)(off_us - e->base_us) < 0) {
		e->base_us = off_us;
	}
	if (!e->samples) {
		e->iv = (struct hetcc_rd_span){ .r_us = r_us };
		hetcc_rd_bucket_open(e, off_us);
	} else {
		e->iv.pkts += pkts;
		hetcc_rd_bucket_add(e, off_us, pkts, tick_us);
	}
	e->sum_us += (s32)(off_us - e->mark_us);
	e->samples++;
}

/*
 * Quantised times: the mean of many readings lies half a tick below the
 * truth, their minimum almost a whole one.
 */
static inline s32 hetcc_rd_mean_excess_us(const struct hetcc_rd *e, u32 tick_us)
{
	s32 mean_us = (s32)div_s64(e->sum_us, e->samples) +
		      (s32)(e->mark_us - e->base_us);

	return max_t(s32, mean_us - (s32)(tick_us / 2), 0);
}

/**
 * hetcc_rd_interval() - close an interval, equations 2 to 4
 * @e: estimator
 * @tick_us: resolution of the receiver's clock
 * @sum_rule: true: equation 2 to the letter, n grows by what the interval
 *	      added; false: n is the mean delay above the base over pktS
 *
 * Return: true if the interval held a measurement and @e->n is new.
 */
static inline bool hetcc_rd_interval(struct hetcc_rd *e, u32 tick_us,
				     bool sum_rule)
{
	u32 pkts_ns = hetcc_rd_pkts(&e->iv, e->r_us);
	bool valid = e->samples > 0;

	if (pkts_ns)
		e->pkts_ns = pkts_ns;
	if (valid && sum_rule) {
		s64 n = (s64)e->n +
			hetcc_rd_to_pkts((s32)(e->last_us - e->mark_us),
					 e->pkts_ns);

		e->n = (s32)clamp_t(s64, n, -HETCC_RD_N_MAX, HETCC_RD_N_MAX);
	} else if (valid) {
		e->n = hetcc_rd_to_pkts(hetcc_rd_mean_excess_us(e, tick_us),
					e->pkts_ns);
	}
	e->mark_us = e->last_us;
	hetcc_rd_restart(e);
	return valid;
}

/**
 * hetcc_rd_now() - queue that the latest packet met
 * @e: estimator
 * @pkts_ns: service time to translate with
 *
 * Return: packets, Q8.
 */
static inline s32 hetcc_rd_now(const struct hetcc_rd *e, u32 pkts_ns)
{
	return hetcc_rd_to_pkts((s32)(e->last_us - e->base_us), pkts_ns);
}

/**
 * struct hetcc_rd_queue - what the last two buckets of ACKs say
 * @recent: smallest queue of the current bucket, Q8 packets: a burst counts
 * @standing: smallest queue of both, Q8 packets: what did not drain
 * @pkts_ns: service time over both, 0 if unknown
 */
struct hetcc_rd_queue {
	s32 recent;
	s32 standing;
	u32 pkts_ns;
};

/**
 * hetcc_rd_buckets() - queue over the last two buckets
 * @e: estimator
 * @tick_us: resolution of the receiver's clock
 *
 * One tick is taken off each offset, so that the quantisation of the base does
 * not pass for a queue.
 *
 * Return: all 0 while the previous bucket is missing or the current one holds
 * fewer than HETCC_RD_BUCKET_ACKS samples.
 */
static inline struct hetcc_rd_queue hetcc_rd_buckets(const struct hetcc_rd *e,
						     u32 tick_us)
{
	s32 slack_us = tick_us > 1 ? (s32)tick_us : 0;
	struct hetcc_rd_span both = e->bucket[1];
	struct hetcc_rd_queue q = { 0 };
	s32 recent_us, before_us;

	if (!e->buckets || e->bucket_acks < HETCC_RD_BUCKET_ACKS)
		return q;
	both.pkts += e->bucket[0].pkts;
	q.pkts_ns = hetcc_rd_pkts(&both, e->r_us);
	recent_us = (s32)(e->bucket_min_us[0] - e->base_us) - slack_us;
	before_us = (s32)(e->bucket_min_us[1] - e->base_us) - slack_us;
	q.recent = hetcc_rd_to_pkts(max_t(s32, recent_us, 0), q.pkts_ns);
	q.standing = min_t(s32, q.recent,
			   hetcc_rd_to_pkts(max_t(s32, before_us, 0),
					    q.pkts_ns));
	return q;
}

/*
 * Resolution of a peer's timestamp clock (RFC 7323: 1 ms to 1 s, and
 * microseconds between Linux hosts that agree on it).
 */
/* Ten ticks of the coarsest clock that is told apart */
#define HETCC_TICK_PROBE_US	1000000U

/**
 * hetcc_tick_us() - classify a timestamp clock
 * @ticks: how far the peer's clock went
 * @elapsed_us: in this time, at least HETCC_TICK_PROBE_US
 *
 * Return: 1, 1000, 4000, 10000 or 100000 us per tick; 0: none of these.
 */
static inline u32 hetcc_tick_us(u32 ticks, u32 elapsed_us)
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

#endif /* HETCC_EST_RELDELAY_H */
