// SPDX-License-Identifier: GPL-2.0
/*
 * A link that follows tables: capacity, delay and loss over time.
 *
 * Stage "queue": a drop-tail queue, or any child qdisc, that is emptied by
 *
 *  - delivery opportunities as mahimahi's mm-link has them: at its time each
 *    carries up to 1500 bytes, several small packets; a packet that does not fit
 *    wholly goes on at the next one; what it could carry besides is lost, and so
 *    is an opportunity at which nothing waits; or
 *  - a rate that is constant between the times of the table.  A packet leaves
 *    when the integral of the rate since its first bit is its length, so packets
 *    that wait feel a new rate at once, and a rate of 0 holds them.
 *
 * Stage "delay": each packet stays for the delay that is in force when it comes,
 * but never overtakes another one; before that it may be lost.
 *
 * Times are integers of ns since a common start on CLOCK_MONOTONIC, and every
 * departure is computed from the start and not from the one before: nothing adds
 * up, however long a table is played.
 *
 * A packet is taken out of the child when its first byte is sent: the time that
 * an AQM sees is all of its wait.
 *
 * tc knows nothing of this qdisc and shows its counters only; see hetreplay.c.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include <net/sock.h>

#include "compat.h"
#include "sch_replay.h"

#define NEVER_NS	S64_MAX

/* Lengths are in bits times ns of a second: a rate in bit/s times ns is exact. */
#define WORK_OF_BYTE	(8ull * NSEC_PER_SEC)

/**
 * struct cursor - a place in a table
 * @base_ns: when the present period began
 * @at: entry: the next opportunity, or the value in force
 */
struct cursor {
	s64 base_ns;
	u32 at;
};

/**
 * struct table - values over time
 * @cursor: where we are
 * @kind: REPLAY_...
 * @count: entries
 * @filled: entries that have come
 * @period_ns: after this time it begins again; 0: the last value holds
 * @per_period: bit * ns / s that a table of rates carries in a period, saturated
 * @entries: sorted by time
 */
struct table {
	struct cursor cursor;
	u32 kind;
	u32 count;
	u32 filled;
	s64 period_ns;
	u64 per_period;
	struct replay_entry entries[];
};

/**
 * struct service - progress of the packet in transit over a table of rates
 * @at: place in the table
 * @mark_ns: what was sent until then is accounted for
 * @work: what is left of the packet
 * @credit: sent beyond the end of the packet before, in the last ns of it
 */
struct service {
	struct cursor at;
	s64 mark_ns;
	u64 work;
	u64 credit;
};

/**
 * struct replay_sched_data - a stage of a link
 * @watchdog: fires when something may leave
 * @child: queue discipline of the packets that wait; NULL: drop-tail, @waiting
 * @waiting: packets that wait, or are delayed
 * @waiting_bytes: their bytes
 * @ready: packets that have been sent
 * @transit: packet of which a part may have been sent
 * @transit_bytes: opportunities: what is left of it
 * @service: rates: how far it is
 * @capacity: table of opportunities or rates
 * @delay: table of delays
 * @loss: table of losses
 * @incoming: table of which entries are still to come
 * @start_ns: time 0 of the tables
 * @last_due_ns: when the last packet of the delay stage leaves
 * @prng: random numbers of losses
 * @used: opportunities that carried something
 * @lost: packets that @loss took
 * @stage: REPLAY_STAGE_...
 * @limit_pkts: packets that may wait
 * @limit_bytes: bytes that may wait; 0: any number
 * @overhead: added to the length of packets, in bytes
 */
struct replay_sched_data {
	struct qdisc_watchdog watchdog;
	struct Qdisc *child;
	struct qdisc_skb_head waiting;
	u64 waiting_bytes;
	struct qdisc_skb_head ready;
	struct sk_buff *transit;
	u32 transit_bytes;
	struct service service;
	struct table *capacity;
	struct table *delay;
	struct table *loss;
	struct table *incoming;
	s64 start_ns;
	s64 last_due_ns;
	struct rnd_state prng;
	u64 used;
	u64 lost;
	u32 stage;
	u32 limit_pkts;
	u32 limit_bytes;
	s32 overhead;
};

