/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The share of a Reno connection with round trip RTT0, held on a longer path.
 *
 * A connection with rho times the round trip of the others has the rate of
 * a reference connection among them if
 *
 *   W += rho^2    per round trip, and W -= W / 2    per loss event.        (A)
 *
 * TCP Hybla's window grows so. But its long round trip holds rho rounds of the
 * reference connection, each of which may have a loss event of its own, and to
 * halve once for all of them, or to grow by a pipe's worth before the first is
 * known, is neither fair nor stable. So count the loss events as the reference
 * connection would, at least W / rho packets apart, and take rho smaller steps
 * both ways, which leaves the equilibrium where it was:
 *
 *   W += rho      per round trip, and W -= cut * W / rho    per loss event.  (B)
 *
 * By independent losses with probability p the mean over time of (B) is
 * rho / sqrt(cut * p), once cut / rho is below a half; Reno's by the textbook is
 * 1.31 / sqrt(p), with cut = 0.58. The kernel's stands still while it repairs a loss,
 * W / rho packets long, and so does the law.
 *
 * A round trip in which few packets waited, and few were lost, shows that nobody
 * else needs the path: losses there are the link's and change nothing, and the
 * window may grow by an eighth per round trip, with rho below 2 by a 16th; near the window
 * that once filled the path by rho, rho, 2 rho, 2 rho, 4 rho...: a round trip goes by
 * before it is seen what a step has done, and so a short queue is seen before it is full.
 * Else it grows as Reno's with rho = 1.
 */
#ifndef HETCC_HYBLA_SHARE_H
#define HETCC_HYBLA_SHARE_H

#include "hybla_law.h"

/* Growth of the window on a path without a queue: this part in a round trip */
#define HYBLA_SHARE_FILL	8
/* The same, while the window is that part below what once filled the path */
#define HYBLA_SHARE_REFILL	2
#define HYBLA_SHARE_BELOW	8
/* From there on by steps that double every second round, so often at most */
#define HYBLA_SHARE_STEPS	24
#define HYBLA_SHARE_STEP_ROUNDS	2
/* Both are less where rho is small, but not below this part */
#define HYBLA_SHARE_LEAST	2
/* One packet of so many waits now and then: bursts of the sender's own */
#define HYBLA_SHARE_FEW		4
/* More than one packet of so many lost in a round is congestion, queue or not */
#define HYBLA_SHARE_HEAVY	16
/* The window grows fast only while not more than one of so many is lost */
#define HYBLA_SHARE_LIGHT	32
/* More loss events at once make no difference: the window is halved anyway */
#define HYBLA_SHARE_EVENTS_MAX	255U
/* What is left of a cut: Q8 segments */
#define HYBLA_SHARE_SHIFT	8
#define HYBLA_SHARE_ONE		((u32)1 << HYBLA_SHARE_SHIFT)

/**
 * struct hybla_share - state of the law
 * @rem: growth that is no whole segment yet, Q12 times the window
 * @frac: cuts that are no whole segment yet, Q8 segments, below one
 * @since: segments delivered or lost since the latest loss event
 * @end: count of delivered segments at which the open round ends
 * @size: segments of the open round
 * @lost: of these lost
 * @waited: of these waited
 * @full: window that last filled the path without a queue, 0: not known
 * @floor: half of the window at the first cut of a round trip, Q8
 * @left: segments until that round trip is over
 * @calm: few of the round before did, and few were lost
 * @shallow: losses are those of a full queue, though few wait long
 * @rounds: so many in a row showed no queue
 */
struct hybla_share {
	u64 rem;
	u32 frac;
	u32 since;
	u32 end;
	u32 size;
	u32 lost;
	u32 waited;
	u32 full;
	u32 floor;
	u32 left;
	bool calm;
	bool shallow;
	u8 rounds;
};

/**
 * hybla_share_is_heavy() - heavy loss
 * @s: state
 *
 * Return: so much is lost in the open round that the path is to blame, though
 * nothing may wait: a policer, a buffer for a few packets.
 */
static inline bool hybla_share_is_heavy(const struct hybla_share *s)
{
	return s->lost > s->size / HYBLA_SHARE_HEAVY + 1;
}

