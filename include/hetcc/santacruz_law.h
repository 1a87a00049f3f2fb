/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Santa Cruz: from the queue to the window (section 3.1 of the 1999 paper and what a
 * real network needs beyond it), once a round trip. Plain integers, no socket.
 */
#ifndef HETCC_SANTACRUZ_LAW_H
#define HETCC_SANTACRUZ_LAW_H

#include "queue_pkts.h"

/* Segments: 24 bits, 25 GB of 1500 bytes */
#define SANTACRUZ_LAW_WINDOW_MIN	2U
#define SANTACRUZ_LAW_WINDOW_MAX	(((u32)1 << 24) - 1)
/* A window grows by at most this part of it in one round, after a congestion by that */
#define SANTACRUZ_LAW_RAISE_SHIFT	2
#define SANTACRUZ_LAW_CAUTIOUS_SHIFT	4
/* A delay answers a smaller window by this part of what it should, or not at all */
#define SANTACRUZ_LAW_ANSWER_SHIFT	3
/* Packets in flight in a drain */
#define SANTACRUZ_LAW_DRAIN_MIN	4U

/**
 * santacruz_law_op() - operating point of a large window
 * @window: packets
 * @n_op: parameter, Q8 packets
 *
 * sqrt(window) / 4 packets where that is more: above 144 packets for 3. A paced
 * sender emits a millisecond at a time and a clock has its resolution; three
 * packets are 36 us at 1 Gbit/s. The root leaves one fair point to flows that
 * share a queue, a part of the window would not.
 *
 * Return: Q8 packets.
 */
static inline s32 santacruz_law_op(u32 window, s32 n_op)
{
	/* sqrt(2^23 * 2^8) < 2^16, times 2^4 / 4 */
	u32 root = int_sqrt(min_t(u32, window, (u32)1 << 23) << 8);

	return max_t(s32, n_op, (s32)(root * (QUEUE_PKTS_ONE / 16 / 4)));
}

/**
 * santacruz_law_widen() - what the own bursts put into the queue, or the link's noise
 * @op: operating point, Q8 packets, 0..2^22
 * @burst: packets that the host sends at once, 1..2^20
 * @noise: what the queue moves by itself, Q8 packets, not negative
 *
 * Seconds of noise at 10 Gbit/s are more than the format holds: bounded to half of it, so
 * that a tolerance can be added.
 *
 * Return: Q8 packets, at least @op, at most 2^31 / 2 more.
 */
static inline s32 santacruz_law_widen(s32 op, u32 burst, s32 noise)
{
	s32 own = (s32)(burst << QUEUE_PKTS_SHIFT);

	noise = min_t(s32, max_t(s32, noise, own), QUEUE_PKTS_MAX / 2);
	return op + max_t(s32, noise - QUEUE_PKTS_ONE, 0);
}

/* A window grows by so much in a round at most */
static inline u32 santacruz_law_most(u32 window, bool cautious)
{
	return window >> (cautious ? SANTACRUZ_LAW_CAUTIOUS_SHIFT : SANTACRUZ_LAW_RAISE_SHIFT);
}

/**
 * santacruz_law_raise() - how far to raise the window
 * @window: packets
 * @shows: a queue shows
 * @run: rounds in a row that have raised it
 * @cautious: there was congestion
 *
 * A queue says that the pipe is full: one packet, as the paper. Nothing queued
 * says nothing about what is missing: 1, 2, 4... packets, up to a part of the
 * window, so that a pipe of any size is full after O(log) rounds.
 *
 * Return: packets, at least 1.
 */
static inline u32 santacruz_law_raise(u32 window, bool shows, u32 run,
				      bool cautious)
{
	if (shows)
		return 1;
	return max_t(u32, min_t(u32, 1U << min_t(u32, run, 24),
				santacruz_law_most(window, cautious)), 1);
}

/**
 * santacruz_law_deficit() - how far to raise the window where the level is noise
 * @window: packets
 * @sent: packets in flight when the packet was sent that met the queue, at most 2^31
 * @missing: queue below the operating point, Q8 packets; 0: not to be believed
 * @cautious: there was congestion
 *
 * What chance puts above the operating point lowers the window by all of it
 * (santacruz_law_lower()). Without the same the other way a window shrinks for ever that
 * only noise moves. Half, as all flows of a queue see the same at a time.
 *
 * Return: packets, at most a part of @window.
 */
static inline u32 santacruz_law_deficit(u32 window, u32 sent, s32 missing, bool cautious)
{
	u32 right = sent + ((u32)max_t(s32, missing, 0) >> QUEUE_PKTS_SHIFT);

	return min_t(u32, (right - min(right, window)) / 2,
		     santacruz_law_most(window, cautious));
}

