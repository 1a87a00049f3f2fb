// SPDX-License-Identifier: GPL-2.0
/*
 * startup_queue.h: which queue counts in slow start, and from how many ACKs.
 */
#include "hetcc/startup_queue.h"
#include "tap.h"

static const u32 ticks[] = { 1, 1000, 4000, 10000 };

/**
 * struct flow - ACKs of a start-up
 * @q: under test
 * @a: the latest ACK
 * @base_us: least offset so far
 * @opens: the next ACK opens an interval
 */
struct flow {
	struct startup_queue q;
	struct startup_queue_ack a;
	u32 base_us;
	bool opens;
};

static struct flow begin(u32 tick_us)
{
	return (struct flow){
		.a.tick_us = tick_us,
		.a.delivered = prng_u32(),
		.opens = true,
	};
}

/* One ACK of @pkts packets, @off_us above an offset of 0 */
static struct startup_queue_len ack(struct flow *f, u32 r_us, u32 off_us,
				    u32 pkts)
{
	f->a.r_us = r_us;
	f->a.off_us = off_us;
	f->a.delivered += pkts;
	startup_queue_add(&f->q, &f->a, f->opens);
	f->opens = false;
	return startup_queue_get(&f->q, &f->a, f->base_us);
}

#define EXPECT_QUEUE(q, want_standing, want_recent, what) do {		\
	struct startup_queue_len q_ = (q);				\
									\
	EXPECT_EQ_S(q_.standing, want_standing, "%s: standing", what);	\
	EXPECT_EQ_S(q_.recent, want_recent, "%s: recent", what);	\
} while (0)

/*
 * One ACK a millisecond, each @queue_us above the empty path.
 *
 * Return: the longest queues that were seen, and their pktS.
 */
static struct startup_queue_len over(struct flow *f, u32 from_ms, u32 samples,
				     u32 queue_us)
{
	struct startup_queue_len q, most = { 0 };
	u32 i;

	for (i = from_ms; i < from_ms + samples; i++) {
		q = ack(f, i * 1000, queue_us, 1);
		EXPECT_IN(q.standing, 0, q.recent, "standing, %u ms", i);
		most.recent = max(most.recent, q.recent);
		most.standing = max(most.standing, q.standing);
		most.pkts_ns = max(most.pkts_ns, q.pkts_ns);
	}
	return most;
}

static void test_stands(void)
{
	const s32 seven = 7 * QUEUE_PKTS_ONE;
	struct flow f = begin(1);
	struct startup_queue_len q;

	EXPECT_QUEUE(over(&f, 0, 30, 0), 0, 0, "empty queue");
	f.opens = true;
	EXPECT_QUEUE(over(&f, 30, 5, 7000), 0, 0, "one bucket");
	q = over(&f, 35, 25, 7000);
	EXPECT_QUEUE(q, seven, seven, "7 ms at 1 ms a packet");
	EXPECT_EQ(q.pkts_ns, 1000000, "pktS over two buckets");
	/* Until a bucket begins without it, the sample counts in both */
	EXPECT_QUEUE(over(&f, 60, 1, 0), 0, 0, "drained once");
	EXPECT_QUEUE(over(&f, 61, 3, 7000), 0, 0, "after that");
	EXPECT_QUEUE(over(&f, 64, 20, 7000), seven, seven, "again");
	f.opens = true;
	EXPECT_QUEUE(over(&f, 90, 5, 7000), 0, 0,
		     "buckets of the interval before");
	over(&f, 95, 20, 7000);
	startup_queue_restart(&f.q);
	q = startup_queue_get(&f.q, &f.a, f.base_us);
	EXPECT_QUEUE(q, 0, 0, "after a restart");
	EXPECT_EQ(q.pkts_ns, 0, "no pktS without buckets");
}

/* A queue that appears counts in one bucket, then in both */
static void test_recent_first(void)
{
	const s32 seven = 7 * QUEUE_PKTS_ONE;
	struct flow f = begin(1);
	u32 i, alone = 0;

	over(&f, 0, 30, 0);
	for (i = 30; i < 60; i++) {
		struct startup_queue_len q = over(&f, i, 1, 7000);

		EXPECT_IN(q.recent, 0, seven, "%u ms: recent", i);
		EXPECT_TRUE(!q.standing || alone, "%u ms: recent before", i);
		alone += q.recent && !q.standing;
	}
	EXPECT_IN(alone, 1, STARTUP_QUEUE_ACKS + 2, "samples of one bucket");
	EXPECT_QUEUE(over(&f, 60, 12, 7000), seven, seven, "at last");
}

/*
 * Five ACKs are a bucket, the one that opens it and four more; a queue shows once
 * the next has as many, and again from the fifth ACK of each bucket after that.
 */
static void needed_run(u32 pkts)
{
	const u32 acks = STARTUP_QUEUE_ACKS + 1;
	struct flow f = begin(1000);
	u32 i, pkts_ns = 100000000 / pkts;
	s32 want;

	/* Far apart in time, so that the ACKs decide */
	for (i = 0; i < 2000; i++) {
		struct startup_queue_len q = ack(&f, i * 100000, 901000, pkts);
		bool known = i >= acks && i % acks == acks - 1;

		want = known ? queue_pkts_from_us(900000, pkts_ns) : 0;
		EXPECT_EQ(q.pkts_ns, known ? pkts_ns : 0, "ACK %u: pktS", i);
		EXPECT_QUEUE(q, want, want, "so many ACKs");
	}
}

static void test_needed(void)
{
	needed_run(1);
	needed_run(3);
}

