/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bandwidth estimate from the times in which the bottleneck was busy with us.
 *
 * An ACK stream shows the rate of the path only while the path, and not the
 * sender, sets its pace. A packet waits in the bottleneck for its round trip
 * less the minimum; while it does, the bottleneck works. So if everything that
 * an ACK acknowledges was sent before the newest packet of the ACK before it
 * had left the queue,
 *
 *   sent - sent' <= rtt' - RTTmin,
 *
 * the bottleneck was busy from one to the other, and the time between the two
 * ACKs is what it took for the bytes of the second. Stretches of such ACKs are
 * samples of the rate. A window too small for the pipe, an idle application, a
 * pause after a loss make no such stretch, and therefore do not count.
 *
 * Whole rounds of any kind are a lower bound: they can raise the estimate, and
 * make one where there is none. Only a round with heavy loss can lower it: then
 * the path did not carry what the estimate promised.
 *
 * ACKs come in bunches (delayed, compressed, thinned, merged by GRO). The last ACK of a
 * bunch comes when its data was delivered, the first ones late. A sample therefore
 * begins with the last one, and ends before a pause at least half as long as the
 * longest in it, or else it must be long against its pauses, as must a stretch shorter
 * than a round. The first of those is taken as soon as it is: in slow start the queue
 * has doubled before it ends. ACKs that waited behind other traffic come back to back
 * after a pause that may be longer than the round trip; a stretch that begins among
 * them would not see it, and therefore knows half of the longest before it.
 */
#ifndef HETCC_BW_BUSY_H
#define HETCC_BW_BUSY_H

#include "ewma.h"

/* A stretch shorter than a round: at least so many of its longest pauses ... */
#define BW_BUSY_PAUSES		8
/* ... and so long: radio links and hosts gather ACKs for some milliseconds */
#define BW_BUSY_LEAST_US	5000U
/* A longer one ends without a pause like that after so many */
#define BW_BUSY_ENOUGH		4
/* One packet of so many lost in a round is heavy loss */
#define BW_BUSY_HEAVY		8
/* Lost bytes are counted in units of 16, of which 23 bits hold 128 MB */
#define BW_BUSY_LOST_SHIFT	4
#define BW_BUSY_LOST_MAX	((1U << 23) - 1)
/* More than so many times the shortest sample make no difference: 0.8^20 is 0.01 */
#define BW_BUSY_TIMES		20U
/* Rounds without short stretches after congestion */
#define BW_BUSY_WARY		15

/**
 * struct bw_busy_stretch - ACKs in a row
 * @ack_us: arrival of the ACK before its first byte
 * @from_us: of a round: when the newest packet of that ACK was sent; of a run: arrival of
 *	     the first ACK of the bunch among which it began
 * @bytes: delivered since
 * @pause_us: longest time between two of its ACKs, at least half of what it was
 *	      in the stretch before
 */
struct bw_busy_stretch {
	u32 ack_us;
	u32 from_us;
	u32 bytes;
	u32 pause_us;
};

/**
 * struct bw_busy - estimator state
 * @avg: filtered rate, bytes per second
 * @run: ACKs between which the bottleneck was busy
 * @round: ACKs of a round trip, busy or not
 * @ack_us: arrival of the latest ACK
 * @sent_us: send time of the newest packet acknowledged
 * @queue_us: how long that packet waited
 * @low_us: shortest such time in the open round
 * @standing_us: shortest such time in the round before
 * @lost: lost in the open round, units of 16 bytes
 * @running: the times are valid
 * @limited: the application limited the sender in @run
 * @proven: the estimate has seen a busy stretch, it is no mere lower bound
 * @waited: a packet of the open round waited
 * @no_queue: none of the round before did
 * @wary: rounds for which a stretch must be a whole round to count
 */
struct bw_busy {
	struct ewma avg;
	struct bw_busy_stretch run;
	struct bw_busy_stretch round;
	u32 ack_us;
	u32 sent_us;
	u32 queue_us;
	u32 low_us;
	u32 standing_us;
	u32 lost:23,
	    running:1,
	    limited:1,
	    proven:1,
	    waited:1,
	    no_queue:1,
	    wary:4;
};

/**
 * struct bw_busy_ack - one ACK
 * @now_us: its arrival, wraps at 2^32
 * @bytes: newly delivered (cumulatively or selectively acknowledged)
 * @lost: newly judged lost, bytes
 * @rtt_us: round trip of the newest packet it acknowledges; 0: not known
 * @rtt_min_us: round trip of an empty path, at most @rtt_us
 * @wait_us: waits up to this long count as no queue
 * @train_us: shortest busy stretch that counts
 * @alpha_permille: weight of the old average, 0..999
 * @limited: the application limits the sender; what is busy then, and whether,
 *	     is not sure: a lower bound
 */
struct bw_busy_ack {
	u32 now_us;
	u32 bytes;
	u32 lost;
	u32 rtt_us;
	u32 rtt_min_us;
	u32 wait_us;
	u32 train_us;
	u32 alpha_permille;
	bool limited;
};