/* When a packet of the delay stage leaves. */
struct replay_skb_cb {
	s64 due_ns;
};

static struct replay_skb_cb *replay_skb_cb(struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct replay_skb_cb));
	return (struct replay_skb_cb *)qdisc_skb_cb(skb)->data;
}

static u32 packet_bytes(const struct replay_sched_data *q,
			const struct sk_buff *skb)
{
	return max_t(s64, (s64)qdisc_pkt_len(skb) + q->overhead, 1);
}

/* ------------------------------------------------------------------- tables */

/* Number of entries at @rel_ns or before. */
static u32 entries_until(const struct table *t, s64 rel_ns)
{
	u32 low = 0, high = t->count;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if ((s64)t->entries[middle].t_ns <= rel_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Begin of the period that @now is in. */
static s64 period_begin(const struct table *t, s64 start_ns, s64 now)
{
	s64 rel = now - start_ns;
	u64 into;

	if (!t->period_ns)
		return start_ns;
	if (rel >= 0) {
		div64_u64_rem(rel, t->period_ns, &into);
		return now - into;
	}
	div64_u64_rem(-rel, t->period_ns, &into);
	return into ? now + into - t->period_ns : now;
}

/* To the value in force at @now, or to the first opportunity after it. */
static struct cursor seek(const struct table *t, s64 start_ns, s64 now)
{
	struct cursor c = { .base_ns = period_begin(t, start_ns, now) };
	u32 before = entries_until(t, now - c.base_ns);

	if (t->kind != REPLAY_OPPORTUNITIES)
		c.at = before ? before - 1 : 0;
	else if (before < t->count)
		c.at = before;
	else
		c.base_ns += t->period_ns;
	return c;
}

static void advance(const struct table *t, struct cursor *c)
{
	if (++c->at < t->count)
		return;
	c->at = 0;
	c->base_ns += t->period_ns;
}

static s64 cursor_ns(const struct table *t, const struct cursor *c)
{
	return c->base_ns + (s64)t->entries[c->at].t_ns;
}

/* When the value in force ends. */
static s64 value_end_ns(const struct table *t, const struct cursor *c)
{
	if (c->at + 1 < t->count)
		return c->base_ns + (s64)t->entries[c->at + 1].t_ns;
	return t->period_ns ? c->base_ns + t->period_ns : NEVER_NS;
}

/* Value in force at @now, which never goes back; 0 without a table. */
static u64 value_at(struct table *t, s64 start_ns, s64 now)
{
	if (!t)
		return 0;
	if (value_end_ns(t, &t->cursor) <= now)
		t->cursor = seek(t, start_ns, now);
	return t->entries[t->cursor.at].value;
}

/* -------------------------------------------------------------------- queue */

/* The next packet begins to be sent; false: none waits, or the child has none now. */
static bool take(struct Qdisc *sch)
{
	struct replay_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb = __qdisc_dequeue_head(&q->waiting);

	if (skb)
		q->waiting_bytes -= packet_bytes(q, skb);
	else if (q->child)
		skb = q->child->ops->dequeue(q->child);
	if (!skb)
		return false;
	q->transit = skb;
	q->transit_bytes = packet_bytes(q, skb);
	return true;
}

static void sent(struct replay_sched_data *q)
{
	__qdisc_enqueue_tail(q->transit, &q->ready);
	q->transit = NULL;
}

/* One opportunity; false: nothing waits for the rest of it. */
static bool use_opportunity(struct Qdisc *sch)
{
	struct replay_sched_data *q = qdisc_priv(sch);
	u32 part, left = REPLAY_OPPORTUNITY_BYTES;

	while (left) {
		if (!q->transit && !take(sch))
			break;
		part = min(left, q->transit_bytes);
		q->transit_bytes -= part;
		left -= part;
		if (!q->transit_bytes)
			sent(q);
	}
	q->used += left < REPLAY_OPPORTUNITY_BYTES;
	return !left;
}

/*
 * All opportunities until @now, for the packets that wait.  Those at which
 * nothing waits are lost, and nothing can have come in between: what came was
 * preceded by a call of this.
 */
static void serve_opportunities(struct Qdisc *sch, s64 now)
{
	struct replay_sched_data *q = qdisc_priv(sch);
	struct table *t = q->capacity;
	u64 i;

	while (cursor_ns(t, &t->cursor) <= now) {
		for (i = 0; i < t->entries[t->cursor.at].value; i++) {
			if (!use_opportunity(sch)) {
				t->cursor = seek(t, q->start_ns, now);
				return;
			}
		}
		advance(t, &t->cursor);
	}
}

/* Send until @until; true: all of the packet is sent, at s->mark_ns. */
static bool progress(const struct table *t, struct service *s, s64 until)
{
	for (;;) {
		u64 rate = t->entries[s->at.at].value;
		s64 end = value_end_ns(t, &s->at);
		s64 stop = min(end, until);
		u64 need_ns = rate ? DIV64_U64_ROUND_UP(s->work, rate) : U64_MAX;

		if (s->mark_ns <= stop && need_ns <= (u64)(stop - s->mark_ns)) {
			s->credit = need_ns * rate - s->work;
			s->mark_ns += need_ns;
			s->work = 0;
			return true;
		}
		if (s->mark_ns < stop) {
			s->work -= rate * (stop - s->mark_ns);
			s->mark_ns = stop;
		}
		if (end > until || end == NEVER_NS)
			return false;
		advance(t, &s->at);
		if (!s->at.at && t->per_period < s->work) {
			u64 periods = div64_u64(s->work - 1, t->per_period);
			u64 room = max_t(s64, until - s->mark_ns, 0);

			periods = min(periods, div64_u64(room, t->period_ns));
			s->work -= periods * t->per_period;
			s->mark_ns += periods * t->period_ns;
			s->at.base_ns += periods * t->period_ns;
		}
	}
}

static void serve_rate(struct Qdisc *sch, s64 now)
{
	struct replay_sched_data *q = qdisc_priv(sch);
	struct service *s = &q->service;

	for (;;) {
		if (!q->transit) {
			if (!take(sch)) {
				s->credit = 0;
				s->mark_ns = now;
				s->at = seek(q->capacity, q->start_ns, now);
				return;
			}
			s->work = q->transit_bytes * WORK_OF_BYTE;
			s->work -= min(s->credit, s->work);
		}
		if (!progress(q->capacity, s, now))
			return;
		sent(q);
	}
}

static void serve(struct Qdisc *sch, s64 now)
{
	struct replay_sched_data *q = qdisc_priv(sch);

	if (!q->capacity)
		return;
	if (q->capacity->kind == REPLAY_OPPORTUNITIES)
		serve_opportunities(sch, now);
	else
		serve_rate(sch, now);
}

/* When something may leave next. */
static s64 next_ns(const struct replay_sched_data *q)
{
	const struct table *t = q->capacity;
	struct service s = q->service;

	if (!t)
		return NEVER_NS;
	if (t->kind == REPLAY_OPPORTUNITIES)
		return cursor_ns(t, &t->cursor);
	if (!q->transit || !progress(t, &s, NEVER_NS - 1))
		return NEVER_NS;
	return s.mark_ns;
}

static int drop_tail(struct sk_buff *skb, struct Qdisc *sch,
		     struct sk_buff **to_free)
{
	struct replay_sched_data *q = qdisc_priv(sch);
	u32 bytes = packet_bytes(q, skb);

	if (q->waiting.qlen >= q->limit_pkts ||
	    (q->limit_bytes && q->waiting_bytes + bytes > q->limit_bytes))
		return qdisc_drop(skb, sch, to_free);
	__qdisc_enqueue_tail(skb, &q->waiting);
	q->waiting_bytes += bytes;
	return NET_XMIT_SUCCESS;
}

/* The qdisc that owns the packets that wait counts what it does not take. */
static int admit(struct sk_buff *skb, struct Qdisc *sch,
		 struct sk_buff **to_free)
{
	struct replay_sched_data *q = qdisc_priv(sch);
	u32 len = qdisc_pkt_len(skb);
	int ret;

	if (q->child) {
		ret = qdisc_enqueue(skb, q->child, to_free);
		if (ret != NET_XMIT_SUCCESS && net_xmit_drop_count(ret))
			qdisc_qstats_drop(sch);
	} else {
		ret = drop_tail(skb, sch, to_free);
	}
	if (ret == NET_XMIT_SUCCESS) {
		sch->qstats.backlog += len;
		sch->q.qlen++;
	}
	return ret;
}

/* Packets of many segments are single ones on the wire. */
static int admit_segments(struct sk_buff *skb, struct Qdisc *sch,
			  struct sk_buff **to_free)
{
	netdev_features_t features = netif_skb_features(skb);
	struct sk_buff *segs = skb_gso_segment(skb, features & ~NETIF_F_GSO_MASK);
	unsigned int len = 0, before = qdisc_pkt_len(skb);
	struct sk_buff *next;
	int taken = 0;

	if (IS_ERR_OR_NULL(segs))
		return qdisc_drop(skb, sch, to_free);
	skb_list_walk_safe(segs, segs, next) {
		unsigned int one = segs->len;

		skb_mark_not_on_list(segs);
		qdisc_skb_cb(segs)->pkt_len = one;
		if (admit(segs, sch, to_free) == NET_XMIT_SUCCESS) {
			taken++;
			len += one;
		}
	}
	if (!taken) {
		kfree_skb(skb);
		return NET_XMIT_DROP;
	}
	qdisc_tree_reduce_backlog(sch, 1 - taken, before - len);
	consume_skb(skb);
	return NET_XMIT_SUCCESS;
}

/* -------------------------------------------------------------------- delay */

static int delay_packet(struct sk_buff *skb, struct Qdisc *sch,
			struct sk_buff **to_free, s64 now)
{
	struct replay_sched_data *q = qdisc_priv(sch);
	u64 loss = value_at(q->loss, q->start_ns, now);
	s64 delay;

	if (loss && prandom_u32_state(&q->prng) <= loss) {
		q->lost++;
		qdisc_qstats_drop(sch);
		__qdisc_drop(skb, to_free);
		return NET_XMIT_SUCCESS | __NET_XMIT_BYPASS;
	}
	if (q->waiting.qlen >= q->limit_pkts)
		return qdisc_drop(skb, sch, to_free);
	delay = value_at(q->delay, q->start_ns, now);
	q->last_due_ns = max_t(s64, q->last_due_ns, now + delay);
	replay_skb_cb(skb)->due_ns = q->last_due_ns;
	qdisc_qstats_backlog_inc(sch, skb);
	__qdisc_enqueue_tail(skb, &q->waiting);
	sch->q.qlen++;
	return NET_XMIT_SUCCESS;
}

/* A packet that is due; otherwise @next_ns is when one will be. */
static struct sk_buff *delayed_packet(struct replay_sched_data *q, s64 now,
				      s64 *next_ns)
{
	struct sk_buff *skb = q->waiting.head;

	if (!skb)
		return NULL;
	if (replay_skb_cb(skb)->due_ns <= now)
		return __qdisc_dequeue_head(&q->waiting);
	*next_ns = replay_skb_cb(skb)->due_ns;
	return NULL;
}

/* --------------------------------------------------------------- operations */

static int replay_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			  struct sk_buff **to_free)
{
	struct replay_sched_data *q = qdisc_priv(sch);
	s64 now = ktime_get_ns();

	/* As behind a switch: a sender's stack feels nothing of what waits here. */
	skb_orphan_partial(skb);
	if (q->stage == REPLAY_STAGE_DELAY)
		return delay_packet(skb, sch, to_free, now);
	serve(sch, now);
	if (skb_is_gso(skb))
		return admit_segments(skb, sch, to_free);
	return admit(skb, sch, to_free);
}

static struct sk_buff *sent_packet(struct Qdisc *sch, s64 now)
{
	struct replay_sched_data *q = qdisc_priv(sch);

	if (!q->ready.head)
		serve(sch, now);
	return __qdisc_dequeue_head(&q->ready);
}

static struct sk_buff *replay_dequeue(struct Qdisc *sch)
{
	struct replay_sched_data *q = qdisc_priv(sch);
	s64 now = ktime_get_ns(), next = NEVER_NS;
	struct sk_buff *skb;

	if (q->stage == REPLAY_STAGE_DELAY) {
		skb = delayed_packet(q, now, &next);
	} else {
		skb = sent_packet(sch, now);
		if (!skb && sch->q.qlen)
			next = next_ns(q);
	}
	if (skb) {
		sch->q.qlen--;
		qdisc_qstats_backlog_dec(sch, skb);
		qdisc_bstats_update(sch, skb);
	} else if (next != NEVER_NS) {
		qdisc_watchdog_schedule_ns(&q->watchdog, next);
	}
	return skb;
}

static void replay_reset(struct Qdisc *sch)
{
	struct replay_sched_data *q = qdisc_priv(sch);

	__qdisc_reset_queue(&q->waiting);
	__qdisc_reset_queue(&q->ready);
	q->waiting_bytes = 0;
	kfree_skb(q->transit);
	q->transit = NULL;
	q->last_due_ns = 0;
	if (q->child)
		qdisc_reset(q->child);
	qdisc_watchdog_cancel(&q->watchdog);
}

/* ------------------------------------------------------------------ changes */

static const struct nla_policy replay_policy[TCA_REPLAY_MAX + 1] = {
	[TCA_REPLAY_STAGE] = NLA_POLICY_MAX(NLA_U32, REPLAY_STAGE_DELAY),
	[TCA_REPLAY_LIMIT_PKTS] = NLA_POLICY_MIN(NLA_U32, 1),
	[TCA_REPLAY_LIMIT_BYTES] = { .type = NLA_U32 },
	[TCA_REPLAY_OVERHEAD] = NLA_POLICY_RANGE(NLA_S32, -64, 64),
	[TCA_REPLAY_TABLE] = NLA_POLICY_MAX(NLA_U32, REPLAY_TABLES - 1),
	[TCA_REPLAY_TOTAL] = { .type = NLA_U32 },
	[TCA_REPLAY_PERIOD] = { .type = NLA_U64 },
	[TCA_REPLAY_CHUNK] = { .type = NLA_BINARY },
	[TCA_REPLAY_START] = { .type = NLA_S64 },
};

/* Largest value of each table. */
static const u64 replay_value_max[REPLAY_TABLES] = {
	[REPLAY_OPPORTUNITIES] = REPLAY_MAX_COUNT,
	[REPLAY_RATE] = REPLAY_MAX_BIT_S,
	[REPLAY_DELAY] = REPLAY_MAX_DELAY_NS,
	[REPLAY_LOSS] = U32_MAX,
};

/* A new table of which no entry has come. */
static struct table *table_begin(struct nlattr **tb, u32 kind,
				 struct netlink_ext_ack *extack)
{
	u32 total = nla_get_u32(tb[TCA_REPLAY_TOTAL]);
	u64 period = 0;
	struct table *t;

	if (tb[TCA_REPLAY_PERIOD])
		period = nla_get_u64(tb[TCA_REPLAY_PERIOD]);
	if (!total || total > REPLAY_MAX_ENTRIES) {
		NL_SET_ERR_MSG(extack, "a table has 1 to 4194304 entries");
		return ERR_PTR(-EINVAL);
	}
	if (period > REPLAY_MAX_PERIOD_NS ||
	    (!period && kind == REPLAY_OPPORTUNITIES)) {
		NL_SET_ERR_MSG(extack, "period: at most a week, and not 0 for opportunities");
		return ERR_PTR(-EINVAL);
	}
	t = kvzalloc(struct_size(t, entries, total), GFP_KERNEL_ACCOUNT);
	if (!t)
		return ERR_PTR(-ENOMEM);
	t->kind = kind;
	t->count = total;
	t->period_ns = period;
	return t;
}

/* Whether a new entry fits behind those that are there. */
static bool entry_good(const struct table *t, const struct replay_entry *e)
{
	bool steps = t->kind != REPLAY_OPPORTUNITIES;
	u64 longest = t->period_ns ? t->period_ns : REPLAY_MAX_PERIOD_NS;

	if (e->value > replay_value_max[t->kind] || (!steps && !e->value))
		return false;
	if (e->t_ns > longest || (steps && t->period_ns && e->t_ns == longest))
		return false;
	if (!t->filled)
		return !steps || !e->t_ns;
	return e->t_ns > t->entries[t->filled - 1].t_ns;
}

static int table_append(struct table *t, const struct nlattr *chunk,
			struct netlink_ext_ack *extack)
{
	u32 i, n = nla_len(chunk) / sizeof(struct replay_entry);
	const char *from = nla_data(chunk);

	if (!n || nla_len(chunk) % sizeof(struct replay_entry) ||
	    n > t->count - t->filled) {
		NL_SET_ERR_MSG(extack, "entries: not whole, none, or more than the table has");
		return -EINVAL;
	}
	for (i = 0; i < n; i++) {
		struct replay_entry *e = &t->entries[t->filled];

		memcpy(e, from + i * sizeof(*e), sizeof(*e));
		if (!entry_good(t, e)) {
			NL_SET_ERR_MSG(extack, "an entry is out of range or out of order");
			return -EINVAL;
		}
		t->filled++;
	}
	return 0;
}

/* What a period of a table of rates carries, saturated. */
static u64 period_work(const struct table *t)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < t->count; i++) {
		u64 end = i + 1 < t->count ? t->entries[i + 1].t_ns : t->period_ns;
		u64 part;

		if (check_mul_overflow(t->entries[i].value,
				       end - t->entries[i].t_ns, &part) ||
		    check_add_overflow(sum, part, &sum))
			return U64_MAX;
	}
	return sum;
}

