// SPDX-License-Identifier: GPL-2.0
/*
 * est_reldelay.h: the queue estimate on a simulated bottleneck, with the
 * receiver's clock in ticks and both clocks at any reading.
 */
#include <string.h>

#include "hetcc/est_reldelay.h"
#include "ref_model.h"
#include "tap.h"

#define ROUNDS		100000
#define PATHS		100
#define FLIGHT_MAX	8192
/* Jitter holds packets back once in so long */
#define SPIKE_NS	12000000ULL

static const u32 ticks[] = { 1, 1000, 4000, 10000 };

/* Packets received so far, by whichever estimator a case works on */
static u32 delivered;

/* One ACK of @pkts packets; of a start-up as well, where that matters */
static void feed(struct hetcc_rd *e, u32 s_us, u32 r_us, u32 pkts)
{
	delivered += pkts;
	hetcc_rd_sample(e, s_us, r_us, delivered);
	if (!e->steady)
		hetcc_rd_bucket_add(e, delivered);
}

static bool end_interval(struct hetcc_rd *e)
{
	bool measured = hetcc_rd_interval(e, delivered);

	hetcc_rd_restart(e, false);
	return measured;
}

static struct hetcc_rd estimator(u32 tick_us, bool sum_rule)
{
	struct hetcc_rd e = { .tick_us = tick_us };

	hetcc_rd_init(&e, sum_rule);
	return e;
}

/**
 * struct path - sender, one FIFO bottleneck, receiver
 * @service_ns: time the bottleneck takes for a packet
 * @forward_ns: propagation to the receiver
 * @reverse_ns: propagation of the ACKs
 * @spread_ns: each packet leaves the sender up to this late
 * @jitter_ns: the receiver reads its clock up to this late, in order; what its
 *	ACKs have lost they make up for on their way
 * @tick_us: of the receiver's clock
 * @tsval: reading of the receiver's clock at time 0, ticks
 * @send_us: reading of the sender's clock at time 0
 * @per_ack: packets per ACK
 */
struct path {
	u64 service_ns;
	u64 forward_ns;
	u64 reverse_ns;
	u64 spread_ns;
	u64 jitter_ns;
	u32 tick_us;
	u32 tsval;
	u32 send_us;
	u32 per_ack;
};

/**
 * struct flow - a sender that keeps a window in flight on a path
 * @p: path
 * @rd: estimator under test
 * @ack_ns: when the ACK of a packet arrives, by its number
 * @send_ns: when the last packet was sent
 * @free_ns: when the bottleneck has sent all packets
 * @packets: sent so far
 * @wait_ns: time the last packet waited for the bottleneck
 * @wait_sum: sum of it over the samples of the interval, packets
 * @samples: in the interval
 * @standing: longest standing queue seen in the interval, Q8
 * @recent: longest recent queue seen in the interval, Q8
 */
struct flow {
	struct path p;
	struct hetcc_rd rd;
	u64 ack_ns[FLIGHT_MAX];
	u64 send_ns;
	u64 free_ns;
	u64 packets;
	u64 wait_ns;
	double wait_sum;
	u32 samples;
	s32 standing;
	s32 recent;
};

static struct flow flow;

static void start_flow(const struct path *p)
{
	memset(&flow, 0, sizeof(flow));
	flow.p = *p;
	flow.rd = estimator(p->tick_us, false);
}

static double service_us(void)
{
	return (double)flow.p.service_ns / 1000;
}

/* Packets that fill the empty path, the one in service included */
static double path_length(const struct path *p)
{
	u64 rtt_ns = p->service_ns + p->forward_ns + p->reverse_ns;

	return (double)rtt_ns / (double)p->service_ns;
}

static u32 path_packets(const struct path *p)
{
	return (u32)path_length(p);
}

/* Packets held arrive together at the end of the spike */
static u64 jitter_ns(u64 at_ns)
{
	u64 held_ns = at_ns % SPIKE_NS;

	return held_ns < flow.p.jitter_ns ? flow.p.jitter_ns - held_ns : 0;
}

static void take_sample(u64 send_ns, u64 receive_ns)
{
	const struct path *p = &flow.p;
	u32 tsval = p->tsval + (u32)(receive_ns / 1000 / p->tick_us);
	struct hetcc_rd_queue q;

	feed(&flow.rd, p->send_us + (u32)(send_ns / 1000), tsval * p->tick_us,
	     p->per_ack);
	flow.wait_sum += (double)flow.wait_ns / (double)p->service_ns;
	flow.samples++;
	if (flow.rd.steady)
		return;
	q = hetcc_rd_buckets(&flow.rd, delivered);
	flow.standing = max(flow.standing, q.standing);
	flow.recent = max(flow.recent, q.recent);
}

static void send_packet(u32 window)
{
	const struct path *p = &flow.p;
	u64 arrive_ns, start_ns, receive_ns, earliest_ns = 0;

	if (flow.packets >= window)
		earliest_ns = flow.ack_ns[(flow.packets - window) % FLIGHT_MAX];
	if (p->spread_ns)
		earliest_ns += prng_u64() % p->spread_ns;
	flow.send_ns = max(flow.send_ns, earliest_ns);
	arrive_ns = flow.send_ns;
	start_ns = max(arrive_ns, flow.free_ns);
	flow.wait_ns = start_ns - arrive_ns;
	flow.free_ns = start_ns + p->service_ns;
	receive_ns = flow.free_ns + p->forward_ns;
	flow.ack_ns[flow.packets % FLIGHT_MAX] = receive_ns + p->reverse_ns;
	flow.packets++;
	if (flow.packets % p->per_ack == 0)
		take_sample(flow.send_ns, receive_ns + jitter_ns(receive_ns));
}

/* Return: mean queue that the sampled packets of one window met */
static double run_window(u32 window)
{
	double n;
	u32 i;

	flow.wait_sum = 0;
	flow.samples = 0;
	flow.standing = 0;
	flow.recent = 0;
	for (i = 0; i < window; i++)
		send_packet(window);
	end_interval(&flow.rd);
	n = flow.samples ? flow.wait_sum / flow.samples : 0;
	return n;
}

static double estimate(void)
{
	return (double)flow.rd.n / HETCC_RD_ONE;
}

/* Both ends of the interval are read in ticks, and late */
static double service_error(u32 window)
{
	double off_us = flow.p.tick_us + (double)flow.p.jitter_ns / 1000;

	return off_us / (service_us() * (window - flow.p.per_ack));
}

static struct path random_path(u32 tick_us)
{
	u64 service_ns = prng_log(100000, 10000000);
	u64 rtt_ns = prng_log(20 * service_ns + 20000000, 400000000);
	u64 forward_ns = (u64)((double)rtt_ns * prng_unit());
	u32 tsval = prng_u32(), send_us = prng_u32();

	return (struct path){
		.service_ns = service_ns,
		.forward_ns = forward_ns,
		.reverse_ns = rtt_ns - forward_ns,
		.tick_us = tick_us,
		.tsval = tsval,
		.send_us = send_us,
		.per_ack = prng_range(1, 2),
	};
}

/*
 * Many readings of the empty path at unrelated phases of the tick, so that
 * base is almost a tick low; then steady, from the second interval on.
 */
static void learn_base(void)
{
	u32 i, window = max(path_packets(&flow.p) / 4, 2U);
	u64 jitter_ns = flow.p.jitter_ns;

	flow.p.jitter_ns = 0;
	flow.p.spread_ns = flow.p.reverse_ns / 4 + 20000000;
	for (i = 0; i < 2000 / window + 1; i++)
		run_window(window);
	flow.p.spread_ns = 0;
	flow.p.jitter_ns = jitter_ns;
}

/* A block ends with the first ACK after its length */
static double blocks_of(u32 window)
{
	double span_us = (window - 2 * flow.p.per_ack) * service_us();
	double whole = clamp(floor(span_us / HETCC_RD_BLOCK_US), 1.0,
			     (double)HETCC_RD_BLOCKS_MAX);
	double len_us = span_us / whole * 17 / 16 + 64;

	return fmax(floor(span_us / (len_us + flow.p.per_ack * service_us())),
		    1);
}

