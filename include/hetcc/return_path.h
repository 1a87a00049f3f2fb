/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long ACKs wait on their way back.
 *
 * Packets that wait in front of the receiver say how full the path is, ACKs that
 * wait behind it do not: a thin return path, other traffic there or radio slots
 * delay and space them, and more data gets through all the same. The receiver's
 * timestamp tells the two apart: an ACK's arrival less its timestamp is the way
 * back, and what that is above its least is waiting.
 *
 * The clock is taken to have ticks of 1 ms. One of less makes the difference fall, and
 * no ACK waits. One of more makes it grow with time, soon beyond what a round trip
 * has room for: then timestamps are left alone.
 *
 * An ACK may have waited longer than its round trip is above the least: then there was
 * a wait in the least one too, and it has to become shorter. A receiver that lies hides
 * no more than the waits of its own packets, which their losses show (full_queue.h), or
 * makes its own path look shorter than it is, for a smaller window.
 */
#ifndef HETCC_RETURN_PATH_H
#define HETCC_RETURN_PATH_H

#include "fixed.h"

#define RETURN_PATH_TICK_US	1000U
/* What is less may be the clock's steps, at both ends of the difference */
#define RETURN_PATH_LEAST_US	(2 * RETURN_PATH_TICK_US)
/* Kept in units of 128 us, modulo 4.2 s */
#define RETURN_PATH_SHIFT	7
#define RETURN_PATH_MASK	0x7fffU
/*
 * The least is forgotten by a unit in 2^18 us: 500 ppm, the most that NTP lets a clock
 * be off. So a way back that has become longer counts as waiting for two thousand times
 * as long as it has become longer.
 */
#define RETURN_PATH_FADE_SHIFT	18

/**
 * struct return_path - state
 * @least: least difference of late, units of 128 us
 * @off: the timestamps are of no use
 */
struct return_path {
	u16 least:15,
	    off:1;
};

static inline u32 return_path_units(u32 now_us, u32 tsval)
{
	u32 us = now_us - tsval * RETURN_PATH_TICK_US;

	return (us >> RETURN_PATH_SHIFT) & RETURN_PATH_MASK;
}

/**
 * return_path_begin() - take the way back for empty
 * @r: state
 * @now_us: arrival of an ACK, wraps at 2^32
 * @tsval: its timestamp
 */
static inline void return_path_begin(struct return_path *r, u32 now_us,
				     u32 tsval)
{
	r->least = return_path_units(now_us, tsval);
}

/**
 * return_path_add() - an ACK has come
 * @r: state
 * @now_us: its arrival, wraps at 2^32
 * @tsval: its timestamp
 * @wait_us: its round trip above the least one
 * @min_us: the least round trip, at most its own
 *
 * Return: how long it waited on its way back, microseconds: at most @wait_us, or more
 * than the clock's steps explain, and less than the round trip.
 */
static inline u32 return_path_add(struct return_path *r, u32 now_us, u32 tsval,
				  u32 wait_us, u32 min_us)
{
	u32 units = (return_path_units(now_us, tsval) - r->least) &
		    RETURN_PATH_MASK;
	u32 us = units << RETURN_PATH_SHIFT;
	u64 rtt_us = (u64)wait_us + min_us;

	if (r->off)
		return 0;
	/* The upper half is below the least */
	if (units > RETURN_PATH_MASK / 2) {
		return_path_begin(r, now_us, tsval);
		return 0;
	}
	if (us > rtt_us + RETURN_PATH_TICK_US) {
		r->off = true;
		return 0;
	}
	if (us < RETURN_PATH_LEAST_US)
		return 0;
	if (us < (u64)wait_us + RETURN_PATH_LEAST_US)
		return min(us, wait_us);
	return min_t(u64, us - RETURN_PATH_TICK_US, rtt_us - 1);
}

/**
 * return_path_round() - a round is over
 * @r: state
 * @now_us: when, wraps at 2^32
 * @min_us: so long it took at least
 *
 * A unit for each multiple of 2^18 us in the round.
 */
static inline void return_path_round(struct return_path *r, u32 now_us,
				     u32 min_us)
{
	u32 units = (now_us >> RETURN_PATH_FADE_SHIFT) -
		    ((now_us - min_us) >> RETURN_PATH_FADE_SHIFT);

	units &= U32_MAX >> RETURN_PATH_FADE_SHIFT;
	r->least = (r->least + units) & RETURN_PATH_MASK;
}

#endif /* HETCC_RETURN_PATH_H */