static struct table **table_slot(struct replay_sched_data *q, u32 kind)
{
	if (q->stage == REPLAY_STAGE_DELAY)
		return kind == REPLAY_DELAY ? &q->delay :
		       kind == REPLAY_LOSS ? &q->loss : NULL;
	return kind <= REPLAY_RATE ? &q->capacity : NULL;
}

/* Tables begin at q->start_ns; the rest of the packet in transit is sent by them. */
static void tables_restart(struct replay_sched_data *q, s64 now)
{
	struct table *tables[] = { q->capacity, q->delay, q->loss };
	int i;

	for (i = 0; i < ARRAY_SIZE(tables); i++)
		if (tables[i])
			tables[i]->cursor = seek(tables[i], q->start_ns, now);
	if (!q->capacity)
		return;
	q->service.at = q->capacity->cursor;
	q->service.mark_ns = now;
	q->service.credit = 0;
}

/* A table that is complete takes the place of the one before. */
static void table_install(struct Qdisc *sch, struct table **slot)
{
	struct replay_sched_data *q = qdisc_priv(sch);
	struct table *before, *t = q->incoming;
	bool other;
	s64 now;

	sch_tree_lock(sch);
	now = ktime_get_ns();
	serve(sch, now);
	before = *slot;
	other = slot == &q->capacity && before && before->kind != t->kind;
	*slot = t;
	q->incoming = NULL;
	tables_restart(q, now);
	if (other && q->transit && t->kind == REPLAY_RATE)
		q->service.work = q->transit_bytes * WORK_OF_BYTE;
	else if (other && q->transit)
		q->transit_bytes = max_t(u64, 1, DIV64_U64_ROUND_UP(q->service.work,
								    WORK_OF_BYTE));
	sch_tree_unlock(sch);
	kvfree(before);
}

