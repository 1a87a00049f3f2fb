/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Minimum round trip of a path that may change.
 *
 * A smaller round trip is believed at once. A longer path looks like a queue
 * that does not go away, and is told from one where the queue should be empty:
 * in the rounds after the window was set to BWE * RTTmin or less. A queue of
 * others comes and goes; the delay of a path is the same each time. So
 * HETCC_MINRTT_PROBES such looks in a row, all of them longer than the minimum
 * by more than an eighth and each within a 32nd of the smallest before it,
 * replace it.
 */
#ifndef HETCC_EST_MINRTT_H
#define HETCC_EST_MINRTT_H

#include "fixed.h"

#define HETCC_MINRTT_NONE	U32_MAX
#define HETCC_MINRTT_PROBES	4
/* Longer than the minimum by this part: another path, or a queue */
#define HETCC_MINRTT_LONGER	8
/* Looks at the same path differ by less than this part */
#define HETCC_MINRTT_SAME	32
/* How long a look takes, in round trips: packets sent after the reduction */
#define HETCC_MINRTT_LOOK	2

/**
 * struct hetcc_minrtt - minimum of a connection, microseconds
 * @min_us: smallest round trip of the path, HETCC_MINRTT_NONE before the first
 * @look_us: smallest round trip of the open look
 * @low_us: smallest look of the row
 * @until_us: when the open look ends
 * @looking: a look is open
 * @row: looks that agree
 */
struct hetcc_minrtt {
	u32 min_us;
	u32 look_us;
	u32 low_us;
	u32 until_us;
	bool looking;
	u8 row;
};

static inline void hetcc_minrtt_init(struct hetcc_minrtt *m)
{
	*m = (struct hetcc_minrtt){ .min_us = HETCC_MINRTT_NONE };
}

/**
 * hetcc_minrtt_look() - the window has been set so that the queue runs empty
 * @m: minimum
 * @now_us: time, wraps at 2^32
 * @rtt_us: latest round trip; from 2^30 on there is no look
 *
 * A look that is open goes on, or one loss after another would let none end.
 */
static inline void hetcc_minrtt_look(struct hetcc_minrtt *m, u32 now_us,
				     u32 rtt_us)
{
	if (m->looking && (s32)(now_us - m->until_us) < 0)
		return;
	m->looking = rtt_us < 1U << 30;
	m->look_us = HETCC_MINRTT_NONE;
	m->until_us = now_us + HETCC_MINRTT_LOOK * rtt_us;
}

/* One more look into the row, or the first of another one */
static inline void hetcc_minrtt_row(struct hetcc_minrtt *m)
{
	u32 low = min(m->low_us, m->look_us);
	u32 high = max(m->low_us, m->look_us);

	if (!m->row || high - low > low / HETCC_MINRTT_SAME) {
		m->row = 1;
		m->low_us = m->look_us;
		return;
	}
	m->row++;
	m->low_us = low;
}

/* Return: the path has become longer */
static inline bool hetcc_minrtt_judge(struct hetcc_minrtt *m)
{
	m->looking = false;
	if (m->look_us == HETCC_MINRTT_NONE)
		return false;
	if (m->look_us - m->min_us <= m->min_us / HETCC_MINRTT_LONGER) {
		m->row = 0;
		return false;
	}
	hetcc_minrtt_row(m);
	if (m->row < HETCC_MINRTT_PROBES)
		return false;
	m->min_us = m->low_us;
	m->row = 0;
	return true;
}

/**
 * hetcc_minrtt_add() - a round trip was measured
 * @m: minimum
 * @now_us: time, wraps at 2^32
 * @rtt_us: 1..U32_MAX - 1
 *
 * Return: true if the minimum was raised.
 */
static inline bool hetcc_minrtt_add(struct hetcc_minrtt *m, u32 now_us,
				    u32 rtt_us)
{
	bool raised = false;

	if (m->looking && (s32)(now_us - m->until_us) >= 0)
		raised = hetcc_minrtt_judge(m);
	m->min_us = min(m->min_us, rtt_us);
	if (m->looking)
		m->look_us = min(m->look_us, rtt_us);
	return raised;
}

#endif /* HETCC_EST_MINRTT_H */