/*
 * Base and the least reading of a block are up to a tick low each, and by a
 * microsecond for either clock. A spike is shorter than a block, so that it can
 * fill the last one of an interval alone. pktS scales it. Q8 rounds down.
 */
static double queue_bound(double n, u32 window)
{
	double off_us = flow.p.tick_us + 2 +
			(double)flow.p.jitter_ns / 1000 / blocks_of(window);
	double error = service_error(window);

	return off_us / service_us() * (1 + error) + n * error +
	       2.0 / HETCC_RD_ONE;
}

/* Return: error of the estimate in ticks, signed */
static double queue_run(const struct path *p, u32 queue)
{
	u32 i, window = path_packets(p) + 1 + queue;
	double n, error = 0;

	start_flow(p);
	learn_base();
	flow.rd.steady = 1;
	run_window(window);
	run_window(window);
	for (i = 0; i < 8; i++) {
		run_window(window);
		n = window - path_length(p);
		EXPECT_NEAR(estimate(), n, queue_bound(n, window),
			    "tick %u us, service %g us, window %u", p->tick_us,
			    service_us(), window);
		error += (estimate() - n) * service_us() / p->tick_us / 8;
	}
	return error;
}

static void test_queue(void)
{
	unsigned int t;
	int i;

	for (t = 0; t < ARRAY_SIZE(ticks); t++)
		for (i = 0; i < PATHS; i++) {
			struct path p = random_path(ticks[t]);

			queue_run(&p, prng_range(0, 60));
		}
}

/* Up to a third of the time, packets are held */
static void test_queue_jitter(void)
{
	unsigned int t;
	int i;

	for (t = 0; t < ARRAY_SIZE(ticks); t++)
		for (i = 0; i < PATHS; i++) {
			struct path p = random_path(ticks[t]);

			p.service_ns = prng_log(100000, 1000000);
			p.reverse_ns += 100000000;
			p.jitter_ns = prng_range(1000000, 4000000);
			queue_run(&p, prng_range(0, 60));
		}
}

/*
 * Base is the least reading of thousands, a level that of blocks of some: over
 * many paths, level is above base by no more than a quarter of a tick.
 */
static void test_queue_bias(void)
{
	unsigned int t;
	int i;

	for (t = 0; t < ARRAY_SIZE(ticks); t++) {
		double sum = 0;

		if (ticks[t] == 1)
			continue;
		for (i = 0; i < 3 * PATHS; i++) {
			struct path p = random_path(ticks[t]);

			sum += queue_run(&p, prng_range(10, 60));
		}
		EXPECT_IN(sum / i, 0, 0.25, "tick %u us: mean error in ticks",
			  ticks[t]);
	}
}

/* Packets further apart than the service time, at any phase of the tick */
static void empty_run(u32 tick_us)
{
	u32 i, k, s_us = prng_u32(), service = prng_range(100, 20000);
	u32 elapsed_us = 0, tsval = prng_u32();
	struct hetcc_rd e = estimator(tick_us, false);

	for (i = 0; i < 40; i++) {
		for (k = 0; k < 50; k++) {
			elapsed_us += prng_range(service, 3 * service);
			feed(&e, s_us + elapsed_us,
			     (tsval + elapsed_us / tick_us) * tick_us, 1);
		}
		end_interval(&e);
		EXPECT_IN(e.n, 0, (double)tick_us / service * HETCC_RD_ONE,
			  "tick %u us, service %u us, interval %u", tick_us,
			  service, i);
	}
}

static void test_empty_queue(void)
{
	unsigned int t;
	int i;

	for (t = 0; t < ARRAY_SIZE(ticks); t++)
		for (i = 0; i < PATHS; i++)
			empty_run(ticks[t]);
}

/*
 * The first packet of a burst that fills the path met an empty queue; equation
 * 2 then adds up to the queue that the last packet of an interval met, but for
 * a tick at either end and what each interval's own pktS is off by.
 */
static void sum_rule_run(u32 tick_us)
{
	struct path p = random_path(tick_us);
	u32 i, window = path_packets(&p) + 2, steps = prng_range(4, 30);
	double moved, slack = 0, before = 0, n;

	p.per_ack = 1;
	start_flow(&p);
	hetcc_rd_init(&flow.rd, true);
	for (i = 0; i < steps; i++) {
		run_window(window);
		n = (double)flow.wait_ns / (double)p.service_ns;
		moved = fabs(n - before) + tick_us / service_us();
		slack += moved * service_error(window) + 1.0 / HETCC_RD_ONE;
		EXPECT_NEAR(estimate(), n,
			    (tick_us + 2) / service_us() + slack,
			    "tick %u us, service %g us, interval %u", tick_us,
			    service_us(), i);
		before = n;
		window++;
	}
}

static void test_sum_rule(void)
{
	unsigned int t;
	int i;

	for (t = 0; t < ARRAY_SIZE(ticks); t++)
		for (i = 0; i < PATHS; i++)
			sum_rule_run(ticks[t]);
}

/* Equations 1 to 4 as they stand, over every pair of packets of an interval */
static void equations_run(double *n, u32 *s_us, u32 *r_us, struct hetcc_rd *e)
{
	u32 i, pkts = prng_range(2, 100), first = *r_us;
	double sum_d = 0, pkt_s;

	for (i = 0; i < pkts; i++) {
		u32 s = prng_range(0, 20000), r = prng_range(1, 20000);

		*s_us += s;
		*r_us += r;
		if (i || e->primed)
			sum_d += ref_santacruz_eq1(r, s);
		if (!i)
			first = *r_us;
		feed(e, *s_us, *r_us, 1);
	}
	EXPECT_EQ(end_interval(e), true, "measured");
	pkt_s = ref_santacruz_eq3(*r_us - first, pkts - 1);
	*n = ref_santacruz_eq2(*n, ref_santacruz_eq4(sum_d, pkt_s));
	/* pktS is cut to a nanosecond, the result to Q8 */
	EXPECT_NEAR(e->pkts_ns, pkt_s * 1000, 1, "equation 3");
}

static void test_equations(void)
{
	int i, k;

	for (i = 0; i < 2000; i++) {
		u32 s_us = prng_u32(), r_us = prng_u32();
		struct hetcc_rd e = estimator(1, true);
		double n = 0;

		for (k = 1; k <= 20; k++) {
			equations_run(&n, &s_us, &r_us, &e);
			EXPECT_NEAR((double)e.n / HETCC_RD_ONE, n,
				    k * 2.0 / HETCC_RD_ONE, "interval %d", k);
		}
	}
}

#define RECORDED	24

/* What was estimated, interval by interval */
struct record {
	s32 n[RECORDED];
	s32 standing[RECORDED];
	s32 recent[RECORDED];
	u32 pkts_ns[RECORDED];
};

static void record_run(struct record *r, const struct path *p, u32 queue,
		       bool sum_rule)
{
	u32 i, window = path_packets(p) - 3;

	start_flow(p);
	hetcc_rd_init(&flow.rd, sum_rule);
	for (i = 0; i < RECORDED; i++) {
		run_window(window + (i % 4) * queue);
		r->n[i] = flow.rd.n;
		r->standing[i] = flow.standing;
		r->recent[i] = flow.recent;
		r->pkts_ns[i] = flow.rd.pkts_ns;
	}
}

static void compare_clocks(const struct path *at_zero, const struct path *p,
			   bool sum_rule)
{
	u32 queue = prng_range(1, 20), i;
	struct record a, b;

	record_run(&a, at_zero, queue, sum_rule);
	record_run(&b, p, queue, sum_rule);
	for (i = 0; i < RECORDED; i++) {
		EXPECT_EQ_S(b.n[i], a.n[i],
			    "n, interval %u, clocks from %u us and %u ticks",
			    i, p->send_us, p->tsval);
		EXPECT_EQ_S(b.standing[i], a.standing[i],
			    "standing, interval %u", i);
		EXPECT_EQ_S(b.recent[i], a.recent[i], "recent, interval %u", i);
		EXPECT_EQ(b.pkts_ns[i], a.pkts_ns[i], "pktS, interval %u", i);
	}
}