/* What all entries must be together. */
static int table_complete(struct table *t, struct netlink_ext_ack *extack)
{
	if (t->kind != REPLAY_RATE || !t->period_ns)
		return 0;
	t->per_period = period_work(t);
	if (t->per_period)
		return 0;
	NL_SET_ERR_MSG(extack, "a table of rates that repeats needs one above 0");
	return -EINVAL;
}

/* Entries of a table: with the last one it is in force, with a bad one it is gone. */
static int replay_change_table(struct Qdisc *sch, struct nlattr **tb,
			       struct netlink_ext_ack *extack)
{
	struct replay_sched_data *q = qdisc_priv(sch);
	u32 kind = nla_get_u32(tb[TCA_REPLAY_TABLE]);
	struct table **slot = table_slot(q, kind);
	struct table *t = q->incoming;
	int err;

	if (!slot || !tb[TCA_REPLAY_CHUNK]) {
		NL_SET_ERR_MSG(extack, "no such table in this stage, or no entries");
		return -EINVAL;
	}
	if (tb[TCA_REPLAY_TOTAL]) {
		t = table_begin(tb, kind, extack);
		if (IS_ERR(t))
			return PTR_ERR(t);
		kvfree(q->incoming);
		q->incoming = t;
	}
	if (!t || t->kind != kind) {
		NL_SET_ERR_MSG(extack, "entries of a table that was not begun");
		return -EINVAL;
	}
	err = table_append(t, tb[TCA_REPLAY_CHUNK], extack);
	if (!err && t->filled < t->count)
		return 0;
	if (!err)
		err = table_complete(t, extack);
	if (err) {
		q->incoming = NULL;
		kvfree(t);
		return err;
	}
	table_install(sch, slot);
	return 0;
}