/**
 * santacruz_law_lower() - window that leaves the operating point queued
 * @window: packets
 * @sent: packets in flight when the packet was sent that met the queue
 * @excess: queue beyond the operating point, Q8 packets, positive
 * @least: packets that the bursts of the sending host need, whatever the queue
 *
 * A packet meets the queue of what was in flight when it was sent. So this many
 * less than that are right, whatever the window has become since; half of them, or of
 * the window, at most goes before it is seen what that did.
 *
 * Return: packets, at most @window.
 */
static inline u32 santacruz_law_lower(u32 window, u32 sent, s32 excess,
				      u32 least)
{
	u32 pkts = (u32)excess >> QUEUE_PKTS_SHIFT;
	u32 right = sent > pkts ? sent - pkts : 0;

	right = max_t(u32, right, max(window, sent) / 2);
	return min_t(u32, max(right, least), window);
}

/**
 * santacruz_law_drain() - window of a drain
 * @window: packets
 * @n: measured queue, Q8 packets
 *
 * Without the queue, and a quarter of the rest.
 *
 * Return: packets, at least SANTACRUZ_LAW_DRAIN_MIN, unless @window is less.
 */
static inline u32 santacruz_law_drain(u32 window, s32 n)
{
	u32 pkts = (u32)max_t(s32, n, 0) >> QUEUE_PKTS_SHIFT;
	u32 rest = window - min_t(u32, pkts + 1, window);

	return min_t(u32, window, max_t(u32, rest - rest / 4,
					SANTACRUZ_LAW_DRAIN_MIN));
}

/**
 * struct santacruz_law_answer - a delay that the window was lowered for
 * @first_us: it was so much, at most 2^26
 * @now_us: and is now
 * @first_pkts: packets in flight then
 * @now_pkts: and now
 * @pkts_ns: service time of a packet
 */
struct santacruz_law_answer {
	u32 first_us;
	u32 now_us;
	u32 first_pkts;
	u32 now_pkts;
	u32 pkts_ns;
};

/**
 * santacruz_law_grew() - the delay grew by more than an eighth and a tick
 * @a: since the first step
 * @tick_us: resolution of the delays
 */
static inline bool santacruz_law_grew(const struct santacruz_law_answer *a,
				      u32 tick_us)
{
	return a->now_us > a->first_us + a->first_us / 8 + tick_us;
}

/**
 * santacruz_law_unanswered() - does the delay stand whatever we take out?
 * @a: what was taken out since, and what became of the delay
 *
 * Packets taken out of a queue shorten it by the time that each takes at the
 * bottleneck, or, among n flows, by the nth part of that. Decided when half of the
 * queue, or of what was in flight, is gone.
 *
 * Return: true if the delay is not ours.
 */
static inline bool
santacruz_law_unanswered(const struct santacruz_law_answer *a)
{
	u32 taken = a->first_pkts > a->now_pkts ?
		    a->first_pkts - a->now_pkts : 0;
	u32 fell_us = a->first_us > a->now_us ? a->first_us - a->now_us : 0;
	/* 2^32 * 2^32 / 1000 < 2^55 */
	u64 due_us = div_u64((u64)taken * a->pkts_ns, 1000);

	if (due_us < a->first_us / 2 && taken < a->first_pkts / 2)
		return false;
	return fell_us < min_t(u64, due_us, a->first_us) >> SANTACRUZ_LAW_ANSWER_SHIFT;
}

/**
 * santacruz_law_gave_way() - is a quarter of what was in flight gone?
 * @a: what was taken out since
 *
 * Equal flows that find their shares take less from each other.
 */
static inline bool
santacruz_law_gave_way(const struct santacruz_law_answer *a)
{
	return a->now_pkts <= a->first_pkts - a->first_pkts / 4;
}

/**
 * santacruz_law_foreign() - a delay that is not ours, whatever we do
 * @us: delay
 * @pkts: packets in flight when the packet was sent that met it
 * @pkts_ns: service time of a packet, 0: unknown
 *
 * Packets in flight can queue for their service times at most. Twice that allows for a
 * link that has become half as fast.
 *
 * Return: true if others' packets, or the path, cause half of it at least.
 */
static inline bool santacruz_law_foreign(u32 us, u32 pkts, u32 pkts_ns)
{
	/* 2^32 * 500 < 2^41; (2^32 - 1)^2 < 2^64 */
	return pkts_ns && (u64)us * 500 > (u64)pkts * pkts_ns;
}

#endif /* HETCC_SANTACRUZ_LAW_H */