static void test_clock_offset(void)
{
	int i;

	for (i = 0; i < PATHS; i++) {
		struct path p = random_path(ticks[i % ARRAY_SIZE(ticks)]);
		struct path at_zero = p;

		at_zero.send_us = 0;
		at_zero.tsval = 0;
		compare_clocks(&at_zero, &p, i % 3 == 0);
	}
}

/* Both clocks pass their largest reading within the first second */
static void test_clock_wrap(void)
{
	int i;

	for (i = 0; i < PATHS; i++) {
		u32 tick_us = ticks[i % ARRAY_SIZE(ticks)];
		struct path p = random_path(tick_us), at_zero = p;

		at_zero.send_us = 0;
		at_zero.tsval = 0;
		p.send_us = U32_MAX - prng_range(0, 1000000);
		p.tsval = U32_MAX - prng_range(0, 1000000 / tick_us);
		compare_clocks(&at_zero, &p, i % 3 == 0);
	}
}

/* 2^32 ticks of 1000 us are a multiple of 2^32 us */
static void test_tsval_wrap(void)
{
	struct hetcc_rd e = estimator(1, false);
	u32 i, tsval = U32_MAX - 4;

	for (i = 0; i < 10; i++, tsval++)
		feed(&e, i * 1000, tsval * 1000, 1);
	EXPECT_EQ(e.last_us, e.base_us, "the offset has not moved");
	EXPECT_EQ(hetcc_rd_pkts(&e.iv, e.r_us, delivered), 1000000, "pktS");
	EXPECT_EQ_S(hetcc_rd_now(&e, 1000000), 0, "queue");
}

static void test_base_follows(void)
{
	u32 window;
	int i;

	for (i = 0; i < PATHS; i++) {
		struct path p = random_path(1);
		u32 before;

		p.per_ack = 1;
		window = path_packets(&p) + 10;
		p.forward_ns += 5000000;
		start_flow(&p);
		learn_base();
		before = flow.rd.base_us;
		run_window(window);
		/* The route becomes 5 ms shorter */
		flow.p.forward_ns -= 5000000;
		learn_base();
		EXPECT_NEAR((s32)(before - flow.rd.base_us), 5000, 2,
			    "base falls by 5 ms");
		run_window(window);
		EXPECT_NEAR(run_window(window), estimate(),
			    queue_bound(10, window), "queue over the new base");
	}
}

/* The latest packet's queue; base and reading may be a tick low each */
static void test_now(void)
{
	unsigned int i;

	for (i = 0; i < 4 * PATHS; i++) {
		struct path p = random_path(ticks[i % ARRAY_SIZE(ticks)]);
		u32 window = path_packets(&p) + prng_range(1, 40);
		double want, slack;

		p.per_ack = 1;
		start_flow(&p);
		learn_base();
		run_window(window);
		run_window(window);
		want = (double)flow.wait_ns / (double)p.service_ns;
		slack = (p.tick_us + 2) / service_us() + 2.0 / HETCC_RD_ONE;
		EXPECT_NEAR((double)hetcc_rd_now(&flow.rd, (u32)p.service_ns) /
			    HETCC_RD_ONE, want, slack, "tick %u us",
			    p.tick_us);
	}
}

static void test_one_sample(void)
{
	struct hetcc_rd e = estimator(1, false);

	EXPECT_EQ(end_interval(&e), false, "no sample yet");
	feed(&e, 0, 1000, 1);
	EXPECT_EQ(end_interval(&e), true, "one sample");
	EXPECT_EQ_S(e.n, 0, "no pktS, no queue");
	EXPECT_EQ(e.pkts_ns, 0, "pktS unknown");
	feed(&e, 1000, 2000, 1);
	feed(&e, 2000, 4000, 1);
	end_interval(&e);
	EXPECT_EQ(e.pkts_ns, 2000000, "pktS of two samples");
	EXPECT_EQ_S(e.n, 0, "the least of a block: 0 and 1000");
	feed(&e, 5000, 8000, 1);
	end_interval(&e);
	EXPECT_EQ(e.pkts_ns, 2000000, "pktS stays where one sample gives none");
	EXPECT_EQ_S(e.n, HETCC_RD_ONE, "2000 / 2000");
}

/* A measurement is of the interval alone: iv and sum begin anew */
static void test_intervals_are_apart(void)
{
	struct hetcc_rd e = estimator(1, false);
	u32 i;

	for (i = 0; i < 10; i++)
		feed(&e, i * 1000, i * 1000 + 500, 1);
	end_interval(&e);
	EXPECT_EQ_S(e.n, 0, "empty queue");
	for (i = 20; i < 30; i++)
		feed(&e, i * 1000, i * 1000 + 4500, 2);
	end_interval(&e);
	EXPECT_EQ(e.pkts_ns, 500000, "two packets a sample");
	EXPECT_EQ_S(e.n, 8 * HETCC_RD_ONE, "4000 / 500");
}

static void reset_run(bool sum_rule)
{
	struct hetcc_rd e = estimator(1, sum_rule);
	u32 i;

	for (i = 0; i < 20; i++)
		feed(&e, i * 1000, i * 1500, 1);
	end_interval(&e);
	hetcc_rd_reset(&e);
	EXPECT_EQ_S(e.n, 0, "queue");
	EXPECT_EQ(e.pkts_ns, 0, "pktS");
	EXPECT_EQ(end_interval(&e), false, "no measurement");
	EXPECT_EQ(e.pkts_ns, 0, "pktS of before the reset does not come back");
	for (i = 0; i < 20; i++)
		feed(&e, i * 1000, 77777 + i * 1000, 1);
	end_interval(&e);
	EXPECT_EQ(e.base_us, 77777, "base is that of the new clock");
	EXPECT_EQ_S(e.n, 0, "queue of the new clock");
}

static void test_reset(void)
{
	reset_run(true);
	reset_run(false);
}

/* Forgetting an interval keeps what equation 2 adds up */
static void test_restart(void)
{
	struct hetcc_rd e = estimator(1, true);

	feed(&e, 0, 0, 1);
	feed(&e, 1000, 1000, 1);
	end_interval(&e);
	feed(&e, 2000, 3000, 1);
	hetcc_rd_restart(&e, false);
	feed(&e, 3000, 5000, 1);
	feed(&e, 4000, 6000, 1);
	end_interval(&e);
	EXPECT_EQ_S(e.n, 2 * HETCC_RD_ONE, "2000 us over 1000 us a packet");
}

static void test_pkts_edges(void)
{
	static const struct {
		u32 from_us, to_us, pkts, want;
	} rows[] = {
		{ 0, 0, 10, 0 },
		{ 0, 1000, 0, 0 },
		{ 1000, 999, 10, 0 },
		{ 0, 1U << 31, 1, 0 },
		{ 0, 1000, 1, 1000000 },
		{ 0, 1000, 3, 333333 },
		{ 0, 1, U32_MAX, 1 },
		{ U32_MAX, 999, 2, 500000 },
		{ 0, S32_MAX, 1, U32_MAX },
		{ 0, S32_MAX, 1000, S32_MAX },
		{ 5000000, 4294967 + 5000000, 1, 4294967000U },
		{ 0, 4294968, 1, U32_MAX },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 from = prng_u32();
		struct hetcc_rd_span s = { rows[i].from_us, from };

		EXPECT_EQ(hetcc_rd_pkts(&s, rows[i].to_us,
					from + rows[i].pkts), rows[i].want,
			  "from %u to %u us, %u packets", rows[i].from_us,
			  rows[i].to_us, rows[i].pkts);
	}
}