static void replay_change_limits(struct Qdisc *sch, struct nlattr **tb)
{
	struct replay_sched_data *q = qdisc_priv(sch);

	sch_tree_lock(sch);
	if (tb[TCA_REPLAY_LIMIT_PKTS])
		q->limit_pkts = nla_get_u32(tb[TCA_REPLAY_LIMIT_PKTS]);
	if (tb[TCA_REPLAY_LIMIT_BYTES])
		q->limit_bytes = nla_get_u32(tb[TCA_REPLAY_LIMIT_BYTES]);
	if (tb[TCA_REPLAY_START]) {
		s64 now = ktime_get_ns();

		serve(sch, now);
		q->start_ns = nla_get_s64(tb[TCA_REPLAY_START]);
		tables_restart(q, now);
	}
	sch_tree_unlock(sch);
}

static int replay_change(struct Qdisc *sch, struct nlattr *opt,
			 struct netlink_ext_ack *extack)
{
	struct replay_sched_data *q = qdisc_priv(sch);
	struct nlattr *tb[TCA_REPLAY_MAX + 1];
	s64 start;
	int err;

	err = nla_parse_nested(tb, TCA_REPLAY_MAX, opt, replay_policy, extack);
	if (err)
		return err;
	if ((tb[TCA_REPLAY_STAGE] &&
	     nla_get_u32(tb[TCA_REPLAY_STAGE]) != q->stage) ||
	    (tb[TCA_REPLAY_OVERHEAD] &&
	     nla_get_s32(tb[TCA_REPLAY_OVERHEAD]) != q->overhead)) {
		NL_SET_ERR_MSG(extack, "stage and overhead cannot be changed");
		return -EINVAL;
	}
	if (tb[TCA_REPLAY_START]) {
		start = nla_get_s64(tb[TCA_REPLAY_START]);
		if (start < 0 || start > S64_MAX / 4) {
			NL_SET_ERR_MSG(extack, "start: not a time of CLOCK_MONOTONIC");
			return -EINVAL;
		}
	}
	if (tb[TCA_REPLAY_TABLE]) {
		err = replay_change_table(sch, tb, extack);
		if (err)
			return err;
	}
	replay_change_limits(sch, tb);
	qdisc_watchdog_schedule_ns(&q->watchdog, ktime_get_ns());
	return 0;
}