/* Return: when the queue shows */
static u32 shows_at(struct flow *f, u32 step_us, u32 until_us)
{
	u32 i, tick_us = f->a.tick_us;

	for (i = 0; i < until_us; i += step_us)
		if (ack(f, i / tick_us * tick_us, 90000, 1).recent)
			return i;
	return until_us;
}

/* Many ACKs a tick, so that the ticks decide: four, and the next bucket's ACKs */
static void test_ticks(void)
{
	struct flow f = begin(1000);

	EXPECT_EQ(shows_at(&f, 100, 8000),
		  4000 + STARTUP_QUEUE_ACKS * 100, "ticks of 1 ms");
	f = begin(10000);
	EXPECT_EQ(shows_at(&f, 100, 80000),
		  40000 + STARTUP_QUEUE_ACKS * 100, "ticks of 10 ms");
}

/* Any number of ACKs may arrive within the four ticks */
static void test_many_acks(void)
{
	u32 acks, i;

	for (acks = STARTUP_QUEUE_ACKS; acks < 600; acks++) {
		struct flow f = begin(10000);

		ack(&f, 0, 90000, 1);
		for (i = 0; i < acks; i++)
			EXPECT_EQ_S(ack(&f, 30000, 90000, 1).recent, 0,
				    "%u ACKs in three ticks", i + 1);
		for (i = 0; i <= STARTUP_QUEUE_ACKS; i++)
			EXPECT_EQ(ack(&f, 40000, 90000, 1).recent > 0,
				  i == STARTUP_QUEUE_ACKS,
				  "%u ACKs, then %u at the fourth tick", acks,
				  i + 1);
	}
}

/* A peer's time that goes back by a tick does not complete a bucket */
static void test_time_back(void)
{
	struct flow f = begin(1000);
	u32 i;

	for (i = 0; i < 8; i++)
		ack(&f, 100000, 90000, 1);
	ack(&f, 99000, 90000, 1);
	for (i = 0; i < 8; i++)
		EXPECT_EQ_S(ack(&f, 100500, 90000, 1).recent, 0,
			    "no four ticks have passed");
	for (i = 0; i < 5; i++)
		EXPECT_EQ(ack(&f, 104000, 90000, 1).recent > 0, i == 4,
			  "they have");
}

/* A tick is taken off, once it is more than a microsecond */
static void test_tick_off(void)
{
	unsigned int t;
	u32 i;

	for (t = 0; t < ARRAY_SIZE(ticks); t++) {
		struct flow f = begin(ticks[t]);
		u32 off = ticks[t] > 1 ? ticks[t] : 0, above = off + 7000;
		struct startup_queue_len q = { 0 };

		f.base_us = prng_u32();
		for (i = 0; i < 10; i++)
			q = ack(&f, i * 100000, f.base_us + above, 100);
		EXPECT_QUEUE(q, 7 * QUEUE_PKTS_ONE, 7 * QUEUE_PKTS_ONE, "7 ms");
		for (i = 10; i < 20; i++)
			q = ack(&f, i * 100000, f.base_us + off / 2, 100);
		EXPECT_QUEUE(q, 0, 0, "half a tick");
		for (i = 20; i < 30; i++)
			q = ack(&f, i * 100000, f.base_us - 5000, 100);
		EXPECT_QUEUE(q, 0, 0, "below the base");
	}
}

/* Four packets at once, worked off before the next four */
static void test_burst_drains(void)
{
	unsigned int t;

	for (t = 0; t < ARRAY_SIZE(ticks); t++) {
		u32 i, tick_us = ticks[t], s = prng_range(500, 20000);
		struct flow f = begin(tick_us);

		for (i = 0; i < 2000; i++) {
			u32 send_us = i / 4 * 4 * s;
			u32 r_us = (i + 1) * s / tick_us * tick_us;
			u32 off_us = r_us - send_us;

			if (!i || (s32)(off_us - f.base_us) < 0)
				f.base_us = off_us;
			EXPECT_EQ_S(ack(&f, r_us, off_us, 1).standing, 0,
				    "tick %u us, service %u us, packet %u",
				    tick_us, s, i);
		}
	}
}

/* Any times and counters: nothing overflows, nothing leaves its range */
static void test_wild(void)
{
	struct flow f = begin(1);
	u32 i;

	for (i = 0; i < 100000; i++) {
		struct startup_queue_len q;

		f.opens = !prng_range(0, 20);
		f.base_us = prng_range(0, 3) ? f.base_us : prng_u32();
		f.a.tick_us = prng_log32(1, 100000);
		q = ack(&f, prng_range(0, 1) ? prng_u32() : f.a.r_us + 50000,
			prng_u32(), prng_log32(1, U32_MAX));
		EXPECT_IN(q.recent, 0, QUEUE_PKTS_MAX, "recent");
		EXPECT_IN(q.standing, 0, q.recent, "standing");
	}
}

static const struct tap_case cases[] = {
	{ "a queue that stands counts, one that drained does not",
	  test_stands },
	{ "a queue is recent before it stands", test_recent_first },
	{ "five ACKs a bucket, nothing from fewer", test_needed },
	{ "four ticks a bucket", test_ticks },
	{ "any number of ACKs within the four ticks", test_many_acks },
	{ "time that goes back completes no bucket", test_time_back },
	{ "a tick is taken off", test_tick_off },
	{ "bursts that drain do not stand", test_burst_drains },
	{ "any times and counters stay in range", test_wild },
};

TAP_MAIN(cases)