static void test_to_pkts_edges(void)
{
	static const struct {
		s32 d_us;
		u32 pkts_ns;
		s32 want;
	} rows[] = {
		{ 0, 1, 0 },
		{ 1000, 0, 0 },
		{ -S32_MAX - 1, 0, 0 },
		{ 1000, 1000000, HETCC_RD_ONE },
		{ -1000, 1000000, -HETCC_RD_ONE },
		{ 1, 1000000000, 0 },
		{ -1, 1000000000, 0 },
		{ 8388607, 1000, 8388607 * HETCC_RD_ONE },
		{ 8388608, 1000, HETCC_RD_N_MAX },
		{ -8388608, 1000, -HETCC_RD_N_MAX },
		/* |d| < 2^31 us: times 1000 * 2^8 < 2^49 */
		{ S32_MAX, 1, HETCC_RD_N_MAX },
		{ S32_MAX, U32_MAX, 127999 },
		{ -S32_MAX - 1, 1, -HETCC_RD_N_MAX },
		{ -S32_MAX - 1, U32_MAX, -128000 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		EXPECT_EQ_S(hetcc_rd_to_pkts(rows[i].d_us, rows[i].pkts_ns),
			    rows[i].want, "%d us, pktS %u ns", rows[i].d_us,
			    rows[i].pkts_ns);
}

static void test_to_pkts_random(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		s32 d_us = (s32)prng_log32(1, S32_MAX) * (i % 2 ? 1 : -1);
		u32 pkts_ns = prng_log32(1, U32_MAX);
		double want = ref_santacruz_eq4(d_us * 1000.0, pkts_ns);

		want = clamp(want, -8388608.0, 8388608.0);
		EXPECT_NEAR((double)hetcc_rd_to_pkts(d_us, pkts_ns) /
			    HETCC_RD_ONE, want, 1.0 / HETCC_RD_ONE,
			    "%d us, pktS %u ns", d_us, pkts_ns);
	}
}

static void change_delay(struct hetcc_rd *e, u32 by_us, int times)
{
	while (times--) {
		feed(e, 0, e->last_us + by_us, 1);
		end_interval(e);
	}
}

/* n of equation 2 stops at +-2^23 packets; a packet takes 1 us here */
static void test_n_saturates(void)
{
	struct hetcc_rd e = estimator(1, true);

	feed(&e, 0, 0, 1);
	feed(&e, 1, 1, 1);
	end_interval(&e);
	change_delay(&e, 8000000, 1);
	EXPECT_EQ_S(e.n, 8000000 * HETCC_RD_ONE, "8 s");
	change_delay(&e, 8000000, 1);
	EXPECT_EQ_S(e.n, HETCC_RD_N_MAX, "16 s");
	change_delay(&e, S32_MAX, 10);
	EXPECT_EQ_S(e.n, HETCC_RD_N_MAX, "ten times 2^31 us");
	change_delay(&e, 0U - S32_MAX, 1);
	EXPECT_EQ_S(e.n, 0, "a step down is cut to 2^23 packets, too");
	change_delay(&e, 0U - S32_MAX, 10);
	EXPECT_EQ_S(e.n, -HETCC_RD_N_MAX, "ten times -2^31 us");
}

/* Offsets are told apart within 2^31 us, 35 minutes */
static void test_widest_offset(void)
{
	u32 base = prng_u32();
	struct hetcc_rd e = estimator(1, false);

	feed(&e, 0, base, 1);
	feed(&e, 0, base + S32_MAX, 1);
	EXPECT_EQ(e.base_us, base, "2^31 - 1 us above is above");
	EXPECT_EQ_S(hetcc_rd_now(&e, U32_MAX), 127999, "queue of 35 min");
	feed(&e, 0, base - 1000, 1);
	EXPECT_EQ(e.base_us, base - 1000, "1 ms below is below");
	end_interval(&e);
	EXPECT_IN(e.n, 0, HETCC_RD_N_MAX, "mean");
}

#define BLOCK_PKT_US	50U

/*
 * Steady, a packet every BLOCK_PKT_US from @from_us on for @span_us; @excess_us
 * above an offset of 0.
 */
static void spaced_run(struct hetcc_rd *e, u32 from_us, u32 span_us,
		       s32 excess_us)
{
	u32 i;

	for (i = 0; i <= span_us; i += BLOCK_PKT_US)
		feed(e, from_us + i, from_us + i + (u32)excess_us, 1);
}

static struct hetcc_rd steady(u32 span_us)
{
	struct hetcc_rd e = estimator(1, false);

	feed(&e, 0, 0, 1);
	e.steady = 1;
	end_interval(&e);
	spaced_run(&e, 100, span_us, 0);
	end_interval(&e);
	return e;
}

/* What hetcc_rd_cut_blocks() is to cut an interval like the last one into */
static u32 whole_blocks(u32 span_us)
{
	return clamp(span_us / 64 * 64 / HETCC_RD_BLOCK_US, 1U, HETCC_RD_BLOCKS_MAX);
}

static void blocks_run(u32 span_us)
{
	struct hetcc_rd e;
	u32 want, len_us;

	span_us -= span_us % BLOCK_PKT_US;
	e = steady(span_us);
	want = whole_blocks(span_us);
	len_us = e.block_len * 64U;

	/* 64 us for the cut of times, 64 us for rounding up */
	EXPECT_IN(len_us, span_us * 17.0 / 16 / (want + 1) - 64 * 3,
		  max(span_us * 17.0 / 16 / want + 64,
		      (double)HETCC_RD_BLOCK_US), "%u us", span_us);
	EXPECT_IN(len_us, HETCC_RD_BLOCK_US / 64 * 64, U32_MAX, "%u us",
		  span_us);
	spaced_run(&e, 1000, span_us, 0);
	hetcc_rd_interval(&e, delivered);
	EXPECT_IN(e.blocks, want * 15 / 17.0 - 1, want, "%u us", span_us);
	EXPECT_IN(e.blocks, 1, HETCC_RD_BLOCKS_MAX, "%u us", span_us);
}

static void test_blocks(void)
{
	u32 span_us;
	int i;

	for (span_us = 0; span_us < 40000; span_us += BLOCK_PKT_US)
		blocks_run(span_us);
	for (i = 0; i < 200; i++)
		blocks_run(prng_log32(40000, 4000000));
}

/* An interval of any length after one of any length; times saturate at 4 s */
static void test_blocks_most(void)
{
	int i;

	for (i = 0; i < 300; i++) {
		u32 before_us = prng_log32(BLOCK_PKT_US, 1000000);
		u32 span_us = prng_log32(BLOCK_PKT_US, 20000000);
		u32 step_us = max(span_us / 500, 1U), at;
		struct hetcc_rd e = steady(before_us);

		for (at = 0; at <= span_us; at += step_us)
			feed(&e, at, at + 7000, 1);
		hetcc_rd_interval(&e, delivered);
		EXPECT_IN(e.blocks, 1, HETCC_RD_BLOCKS_FULL,
			  "%u us after %u us", span_us, before_us);
		EXPECT_EQ_S(hetcc_rd_delay_us(&e), 7000, "%u us after %u us",
			    span_us, before_us);
	}
}

#define SPAN_US		40000U

/*
 * An interval of SPAN_US with offsets of @from_us to @from_us + @range_us.
 *
 * Return: number of its blocks; min_us holds the least offset of each.
 */
static u32 random_interval(struct hetcc_rd *e, s32 from_us, u32 range_us,
			   s32 min_us[HETCC_RD_BLOCKS_FULL])
{
	u32 i, block = 0, begun = 0, at_us = prng_u32();

	for (i = 0; i <= SPAN_US; i += BLOCK_PKT_US) {
		s32 off_us = from_us + (s32)prng_range(0, range_us);

		block = i / 64 / e->block_len;
		if (block == begun)
			min_us[begun++] = off_us;
		min_us[block] = min(min_us[block], off_us);
		feed(e, at_us + i - (u32)off_us, at_us + i, 1);
	}
	hetcc_rd_interval(e, delivered);
	return begun;
}

static void expect_mean(const struct hetcc_rd *e, const s32 *min_us, u32 blocks)
{
	s32 sum_us = 0;
	u32 i;

	for (i = 0; i < blocks; i++)
		sum_us += min_us[i] - (s32)e->base_us;
	EXPECT_EQ(e->blocks, blocks, "blocks");
	EXPECT_EQ_S(hetcc_rd_delay_us(e), sum_us / (s32)blocks,
		    "mean of %u blocks above %d us", blocks, (s32)e->base_us);
}

static void test_blocks_mean(void)
{
	s32 min_us[HETCC_RD_BLOCKS_FULL];
	int i;

	for (i = 0; i < 200; i++) {
		struct hetcc_rd e = steady(SPAN_US);
		s32 from_us = (s32)prng_range(0, 100000) - 50000;
		u32 blocks = random_interval(&e, from_us, 200000, min_us);

		EXPECT_EQ(e.base_us, 0, "base of a steady estimator");
		expect_mean(&e, min_us, blocks);
		EXPECT_IN(e.n, 0, HETCC_RD_N_MAX, "from %d us", from_us);
	}
}

/* The base falls at once, and blocks of before exceed it by more */
static void test_base_in_startup(void)
{
	s32 min_us[HETCC_RD_BLOCKS_FULL];
	int i;

	for (i = 0; i < 200; i++) {
		struct hetcc_rd e = steady(SPAN_US);
		s32 from_us = (s32)prng_range(0, 100000) - 90000;
		s32 base_us = 0;
		u32 k, blocks;

		e.steady = 0;
		blocks = random_interval(&e, from_us, 200000, min_us);
		for (k = 0; k < blocks; k++)
			base_us = min(base_us, min_us[k]);
		EXPECT_EQ_S((s32)e.base_us, base_us, "from %d us", from_us);
		expect_mean(&e, min_us, blocks);
	}
}

/* @below_us: the level, below the base */
static void settle_run(u32 below_us, u32 near_us)
{
	u32 seen_us = min(below_us, 1U << 24), luck_us = min(seen_us, near_us);
	struct hetcc_rd e = steady(SPAN_US);

	spaced_run(&e, prng_u32(), SPAN_US, -(s32)below_us);
	hetcc_rd_interval(&e, delivered);
	EXPECT_EQ_S(hetcc_rd_delay_us(&e), -(s32)seen_us, "%u us", below_us);
	EXPECT_EQ_S(e.n, 0, "%u us below: no queue", below_us);
	EXPECT_EQ(hetcc_rd_settle(&e, near_us), seen_us > near_us,
		  "%u us below, near is %u us", below_us, near_us);
	EXPECT_EQ(0 - e.base_us, seen_us - luck_us + luck_us / 8,
		  "%u us below, near is %u us", below_us, near_us);
}

static void test_settle(void)
{
	static const u32 edges[] = {
		0, 1, 7, 8, 1000, (1 << 24) - 1, 1 << 24, (1 << 24) + 1,
		S32_MAX, U32_MAX,
	};
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(edges) - 2; i++)
		for (k = 0; k < ARRAY_SIZE(edges); k++)
			settle_run(edges[i], edges[k]);
	for (i = 0; i < 500; i++)
		settle_run(prng_log32(1, 1000000), prng_log32(1, 1000000));
}