static int replay_init(struct Qdisc *sch, struct nlattr *opt,
		       struct netlink_ext_ack *extack)
{
	struct replay_sched_data *q = qdisc_priv(sch);
	struct nlattr *tb[TCA_REPLAY_MAX + 1];
	int err;

	qdisc_watchdog_init(&q->watchdog, sch);
	if (!opt) {
		NL_SET_ERR_MSG(extack, "replay needs options; tc has none, use hetreplay");
		return -EINVAL;
	}
	err = nla_parse_nested(tb, TCA_REPLAY_MAX, opt, replay_policy, extack);
	if (err)
		return err;
	q->limit_pkts = U32_MAX;
	if (tb[TCA_REPLAY_STAGE])
		q->stage = nla_get_u32(tb[TCA_REPLAY_STAGE]);
	if (tb[TCA_REPLAY_OVERHEAD])
		q->overhead = nla_get_s32(tb[TCA_REPLAY_OVERHEAD]);
	q->start_ns = ktime_get_ns();
	prandom_seed_state(&q->prng, get_random_u64());
	return replay_change(sch, opt, extack);
}

static void replay_destroy(struct Qdisc *sch)
{
	struct replay_sched_data *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	if (q->child)
		qdisc_put(q->child);
	kvfree(q->capacity);
	kvfree(q->delay);
	kvfree(q->loss);
	kvfree(q->incoming);
}