/* The open round so far */
static inline bool hybla_share_is_calm(const struct hybla_share *s)
{
	return s->waited <= s->size / HYBLA_SHARE_FEW &&
	       !hybla_share_is_heavy(s);
}

/**
 * hybla_share_set_full() - what the way losses lie says of queues
 * @s: state
 * @full: they are those of a full queue, though it may be too short for waits to show
 */
static inline void hybla_share_set_full(struct hybla_share *s, bool full)
{
	s->shallow = full;
}

/**
 * hybla_share_is_full() - see hybla_share_set_full()
 * @s: state
 */
static inline bool hybla_share_is_full(const struct hybla_share *s)
{
	return s->shallow;
}

/**
 * hybla_share_no_queue() - can the path carry more than anybody sends?
 * @s: state
 *
 * Return: few packets waited in the last one to two rounds, few were lost, and those
 * not before a full queue.
 */
static inline bool hybla_share_no_queue(const struct hybla_share *s)
{
	return s->calm && !s->shallow && hybla_share_is_calm(s);
}

/**
 * hybla_share_lost() - losses that no ACK reports
 * @s: state
 * @lost: newly lost
 */
static inline void hybla_share_lost(struct hybla_share *s, u32 lost)
{
	s->lost = fixed_sat_u32((u64)s->lost + lost);
}

/**
 * hybla_share_ack() - account for one ACK
 * @s: state
 * @delivered: segments delivered in the connection's life, wraps at 2^32
 * @flight: segments in flight
 * @lost: newly lost
 * @waited: newly acknowledged, and the newest of them waited in a queue
 *
 * Return: a round is over.
 */
static inline bool hybla_share_ack(struct hybla_share *s, u32 delivered,
				   u32 flight, u32 lost, u32 waited)
{
	s->waited = fixed_sat_u32((u64)s->waited + waited);
	hybla_share_lost(s, lost);
	/* No round is open in a state that is new late in a connection's life */
	if (s->size && (s32)(delivered - s->end) < 0)
		return false;
	s->rounds = hybla_share_no_queue(s) ?
		    min(s->rounds + 1, HYBLA_SHARE_STEPS * HYBLA_SHARE_STEP_ROUNDS) : 0;
	s->calm = hybla_share_is_calm(s);
	s->waited = 0;
	s->lost = 0;
	s->size = flight;
	s->end = delivered + min(flight, 1U << 30);
	return true;
}

/* Segments in a round trip of the reference connection */
static inline u32 hybla_share_round(u32 wnd, u32 rho)
{
	return max_t(u32, fixed_mul_div(min(wnd, HYBLA_LAW_CWND_MAX),
					HYBLA_LAW_RHO_ONE, rho), 1);
}

/**
 * hybla_share_repairs() - would the reference connection still repair its latest loss?
 * @s: state
 * @wnd: window in segments
 * @rho: normalised round trip, Q12, 1..4096
 *
 * Return: it does not grow, then.
 */
static inline bool hybla_share_repairs(const struct hybla_share *s, u32 wnd,
				       u32 rho)
{
	return s->since < hybla_share_round(wnd, rho);
}

/* Segments per round trip, Q12: at most 2^24 * 2^12 / 2 = 2^35; a step 2^24 * 2^24 */
static inline u64 hybla_share_gain(const struct hybla_share *s, u32 wnd,
				   u32 rho)
{
	u32 fill = HYBLA_SHARE_FILL;
	u64 part, gain = rho, most = U64_MAX;

	if (!hybla_share_no_queue(s) ||
	    s->lost > s->size / HYBLA_SHARE_LIGHT + 1)
		return gain;
	if (wnd < s->full - s->full / HYBLA_SHARE_BELOW)
		fill = HYBLA_SHARE_REFILL;
	else if (s->full)
		most = (u64)rho << (s->rounds / HYBLA_SHARE_STEP_ROUNDS);
	/* 1 - 1 / rho; where rho is 1 a segment a round trip would be too little as well */
	part = HYBLA_LAW_RHO_ONE - HYBLA_LAW_RHO_ONE * HYBLA_LAW_RHO_ONE / rho;
	part = max_t(u64, part, HYBLA_LAW_RHO_ONE / HYBLA_SHARE_LEAST);
	return max(gain, min(most, div_u64(part * wnd, fill)));
}

