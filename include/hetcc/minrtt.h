/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Minimum round trip of a path that may change.
 *
 * A smaller round trip is believed at once. A longer path looks like a queue
 * that does not go away, and is told from one where the queue should be empty:
 * in the rounds after the window was set to BWE * RTTmin or less. A queue of
 * others comes and goes; the delay of a path is the same each time. So
 * MINRTT_LOOKS such looks in a row, all of them longer than the minimum
 * by more than an eighth and each within a 32nd of the smallest before it,
 * replace it.
 */
#ifndef HETCC_MINRTT_H
#define HETCC_MINRTT_H

#include "fixed.h"

#define MINRTT_NONE		U32_MAX
#define MINRTT_LOOKS		4
/* Longer than the minimum by this part: another path, or a queue */
#define MINRTT_LONGER		8
/* Looks at the same path differ by less than this part */
#define MINRTT_SAME		32
/* How long a look takes, in round trips: packets sent after the reduction */
#define MINRTT_LOOK_RTTS	2

/**
 * struct minrtt - minimum of a connection, microseconds
 * @min_us: smallest round trip of the path, MINRTT_NONE before the first
 * @look_us: smallest round trip of the open look
 * @low_us: smallest look of the row
 * @until_us: when the open look ends
 * @looking: a look is open
 * @row: looks that agree
 */
struct minrtt {
	u32 min_us;
	u32 look_us;
	u32 low_us;
	u32 until_us;
	bool looking;
	u8 row;
};

static inline void minrtt_init(struct minrtt *m)
{
	*m = (struct minrtt){ .min_us = MINRTT_NONE };
}

/**
 * minrtt_look() - the window has been set so that the queue runs empty
 * @m: minimum
 * @now_us: time, wraps at 2^32
 * @rtt_us: latest round trip; from 2^30 on there is no look
 *
 * A look that is open goes on, or one loss after another would let none end.
 */
static inline void minrtt_look(struct minrtt *m, u32 now_us, u32 rtt_us)
{
	if (m->looking && (s32)(now_us - m->until_us) < 0)
		return;
	m->looking = rtt_us < 1U << 30;
	m->look_us = MINRTT_NONE;
	m->until_us = now_us + MINRTT_LOOK_RTTS * rtt_us;
}

/* One more look into the row, or the first of another one */
static inline void minrtt_row(struct minrtt *m)
{
	u32 low = min(m->low_us, m->look_us);
	u32 high = max(m->low_us, m->look_us);

	if (!m->row || high - low > low / MINRTT_SAME) {
		m->row = 1;
		m->low_us = m->look_us;
		return;
	}
	m->row++;
	m->low_us = low;
}

/* Return: the path has become longer */
static inline bool minrtt_judge(struct minrtt *m)
{
	m->looking = false;
	if (m->look_us == MINRTT_NONE)
		return false;
	if (m->look_us - m->min_us <= m->min_us / MINRTT_LONGER) {
		m->row = 0;
		return false;
	}
	minrtt_row(m);
	if (m->row < MINRTT_LOOKS)
		return false;
	m->min_us = m->low_us;
	m->row = 0;
	return true;
}

/**
 * minrtt_add() - a round trip was measured
 * @m: minimum
 * @now_us: time, wraps at 2^32
 * @rtt_us: 1..U32_MAX - 1
 *
 * Return: true if the minimum was raised.
 */
static inline bool minrtt_add(struct minrtt *m, u32 now_us, u32 rtt_us)
{
	bool raised = false;

	if (m->looking && (s32)(now_us - m->until_us) >= 0)
		raised = minrtt_judge(m);
	m->min_us = min(m->min_us, rtt_us);
	if (m->looking)
		m->look_us = min(m->look_us, rtt_us);
	return raised;
}

#endif /* HETCC_MINRTT_H */