static void test_settle_above(void)
{
	struct hetcc_rd e = steady(SPAN_US);

	spaced_run(&e, 0, SPAN_US, 5000);
	hetcc_rd_interval(&e, delivered);
	EXPECT_EQ(hetcc_rd_settle(&e, 0), false, "a queue");
	EXPECT_EQ(e.base_us, 0, "a queue leaves the base");
}

/* Level after level within near_us: an eighth of the rest, to 7 us */
static void test_settle_converges(void)
{
	struct hetcc_rd e = steady(SPAN_US);
	double rest_us = 10000;
	int i;

	for (i = 0; i < 100; i++) {
		spaced_run(&e, 0, SPAN_US, -10000);
		end_interval(&e);
		EXPECT_EQ(hetcc_rd_settle(&e, 10000), false, "round %d", i);
		rest_us -= floor(rest_us / 8);
		EXPECT_EQ_S((s32)e.base_us, (s32)rest_us - 10000, "round %d", i);
	}
	EXPECT_EQ(e.base_us + 10000, 7, "in the end");
}

/* A longer path: the base is above what follows, if that was luck */
static void raise_run(u32 raise_us)
{
	struct hetcc_rd e = steady(SPAN_US);
	u32 pkts_ns = e.pkts_ns;

	e.base_us += raise_us;
	spaced_run(&e, prng_u32(), SPAN_US, 0);
	EXPECT_EQ_S(hetcc_rd_block(&e), 0, "%u us: block", raise_us);
	EXPECT_EQ_S(hetcc_rd_now(&e, pkts_ns),
		    hetcc_rd_to_pkts(-(s32)raise_us, pkts_ns), "%u us", raise_us);
	hetcc_rd_interval(&e, delivered);
	EXPECT_EQ_S(e.n, 0, "%u us: n", raise_us);
	EXPECT_EQ_S(hetcc_rd_delay_us(&e), -(s32)min(raise_us, 1U << 24),
		    "%u us: level", raise_us);
}

static void test_raised_base(void)
{
	int i;

	raise_run(0);
	raise_run(1);
	raise_run(S32_MAX);
	for (i = 0; i < 500; i++)
		raise_run(prng_log32(1, S32_MAX));
}

static void test_block_now(void)
{
	struct hetcc_rd e = steady(SPAN_US);
	s32 seven = 7000 / BLOCK_PKT_US * HETCC_RD_ONE;

	spaced_run(&e, 0, 3000, 7000);
	EXPECT_EQ_S(hetcc_rd_block(&e), seven, "the block under way");
	feed(&e, 10100 - 1000, 10100, 1);
	EXPECT_EQ_S(hetcc_rd_block(&e), 1000 / BLOCK_PKT_US * HETCC_RD_ONE,
		    "its least");
	spaced_run(&e, 3200, 10000, 7000);
	EXPECT_EQ_S(hetcc_rd_block(&e), seven, "the next block");
}

/* Time that goes back by a little is the interval's first; no block is longer */
static void test_block_time_back(void)
{
	struct hetcc_rd e = steady(SPAN_US), same = e;

	feed(&e, 1000, 1000, 1);
	feed(&e, 0, 0, 1);
	spaced_run(&e, 1100, SPAN_US, 0);
	hetcc_rd_interval(&e, delivered);
	spaced_run(&same, 1000, SPAN_US, 0);
	hetcc_rd_interval(&same, delivered);
	EXPECT_NEAR(e.blocks, same.blocks, 1, "blocks");
	e = steady(SPAN_US);
	feed(&e, 1000, 1000, 1);
	feed(&e, 0, 0, 1);
	hetcc_rd_interval(&e, delivered);
	EXPECT_EQ(e.block_len, HETCC_RD_BLOCK_US / 64, "the shortest interval");
}

static void test_jump(void)
{
	u32 off_us = prng_u32();
	int i;

	for (i = 0; i < 1000; i++) {
		struct hetcc_rd e = estimator(1, false);
		u32 k, most_us = prng_log32(1, S32_MAX), rise_us = 0;

		feed(&e, 0, off_us, 1);
		EXPECT_EQ(e.jump, 0, "the first sample is no jump");
		for (k = 0; k < 10; k++) {
			u32 by_us = prng_range(0, most_us);
			bool up = prng_u32() & 1;

			off_us += up ? by_us : 0U - by_us;
			rise_us = up ? max(rise_us, by_us) : rise_us;
			feed(&e, 0, off_us, 1);
		}
		EXPECT_TRUE(rise_us < 1U << e.jump && (!e.jump ||
			    rise_us >= 1U << (e.jump - 1)),
			    "jump %u of %u us", e.jump, rise_us);
	}
}