/**
 * bw_busy_get() - current estimate
 * @b: estimator
 *
 * Return: bytes per second, 0 before the first round.
 */
static inline u64 bw_busy_get(const struct bw_busy *b)
{
	return ewma_get(&b->avg);
}

/**
 * bw_busy_standing_us() - queue that did not go away for a round or more
 * @b: estimator
 *
 * Return: the shortest wait of a packet in the last one to two rounds,
 * microseconds.
 */
static inline u32 bw_busy_standing_us(const struct bw_busy *b)
{
	return min(b->low_us, b->standing_us);
}

/**
 * bw_busy_no_queue() - can the path carry more than the sender sends?
 * @b: estimator
 *
 * Return: no packet found a queue in the last one to two rounds.
 */
static inline bool bw_busy_no_queue(const struct bw_busy *b)
{
	return b->no_queue && !b->waited;
}

/**
 * bw_busy_congested() - a loss said that the pipe is full
 * @b: estimator
 *
 * A stretch shorter than a round then measures how this sender's packets lie
 * among those of others, not its share.
 */
static inline void bw_busy_congested(struct bw_busy *b)
{
	b->wary = BW_BUSY_WARY;
}

/**
 * bw_busy_pause() - end both stretches
 * @b: estimator
 *
 * To be called when nothing is left in flight.
 */
static inline void bw_busy_pause(struct bw_busy *b)
{
	b->running = false;
}

static inline void bw_busy_stretch_begin(struct bw_busy_stretch *s, u32 ack_us,
					 u32 from_us)
{
	*s = (struct bw_busy_stretch){
		.ack_us = ack_us,
		.from_us = from_us,
		.pause_us = s->pause_us / 2,
	};
}

static inline void bw_busy_stretch_add(struct bw_busy_stretch *s, u32 bytes,
				       u32 pause_us)
{
	s->bytes = fixed_sat_u32((u64)s->bytes + bytes);
	s->pause_us = max(s->pause_us, pause_us);
}

/* The last ACK of the bunch among which a run begins is the one that is not late */
static inline void bw_busy_run_add(struct bw_busy *b,
				   const struct bw_busy_ack *a, u32 pause_us)
{
	if (!b->run.bytes &&
	    a->now_us - b->run.from_us < b->run.pause_us / 2) {
		b->run.ack_us = a->now_us;
		return;
	}
	bw_busy_stretch_add(&b->run, a->bytes, pause_us);
	b->limited |= a->limited;
}

/* Does it end with the ACK before this one, which came pause_us after it? */
static inline bool bw_busy_stretch_ends(const struct bw_busy_stretch *s,
					u32 span_us, u32 want_us, u32 pause_us)
{
	if (!s->bytes || !span_us)
		return false;
	/* Close early rather than saturate */
	if (s->bytes > U32_MAX / 2)
		return true;
	if (span_us < want_us)
		return false;
	if (pause_us >= s->pause_us / 2 && span_us / 2 >= s->pause_us)
		return true;
	return span_us / 2 >= want_us &&
	       span_us / BW_BUSY_ENOUGH >= s->pause_us;
}

/* bytes < 2^32, times 10^6 < 2^52 */
static inline u64 bw_busy_stretch_rate(const struct bw_busy_stretch *s,
				       u32 span_us)
{
	return div_u64((u64)s->bytes * FIXED_USEC_PER_SEC, span_us);
}

/* A sample that is several times as long as it must be weighs as much */
static inline u32 bw_busy_alpha(const struct bw_busy *b, u32 span_us,
				const struct bw_busy_ack *a)
{
	u32 rounds = span_us / max(a->rtt_min_us, 1U);
	u32 pauses = span_us / 2 / max(b->run.pause_us, 1U);
	u32 times = min(min(rounds, pauses), BW_BUSY_TIMES);
	u32 alpha = a->alpha_permille;

	for (; times > 1; times--)
		alpha = alpha * a->alpha_permille / FIXED_MILLI;
	return alpha;
}

/* The first proof takes the place of what was a mere lower bound */
static inline bool bw_busy_prove(struct bw_busy *b, u32 span_us,
				 const struct bw_busy_ack *a)
{
	if (b->limited)
		return false;
	ewma_add(&b->avg, bw_busy_stretch_rate(&b->run, span_us),
		 b->proven ? bw_busy_alpha(b, span_us, a) : 0);
	b->proven = true;
	return true;
}

/* One that goes on must be twice as long against its pauses: it ends among them */
static inline bool bw_busy_is_train(const struct bw_busy *b, u32 span_us,
				    u32 train_us, bool goes_on)
{
	u32 pauses = goes_on ? 2 * BW_BUSY_PAUSES : BW_BUSY_PAUSES;

	return !b->wary && b->run.bytes && !(goes_on && b->proven) &&
	       span_us >= max(train_us, BW_BUSY_LEAST_US) &&
	       span_us / pauses >= b->run.pause_us;
}

