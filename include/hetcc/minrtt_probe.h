/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Minimum round trip of a path that may get longer, by probes.
 *
 * A smaller round trip counts at once. A longer path looks like a queue that does
 * not go away. So when no packet came near the minimum for some rounds, or all wait
 * long from one round to the next, the sender holds its window a round long below what
 * the path takes without a queue, and looks at the round after that:
 *
 *  - near the minimum, then or before the next look: the queue was the sender's own, or has
 *    gone. It may stand for some rounds again;
 *  - longer, and as long as at the probe before: the path is longer;
 *  - longer, and different: the queue of others. Looks become rarer.
 *
 * A sender that halves its window has made a probe by that, if it says so. Until one is
 * over, and after the first that has found packets waiting, a queue that stands is not known
 * to be one (minrtt_probe_is_open()).
 */
#ifndef HETCC_MINRTT_PROBE_H
#define HETCC_MINRTT_PROBE_H

#include "return_path.h"

#define MINRTT_PROBE_NONE	U32_MAX
/* A probe sees 31 bits: 35 minutes */
#define MINRTT_PROBE_SEEN_MAX	((u32)S32_MAX)
/* Rounds before a probe, after one that found a longer path, and after others */
#define MINRTT_PROBE_ROUNDS	4
#define MINRTT_PROBE_AGAIN	2
#define MINRTT_PROBE_REST	16
/* ... which doubles so often at most */
#define MINRTT_PROBE_EVERY_MAX	2
/* A queue grows round by round: one that is so many times a wait at once may be the path */
#define MINRTT_PROBE_AT_ONCE	4
/* Not known: any wait may be one of the path's own */
#define MINRTT_PROBE_DEV_MAX	31
/* A probe: one round to empty the queue, one to measure */
#define MINRTT_PROBE_LENGTH	2
/*
 * Two probes at the same path differ by this part of what the deviation explains, or by no more
 * than what counts as no queue on any path
 */
#define MINRTT_PROBE_SAME	2

/**
 * enum minrtt_probe_event - what the end of a round says
 * @MINRTT_PROBE_GO_ON: nothing
 * @MINRTT_PROBE_BEGIN: hold the window down now
 * @MINRTT_PROBE_EMPTY: the probe is over, the queue was the sender's own
 * @MINRTT_PROBE_OTHERS: the probe is over, it was not
 * @MINRTT_PROBE_LONGER: the probe is over, the minimum has been raised
 */
enum minrtt_probe_event {
	MINRTT_PROBE_GO_ON,
	MINRTT_PROBE_BEGIN,
	MINRTT_PROBE_EMPTY,
	MINRTT_PROBE_OTHERS,
	MINRTT_PROBE_LONGER,
};

/**
 * struct minrtt_probe - state
 * @min_us: smallest round trip of the path, MINRTT_PROBE_NONE before the first
 * @round_us: smallest of the open round, MINRTT_PROBE_NONE if none
 * @seen_us: what the probe before found, 0: none
 * @cut: a probe is open, the window was halved
 * @left: rounds until the next probe, or until the end of this one
 * @every: rounds to rest after two probes, MINRTT_PROBE_REST times 2^every
 * @probing: a probe is open, the window is held down
 * @stood: no packet of the round before came near the minimum
 * @dev: the least of the open round's deviations is below 2^dev microseconds
 * @back: the way back, whose waits are in none of these
 */
struct minrtt_probe {
	u32 min_us;
	u32 round_us;
	u32 seen_us:31,
	    cut:1;
	u16 left:7,
	    every:2,
	    probing:1,
	    stood:1,
	    dev:5;
	struct return_path back;
};

static inline void minrtt_probe_rest(struct minrtt_probe *p, u32 rounds)
{
	p->probing = false;
	p->cut = false;
	p->left = rounds;
}

/* A packet came near the minimum, or the minimum is new */
static inline void minrtt_probe_known(struct minrtt_probe *p, u32 rounds)
{
	p->seen_us = 0;
	p->every = 0;
	minrtt_probe_rest(p, rounds);
}

/**
 * minrtt_probe_init() - a new connection
 * @p: state
 * @min_us: smallest round trip so far, MINRTT_PROBE_NONE: not known
 */
static inline void minrtt_probe_init(struct minrtt_probe *p, u32 min_us)
{
	p->min_us = min_us;
	p->round_us = MINRTT_PROBE_NONE;
	p->dev = MINRTT_PROBE_DEV_MAX;
	p->stood = false;
	minrtt_probe_known(p, MINRTT_PROBE_ROUNDS);
}

/**
 * minrtt_probe_is_open() - may what stands be something else than a queue?
 * @p: state
 *
 * Return: it is being looked at, or the first look has not emptied it, and no packet has
 * come near the minimum since. Two looks that differ are at a queue of others.
 */
static inline bool minrtt_probe_is_open(const struct minrtt_probe *p)
{
	return p->probing || p->cut || (p->seen_us && !p->every);
}

/**
 * minrtt_probe_stands() - does a queue stand?
 * @p: state
 * @wait_us: waits up to this long count as no queue
 *
 * Return: no packet came near the minimum for one to two rounds.
 */
