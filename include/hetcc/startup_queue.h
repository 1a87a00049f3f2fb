/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The queue that slow start builds, from buckets of ACKs: the smallest forward
 * offset of a bucket does not show bursts that drain within it, and equation 3
 * over two buckets gives the service time.
 */
#ifndef HETCC_STARTUP_QUEUE_H
#define HETCC_STARTUP_QUEUE_H

#include "queue_pkts.h"

/* ACKs of a bucket, and ticks of the receiver's clock that it must span */
#define STARTUP_QUEUE_ACKS	4
#define STARTUP_QUEUE_TICKS	4

/**
 * struct startup_queue - buckets of ACKs
 * @bucket: spans of the current and the previous bucket
 * @min_us: smallest offset of the current and the previous bucket
 * @acks: ACKs in the current bucket, saturating
 * @full: complete buckets, saturating at 2
 */
struct startup_queue {
	struct queue_pkts_span bucket[2];
	u32 min_us[2];
	u8 acks;
	u8 full;
};

/**
 * struct startup_queue_ack - one ACK
 * @r_us: receiver's time of the packet that caused it
 * @off_us: forward offset of that packet
 * @delivered: packets received so far, modulo 2^32
 * @tick_us: resolution of @r_us, 1..100000
 */
struct startup_queue_ack {
	u32 r_us;
	u32 off_us;
	u32 delivered;
	u32 tick_us;
};

/**
 * struct startup_queue_len - what the last two buckets say
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
 * startup_queue_restart() - begin a start-up
 * @q: buckets
 */
static inline void startup_queue_restart(struct startup_queue *q)
{
	q->acks = 0;
	q->full = 0;
}

static inline void startup_queue_open(struct startup_queue *q,
				      const struct startup_queue_ack *a)
{
	q->bucket[0] = (struct queue_pkts_span){ a->r_us, a->delivered };
	q->min_us[0] = a->off_us;
	q->acks = 0;
}

/**
 * startup_queue_add() - account for one ACK
 * @q: buckets
 * @a: the ACK
 * @first: it opens an interval: buckets of the one before do not count
 */
static inline void startup_queue_add(struct startup_queue *q,
				     const struct startup_queue_ack *a,
				     bool first)
{
	if (first) {
		q->full = 0;
		startup_queue_open(q, a);
		return;
	}
	if (q->acks >= STARTUP_QUEUE_ACKS &&
	    (s32)(a->r_us - q->bucket[0].r_us) >=
	    (s32)(STARTUP_QUEUE_TICKS * a->tick_us)) {
		q->bucket[1] = q->bucket[0];
		q->min_us[1] = q->min_us[0];
		q->full = min(q->full + 1, 2);
		startup_queue_open(q, a);
		return;
	}
	if (q->acks < STARTUP_QUEUE_ACKS)
		q->acks++;
	if ((s32)(a->off_us - q->min_us[0]) < 0)
		q->min_us[0] = a->off_us;
}

/**
 * startup_queue_get() - queue over the last two buckets
 * @q: buckets
 * @a: the latest ACK
 * @base_us: forward offset of the empty path
 *
 * One tick is taken off each offset, so that the quantisation of the base does
 * not pass for a queue.
 *
 * Return: all 0 while the previous bucket is missing or the current one holds
 * fewer than STARTUP_QUEUE_ACKS ACKs.
 */
static inline struct startup_queue_len
startup_queue_get(const struct startup_queue *q,
		  const struct startup_queue_ack *a, u32 base_us)
{
	s32 slack_us = a->tick_us > 1 ? (s32)a->tick_us : 0;
	struct startup_queue_len len = { 0 };
	s32 recent_us, before_us;

	if (!q->full || q->acks < STARTUP_QUEUE_ACKS)
		return len;
	len.pkts_ns = queue_pkts_service_ns(&q->bucket[1], a->r_us,
					    a->delivered);
	recent_us = max_t(s32, (s32)(q->min_us[0] - base_us), 0) - slack_us;
	before_us = max_t(s32, (s32)(q->min_us[1] - base_us), 0) - slack_us;
	len.recent = queue_pkts_from_us(max_t(s32, recent_us, 0), len.pkts_ns);
	len.standing = min_t(s32, len.recent,
			     queue_pkts_from_us(max_t(s32, before_us, 0),
						len.pkts_ns));
	return len;
}

#endif /* HETCC_STARTUP_QUEUE_H */
