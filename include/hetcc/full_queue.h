/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Are packets lost because a queue is full?
 *
 * A full queue drops a packet when those next to it wait as long as any. A link
 * that loses packets does not ask how long they waited. So compare the waits
 * beside gaps with the mean wait of all packets: longer beside nearly every loss of a full
 * queue, and beside half of those that have nothing to do with it. Losses are counted
 * until one of the two is by far the likelier (Wald's sequential test). Only the
 * order of round trips matters, not how deep the queue is nor how long the path: five
 * packets show themselves as five hundred do.
 *
 * A queue that drops early (AQM) or never fills (a policer) is not seen. For that there
 * is a ceiling: so many packets, over several rounds, no link is expected to lose.
 */
#ifndef HETCC_FULL_QUEUE_H
#define HETCC_FULL_QUEUE_H

#include "fixed.h"

/* Waits are kept in 256ths of the minimum round trip, up to 255 of those */
#define FULL_QUEUE_SHIFT	8
/*
 * Mean of the ACKs of a round, and of 64 at least, 8192 at most: in a large window waits
 * rise and fall within the round, and a mean of fewer would follow them
 */
#define FULL_QUEUE_MEAN_SHIFT	16
#define FULL_QUEUE_PKTS_SHIFT	6
#define FULL_QUEUE_PKTS_SHIFT_MAX	13
/* The longest comes nearer to the mean by a 16th per round */
#define FULL_QUEUE_FADE_SHIFT	4
/* Less than two units above the mean is noise: 0.3 ms at 40 ms */
#define FULL_QUEUE_NOISE	2U
/*
 * Evidence in units of 2/3 of a bit: six of ten of a link's losses lie above the mean wait
 * (waits are skewed, and the pair beside a gap spans one packet more than others), 15 of 16 of
 * a full queue's, so that one above is 1.6 times as likely with a full queue, and one below
 * 1/6. Bounded, since a path may change: twelve losses in a row lead from the lower bound to
 * the verdict, one in 460 of a link's by chance.
 */
#define FULL_QUEUE_ABOVE	1
#define FULL_QUEUE_BELOW	4
#define FULL_QUEUE_MAX		8
#define FULL_QUEUE_IS		3
#define FULL_QUEUE_MAY		1
#define FULL_QUEUE_BEGIN	2
/* A queue stands that is at least half full for so many rounds; jitter by chance for one or two */
#define FULL_QUEUE_STANDS	3
/* Of the packets of some eight rounds, Q16: one in 25 */
#define FULL_QUEUE_RATE_SHIFT	3
#define FULL_QUEUE_CEILING	(U16_MAX / 25)
/*
 * That is of several rounds: none counts for more than twice the ceiling, or for what the stack
 * sends at once (64 kB), which a queue too short to be seen may lose whole. A link that was
 * away for a moment has lost more
 */
#define FULL_QUEUE_BURST_BYTES	65536U

/**
 * struct full_queue - how losses lie among the waits
 * @mean: mean wait of pairs (the longer of two in a row, @high at most), times
 *	2^FULL_QUEUE_MEAN_SHIFT; never above @high by more than its fraction
 * @last: latest wait
 * @edge: the pair beside the latest gap, the latest where nothing is missing
 * @high: longest wait of two in a row of late
 * @bits: evidence of a full queue, in units of 2/3 of a bit, +-FULL_QUEUE_MAX
 * @low: shortest wait of the open round
 * @rate: share of the packets lost of late, Q16
 * @shift: the mean is of 2^FULL_QUEUE_PKTS_SHIFT times 2^shift
 * @gap: packets are missing
 * @told: a loss of the open round has counted
 * @stood: so many rounds, FULL_QUEUE_STANDS at most, in which every packet waited for half
 *	of the longest at least
 */
struct full_queue {
	u32 mean;
	u16 last;
	u16 edge;
	u16 high;
	u16 low;
	u16 rate;
	s16 bits:5;
	u16 shift:3;
	u16 gap:1;
	u16 told:1;
	u16 stood:2;
};

static inline void full_queue_init(struct full_queue *q)
{
	/* Not known: beside waits they may be */
	*q = (struct full_queue){
		.bits = FULL_QUEUE_BEGIN,
		.low = U16_MAX,
	};
}

/**
 * full_queue_add() - a round trip was measured
 * @q: state
 * @rtt_us: round trip, not 0
 * @min_us: minimum round trip, not 0
 * @gap: packets before the newest acknowledged are missing
 * @repair: the sender is repairing losses, each gap is a new one
 */
static inline void full_queue_add(struct full_queue *q, u32 rtt_us, u32 min_us,
				  bool gap, bool repair)
{
	u32 wait = fixed_mul_div(rtt_us - min(rtt_us, min_us),
				 1U << FULL_QUEUE_SHIFT, min_us);
	u32 shift = FULL_QUEUE_PKTS_SHIFT + q->shift, pair;

	wait = min_t(u32, wait, U16_MAX);
	pair = max_t(u32, q->last, wait);
	/* A single one may have waited for something else: an ACK that was delayed */
	q->high = max_t(u32, q->high, min_t(u32, q->last, wait));
	q->last = wait;
	if (!gap || !q->gap || repair)
		q->edge = pair;
	q->gap = gap;
	q->low = min_t(u32, q->low, wait);
	/* Nor does it lift the mean, where few are in flight above what any other waits */
	pair = min_t(u32, pair, q->high);
	/* Towards the pair and not beyond it: below 2^32 */
	q->mean = q->mean - (q->mean >> shift) +
		  (pair << (FULL_QUEUE_MEAN_SHIFT - shift));
}

/* Return: did packets beside the latest loss wait longer than others? 0: nothing waits */
static inline int full_queue_side(const struct full_queue *q)
{
	u32 mean = q->mean >> FULL_QUEUE_MEAN_SHIFT;

	if (q->high - mean < FULL_QUEUE_NOISE)
		return 0;
	/* A full queue is not half empty */
	return q->edge > mean && q->edge >= q->high / 2 ? 1 : -1;
}

/**
 * full_queue_lost() - the latest ACK says that packets are lost
 * @q: state
 * @is_short: the queue is too short for anything else to show that it stands
 *
 * In one that stays near its longest all waits are alike, and one below the mean says
 * nothing: a sender that no loss stops would keep it so.
 */
static inline void full_queue_lost(struct full_queue *q, bool is_short)
{
	int side = full_queue_side(q), bits = q->bits;

	/* Those of a round met the same queue: they count as one */
	if (q->told)
		return;
	q->told = true;
	if (side > 0)
		bits += FULL_QUEUE_ABOVE;
	else if (!side)
		bits -= bits > 0;
	else if (!is_short || q->stood < FULL_QUEUE_STANDS)
		bits -= FULL_QUEUE_BELOW;
	q->bits = clamp(bits, -FULL_QUEUE_MAX, FULL_QUEUE_MAX);
}

/**
 * full_queue_round() - a round is over
 * @q: state
 * @lost: lost in it
 * @sent: sent in it, what is lost included
 * @unit_bytes: unit of the two, not 0: 1 byte, or those of a packet
 */
static inline void full_queue_round(struct full_queue *q, u32 lost, u32 sent,
				    u32 unit_bytes)
{
	u32 mean = q->mean >> FULL_QUEUE_MEAN_SHIFT;
	u32 most = max_t(u32, FULL_QUEUE_BURST_BYTES / unit_bytes,
			 fixed_mul_div(sent, 2 * FULL_QUEUE_CEILING, U16_MAX));
	u32 now = sent ? fixed_mul_div(min(lost, most), U16_MAX, sent) : 0;

	now = min_t(u32, now, U16_MAX);
	q->rate = q->rate - (q->rate >> FULL_QUEUE_RATE_SHIFT) +
		  (now >> FULL_QUEUE_RATE_SHIFT);
	q->told = false;
	q->stood = q->low >= q->high / 2 ?
		   min(q->stood + 1, FULL_QUEUE_STANDS) : 0;
	q->low = U16_MAX;
	if (q->high > mean)
		q->high -= 1 + ((q->high - mean - 1) >> FULL_QUEUE_FADE_SHIFT);
}

/**
 * full_queue_catch_up() - a round is about to be over
 * @q: state
 *
 * Where all of it waited longer than the mean, that is too old: a path that got longer, or
 * a queue that grows, would have each loss lie above it for some rounds.
 */
static inline void full_queue_catch_up(struct full_queue *q)
{
	if (q->low < U16_MAX)
		q->mean = max(q->mean, (u32)min(q->low, q->high)
				       << FULL_QUEUE_MEAN_SHIFT);
}

/**
 * full_queue_size() - what the mean is of
 * @q: state
 * @pkts: packets of a round
 */
static inline void full_queue_size(struct full_queue *q, u32 pkts)
{
	q->shift = clamp(fls(pkts), FULL_QUEUE_PKTS_SHIFT,
			 FULL_QUEUE_PKTS_SHIFT_MAX) - FULL_QUEUE_PKTS_SHIFT;
}

/**
 * full_queue_is_it() - are losses those of a full queue?
 * @q: state
 *
 * Return: packets beside gaps wait longer than others, or more is lost than a link
 * may lose.
 */
static inline bool full_queue_is_it(const struct full_queue *q)
{
	return q->bits > FULL_QUEUE_IS ||
	       q->rate > FULL_QUEUE_CEILING;
}

/**
 * full_queue_is_here() - does the latest loss lie as those of a full queue do?
 * @q: state
 *
 * Return: beside it packets waited longer than others, or more is lost than a link may
 * lose.
 */
static inline bool full_queue_is_here(const struct full_queue *q)
{
	return full_queue_side(q) > 0 ||
	       q->rate > FULL_QUEUE_CEILING;
}

/**
 * full_queue_is_short() - is the queue too short to be seen by its waits?
 * @q: state
 * @min_us: minimum round trip
 * @wait_us: waits up to this long count as no queue
 *
 * Return: nothing waited longer of late.
 */
static inline bool full_queue_is_short(const struct full_queue *q, u32 min_us,
				       u32 wait_us)
{
	return ((u64)q->high * min_us) >> FULL_QUEUE_SHIFT <= wait_us;
}

/**
 * full_queue_may_be() - can they be?
 * @q: state
 *
 * Return: false where the way they lie speaks against it.
 */
static inline bool full_queue_may_be(const struct full_queue *q)
{
	return q->bits > FULL_QUEUE_MAY;
}

#endif /* HETCC_FULL_QUEUE_H */
