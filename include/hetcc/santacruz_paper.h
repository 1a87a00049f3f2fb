/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Santa Cruz as its two papers have it, and nothing else: equations 1 to 4, the rule of
 * the window and the end of slow start (Parsa and Garcia-Luna-Aceves 1999, section 3.1),
 * and the state diagram that tells congestive from random losses (2000, section III).
 *
 * Where the papers leave a choice:
 *  - the sum of D is that "from the beginning of a session", which is zero "if all of the
 *    data are contained in the links" (3.1.2), over the interval's pktS. Where pktS
 *    is the same in all intervals, so are M and n of equations 2 and 4; where it is
 *    not, adding up M leaves packets in n that no queue has;
 *  - average pktS: from the first to the last arrival of an interval; an interval with a
 *    single arrival takes the one before, and before any is known nothing is queued;
 *  - "n exceeds N_op / 2" in slow start: n of now, at every ACK;
 *  - "linearly during the next interval": by one packet when half of it is delivered, as
 *    a fraction that grows with each packet is rounded;
 *  - the queue grew: by more than 1.5 delta, and than a tick of the receiver's clock;
 *  - a decrease or steady queue goes back to count 0 from every state;
 *  - N_op - delta <= 0: an empty queue raises the window all the same.
 *
 * Times are 32-bit microseconds modulo 2^32 of two clocks; queues are Q8 packets.
 * Plain integers, no socket.
 */
#ifndef HETCC_SANTACRUZ_PAPER_H
#define HETCC_SANTACRUZ_PAPER_H

#include "queue_pkts.h"

/* Segments: least window, and the initial one */
#define SANTACRUZ_PAPER_WINDOW_MIN	2U
/* Intervals of a growing queue that make a loss congestive */
#define SANTACRUZ_PAPER_CONGESTED	2

/* The window's step of this interval */
enum santacruz_paper_mode {
	SANTACRUZ_PAPER_HOLD,
	SANTACRUZ_PAPER_RAISE,
	SANTACRUZ_PAPER_LOWER,
};

/* State of a connection */
struct santacruz_paper {
	u32 s_us;			/* the latest packet was sent, sender's clock */
	u32 r_us;			/* and arrived, receiver's clock */
	struct queue_pkts_span iv;	/* where the interval began */
	u32 pkts_ns;			/* pktS of the last interval, 0: not known yet */
	s32 d_us;			/* D of the latest packet and the one before */
	s32 sum_us;			/* sum of D since the connection began */
	s32 n;				/* packets queued when the last interval ended, Q8 */
	u32 half;			/* packets delivered when half of this one is over */
	u32 end;			/* and all of it */
	u32 primed:1,			/* there is a latest packet */
	    fresh:1,			/* the interval has one */
	    startup:1,			/* slow start */
	    count:2,			/* figure 1 (2000): 0..2 */
	    mode:2;			/* enum santacruz_paper_mode, step still to come */
};

/* Equation 1 for two packets; both clocks may wrap, |D| < 2^31 us */
static inline s32 santacruz_paper_relative_us(const struct santacruz_paper *e,
					      u32 s_us, u32 r_us)
{
	return (s32)((r_us - e->r_us) - (s_us - e->s_us));
}

/* Equation 3, averaged over the interval; nanoseconds, 0: not known yet */
static inline u32 santacruz_paper_service_ns(const struct santacruz_paper *e,
					     u32 delivered)
{
	u32 ns = e->fresh ?
		 queue_pkts_service_ns(&e->iv, e->r_us, delivered) : 0;

	return ns ? ns : e->pkts_ns;
}

/* Equations 2 and 4: packets in the bottleneck queue, Q8 */
static inline s32 santacruz_paper_queue(const struct santacruz_paper *e,
					u32 pkts_ns)
{
	return queue_pkts_from_us(e->sum_us, pkts_ns);
}

/* A packet was acknowledged: when sent, when it arrived, packets delivered with it */
static inline void santacruz_paper_sample(struct santacruz_paper *e, u32 s_us,
					  u32 r_us, u32 delivered)
{
	s64 sum_us;

	e->d_us = e->primed ? santacruz_paper_relative_us(e, s_us, r_us) : 0;
	sum_us = (s64)e->sum_us + e->d_us;
	e->sum_us = (s32)clamp_t(s64, sum_us, -S32_MAX, S32_MAX);
	e->s_us = s_us;
	e->r_us = r_us;
	e->primed = 1;
	if (!e->fresh)
		e->iv = (struct queue_pkts_span){ r_us, delivered };
	e->fresh = 1;
}