static inline bool minrtt_probe_stands(const struct minrtt_probe *p,
				       u32 wait_us)
{
	return p->stood && p->round_us - p->min_us > wait_us;
}

/**
 * minrtt_probe_add() - a round trip was measured
 * @p: state
 * @rtt_us: 1..U32_MAX - 1
 * @dev_us: so far round trips lie apart of late. One ACK that was delayed makes that long for
 *	    the next ones, too: the least of a round counts
 */
static inline void minrtt_probe_add(struct minrtt_probe *p, u32 rtt_us,
				    u32 dev_us)
{
	p->dev = min_t(u32, p->dev, fls(dev_us));
	p->min_us = min(p->min_us, rtt_us);
	p->round_us = min(p->round_us, rtt_us);
}

/**
 * minrtt_probe_abort() - heavy loss or a pause has ended the probe
 * @p: state
 */
static inline void minrtt_probe_abort(struct minrtt_probe *p)
{
	minrtt_probe_rest(p, MINRTT_PROBE_ROUNDS);
}

/**
 * minrtt_probe_renew() - the path may be another one: look soon
 * @p: state
 */
static inline void minrtt_probe_renew(struct minrtt_probe *p)
{
	minrtt_probe_known(p, min_t(u32, p->left, MINRTT_PROBE_ROUNDS));
}

/**
 * minrtt_probe_cut() - the sender has halved its window
 * @p: state
 *
 * What is half as much leaves of a queue of one's own less than half, and nothing where it
 * was shorter than the path.
 */
static inline void minrtt_probe_cut(struct minrtt_probe *p)
{
	if (p->probing || p->cut)
		return;
	p->cut = true;
	p->left = MINRTT_PROBE_LENGTH;
}

static inline enum minrtt_probe_event
minrtt_probe_judge(struct minrtt_probe *p, u32 round_us, u32 same_us)
{
	u32 seen_us = p->seen_us;
	u32 off = max(round_us, seen_us) - min(round_us, seen_us);

	if (seen_us && off <= same_us) {
		p->min_us = round_us;
		minrtt_probe_known(p, MINRTT_PROBE_ROUNDS);
		return MINRTT_PROBE_LONGER;
	}
	minrtt_probe_rest(p, seen_us ? MINRTT_PROBE_REST << p->every :
			  MINRTT_PROBE_AGAIN);
	if (seen_us)
		p->every = min(p->every + 1, MINRTT_PROBE_EVERY_MAX);
	p->seen_us = min(round_us, MINRTT_PROBE_SEEN_MAX);
	return MINRTT_PROBE_OTHERS;
}

/*
 * Nothing stood in the round before, and now much does: looked at without delay. But not what
 * comes first after a probe that has emptied the sender's own queue: that comes back.
 */
static inline bool minrtt_probe_at_once(const struct minrtt_probe *p,
					u32 round_us, u32 wait_us)
{
	return !p->stood && !p->seen_us && !p->probing && !p->cut &&
	       p->left < MINRTT_PROBE_REST &&
	       (round_us - p->min_us) / MINRTT_PROBE_AT_ONCE > wait_us;
}

/**
 * minrtt_probe_round() - a round is over
 * @p: state
 * @least_us: waits up to this long count as no queue on any path
 * @wait_us: by the latest deviation, at least that
 *
 * A queue stands by @wait_us. Whether a packet came near the minimum must not depend on when
 * the round ends: an ACK that was delayed ends many.
 *
 * Return: see enum minrtt_probe_event.
 */
static inline enum minrtt_probe_event minrtt_probe_round(struct minrtt_probe *p,
							 u32 least_us,
							 u32 wait_us)
{
	u32 round_us = p->round_us;
	u32 near_us = max(least_us, min((1U << p->dev) - 1, p->min_us));
	bool probed = p->probing || p->cut;

	p->round_us = MINRTT_PROBE_NONE;
	p->dev = MINRTT_PROBE_DEV_MAX;
	if (round_us == MINRTT_PROBE_NONE)
		return MINRTT_PROBE_GO_ON;
	if (minrtt_probe_at_once(p, round_us, wait_us))
		p->left = 1;
	p->stood = round_us - p->min_us > wait_us;
	/* Its first round empties the queue */
	if (probed && --p->left)
		return MINRTT_PROBE_GO_ON;
	if (round_us - p->min_us <= near_us) {
		/* A mean may show only after a probe that it has emptied the queue */
		minrtt_probe_known(p, minrtt_probe_is_open(p) ? MINRTT_PROBE_REST :
				   clamp_t(u32, p->left, MINRTT_PROBE_ROUNDS,
					   MINRTT_PROBE_REST));
		return probed ? MINRTT_PROBE_EMPTY : MINRTT_PROBE_GO_ON;
	}
	if (probed)
		return minrtt_probe_judge(p, round_us,
					  max(least_us,
					      near_us / MINRTT_PROBE_SAME));
	if (!p->stood || --p->left)
		return MINRTT_PROBE_GO_ON;
	p->probing = true;
	p->left = MINRTT_PROBE_LENGTH;
	return MINRTT_PROBE_BEGIN;
}

#endif /* HETCC_MINRTT_PROBE_H */
