// SPDX-License-Identifier: GPL-2.0
/*
 * reldelay.h: the queue estimate on a simulated bottleneck, with the
 * receiver's clock in ticks and both clocks at any reading.
 */
#include <string.h>

#include "hetcc/reldelay.h"
#include "ref_model.h"
#include "tap.h"

#define PATHS		100
#define FLIGHT_MAX	8192
/* Jitter holds packets back once in so long */
#define SPIKE_NS	12000000ULL

static const u32 ticks[] = { 1, 1000, 4000, 10000 };

/* Packets received so far, by whichever estimator a case works on */
static u32 delivered;

/* One ACK of @pkts packets; of a start-up as well, where that matters */
static void feed(struct reldelay *e, u32 s_us, u32 r_us, u32 pkts)
{
	delivered += pkts;
	reldelay_sample(e, s_us, r_us, delivered);
	if (!e->steady)
		reldelay_startup_add(e, delivered);
}

static bool end_interval(struct reldelay *e)
{
	bool measured = reldelay_interval(e, delivered);

	reldelay_restart(e, false);
	return measured;
}

static struct reldelay estimator(u32 tick_us, bool sum_rule)
{
	struct reldelay e = { .tick_us = tick_us };

	reldelay_init(&e, sum_rule);
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
	struct reldelay rd;
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
	struct startup_queue_len q;