static void test_jump_fades(void)
{
	struct hetcc_rd e = estimator(1, false);
	u32 i;

	feed(&e, 0, 0, 1);
	feed(&e, 0, S32_MAX, 1);
	EXPECT_EQ(e.jump, 31, "the largest");
	for (i = 0; i < 5; i++)
		hetcc_rd_restart(&e, true);
	EXPECT_EQ(e.jump, 31, "kept");
	for (i = 1; i < 40; i++) {
		hetcc_rd_restart(&e, false);
		EXPECT_EQ(e.jump, 31 - min(i, 31U), "faded %u times", i);
	}
	feed(&e, 0, 0, 1);
	EXPECT_EQ(e.jump, 0, "a fall is none");
	feed(&e, 0, 1, 1);
	EXPECT_EQ(e.jump, 1, "1 us");
	hetcc_rd_reset(&e);
	EXPECT_EQ(e.jump, 0, "forgotten");
}

/* Edges of a block's excess, alone and 63 times */
static void test_excess_edges(void)
{
	static const s32 rows[][2] = {
		{ (1 << 24) - 1, (1 << 24) - 1 }, { 1 << 24, 1 << 24 },
		{ (1 << 24) + 1, 1 << 24 }, { S32_MAX, 1 << 24 },
		{ -(1 << 24), -(1 << 24) }, { -(1 << 24) - 1, -(1 << 24) },
		{ -S32_MAX, -(1 << 24) }, { -S32_MAX - 1, -(1 << 24) },
	};
	unsigned int i;
	u32 k;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct hetcc_rd e = steady(BLOCK_PKT_US);

		for (k = 0; k < 100; k++)
			feed(&e, k * 10000 - (u32)rows[i][0], k * 10000, 1);
		EXPECT_TRUE(hetcc_rd_interval(&e, delivered), "measured");
		EXPECT_EQ(e.blocks, HETCC_RD_BLOCKS_FULL, "blocks");
		EXPECT_EQ_S(hetcc_rd_delay_us(&e), rows[i][1], "excess %d us",
			    rows[i][0]);
	}
}

/* A base that falls by 35 minutes with 63 blocks closed, again and again */
static void test_rebase_edges(void)
{
	static const u32 falls_us[] = {
		(1U << 24) - 1, 1U << 24, 1U << 30, S32_MAX, 1U << 31,
	};
	unsigned int i;
	u32 k, off_us;

	for (i = 0; i < ARRAY_SIZE(falls_us); i++) {
		struct hetcc_rd e = steady(BLOCK_PKT_US);

		e.steady = 0;
		for (k = 0; k < 100; k++)
			feed(&e, k * 10000, k * 10000, 1);
		for (k = 1; k < 6; k++) {
			off_us = 0U - k * falls_us[i];
			feed(&e, 1000000, 1000000 + off_us, 1);
			EXPECT_EQ(e.base_us, off_us, "by %u us", falls_us[i]);
			EXPECT_EQ_S(hetcc_rd_delay_us(&e),
				    min(k * (u64)falls_us[i], 1ULL << 24),
				    "by %u us, %u times", falls_us[i], k);
		}
	}
}

static u32 wild(void)
{
	static const u32 edges[] = {
		0, 1, U32_MAX, S32_MAX, 1U << 31, (1U << 31) + 1, 1U << 24,
		0U - (1U << 24),
	};

	switch (prng_range(0, 2)) {
	case 0:
		return edges[prng_range(0, ARRAY_SIZE(edges) - 1)];
	case 1:
		return prng_log32(1, U32_MAX);
	default:
		return prng_u32();
	}
}

static void expect_sane(const struct hetcc_rd *e, bool sum_rule)
{
	struct hetcc_rd_queue q = hetcc_rd_buckets(e, delivered);

	EXPECT_IN(e->n, sum_rule ? -HETCC_RD_N_MAX : 0, HETCC_RD_N_MAX, "n");
	EXPECT_IN(hetcc_rd_delay_us(e), -(1 << 24), 1 << 24, "delay");
	EXPECT_IN(hetcc_rd_block(e), 0, HETCC_RD_N_MAX, "block");
	EXPECT_IN(hetcc_rd_now(e, wild()), -HETCC_RD_N_MAX, HETCC_RD_N_MAX,
		  "now");
	EXPECT_IN(q.recent, 0, HETCC_RD_N_MAX, "recent");
	EXPECT_IN(q.standing, 0, q.recent, "standing");
	EXPECT_IN(e->jump, 0, 31, "jump");
}

/* A peer may send any TSval: nothing overflows, nothing leaves its range */
static void wild_run(bool sum_rule)
{
	struct hetcc_rd e = estimator(ticks[prng_range(0, 3)], sum_rule);
	u32 i;

	for (i = 0; i < 300; i++) {
		delivered += prng_range(0, 7) ? 1 : wild();
		hetcc_rd_sample(&e, wild(), wild(), delivered);
		hetcc_rd_bucket_add(&e, delivered);
		expect_sane(&e, sum_rule);
		e.base_us += prng_range(0, 9) ? 0 : wild();
		if (prng_range(0, i % 2 ? 3 : 99))
			continue;
		e.pkts_ns = prng_range(0, 3) ? e.pkts_ns : wild();
		end_interval(&e);
		expect_sane(&e, sum_rule);
		if (e.steady)
			hetcc_rd_settle(&e, wild());
		e.steady = prng_u32() & 1;
	}
}

static void test_wild(void)
{
	int i;

	for (i = 0; i < 300; i++)
		wild_run(i % 3 == 0);
}

/* Q8 packets at pktS of 0, unknown, and of 4.3 s */
static void test_pkts_ns_edges(void)
{
	struct hetcc_rd e = steady(SPAN_US);

	e.pkts_ns = 0;
	feed(&e, 0, 9000, 1);
	end_interval(&e);
	EXPECT_EQ_S(e.n, 0, "unknown pktS");
	e.pkts_ns = U32_MAX;
	feed(&e, 0, 9000000, 1);
	end_interval(&e);
	EXPECT_EQ_S(e.n, 536, "9 s over 4.3 s");
	EXPECT_EQ(e.pkts_ns, U32_MAX, "one sample gives no pktS");
}

/*
 * One reading a millisecond, each @queue_us above the empty path.
 *
 * Return: the longest queues that were seen, and their pktS.
 */
static struct hetcc_rd_queue buckets_over(struct hetcc_rd *e, u32 from_ms,
					  u32 samples, u32 queue_us)
{
	struct hetcc_rd_queue q, most = { 0 };
	u32 i;

	for (i = from_ms; i < from_ms + samples; i++) {
		feed(e, i * 1000, i * 1000 + queue_us, 1);
		q = hetcc_rd_buckets(e, delivered);
		EXPECT_IN(q.standing, 0, q.recent, "standing, %u ms", i);
		most.recent = max(most.recent, q.recent);
		most.standing = max(most.standing, q.standing);
		most.pkts_ns = max(most.pkts_ns, q.pkts_ns);
	}
	return most;
}

#define EXPECT_QUEUE(q, want_standing, want_recent, what) do {		\
	struct hetcc_rd_queue q_ = (q);					\
									\
	EXPECT_EQ_S(q_.standing, want_standing, "%s: standing", what);	\
	EXPECT_EQ_S(q_.recent, want_recent, "%s: recent", what);	\
} while (0)