/**
 * hybla_share_grow() - the growth of (B), or of a path without a queue
 * @s: state
 * @wnd: window in segments, 1..HYBLA_LAW_CWND_MAX, cut to that
 * @acked: segments newly acknowledged, cut to 2^20
 * @rho: normalised round trip, Q12, 1..4096
 *
 * 2^35 * 2^20 + 2^36 < 2^64.
 *
 * Return: whole segments to add to the window.
 */
static inline u32 hybla_share_grow(struct hybla_share *s, u32 wnd, u32 acked,
				   u32 rho)
{
	u32 w = clamp_t(u32, wnd, 1, HYBLA_LAW_CWND_MAX);
	u64 unit = (u64)w << HYBLA_LAW_RHO_SHIFT;
	u64 total = hybla_share_gain(s, w, rho) * min_t(u32, acked, 1U << 20) +
		    min_t(u64, s->rem, unit - 1);
	u64 inc = div64_u64(total, unit);

	s->rem = total - inc * unit;
	return fixed_sat_u32(inc);
}

/**
 * hybla_share_full() - the path is full
 * @s: state
 * @wnd: so many segments fill it without a queue
 */
static inline void hybla_share_full(struct hybla_share *s, u32 wnd)
{
	s->full = wnd;
}

/**
 * hybla_share_begin() - from here on
 * @s: state
 * @delivered: segments delivered in the connection's life
 */
static inline void hybla_share_begin(struct hybla_share *s, u32 delivered)
{
	*s = (struct hybla_share){ .since = U32_MAX, .end = delivered };
}

/**
 * hybla_share_marked() - the path says that it is congested (ECN)
 * @s: state
 */
static inline void hybla_share_marked(struct hybla_share *s)
{
	s->waited = U32_MAX;
}

/**
 * hybla_share_pass() - segments that are no reason to cut
 * @s: state
 * @pkts: delivered, or lost on the link
 */
static inline void hybla_share_pass(struct hybla_share *s, u32 pkts)
{
	s->since = fixed_sat_u32((u64)s->since + pkts);
	s->left -= min(s->left, pkts);
}

/**
 * hybla_share_cut() - the cut of (B)
 * @s: state
 * @wnd: window in segments, cut to HYBLA_LAW_CWND_MAX
 * @acked: segments newly delivered
 * @lost: newly lost
 * @rho: normalised round trip, Q12, 1..4096
 * @cut_milli: part of the window that the reference connection loses, 1..1000
 *
 * 2^24 * 2^8 * 255 * 1000 < 2^50, times 2^12 < 2^62.
 *
 * Return: whole segments to take from the window, in a round trip at most half of it.
 */
static inline u32 hybla_share_cut(struct hybla_share *s, u32 wnd, u32 acked,
				  u32 lost, u32 rho, u32 cut_milli)
{
	u32 w = min(wnd, HYBLA_LAW_CWND_MAX);
	u32 round = hybla_share_round(w, rho);
	u32 events;
	u64 cut;

	hybla_share_pass(s, fixed_sat_u32((u64)acked + lost));
	if (!lost || s->since < round)
		return 0;
	s->since = 0;
	/* What was under way before the first cut could not know of it */
	if (!s->left) {
		s->left = w;
		s->floor = w << (HYBLA_SHARE_SHIFT - 1);
	}
	events = clamp_t(u32, lost / round, 1, HYBLA_SHARE_EVENTS_MAX);
	cut = ((u64)w << HYBLA_SHARE_SHIFT) * events * cut_milli *
	      HYBLA_LAW_RHO_ONE;
	cut = div_u64(div_u64(cut, rho), FIXED_MILLI) + s->frac;
	cut = min_t(u64, cut, ((u64)w << HYBLA_SHARE_SHIFT) -
			      min_t(u64, (u64)w << HYBLA_SHARE_SHIFT, s->floor));
	s->frac = (u32)(cut & (HYBLA_SHARE_ONE - 1));
	return (u32)(cut >> HYBLA_SHARE_SHIFT);
}

#endif /* HETCC_HYBLA_SHARE_H */