/* Before this ACK is counted: is the run over, by a round or by a gap? */
static inline bool bw_busy_run(struct bw_busy *b,
			       const struct bw_busy_ack *a, bool busy)
{
	u32 span_us = b->ack_us - b->run.ack_us;
	bool whole = bw_busy_stretch_ends(&b->run, span_us, a->rtt_min_us,
					  a->now_us - b->ack_us);
	bool taken;

	if (!whole && !bw_busy_is_train(b, span_us, a->train_us, busy))
		return false;
	taken = bw_busy_prove(b, span_us, a);
	bw_busy_stretch_begin(&b->run, b->ack_us, b->ack_us);
	b->limited = false;
	return taken;
}

/* Bytes lost in the open round */
static inline u64 bw_busy_lost_bytes(const struct bw_busy *b)
{
	return (u64)b->lost << BW_BUSY_LOST_SHIFT;
}

static inline bool bw_busy_is_heavy(const struct bw_busy *b)
{
	return b->lost > b->round.bytes / (BW_BUSY_HEAVY - 1) >>
			 BW_BUSY_LOST_SHIFT;
}

static inline void bw_busy_next_round(struct bw_busy *b)
{
	bw_busy_stretch_begin(&b->round, b->ack_us, b->sent_us);
	b->standing_us = b->low_us;
	b->low_us = U32_MAX;
	b->no_queue = !b->waited;
	b->waited = false;
	b->wary -= !!b->wary;
	b->lost = 0;
}

/*
 * A lower bound twice over: what was delivered, over the longer of the times
 * that it took to send and to acknowledge it.
 */
static inline bool bw_busy_round(struct bw_busy *b, const struct bw_busy_ack *a)
{
	u32 span_us = b->ack_us - b->round.ack_us;
	u32 sent_us = b->sent_us - b->round.from_us;
	bool taken = false;
	u64 rate;

	if (!bw_busy_stretch_ends(&b->round, span_us,
				  max(a->rtt_us, a->rtt_min_us),
				  a->now_us - b->ack_us))
		return false;
	if ((s32)sent_us > 0)
		span_us = max(span_us, sent_us);
	rate = bw_busy_stretch_rate(&b->round, span_us);
	if (rate > bw_busy_get(b)) {
		ewma_add(&b->avg, rate, a->alpha_permille);
		taken = true;
	} else if (bw_busy_is_heavy(b)) {
		ewma_add(&b->avg, rate, 0);
		taken = true;
	}
	bw_busy_next_round(b);
	return taken;
}

/* The newest packet so far, and what it says of the queue */
static inline void bw_busy_note(struct bw_busy *b,
				const struct bw_busy_ack *a, u32 sent_us)
{
	b->ack_us = a->now_us;
	b->sent_us = sent_us;
	b->queue_us = a->rtt_us - min(a->rtt_us, a->rtt_min_us);
	b->low_us = min(b->low_us, b->queue_us);
	b->waited |= b->queue_us > a->wait_us;
}

/*
 * The packet found the queue empty. What its round trip is above the minimum,
 * its ACK may have waited; a stretch from here on must be long against that.
 */
static inline void bw_busy_restart(struct bw_busy *b)
{
	bw_busy_stretch_begin(&b->run, b->ack_us, b->ack_us);
	b->run.pause_us = max(b->run.pause_us, b->queue_us);
	b->limited = false;
}

static inline void bw_busy_begin(struct bw_busy *b, const struct bw_busy_ack *a)
{
	if (!a->rtt_us)
		return;
	b->running = true;
	b->low_us = 0;
	b->waited = true;
	bw_busy_note(b, a, a->now_us - a->rtt_us);
	bw_busy_restart(b);
	bw_busy_next_round(b);
}

/**
 * bw_busy_add() - account for one ACK
 * @b: estimator
 * @a: the ACK
 *
 * An ACK without a round trip (of retransmitted data) counts, and leaves it to
 * the next one with a round trip whether the bottleneck was busy.
 *
 * Return: true if the estimate was given a new sample.
 */
static inline bool bw_busy_add(struct bw_busy *b, const struct bw_busy_ack *a)
{
	u32 sent_us = a->now_us - a->rtt_us;
	u32 pause_us = a->now_us - b->ack_us;
	bool known, busy, taken;

	if (!b->running) {
		bw_busy_begin(b, a);
		return false;
	}
	b->lost = min(b->lost + (a->lost >> BW_BUSY_LOST_SHIFT),
		      BW_BUSY_LOST_MAX);
	if (!a->bytes)
		return false;
	/* One that was overtaken says nothing new */
	known = a->rtt_us && (s32)(sent_us - b->sent_us) >= 0;
	busy = !known || sent_us - b->sent_us <= b->queue_us;
	taken = bw_busy_run(b, a, busy);
	taken |= bw_busy_round(b, a);
	bw_busy_stretch_add(&b->round, a->bytes, pause_us);
	if (busy)
		bw_busy_run_add(b, a, pause_us);
	if (known)
		bw_busy_note(b, a, sent_us);
	else
		b->ack_us = a->now_us;
	if (!busy)
		bw_busy_restart(b);
	return taken;
}

#endif /* HETCC_BW_BUSY_H */