	feed(&flow.rd, p->send_us + (u32)(send_ns / 1000), tsval * p->tick_us,
	     p->per_ack);
	flow.wait_sum += (double)flow.wait_ns / (double)p->service_ns;
	flow.samples++;
	if (flow.rd.steady)
		return;
	q = reldelay_startup_queue(&flow.rd, delivered);
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
	return (double)flow.rd.n / QUEUE_PKTS_ONE;
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

/*
 * Blocks of an interval at least: one in 9 ms, 20 of long ones. A block is of 5 ms
 * and a sixteenth to spare, and ends with an ACK, up to 2 ms later.
 */
static double least_blocks(u32 window)
{
	return clamp(floor(window * service_us() / 9000), 1.0, 20.0);
}

/*
 * Base and the least reading of a block are up to a tick low each, and by a
 * microsecond for either clock. A spike is shorter than a block, so that it can
 * fill the last one of an interval alone. pktS scales it. Q8 rounds down.
 */
static double queue_bound(double n, u32 window)
{
	double off_us = flow.p.tick_us + 2 +
			(double)flow.p.jitter_ns / 1000 / least_blocks(window);
	double error = service_error(window);

	return off_us / service_us() * (1 + error) + n * error +
	       2.0 / QUEUE_PKTS_ONE;
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
	struct reldelay e = estimator(tick_us, false);

	for (i = 0; i < 40; i++) {
		for (k = 0; k < 50; k++) {
			elapsed_us += prng_range(service, 3 * service);
			feed(&e, s_us + elapsed_us,
			     (tsval + elapsed_us / tick_us) * tick_us, 1);
		}
		end_interval(&e);
		EXPECT_IN(e.n, 0, (double)tick_us / service * QUEUE_PKTS_ONE,
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
	reldelay_init(&flow.rd, true);
	for (i = 0; i < steps; i++) {
		run_window(window);
		n = (double)flow.wait_ns / (double)p.service_ns;
		moved = fabs(n - before) + tick_us / service_us();
		slack += moved * service_error(window) + 1.0 / QUEUE_PKTS_ONE;
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
static void equations_run(double *n, u32 *s_us, u32 *r_us, struct reldelay *e)
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
		struct reldelay e = estimator(1, true);
		double n = 0;

		for (k = 1; k <= 20; k++) {
			equations_run(&n, &s_us, &r_us, &e);
			EXPECT_NEAR((double)e.n / QUEUE_PKTS_ONE, n,
				    k * 2.0 / QUEUE_PKTS_ONE, "interval %d", k);
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
	reldelay_init(&flow.rd, sum_rule);
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
	struct reldelay e = estimator(1, false);
	u32 i, tsval = U32_MAX - 4;

	for (i = 0; i < 10; i++, tsval++)
		feed(&e, i * 1000, tsval * 1000, 1);
	EXPECT_EQ(e.last_us, e.base_us, "the offset has not moved");
	EXPECT_EQ(queue_pkts_service_ns(&e.iv, e.r_us, delivered), 1000000, "pktS");
	EXPECT_EQ_S(reldelay_now(&e, 1000000), 0, "queue");
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
		slack = (p.tick_us + 2) / service_us() + 2.0 / QUEUE_PKTS_ONE;
		EXPECT_NEAR((double)reldelay_now(&flow.rd, (u32)p.service_ns) /
			    QUEUE_PKTS_ONE, want, slack, "tick %u us",
			    p.tick_us);
	}
}

static void test_one_sample(void)
{
	struct reldelay e = estimator(1, false);

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
	EXPECT_EQ_S(e.n, QUEUE_PKTS_ONE, "2000 / 2000");
}

/* A measurement is of the interval alone: iv and sum begin anew */
static void test_intervals_are_apart(void)
{
	struct reldelay e = estimator(1, false);
	u32 i;

	for (i = 0; i < 10; i++)
		feed(&e, i * 1000, i * 1000 + 500, 1);
	end_interval(&e);
	EXPECT_EQ_S(e.n, 0, "empty queue");
	for (i = 20; i < 30; i++)
		feed(&e, i * 1000, i * 1000 + 4500, 2);
	end_interval(&e);
	EXPECT_EQ(e.pkts_ns, 500000, "two packets a sample");
	EXPECT_EQ_S(e.n, 8 * QUEUE_PKTS_ONE, "4000 / 500");
}

static void reset_run(bool sum_rule)
{
	struct reldelay e = estimator(1, sum_rule);
	u32 i;

	for (i = 0; i < 20; i++)
		feed(&e, i * 1000, i * 1500, 1);
	end_interval(&e);
	reldelay_reset(&e);
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
	struct reldelay e = estimator(1, true);

	feed(&e, 0, 0, 1);
	feed(&e, 1000, 1000, 1);
	end_interval(&e);
	feed(&e, 2000, 3000, 1);
	reldelay_restart(&e, false);
	feed(&e, 3000, 5000, 1);
	feed(&e, 4000, 6000, 1);
	end_interval(&e);
	EXPECT_EQ_S(e.n, 2 * QUEUE_PKTS_ONE, "2000 us over 1000 us a packet");
}

static void change_delay(struct reldelay *e, u32 by_us, int times)
{
	while (times--) {
		feed(e, 0, e->last_us + by_us, 1);
		end_interval(e);
	}
}

/* n of equation 2 stops at +-2^23 packets; a packet takes 1 us here */
static void test_n_saturates(void)
{
	struct reldelay e = estimator(1, true);

	feed(&e, 0, 0, 1);
	feed(&e, 1, 1, 1);
	end_interval(&e);
	change_delay(&e, 8000000, 1);
	EXPECT_EQ_S(e.n, 8000000 * QUEUE_PKTS_ONE, "8 s");
	change_delay(&e, 8000000, 1);
	EXPECT_EQ_S(e.n, QUEUE_PKTS_MAX, "16 s");
	change_delay(&e, S32_MAX, 10);
	EXPECT_EQ_S(e.n, QUEUE_PKTS_MAX, "ten times 2^31 us");
	change_delay(&e, 0U - S32_MAX, 1);
	EXPECT_EQ_S(e.n, 0, "a step down is cut to 2^23 packets, too");
	change_delay(&e, 0U - S32_MAX, 10);
	EXPECT_EQ_S(e.n, -QUEUE_PKTS_MAX, "ten times -2^31 us");
}

/* Offsets are told apart within 2^31 us, 35 minutes */
static void test_widest_offset(void)
{
	u32 base = prng_u32();
	struct reldelay e = estimator(1, false);

	feed(&e, 0, base, 1);
	feed(&e, 0, base + S32_MAX, 1);
	EXPECT_EQ(e.base_us, base, "2^31 - 1 us above is above");
	EXPECT_EQ_S(reldelay_now(&e, U32_MAX), 127999, "queue of 35 min");
	feed(&e, 0, base - 1000, 1);
	EXPECT_EQ(e.base_us, base - 1000, "1 ms below is below");
	end_interval(&e);
	EXPECT_IN(e.n, 0, QUEUE_PKTS_MAX, "mean");
}

#define BLOCK_PKT_US	50U

/*
 * Steady, a packet every BLOCK_PKT_US from @from_us on for @span_us; @excess_us
 * above an offset of 0.
 */
static void spaced_run(struct reldelay *e, u32 from_us, u32 span_us,
		       s32 excess_us)
{
	u32 i;

	for (i = 0; i <= span_us; i += BLOCK_PKT_US)
		feed(e, from_us + i, from_us + i + (u32)excess_us, 1);
}

static struct reldelay steady(u32 span_us)
{
	struct reldelay e = estimator(1, false);

	feed(&e, 0, 0, 1);
	e.steady = 1;
	end_interval(&e);
	spaced_run(&e, 100, span_us, 0);
	end_interval(&e);
	return e;
}

/* An interval of any length after one of any length; times saturate at 4 s */
static void test_blocks_most(void)
{
	int i;

	for (i = 0; i < 300; i++) {
		u32 before_us = prng_log32(BLOCK_PKT_US, 1000000);
		u32 span_us = prng_log32(BLOCK_PKT_US, 20000000);
		u32 step_us = max(span_us / 500, 1U), at;
		struct reldelay e = steady(before_us);

		for (at = 0; at <= span_us; at += step_us)
			feed(&e, at, at + 7000, 1);
		reldelay_interval(&e, delivered);
		EXPECT_IN(e.blocks, 1, RELDELAY_BLOCKS_MAX,
			  "%u us after %u us", span_us, before_us);
		EXPECT_EQ_S(reldelay_delay_us(&e), 7000, "%u us after %u us",
			    span_us, before_us);
	}
}

#define SPAN_US		40000U

/*
 * An interval of SPAN_US with offsets of @from_us to @from_us + @range_us.
 *
 * Return: number of its blocks; min_us holds the least offset of each.
 */
static u32 random_interval(struct reldelay *e, s32 from_us, u32 range_us,
			   s32 min_us[RELDELAY_BLOCKS_MAX])
{
	struct delay_block block = e->block;
	u32 i, blocks = 0, at_us = prng_u32();

	for (i = 0; i <= SPAN_US; i += BLOCK_PKT_US) {
		s32 off_us = from_us + (s32)prng_range(0, range_us);
		u16 at = delay_block_at(at_us, at_us + i);

		if (!i || delay_block_is_over(&block, at)) {
			delay_block_begin(&block, at, (u32)off_us);
			min_us[blocks++] = off_us;
		}
		min_us[blocks - 1] = min(min_us[blocks - 1], off_us);
		feed(e, at_us + i - (u32)off_us, at_us + i, 1);
	}
	reldelay_interval(e, delivered);
	return blocks;
}

static void expect_mean(const struct reldelay *e, const s32 *min_us, u32 blocks)
{
	s32 sum_us = 0;
	u32 i;

	for (i = 0; i < blocks; i++)
		sum_us += min_us[i] - (s32)e->base_us;
	EXPECT_EQ_S(reldelay_delay_us(e), sum_us / (s32)blocks,
		    "mean of %u blocks above %d us", blocks, (s32)e->base_us);
}

static void test_blocks_mean(void)
{
	s32 min_us[RELDELAY_BLOCKS_MAX];
	int i;

	for (i = 0; i < 200; i++) {
		struct reldelay e = steady(SPAN_US);
		s32 from_us = (s32)prng_range(0, 100000) - 50000;
		u32 blocks = random_interval(&e, from_us, 200000, min_us);

		EXPECT_EQ(e.base_us, 0, "base of a steady estimator");
		expect_mean(&e, min_us, blocks);
		EXPECT_IN(e.n, 0, QUEUE_PKTS_MAX, "from %d us", from_us);
	}
}

/* The base falls at once, and blocks of before exceed it by more */
static void test_base_in_startup(void)
{
	s32 min_us[RELDELAY_BLOCKS_MAX];
	int i;

	for (i = 0; i < 200; i++) {
		struct reldelay e = steady(SPAN_US);
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
	struct reldelay e = steady(SPAN_US);

	spaced_run(&e, prng_u32(), SPAN_US, -(s32)below_us);
	reldelay_interval(&e, delivered);
	EXPECT_EQ_S(reldelay_delay_us(&e), -(s32)seen_us, "%u us", below_us);
	EXPECT_EQ_S(e.n, 0, "%u us below: no queue", below_us);
	EXPECT_EQ(reldelay_settle(&e, near_us), seen_us > near_us,
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
	struct reldelay e = steady(SPAN_US);

	spaced_run(&e, 0, SPAN_US, 5000);
	reldelay_interval(&e, delivered);
	EXPECT_EQ(reldelay_settle(&e, 0), false, "a queue");
	EXPECT_EQ(e.base_us, 0, "a queue leaves the base");
}

/* Level after level within near_us: an eighth of the rest, to 7 us */
static void test_settle_converges(void)
{
	struct reldelay e = steady(SPAN_US);
	double rest_us = 10000;
	int i;

	for (i = 0; i < 100; i++) {
		spaced_run(&e, 0, SPAN_US, -10000);
		end_interval(&e);
		EXPECT_EQ(reldelay_settle(&e, 10000), false, "round %d", i);
		rest_us -= floor(rest_us / 8);
		EXPECT_EQ_S((s32)e.base_us, (s32)rest_us - 10000, "round %d", i);
	}
	EXPECT_EQ(e.base_us + 10000, 7, "in the end");
}

/* A longer path: the base is above what follows, if that was luck */
static void raise_run(u32 raise_us)
{
	struct reldelay e = steady(SPAN_US);
	u32 pkts_ns = e.pkts_ns;

	e.base_us += raise_us;
	spaced_run(&e, prng_u32(), SPAN_US, 0);
	EXPECT_EQ_S(reldelay_block(&e), 0, "%u us: block", raise_us);
	EXPECT_EQ_S(reldelay_now(&e, pkts_ns),
		    queue_pkts_from_us(-(s32)raise_us, pkts_ns), "%u us", raise_us);
	reldelay_interval(&e, delivered);
	EXPECT_EQ_S(e.n, 0, "%u us: n", raise_us);
	EXPECT_EQ_S(reldelay_delay_us(&e), -(s32)min(raise_us, 1U << 24),
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
	struct reldelay e = steady(SPAN_US);
	s32 seven = 7000 / BLOCK_PKT_US * QUEUE_PKTS_ONE;

	spaced_run(&e, 0, 3000, 7000);
	EXPECT_EQ_S(reldelay_block(&e), seven, "the block under way");
	feed(&e, 10100 - 1000, 10100, 1);
	EXPECT_EQ_S(reldelay_block(&e), 1000 / BLOCK_PKT_US * QUEUE_PKTS_ONE,
		    "its least");
	spaced_run(&e, 3200, 10000, 7000);
	EXPECT_EQ_S(reldelay_block(&e), seven, "the next block");
}

/* Such a sample is of the interval's first block */
static void test_block_time_back(void)
{
	struct reldelay e = steady(SPAN_US);

	feed(&e, 1000, 1000 + 9000, 1);
	feed(&e, 0, 3000, 1);
	spaced_run(&e, 1100, 3000, 9000);
	EXPECT_EQ_S(reldelay_block(&e), 3000 / BLOCK_PKT_US * QUEUE_PKTS_ONE,
		    "the block under way");
	reldelay_interval(&e, delivered);
	EXPECT_EQ_S(reldelay_delay_us(&e), 3000, "an interval of one block");
}

static void test_jump(void)
{
	u32 off_us = prng_u32();
	int i;

	for (i = 0; i < 1000; i++) {
		struct reldelay e = estimator(1, false);
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
	struct reldelay e = estimator(1, false);
	u32 i;

	feed(&e, 0, 0, 1);
	feed(&e, 0, S32_MAX, 1);
	EXPECT_EQ(e.jump, 31, "the largest");
	for (i = 0; i < 5; i++)
		reldelay_restart(&e, true);
	EXPECT_EQ(e.jump, 31, "kept");
	for (i = 1; i < 40; i++) {
		reldelay_restart(&e, false);
		EXPECT_EQ(e.jump, 31 - min(i, 31U), "faded %u times", i);
	}
	feed(&e, 0, 0, 1);
	EXPECT_EQ(e.jump, 0, "a fall is none");
	feed(&e, 0, 1, 1);
	EXPECT_EQ(e.jump, 1, "1 us");
	reldelay_reset(&e);
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
		struct reldelay e = steady(BLOCK_PKT_US);

		for (k = 0; k < 100; k++)
			feed(&e, k * 10000 - (u32)rows[i][0], k * 10000, 1);
		EXPECT_TRUE(reldelay_interval(&e, delivered), "measured");
		EXPECT_EQ(e.blocks, RELDELAY_BLOCKS_MAX, "blocks");
		EXPECT_EQ_S(reldelay_delay_us(&e), rows[i][1], "excess %d us",
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
		struct reldelay e = steady(BLOCK_PKT_US);

		e.steady = 0;
		for (k = 0; k < 100; k++)
			feed(&e, k * 10000, k * 10000, 1);
		for (k = 1; k < 6; k++) {
			off_us = 0U - k * falls_us[i];
			feed(&e, 1000000, 1000000 + off_us, 1);
			EXPECT_EQ(e.base_us, off_us, "by %u us", falls_us[i]);
			EXPECT_EQ_S(reldelay_delay_us(&e),
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

static void expect_sane(const struct reldelay *e, bool sum_rule)
{
	struct startup_queue_len q = reldelay_startup_queue(e, delivered);

	EXPECT_IN(e->n, sum_rule ? -QUEUE_PKTS_MAX : 0, QUEUE_PKTS_MAX, "n");
	EXPECT_IN(reldelay_delay_us(e), -(1 << 24), 1 << 24, "delay");
	EXPECT_IN(reldelay_block(e), 0, QUEUE_PKTS_MAX, "block");
	EXPECT_IN(reldelay_now(e, wild()), -QUEUE_PKTS_MAX, QUEUE_PKTS_MAX,
		  "now");
	EXPECT_IN(q.recent, 0, QUEUE_PKTS_MAX, "recent");
	EXPECT_IN(q.standing, 0, q.recent, "standing");
	EXPECT_IN(e->jump, 0, 31, "jump");
}

/* A peer may send any TSval: nothing overflows, nothing leaves its range */
static void wild_run(bool sum_rule)
{
	struct reldelay e = estimator(ticks[prng_range(0, 3)], sum_rule);
	u32 i;

	for (i = 0; i < 300; i++) {
		delivered += prng_range(0, 7) ? 1 : wild();
		reldelay_sample(&e, wild(), wild(), delivered);
		reldelay_startup_add(&e, delivered);
		expect_sane(&e, sum_rule);
		e.base_us += prng_range(0, 9) ? 0 : wild();
		if (prng_range(0, i % 2 ? 3 : 99))
			continue;
		e.pkts_ns = prng_range(0, 3) ? e.pkts_ns : wild();
		end_interval(&e);
		expect_sane(&e, sum_rule);
		if (e.steady)
			reldelay_settle(&e, wild());
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
	struct reldelay e = steady(SPAN_US);

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
			  QUEUE_PKTS_ONE - 1, 5.01 * QUEUE_PKTS_ONE,
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
		struct startup_queue_len q;

		p.per_ack = 1;
		start_flow(&p);
		learn_base();
		run_window(window);
		n = run_window(window);
		tick /= service_us();
		for (k = 0; k < window; k++) {
			send_packet(window);
			q = reldelay_startup_queue(&flow.rd, delivered);
			got = q.standing * (double)q.pkts_ns /
			      (double)p.service_ns / QUEUE_PKTS_ONE;
			if (got > 0)
				EXPECT_IN(got, n - 2 * tick - 1,
					  n + 0.01 + 2 / service_us(),
					  "tick %u us, window %u, packet %u",
					  p.tick_us, window, k);
		}
	}
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
	{ "n saturates at 2^23 packets", test_n_saturates },
	{ "offsets within 35 minutes are told apart", test_widest_offset },
	{ "blocks: never more than 63, of intervals of up to 20 s",
	  test_blocks_most },
	{ "blocks: the level is the mean of their minima", test_blocks_mean },
	{ "blocks: the least of the one under way", test_block_now },
	{ "blocks: a time that goes back is of the first one",
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
	{ "start-up: the first burst does not stand, but is recent",
	  test_first_burst },
	{ "start-up: the standing queue is never above the true one", test_standing_bound },
};

TAP_MAIN(cases)