static int replay_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct replay_sched_data *q = qdisc_priv(sch);
	struct table *tables[] = { q->capacity, q->delay, q->loss };
	struct replay_xstats st = {
		.start_ns = q->start_ns,
		.used = q->used,
		.lost = q->lost,
		.stage = q->stage,
		.limit_pkts = q->limit_pkts,
		.limit_bytes = q->limit_bytes,
		.overhead = q->overhead,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(tables); i++) {
		if (!tables[i])
			continue;
		st.entries[tables[i]->kind] = tables[i]->count;
		st.period_ns[tables[i]->kind] = tables[i]->period_ns;
	}
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

/* ------------------------------------------------------------------ classes */

static int replay_graft(struct Qdisc *sch, unsigned long arg, struct Qdisc *new,
			struct Qdisc **old, struct netlink_ext_ack *extack)
{
	struct replay_sched_data *q = qdisc_priv(sch);

	if (q->stage == REPLAY_STAGE_DELAY) {
		NL_SET_ERR_MSG(extack, "the delay stage has no child");
		return -EOPNOTSUPP;
	}
	*old = qdisc_replace(sch, new, &q->child);
	return 0;
}

static struct Qdisc *replay_leaf(struct Qdisc *sch, unsigned long arg)
{
	struct replay_sched_data *q = qdisc_priv(sch);