/* Does slow start end with the latest packet? n_op is Q8 */
static inline bool
santacruz_paper_startup_over(const struct santacruz_paper *e, u32 delivered,
			     s32 n_op)
{
	u32 ns = santacruz_paper_service_ns(e, delivered);

	return queue_pkts_from_us(e->d_us, ns) > n_op / 2 ||
	       santacruz_paper_queue(e, ns) > n_op / 2;
}

/* Figure 1 (2000): @added is what the interval added to the queue, Q8 */
static inline void santacruz_paper_count(struct santacruz_paper *e, s64 added,
					 s32 delta, u32 tick_us)
{
	s64 noise = max_t(s64, (s64)delta + delta / 2,
			  queue_pkts_from_us((s32)tick_us, e->pkts_ns));

	if (added <= noise)
		e->count = 0;
	else if (e->count < SANTACRUZ_PAPER_CONGESTED)
		e->count++;
}

/* Where the window goes so that equation 2 holds within delta; both Q8 */
static inline u8 santacruz_paper_choose(s32 n, s32 n_op, s32 delta)
{
	if (n > (s64)n_op + delta)
		return SANTACRUZ_PAPER_LOWER;
	return n < max_t(s64, (s64)n_op - delta, 1) ? SANTACRUZ_PAPER_RAISE :
						      SANTACRUZ_PAPER_HOLD;
}

/*
 * A window of data was sent and acknowledged: n, count and mode become new. n_op and
 * delta are Q8, tick_us is the resolution of the receiver's clock. False if it has no
 * packet, and everything is as before.
 */
static inline bool santacruz_paper_interval(struct santacruz_paper *e,
					    u32 delivered, s32 n_op, s32 delta,
					    u32 tick_us)
{
	s32 before = e->n;

	if (!e->fresh)
		return false;
	e->pkts_ns = santacruz_paper_service_ns(e, delivered);
	e->n = santacruz_paper_queue(e, e->pkts_ns);
	e->fresh = 0;
	santacruz_paper_count(e, (s64)e->n - before, delta, tick_us);
	e->mode = santacruz_paper_choose(e->n, n_op, delta);
	return true;
}

/* An interval of so many packets begins */
static inline void santacruz_paper_begin(struct santacruz_paper *e, u32 delivered,
					 u32 pkts)
{
	pkts = max_t(u32, pkts, 1);
	e->half = delivered + (pkts + 1) / 2;
	e->end = delivered + pkts;
}

/* Has delivered reached the mark? Both modulo 2^32 */
static inline bool santacruz_paper_reached(u32 delivered, u32 mark)
{
	return (s32)(delivered - mark) >= 0;
}

/* The step, once; a window that does not limit the sender is not raised */
static inline u32 santacruz_paper_step(struct santacruz_paper *e, u32 delivered,
				       u32 window, bool limited)
{
	u8 mode = e->mode;

	if (!santacruz_paper_reached(delivered, e->half))
		return window;
	e->mode = SANTACRUZ_PAPER_HOLD;
	if (mode == SANTACRUZ_PAPER_LOWER && window > SANTACRUZ_PAPER_WINDOW_MIN)
		return window - 1;
	return window + (mode == SANTACRUZ_PAPER_RAISE && limited);
}

static inline u32 santacruz_paper_half(u32 window)
{
	return max_t(u32, window / 2, SANTACRUZ_PAPER_WINDOW_MIN);
}

/* A loss is congestive only after two intervals in a row in which the queue grew */
static inline bool santacruz_paper_congested(const struct santacruz_paper *e)
{
	return e->count == SANTACRUZ_PAPER_CONGESTED;
}

/* The one thing that begins slow start again */
static inline void santacruz_paper_timeout(struct santacruz_paper *e)
{
	e->startup = 1;
	e->count = 0;
	e->mode = SANTACRUZ_PAPER_HOLD;
	e->fresh = 0;
}

#endif /* HETCC_SANTACRUZ_PAPER_H */
