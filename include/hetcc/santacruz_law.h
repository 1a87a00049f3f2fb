/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Santa Cruz: from the queue to the window (section 3.1 and what a real network
 * needs beyond it), once per window of data. Plain integers, no socket.
 */
#ifndef HETCC_SANTACRUZ_LAW_H
#define HETCC_SANTACRUZ_LAW_H

#include "reldelay.h"

/* A window grows by at most this part of it in one round */
#define SANTACRUZ_LAW_RAISE_SHIFT	4
/* And by this part once the queue shows */
#define SANTACRUZ_LAW_FINE_SHIFT	7
/* Fewer that come at once are a burst */
#define SANTACRUZ_LAW_JUMP_PKTS	4

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
 * santacruz_law_shows() - is that a queue, or could it be noise?
 * @n: measured queue, Q8 packets
 * @op: operating point, Q8 packets
 */
static inline bool santacruz_law_shows(s32 n, s32 op)
{
	return n >= max_t(s32, QUEUE_PKTS_ONE / 2, op / 2);
}

/**
 * santacruz_law_raise() - how far to raise the window
 * @window: packets
 * @n: measured queue, Q8 packets
 * @op: operating point, Q8 packets
 * @run: rounds in a row that have raised it
 *
 * A queue says that the pipe is full: one packet, as the paper. Nothing queued
 * says nothing about what is missing: 1, 2, 4... packets, up to a sixteenth of the
 * window, so that a pipe of any size is full after O(log) rounds, and less than
 * two such steps too much are under way when the queue shows.
 *
 * Return: packets, at least 1.
 */
static inline u32 santacruz_law_raise(u32 window, s32 n, s32 op, u32 run)
{
	u32 shift = santacruz_law_shows(n, op) ? SANTACRUZ_LAW_FINE_SHIFT :
						 SANTACRUZ_LAW_RAISE_SHIFT;
	u32 most = window >> shift;

	return min_t(u32, 1U << min_t(u32, run, 24), max_t(u32, most, 1));
}

/**
 * santacruz_law_lower() - how far to lower the window
 * @window: packets
 * @excess: queue beyond the operating point, Q8 packets, positive
 *
 * The queue shrinks by what the window shrinks by: all of it in a round, half the
 * window at most.
 *
 * Return: packets, at least 1, or 0 for a window of 1.
 */
static inline u32 santacruz_law_lower(u32 window, s32 excess)
{
	u32 pkts = (u32)excess >> QUEUE_PKTS_SHIFT;

	return min_t(u32, max_t(u32, pkts, 1), window / 2);
}

/* What drains may lift the base by, all in all: 10 ms in 64 us */
#define SANTACRUZ_LAW_LIFT_SHIFT	6
#define SANTACRUZ_LAW_LIFT_MAX	156

/**
 * santacruz_law_drain() - what a drain takes out of the window
 * @window: packets
 * @n: measured queue, Q8 packets
 *
 * The queue, and an eighth of the window to be sure that nothing is left.
 *
 * Return: packets, less than half the window.
 */
static inline u32 santacruz_law_drain(u32 window, s32 n)
{
	u32 pkts = ((u32)max_t(s32, n, 0) >> QUEUE_PKTS_SHIFT) + 1 +
		   max_t(u32, window / 8, 1);

	return min_t(u32, pkts, (window - 1) / 2);
}

/**
 * santacruz_law_lift() - the path under a drained queue
 * @left_us: delay above the base that a drain has left
 * @op: operating point, Q8 packets
 * @pkts_ns: pktS
 * @lifted: what earlier drains have lifted the base by, 64 us
 *
 * Half of the operating point that does not drain is not ours: a link
 * that waits before it sends, or somebody's queue. The base follows a link, in
 * jitter that keeps order by milliseconds; it must not follow a queue, so 10 ms
 * are all it ever gets this way, and half of what is left where half drained.
 *
 * Return: how far to lift the base, 64 us.
 */
static inline u32 santacruz_law_lift(u32 left_us, s32 op, u32 pkts_ns,
				     u32 lifted)
{
	u64 kept_us = div_u64((u64)op * pkts_ns, 1000 * QUEUE_PKTS_ONE);

	if (!pkts_ns || left_us <= kept_us / 2 ||
	    lifted >= SANTACRUZ_LAW_LIFT_MAX)
		return 0;
	if (left_us < kept_us)
		left_us = (u32)div64_u64((u64)left_us * left_us, kept_us);
	return min_t(u32, left_us >> SANTACRUZ_LAW_LIFT_SHIFT,
		     SANTACRUZ_LAW_LIFT_MAX - lifted);
}

/**
 * struct santacruz_law_lowering - a delay that the window was lowered for
 * @before: window before the first step, packets
 * @sent: window under which the packets just measured were sent
 * @first_us: delay that the first step answered
 * @now_us: delay that is left
 * @jump_us: some rise from one packet to the next of late was at least this
 * @pkts_ns: pktS
 * @tick_us: resolution of the delays
 */
struct santacruz_law_lowering {
	u32 before;
	u32 sent;
	u32 first_us;
	u32 now_us;
	u32 jump_us;
	u32 pkts_ns;
	u32 tick_us;
};

/**
 * santacruz_law_delay_grows() - by more than an eighth and a tick since the first step
 * @d: what the last rounds have shown; the run of lowering is to begin anew
 */
static inline bool
santacruz_law_delay_grows(const struct santacruz_law_lowering *d)
{
	return d->now_us > d->first_us + d->first_us / 8 + d->tick_us;
}

/**
 * santacruz_law_path_changed() - is the delay a longer path instead of a queue?
 * @d: what the last rounds have shown
 *
 * Packets taken out of a queue shorten it by pktS each, until none is left. A
 * delay that came from one packet to the next, that stands, and that goes back by
 * less than a quarter of what was taken out is the path's. One that came by and
 * by, or grows, may be other flows' queue, and is not to be taken for the path:
 * each of them would in turn.
 *
 * Return: true if so.
 */
static inline bool
santacruz_law_path_changed(const struct santacruz_law_lowering *d)
{
	u32 taken = d->before > d->sent ? d->before - d->sent : 0;
	/* 2^32 * 2^32 / 1000 < 2^55 */
	u64 due_us = div_u64((u64)taken * d->pkts_ns, 1000);

	if (d->first_us < 4 * d->tick_us || due_us < d->first_us / 2)
		return false;
	if (d->jump_us < d->first_us / 8 * 3 ||
	    d->jump_us / SANTACRUZ_LAW_JUMP_PKTS < d->pkts_ns / 1000 ||
	    santacruz_law_delay_grows(d))
		return false;
	/* A window below the pipe takes out more than was queued */
	due_us = min_t(u64, due_us, d->first_us);
	return d->now_us + due_us / 4 > d->first_us;
}

#endif /* HETCC_SANTACRUZ_LAW_H */
