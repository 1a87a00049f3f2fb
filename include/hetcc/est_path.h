/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Minimum round trip of a path that may get longer, by looks on purpose.
 *
 * A smaller round trip is believed at once. A longer path looks like a queue
 * that does not go away. So when no packet came near the minimum for some
 * rounds, the sender holds its window a round long below what the path takes
 * without a queue, and looks at the round after that:
 *
 *  - near the minimum: the queue was the sender's own, and is gone;
 *  - longer, and as long as at the look before: the path is longer;
 *  - longer, and different: the queue of others. Looks become rarer.
 */
#ifndef HETCC_EST_PATH_H
#define HETCC_EST_PATH_H

#include "fixed.h"

#define HETCC_PATH_NONE		U32_MAX
/* Rounds before a look, after one that found a longer path, and after others */
#define HETCC_PATH_ROUNDS	4
#define HETCC_PATH_AGAIN	2
#define HETCC_PATH_REST		16
#define HETCC_PATH_REST_MAX	64
/* A look: one round to empty the queue, one to measure */
#define HETCC_PATH_LOOK_ROUNDS	2
/* Two looks at the same path differ by this part of what counts as waiting */
#define HETCC_PATH_SAME		2

/**
 * enum hetcc_path_word - what the end of a round says
 * @HETCC_PATH_GO_ON: nothing
 * @HETCC_PATH_LOOK: hold the window down now
 * @HETCC_PATH_EMPTY: the look is over, the queue was the sender's own
 * @HETCC_PATH_OTHERS: the look is over, it was not
 * @HETCC_PATH_LONGER: the look is over, the minimum has been raised
 */
enum hetcc_path_word {
	HETCC_PATH_GO_ON,
	HETCC_PATH_LOOK,
	HETCC_PATH_EMPTY,
	HETCC_PATH_OTHERS,
	HETCC_PATH_LONGER,
};

/**
 * struct hetcc_path - state
 * @min_us: smallest round trip of the path, HETCC_PATH_NONE before the first
 * @round_us: smallest of the open round, HETCC_PATH_NONE if none
 * @seen_us: what the look before found, 0: none
 * @left: rounds until the next look, or until the end of this one
 * @every: rounds to rest after two looks
 * @looking: a look is open
 */
struct hetcc_path {
	u32 min_us;
	u32 round_us;
	u32 seen_us;
	u8 left;
	u8 every;
	bool looking;
};

static inline void hetcc_path_rest(struct hetcc_path *p, u32 rounds)
{
	p->looking = false;
	p->left = rounds;
}

/* A packet came near the minimum, or the minimum is new */
static inline void hetcc_path_known(struct hetcc_path *p, u32 rounds)
{
	p->seen_us = 0;
	p->every = HETCC_PATH_REST;
	hetcc_path_rest(p, rounds);
}

/**
 * hetcc_path_init() - a new connection
 * @p: state
 * @min_us: smallest round trip so far, HETCC_PATH_NONE: not known
 */
static inline void hetcc_path_init(struct hetcc_path *p, u32 min_us)
{
	p->min_us = min_us;
	p->round_us = HETCC_PATH_NONE;
	hetcc_path_known(p, HETCC_PATH_ROUNDS);
}

/**
 * hetcc_path_add() - a round trip was measured
 * @p: state
 * @rtt_us: 1..U32_MAX - 1
 */
static inline void hetcc_path_add(struct hetcc_path *p, u32 rtt_us)
{
	p->min_us = min(p->min_us, rtt_us);
	p->round_us = min(p->round_us, rtt_us);
}

/**
 * hetcc_path_abort() - heavy loss or a pause has ended the look
 * @p: state
 */
static inline void hetcc_path_abort(struct hetcc_path *p)
{
	hetcc_path_rest(p, HETCC_PATH_ROUNDS);
}

static inline enum hetcc_path_word hetcc_path_judge(struct hetcc_path *p,
						    u32 round_us, u32 same_us)
{
	u32 off = max(round_us, p->seen_us) - min(round_us, p->seen_us);

	if (p->seen_us && off <= same_us) {
		p->min_us = round_us;
		hetcc_path_known(p, HETCC_PATH_ROUNDS);
		return HETCC_PATH_LONGER;
	}
	hetcc_path_rest(p, p->seen_us ? p->every : HETCC_PATH_AGAIN);
	if (p->seen_us)
		p->every = min(2 * p->every, HETCC_PATH_REST_MAX);
	p->seen_us = round_us;
	return HETCC_PATH_OTHERS;
}

/**
 * hetcc_path_round() - a round is over
 * @p: state
 * @wait_us: a packet that waits no longer found no queue
 *
 * Return: see enum hetcc_path_word.
 */
static inline enum hetcc_path_word hetcc_path_round(struct hetcc_path *p,
						    u32 wait_us)
{
	u32 round_us = p->round_us;
	bool looked = p->looking;

	p->round_us = HETCC_PATH_NONE;
	if (round_us == HETCC_PATH_NONE)
		return HETCC_PATH_GO_ON;
	if (round_us - p->min_us <= wait_us) {
		hetcc_path_known(p, looked ? HETCC_PATH_REST :
				 clamp_t(u32, p->left, HETCC_PATH_ROUNDS,
					 HETCC_PATH_REST));
		return looked ? HETCC_PATH_EMPTY : HETCC_PATH_GO_ON;
	}
	if (--p->left)
		return HETCC_PATH_GO_ON;
	if (looked)
		return hetcc_path_judge(p, round_us, wait_us / HETCC_PATH_SAME);
	p->looking = true;
	p->left = HETCC_PATH_LOOK_ROUNDS;
	return HETCC_PATH_LOOK;
}

#endif /* HETCC_EST_PATH_H */