	return q->child;
}

static unsigned long replay_find(struct Qdisc *sch, u32 classid)
{
	return TC_H_MIN(classid) == 1;
}

static int replay_dump_class(struct Qdisc *sch, unsigned long cl,
			     struct sk_buff *skb, struct tcmsg *tcm)
{
	struct replay_sched_data *q = qdisc_priv(sch);

	tcm->tcm_handle |= TC_H_MIN(1);
	tcm->tcm_info = q->child ? q->child->handle : 0;
	return 0;
}

static void replay_walk(struct Qdisc *sch, struct qdisc_walker *walker)
{
	if (!walker->stop)
		tc_qdisc_stats_dump(sch, 1, walker);
}

static const struct Qdisc_class_ops replay_class_ops = {
	.graft	= replay_graft,
	.leaf	= replay_leaf,
	.find	= replay_find,
	.walk	= replay_walk,
	.dump	= replay_dump_class,
};

static struct Qdisc_ops replay_qdisc_ops __read_mostly = {
	.cl_ops		= &replay_class_ops,
	.id		= "replay",
	.priv_size	= sizeof(struct replay_sched_data),
	.enqueue	= replay_enqueue,
	.dequeue	= replay_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= replay_init,
	.reset		= replay_reset,
	.destroy	= replay_destroy,
	.change		= replay_change,
	.dump_stats	= replay_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init replay_module_init(void)
{
	return register_qdisc(&replay_qdisc_ops);
}

static void __exit replay_module_exit(void)
{
	unregister_qdisc(&replay_qdisc_ops);
}

module_init(replay_module_init)
module_exit(replay_module_exit)
MODULE_ALIAS("net-sch-replay");
MODULE_DESCRIPTION("Links that follow tables of capacity, delay and loss");
MODULE_LICENSE("GPL");