static void test_buckets(void)
{
	const s32 seven = 7 * HETCC_RD_ONE;
	struct hetcc_rd e = estimator(1, false);
	struct hetcc_rd_queue q;

	EXPECT_QUEUE(buckets_over(&e, 0, 30, 0), 0, 0, "empty queue");
	hetcc_rd_restart(&e, false);
	EXPECT_QUEUE(buckets_over(&e, 30, 5, 7000), 0, 0, "one bucket");
	q = buckets_over(&e, 35, 25, 7000);
	EXPECT_QUEUE(q, seven, seven, "7 ms at 1 ms a packet");
	EXPECT_EQ(q.pkts_ns, 1000000, "pktS over two buckets");
	/* Until a bucket begins without it, the sample counts in both */
	EXPECT_QUEUE(buckets_over(&e, 60, 1, 0), 0, 0, "drained once");
	EXPECT_QUEUE(buckets_over(&e, 61, 3, 7000), 0, 0, "after that");
	EXPECT_QUEUE(buckets_over(&e, 64, 20, 7000), seven, seven, "again");
	hetcc_rd_restart(&e, false);
	q = hetcc_rd_buckets(&e, delivered);
	EXPECT_QUEUE(q, 0, 0, "after a restart");
	EXPECT_EQ(q.pkts_ns, 0, "no pktS without buckets");
	EXPECT_QUEUE(buckets_over(&e, 90, 5, 7000), 0, 0,
		     "buckets of before the restart");
}

/*
 * A queue that appears counts in one bucket, then in both. The jump of 7 ms is
 * in pktS as long as it is in one of the buckets.
 */
static void test_recent_first(void)
{
	const s32 seven = 7 * HETCC_RD_ONE;
	struct hetcc_rd e = estimator(1, false);
	u32 i, alone = 0;

	buckets_over(&e, 0, 30, 0);
	for (i = 30; i < 60; i++) {
		struct hetcc_rd_queue q = buckets_over(&e, i, 1, 7000);

		EXPECT_IN(q.recent, 0, seven, "%u ms: recent", i);
		EXPECT_TRUE(!q.standing || alone, "%u ms: recent before", i);
		alone += q.recent && !q.standing;
	}
	EXPECT_IN(alone, 1, HETCC_RD_BUCKET_ACKS + 2, "samples of one bucket");
	EXPECT_QUEUE(buckets_over(&e, 60, 12, 7000), seven, seven, "at last");
}

/* The previous bucket has to be there, the current one needs four samples */
static void test_buckets_needed(void)
{
	struct hetcc_rd e = estimator(1, false);
	struct hetcc_rd_queue q;
	u32 i, opened = 0;

	feed(&e, 0, 0, 1);
	hetcc_rd_restart(&e, false);
	for (i = 1; i < 100; i++) {
		u8 before = e.start.full;
		u32 open_us = e.start.bucket[0].r_us;

		feed(&e, i * 1000, i * 1000 + 9000, 1);
		q = hetcc_rd_buckets(&e, delivered);
		if (e.start.full != before || e.start.bucket[0].r_us != open_us)
			opened = i;
		if (!e.start.full || i - opened + 1 < HETCC_RD_BUCKET_ACKS) {
			EXPECT_QUEUE(q, 0, 0, "too few samples");
			EXPECT_EQ(q.pkts_ns, 0, "pktS of too few samples");
		} else if (i - opened + 1 > HETCC_RD_BUCKET_ACKS) {
			EXPECT_QUEUE(q, 9 * HETCC_RD_ONE, 9 * HETCC_RD_ONE,
				     "enough samples");
		}
	}
}

static void test_bucket_acks(void)
{
	struct hetcc_rd e = estimator(1000, false);
	u32 i;

	/* Far apart in time, so that the ACKs decide */
	for (i = 0; i <= HETCC_RD_BUCKET_ACKS; i++) {
		feed(&e, i * 100000, i * 100000, 3);
		EXPECT_EQ(e.start.full, 0, "%u ACKs", i);
	}
	feed(&e, i * 100000, i * 100000, 3);
	EXPECT_EQ(e.start.full, 1, "%u ACKs", i);
	EXPECT_EQ(e.start.bucket[0].delivered - e.start.bucket[1].delivered,
		  3 * i, "packets of the closed bucket");
	EXPECT_EQ(hetcc_rd_pkts(&e.start.bucket[1], e.start.bucket[0].r_us,
				delivered), 33333333,
		  "pktS of the closed bucket");
}

static void test_bucket_ticks(void)
{
	struct hetcc_rd e = estimator(1000, false);
	u32 i;

	/* Many ACKs a tick, so that the ticks decide */
	for (i = 0; i < 4000; i += 100) {
		feed(&e, i, i / 1000 * 1000, 1);
		EXPECT_EQ(e.start.full, 0, "after %u us", i);
	}
	feed(&e, i, i, 1);
	EXPECT_EQ(e.start.full, 1, "after %u us", i);
}

/* Any number of ACKs may arrive within the four ticks */
static void test_bucket_many_acks(void)
{
	u32 acks, i;

	for (acks = HETCC_RD_BUCKET_ACKS; acks < 600; acks++) {
		struct hetcc_rd e = estimator(10000, false);

		feed(&e, 0, 0, 1);
		for (i = 1; i <= acks; i++)
			feed(&e, i, 30000, 1);
		feed(&e, i, 40000, 1);
		EXPECT_EQ(e.start.full, 1, "%u ACKs, then the fourth tick",
			  acks);
	}
}

/* A peer's time that goes back by a tick does not complete a bucket */
static void test_bucket_time_back(void)
{
	struct hetcc_rd e = estimator(1000, false);
	u32 i;

	for (i = 0; i < 8; i++)
		feed(&e, i, 100000, 1);
	feed(&e, i, 99000, 1);
	EXPECT_EQ(e.start.full, 0, "no four ticks have passed");
}

/* Four packets at once, worked off before the next four */
static void test_burst_drains(void)
{
	unsigned int t;

	for (t = 0; t < ARRAY_SIZE(ticks); t++) {
		u32 i, tick_us = ticks[t], s = prng_range(500, 20000);
		struct hetcc_rd e = estimator(tick_us, false);

		for (i = 0; i < 2000; i++) {
			u32 send_us = i / 4 * 4 * s;
			u32 r_us = (i + 1) * s / tick_us * tick_us;

			feed(&e, send_us, r_us, 1);
			EXPECT_EQ_S(hetcc_rd_buckets(&e, delivered).standing, 0,
				    "tick %u us, service %u us, packet %u",
				    tick_us, s, i);
		}
	}
}

/*
 * An initial window of ten packets of 2 ms. Four ticks of up to 1 ms pass with
 * the first five, so that the second bucket begins with the sixth packet.
 */
static void test_first_burst(void)
{
	unsigned int t;
	u32 i;

	for (t = 0; t < ARRAY_SIZE(ticks); t++) {
		struct path p = random_path(ticks[t]);

		p.per_ack = 1;
		p.service_ns = 2000000;
		p.reverse_ns += 100000000;
		start_flow(&p);
		for (i = 0; i < 10; i++) {
			send_packet(10);
			EXPECT_EQ_S(flow.standing, 0, "tick %u us, packet %u",
				    p.tick_us, i);
		}
		if (p.tick_us > 1000)
			continue;
		EXPECT_IN(flow.recent, (5 - (2 * p.tick_us + 2) / 2000.0) *
			  HETCC_RD_ONE - 1, 5.01 * HETCC_RD_ONE,
			  "tick %u us, recent", p.tick_us);
	}
}

/*
 * A queue that stands: the smallest reading and base are up to a tick low
 * each, and a tick is taken off: never too much, at most two ticks too little.
 */
static void test_standing_bound(void)
{
	unsigned int i;

	for (i = 0; i < 4 * PATHS; i++) {
		struct path p = random_path(ticks[i % ARRAY_SIZE(ticks)]);
		u32 k, queue = prng_range(5, 50);
		u32 window = path_packets(&p) + queue;
		double n, got, tick = p.tick_us > 1 ? p.tick_us + 2 : 2;
		struct hetcc_rd_queue q;

		p.per_ack = 1;
		start_flow(&p);
		learn_base();
		run_window(window);
		n = run_window(window);
		tick /= service_us();
		for (k = 0; k < window; k++) {
			send_packet(window);
			q = hetcc_rd_buckets(&flow.rd, delivered);
			got = q.standing * (double)q.pkts_ns /
			      (double)p.service_ns / HETCC_RD_ONE;
			if (got > 0)
				EXPECT_IN(got, n - 2 * tick - 1,
					  n + 0.01 + 2 / service_us(),
					  "tick %u us, window %u, packet %u",
					  p.tick_us, window, k);
		}
	}
}

