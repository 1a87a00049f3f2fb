/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Careful Resume (RFC 9959): begin with what an earlier connection learned of the path.
 *
 *  - Reconnaissance: the first window goes out as always. When it has arrived without
 *    loss, and the round trip is like the one remembered, the window jumps to at most
 *    half of the remembered capacity.
 *  - Unvalidated: that window, paced over a round trip, until its first packet arrives.
 *  - Validating: the window is what is out, and grows as always. When the last packet of
 *    the jump has arrived, all is as always.
 *  - Safe Retreat: what is lost before that says that the path is not what it was. The
 *    window is half of what has arrived since the jump, until its last packet has.
 *
 * The first window must confirm the path by more than the RFC asks for. A round trip
 * longer than the one remembered is a queue of others, or another path. ACKs slower than
 * the jump would be (ack_train.h) come from a path that has become slow, and what they
 * allow bounds the rest: no jump fills the queue of such a path many times. Bunched ACKs
 * allow anything, and leave what the RFC does.
 *
 * Sequence numbers wrap at 2^32 and are less than 2^31 apart.
 */
#ifndef HETCC_CAREFUL_RESUME_H
#define HETCC_CAREFUL_RESUME_H

#include "fixed.h"

/* The jump is to this part of what is remembered, and a retreat to it of what arrived */
#define CAREFUL_RESUME_PART	2
/* The RFC's: a round trip shorter by more than that is another path's */
#define CAREFUL_RESUME_SHORTER	2
/* Who sent less than the initial window has not shown that the path takes less (RFC 6928) */
#define CAREFUL_RESUME_INIT	10U

/**
 * enum careful_resume_phase - phases of the RFC after Reconnaissance
 * @CAREFUL_RESUME_NORMAL: nothing is resumed, or it is over
 * @CAREFUL_RESUME_UNVALIDATED: no packet of the jump has arrived yet
 * @CAREFUL_RESUME_VALIDATING: the first has, the last has not
 * @CAREFUL_RESUME_RETREAT: one was lost
 */
enum careful_resume_phase {
	CAREFUL_RESUME_NORMAL,
	CAREFUL_RESUME_UNVALIDATED,
	CAREFUL_RESUME_VALIDATING,
	CAREFUL_RESUME_RETREAT,
};

/**
 * struct careful_resume - state
 * @pipe: segments that the path has shown to hold (PipeSize)
 * @mark: sequence number whose arrival ends the phase
 * @phase: enum careful_resume_phase
 */
struct careful_resume {
	u32 pipe;
	u32 mark;
	u8 phase;
};

/**
 * careful_resume_capacity() - what is left of it when the first window has arrived
 * @saved: remembered capacity, segments
 * @saved_us: round trip remembered
 * @rtt_us: round trip of this connection
 * @wait_us: waits up to this long count as no queue
 * @most: segments in a round trip at the rate of the first ACKs, U32_MAX: not known
 *
 * Return: segments, 0 if the path is another one, or others need it.
 */
static inline u32 careful_resume_capacity(u32 saved, u32 saved_us, u32 rtt_us,
					  u32 wait_us, u32 most)
{
	if (rtt_us < saved_us / CAREFUL_RESUME_SHORTER ||
	    rtt_us > (u64)saved_us + wait_us ||
	    most < saved / CAREFUL_RESUME_PART)
		return 0;
	return min(saved, most);
}

/**
 * careful_resume_jump() - the window to begin with
 * @capacity: by careful_resume_capacity()
 */
static inline u32 careful_resume_jump(u32 capacity)
{
	return capacity / CAREFUL_RESUME_PART;
}

/**
 * careful_resume_begin() - the window has jumped
 * @c: state
 * @flight: segments in flight before that
 * @next: sequence number of the first packet of the jump
 */
static inline void careful_resume_begin(struct careful_resume *c, u32 flight,
					u32 next)
{
	c->pipe = flight;
	/* The first byte of that packet */
	c->mark = next + 1;
	c->phase = CAREFUL_RESUME_UNVALIDATED;
}

/* The first packet of the jump has arrived, or there was nothing to send */
static inline u32 careful_resume_validate(struct careful_resume *c, u32 flight,
					  u32 next)
{
	if (flight <= c->pipe) {
		c->phase = CAREFUL_RESUME_NORMAL;
		return c->pipe;
	}
	c->mark = next;
	c->phase = CAREFUL_RESUME_VALIDATING;
	return flight;
}

/**
 * careful_resume_ack() - account for one ACK
 * @c: state
 * @pkts: segments newly delivered
 * @flight: segments in flight after it
 * @una: sequence number up to which all has arrived
 * @next: sequence number of the next new packet
 *
 * Return: the window, if this ACK ends the Unvalidated phase, else 0.
 */
static inline u32 careful_resume_ack(struct careful_resume *c, u32 pkts,
				     u32 flight, u32 una, u32 next)
{
	bool over = (s32)(una - c->mark) >= 0;

	if (c->phase == CAREFUL_RESUME_NORMAL)
		return 0;
	c->pipe = fixed_sat_u32((u64)c->pipe + pkts);
	if (c->phase == CAREFUL_RESUME_UNVALIDATED)
		return over || !flight ?
		       max(careful_resume_validate(c, flight, next),
			   CAREFUL_RESUME_INIT) : 0;
	if (over)
		c->phase = CAREFUL_RESUME_NORMAL;
	return 0;
}

/**
 * careful_resume_threshold() - slow start threshold after a retreat
 * @c: state
 *
 * Return: segments, and the window during the retreat is what it is at its begin.
 */
static inline u32 careful_resume_threshold(const struct careful_resume *c)
{
	return c->pipe / CAREFUL_RESUME_PART;
}

/**
 * careful_resume_lost() - something is lost or marked
 * @c: state, not CAREFUL_RESUME_NORMAL
 * @next: sequence number of the next new packet
 *
 * Return: the window until the last packet of the jump has arrived, segments.
 */
static inline u32 careful_resume_lost(struct careful_resume *c, u32 next)
{
	if (c->phase == CAREFUL_RESUME_UNVALIDATED)
		c->mark = next;
	c->phase = CAREFUL_RESUME_RETREAT;
	return careful_resume_threshold(c);
}

#endif /* HETCC_CAREFUL_RESUME_H */