static const u32 known_us[] = { 1, 1000, 4000, 10000, 100000 };

/* Ticks that a clock @ppm too fast shows from @start_us on */
static u32 count_ticks(double tick_us, double ppm, double start_us,
		       double elapsed_us)
{
	double true_us = tick_us / (1 + ppm * 1e-6);

	return (u32)(s64)(floor((start_us + elapsed_us) / true_us) -
			  floor(start_us / true_us));
}

static void expect_tick(double tick_us, u32 want)
{
	int i;

	for (i = 0; i < 2000; i++) {
		/* A peer's clock that wraps within the probe tells nothing */
		u32 elapsed_us = prng_log32(HETCC_TICK_PROBE_US, (u32)
					    (fmin(tick_us, 1) * (1U << 31)));
		double ppm = prng_unit() * 400 - 200;
		u32 n = count_ticks(tick_us, ppm, prng_unit() * 1e6,
				    elapsed_us);

		EXPECT_EQ(hetcc_tick_us(n, elapsed_us), want,
			  "clock of %g us, %+.0f ppm: %u ticks in %u us",
			  tick_us, ppm, n, elapsed_us);
	}
}

static void test_tick_known(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(known_us); i++)
		expect_tick(known_us[i], known_us[i]);
}

static void test_tick_shortest_probe(void)
{
	unsigned int i;
	u32 elapsed_us, phase;

	for (i = 0; i < ARRAY_SIZE(known_us); i++)
		for (phase = 0; phase < 100; phase++)
			for (elapsed_us = HETCC_TICK_PROBE_US;
			     elapsed_us < 5 * HETCC_TICK_PROBE_US;
			     elapsed_us += 12347) {
				u32 n = count_ticks(known_us[i], 0,
						    phase * known_us[i] / 100.0,
						    elapsed_us);

				EXPECT_EQ(hetcc_tick_us(n, elapsed_us),
					  known_us[i],
					  "clock of %u us: %u ticks in %u us",
					  known_us[i], n, elapsed_us);
			}
}

static void expect_unknown(const double *tick_us, unsigned int n)
{
	while (n--)
		expect_tick(tick_us[n], 0);
}

/* Faster than a microsecond, as no peer of Linux should have it */
static void test_tick_fast(void)
{
	static const double tick_us[] = { 0.001, 0.1, 0.5 };

	expect_unknown(tick_us, ARRAY_SIZE(tick_us));
}

static void test_tick_between(void)
{
	static const double tick_us[] = {
		2, 10, 100, 500, 2000, 20000, 40000,
	};

	expect_unknown(tick_us, ARRAY_SIZE(tick_us));
}

/* RFC 7323 allows ticks of up to a second */
static void test_tick_slow(void)
{
	static const double tick_us[] = { 500000, 1000000 };

	expect_unknown(tick_us, ARRAY_SIZE(tick_us));
}

static void test_tick_edges(void)
{
	static const struct {
		u32 ticks, elapsed_us, want;
	} rows[] = {
		{ 0, HETCC_TICK_PROBE_US, 0 },
		{ 0, U32_MAX, 0 },
		{ 1, U32_MAX, 0 },
		{ U32_MAX, U32_MAX, 1 },
		/* TSval that went back by 1, by 100 and by half its range */
		{ U32_MAX, HETCC_TICK_PROBE_US, 0 },
		{ U32_MAX - 99, HETCC_TICK_PROBE_US, 0 },
		{ 1U << 31, HETCC_TICK_PROBE_US, 0 },
		{ 2 * HETCC_TICK_PROBE_US, HETCC_TICK_PROBE_US, 0 },
		{ 10 * HETCC_TICK_PROBE_US, HETCC_TICK_PROBE_US, 0 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		EXPECT_EQ(hetcc_tick_us(rows[i].ticks, rows[i].elapsed_us),
			  rows[i].want, "%u ticks in %u us", rows[i].ticks,
			  rows[i].elapsed_us);
}

static const struct tap_case cases[] = {
	{ "bottleneck: mean queue within its bound, ticks 1 us to 10 ms",
	  test_queue },
	{ "bottleneck: jitter of 4 ms in 12 ms is hardly seen",
	  test_queue_jitter },
	{ "bottleneck: quantisation leaves a quarter of a tick", test_queue_bias },
	{ "bottleneck: an empty queue reads as empty", test_empty_queue },
	{ "bottleneck: equation 2 to the letter, ticks 1 us to 10 ms",
	  test_sum_rule },
	{ "equations 1 to 4 on random packets", test_equations },
	{ "clock offsets do not change any estimate", test_clock_offset },
	{ "clocks that wrap do not change any estimate", test_clock_wrap },
	{ "a TSval in milliseconds may wrap", test_tsval_wrap },
	{ "base follows the minimum", test_base_follows },
	{ "the latest packet's queue, within a tick", test_now },
	{ "an interval of one sample", test_one_sample },
	{ "intervals are measured apart", test_intervals_are_apart },
	{ "a reset forgets everything", test_reset },
	{ "a restart keeps the sum of equation 2", test_restart },
	{ "equation 3: edges, zero divisor, wrap", test_pkts_edges },
	{ "equation 4: edges, zero divisor, saturation", test_to_pkts_edges },
	{ "equation 4 on random operands", test_to_pkts_random },
	{ "n saturates at 2^23 packets", test_n_saturates },
	{ "offsets within 35 minutes are told apart", test_widest_offset },
	{ "blocks: number and length", test_blocks },
	{ "blocks: never more than 63, of intervals of up to 20 s",
	  test_blocks_most },
	{ "blocks: the level is the mean of their minima", test_blocks_mean },
	{ "blocks: the least of the one under way", test_block_now },
	{ "blocks: time that goes back makes none longer",
	  test_block_time_back },
	{ "start-up: the base falls at once", test_base_in_startup },
	{ "steady: the base follows levels, by an eighth where near",
	  test_settle },
	{ "steady: the base does not follow a queue", test_settle_above },
	{ "steady: the base comes to within 7 us", test_settle_converges },
	{ "a raised base gives no queue and no wrap", test_raised_base },
	{ "jump: of the largest rise", test_jump },
	{ "jump: kept or faded by half", test_jump_fades },
	{ "excess of a block: saturates at 2^24 us", test_excess_edges },
	{ "start-up: a falling base saturates at 2^24 us a block",
	  test_rebase_edges },
	{ "pktS unknown, and the largest", test_pkts_ns_edges },
	{ "any times and counters stay in range", test_wild },
	{ "buckets: a queue that stands counts, one that drained does not",
	  test_buckets },
	{ "buckets: a queue is recent before it stands", test_recent_first },
	{ "buckets: nothing from too few samples", test_buckets_needed },
	{ "bucket: needs four ACKs", test_bucket_acks },
	{ "bucket: needs four ticks", test_bucket_ticks },
	{ "bucket: any number of ACKs", test_bucket_many_acks },
	{ "bucket: not completed by time that goes back",
	  test_bucket_time_back },
	{ "standing: bursts that drain do not count", test_burst_drains },
	{ "standing: the first burst does not count, but is recent",
	  test_first_burst },
	{ "standing: never above the true queue", test_standing_bound },
	{ "tick: every known clock, +-200 ppm", test_tick_known },
	{ "tick: every known clock at the shortest probe",
	  test_tick_shortest_probe },
	{ "tick: clocks faster than a microsecond are refused",
	  test_tick_fast },
	{ "tick: clocks between the known ones are refused",
	  test_tick_between },
	{ "tick: clocks of 500 ms and 1 s are refused", test_tick_slow },
	{ "tick: edges, time that went back", test_tick_edges },
};

int main(void)
{
	return tap_run(cases, ARRAY_SIZE(cases));
}
