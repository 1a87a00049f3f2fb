// SPDX-License-Identifier: GPL-2.0
/*
 * bw_busy.h behind a modelled bottleneck: full pipes and small windows, each
 * kind of ACK stream, losses, changes of rate; then ACKs of every kind at the
 * edges of its integers.
 */
#include "bottleneck.h"
#include "hetcc/bw_busy.h"
#include "tap.h"

#define ALPHA		800

/* claims: settles within 5 % at every rate */
#define SETTLED		0.05
/* Times of one microsecond over samples of at least 5 ms */
#define EXACT		0.001
/* A train may begin with an ACK that was late by an eighth of it */
#define TRAIN		(1.0 / BW_BUSY_PAUSES)

#define KBIT		(1000.0 / 8)
#define MBIT		(1000 * KBIT)

static const double rates[] = {
	64 * KBIT, MBIT, 10 * MBIT, 100 * MBIT, 1000 * MBIT, 10000 * MBIT,
};

static const double rtts_us[] = { 1e3, 10e3, 50e3, 200e3, 600e3 };

static const char *const kinds[ACK_KINDS] = {
	"each", "delayed", "held", "thinned", "merged", "reverse",
};

/**
 * struct stream - kind of ACK stream
 * @acks: kind
 * @hold_us: its parameter
 * @bound: part by which the settled estimate may be off
 * @bound_1ms: the same at a round trip of 1 ms
 * @low: part that late ACKs take from it where nothing waits for the bottleneck
 */
struct stream {
	enum net_acks acks;
	double hold_us;
	double bound;
	double bound_1ms;
	double low;
};

static void start(const struct stream *s, double rate, double rtt_us)
{
	net_start(rate, rtt_us, s->acks, s->hold_us);
}

/* As a connection learns it from its first packets */
static void know_rtt_min(void)
{
	net.rtt_min_us = (u32)(net.prop_us + net_service_us()) + 1;
}

/* A round trip as the estimator may have to wait for it */
static double round_us(void)
{
	return net.prop_us + 4 * net_service_us() + 4 * net.hold_us +
	       2 * NET_DELAYED_US;
}

static void expect_near_rate(double bound, const char *what)
{
	EXPECT_IN((double)net.low / net.rate, 1 - bound, 1 + bound,
		  "%s, lowest: %g kbit/s, %g ms, %s %g ms", what,
		  net.rate / KBIT, net.prop_us / 1e3, kinds[net.acks],
		  net.hold_us / 1e3);
	EXPECT_IN((double)net.high / net.rate, 1 - bound, 1 + bound,
		  "%s, highest: %g kbit/s, %g ms, %s %g ms", what,
		  net.rate / KBIT, net.prop_us / 1e3, kinds[net.acks],
		  net.hold_us / 1e3);
}

/* From @from times the rate, proven; 0: from nothing */
static void settle(const struct stream *s, double rate, double rtt_us,
		   double from)
{
	start(s, rate, rtt_us);
	if (from)
		know_rtt_min();
	if (from)
		net_believe(rate * from, true);
	EXPECT_TRUE(net_run_samples(60, 600 * round_us()),
		    "60 samples in 600 rounds: %g kbit/s, %g ms, %s",
		    rate / KBIT, rtt_us / 1e3, kinds[s->acks]);
	net_watch();
	net_run_samples(30, 300 * round_us());
	EXPECT_TRUE(net.busy.proven, "a full pipe proves");
	expect_near_rate(rtt_us < 10e3 ? s->bound_1ms : s->bound, "settled");
}

static void settle_everywhere(const struct stream *s)
{
	unsigned int r, t;

	for (r = 0; r < ARRAY_SIZE(rates); r++) {
		for (t = 0; t < ARRAY_SIZE(rtts_us); t++) {
			settle(s, rates[r], rtts_us[t], 0);
			settle(s, rates[r], rtts_us[t], 0.1);
			settle(s, rates[r], rtts_us[t], 10);
		}
	}
}

static void test_settles_each(void)
{
	settle_everywhere(&(struct stream){ ACK_EACH, 0, EXACT, EXACT, 0 });
}

static void test_settles_delayed(void)
{
	settle_everywhere(&(struct stream){ ACK_DELAYED, 0, 0.002, 0.002, 0 });
}

static void test_settles_held(void)
{
	static const struct stream streams[] = {
		{ ACK_HELD, 1e3, 0.02, 0.07, 0 },
		{ ACK_HELD, 5e3, 0.03, 0.04, 0 },
		{ ACK_HELD, 20e3, 0.04, 0.04, 0 },
		{ ACK_HELD, 100e3, 0.04, 0.04, 0 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(streams); i++)
		settle_everywhere(&streams[i]);
}

static void test_settles_thinned(void)
{
	settle_everywhere(&(struct stream){ ACK_THINNED, 0, 0.02, 0.02, 0 });
}

static void test_settles_merged(void)
{
	settle_everywhere(&(struct stream){ ACK_MERGED, 0, 0.02, 0.09, 0 });
}

static void test_settles_reverse(void)
{
	static const struct stream streams[] = {
		{ ACK_REVERSE, 2e3, SETTLED, 0.2, 0 },
		{ ACK_REVERSE, 20e3, 0.2, 0.2, 0 },
		{ ACK_REVERSE, 100e3, 0.2, 0.2, 0 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(streams); i++)
		settle_everywhere(&streams[i]);
}

/*
 * Where nothing waits a round trip is long for the ACK's sake alone, and looks
 * like a queue: what comes then, the estimator may take for the bottleneck's
 * rate. Other traffic that holds them at random does that.
 */
static const struct stream all_streams[] = {
	{ ACK_EACH, 0, EXACT, 0, 0 },
	{ ACK_DELAYED, 0, TRAIN, 0, 0 },
	{ ACK_HELD, 1e3, TRAIN, 0, 0 },
	{ ACK_HELD, 5e3, 0.25, 0, 0 },
	{ ACK_HELD, 20e3, 0.25, 0, 0 },
	{ ACK_HELD, 100e3, TRAIN, 0, 0 },
	{ ACK_THINNED, 0, 0.35, 0, 0 },
	{ ACK_MERGED, 0, SETTLED, 0, 0 },
	{ ACK_REVERSE, 2e3, 0.2, 0, 0.3 },
	{ ACK_REVERSE, 20e3, 0.3, 0, 0.5 },
};

/* A window of a part of what fills the path, 1 Mbit/s to 1 Gbit/s, from 10 ms */
static void small_windows(bool paced, void (*check)(const struct stream *s,
						     double part))
{
	static const double parts[] = { 0.3, 0.5, 0.8 };
	unsigned int i, r, t, p;

	for (i = 0; i < ARRAY_SIZE(all_streams); i++)
	for (r = 1; r < ARRAY_SIZE(rates) - 1; r++)
	for (t = 1; t < ARRAY_SIZE(rtts_us); t++)
	for (p = 0; p < ARRAY_SIZE(parts); p++) {
		start(&all_streams[i], rates[r], rtts_us[t]);
		know_rtt_min();
		net.window = max((u32)(parts[p] * net_bdp()), 2U);
		if (paced)
			net.pace_us = net_service_us() / parts[p];
		check(&all_streams[i], parts[p]);
	}
}

/* Nothing waits anywhere: not a single sample */
static void check_small_paced(const struct stream *s, double part)
{
	net_believe(net.rate, true);
	net_run(40 * round_us());
	EXPECT_IN(net_estimate(), floor(net.rate * (1 - s->low)), net.rate,
		  "window of %g of the pipe, %g kbit/s, %g ms, %s %g ms", part,
		  net.rate / KBIT, net.prop_us / 1e3, kinds[s->acks],
		  s->hold_us / 1e3);
	EXPECT_TRUE(s->low || !net.taken, "%s: no sample", kinds[s->acks]);
}

static void test_small_paced(void)
{
	small_windows(true, check_small_paced);
}

/* The window leaves as one train each round, which shows the bottleneck */
static void check_small_burst(const struct stream *s, double part)
{
	(void)part;
	net_believe(net.rate, true);
	net_run(40 * round_us());
	expect_near_rate(s->bound, "proven, window below the pipe");
}

static void test_small_burst(void)
{
	small_windows(false, check_small_burst);
}

static double own_rate(double us)
{
	double from_us = net.now_us;
	u32 before = net.delivered;

	net_run(us);
	return (double)(net.delivered - before) * net.segment /
	       (net.now_us - from_us) * 1e6;
}

/* With all of the window acknowledged at once the path is empty: no rounds */
static void check_small_unproven(const struct stream *s, double part)
{
	double own;

	if (net.window < 2 * NET_BUNCH)
		return;
	net_run(40 * round_us());
	net_watch();
	own = own_rate(40 * round_us()) * (1 - SETTLED) * (1 - s->low);
	EXPECT_IN(net.low, own, net.rate * (1 + s->bound),
		  "lowest, %g of the pipe, %g kbit/s, %g ms, %s %g ms", part,
		  net.rate / KBIT, net.prop_us / 1e3, kinds[s->acks],
		  s->hold_us / 1e3);
	EXPECT_IN(net.high, own, net.rate * (1 + s->bound),
		  "highest, %g of the pipe, %g kbit/s, %g ms, %s %g ms", part,
		  net.rate / KBIT, net.prop_us / 1e3, kinds[s->acks],
		  s->hold_us / 1e3);
}

static void test_small_unproven(void)
{
	small_windows(false, check_small_unproven);
	small_windows(true, check_small_unproven);
}

/* Requests of @pkts packets each @gaps times their time on the wire */
static void write_now_and_then(const struct stream *s, u32 pkts, double gaps)
{
	unsigned int r, t;

	for (r = 1; r < ARRAY_SIZE(rates) - 1; r++) {
		for (t = 1; t < ARRAY_SIZE(rtts_us); t++) {
			start(s, rates[r], rtts_us[t]);
			know_rtt_min();
			net.app_pkts = pkts;
			net.app_us = gaps * pkts * net_service_us();
			net_believe(rates[r], true);
			net_run(20 * (net.prop_us + net.app_us));
			expect_near_rate(s->bound, "application-limited");
		}
	}
}

static void test_application_limited(void)
{
	static const u32 pkts[] = { 1, 2, 5, 20, 100, 1000 };
	unsigned int i, p;

	for (i = 0; i < ARRAY_SIZE(all_streams); i++)
		for (p = 0; p < ARRAY_SIZE(pkts); p++)
			write_now_and_then(&all_streams[i], pkts[p], 2.5);
}

/* Idle for seconds to hours between short exchanges, nothing left in flight */
static void test_idle(void)
{
	const struct stream s = { ACK_DELAYED, 0, 0, 0, 0 };
	u64 before;
	int i;

	start(&s, 10 * MBIT, 50e3);
	net_run(50 * round_us());
	net_believe(net.rate, true);
	before = net.busy.avg.scaled;
	net.app_us = 1e6;
	net.write_us = net.now_us + 10e6;
	net_run(9e6);
	net_watch();
	for (i = 0; i < 30; i++) {
		net.app_pkts = prng_range(1, 3);
		net.app_us = (double)prng_log(1000000, 10000000000ULL);
		net_run(net.app_us);
	}
	EXPECT_TRUE(net.now_us > 1e9, "idle for long");
	EXPECT_NEAR((double)net.busy.avg.scaled, (double)before,
		    (double)before * EXACT, "estimate after idle times");
}

static const struct stream each = { ACK_EACH, 0, EXACT, EXACT, 0 };

/* A full pipe at @rate, the estimate as well, and then another rate */
static void change_rate(double rate, double rtt_us, double change)
{
	u32 sent;

	start(&each, rate, rtt_us);
	net.window = (u32)(3 * net_bdp()) + 20;
	net_run(20 * round_us());
	net_believe(rate, true);
	net.rate *= change;
	/* The model has let go at the old rate what was queued by now */
	for (sent = net.sent; net.delivered < sent; )
		net_step(INFINITY);
}

/* Return: samples from the change of the rate until it is within 5 % for good */
static u32 samples_to_follow(double rate, double rtt_us, double change)
{
	u32 i, last = 0;

	change_rate(rate, rtt_us, change);
	for (i = 1; i <= 60; i++) {
		net_run_samples(1, 100 * round_us());
		if (fabs((double)net_estimate() / net.rate - 1) > SETTLED)
			last = i;
	}
	return last + 1;
}

/* 0.8^14 < 0.05 / 1: the filter alone needs 14; 0.8^11 < 0.05 / 0.5 */
static void test_rate_changes(void)
{
	unsigned int r, t;

	for (r = 0; r < ARRAY_SIZE(rates); r++) {
		for (t = 0; t < ARRAY_SIZE(rtts_us); t++) {
			EXPECT_IN(samples_to_follow(rates[r], rtts_us[t], 0.5),
				  10, 16, "rate halves, %g kbit/s, %g ms",
				  rates[r] / KBIT, rtts_us[t] / 1e3);
			EXPECT_IN(samples_to_follow(rates[r], rtts_us[t], 2),
				  5, 13, "rate doubles, %g kbit/s, %g ms",
				  rates[r] / KBIT, rtts_us[t] / 1e3);
		}
	}
}

/* In round trips of a full pipe, where those are samples */
static void test_rate_changes_rounds(void)
{
	const double rate = 10 * MBIT, rtt_us = 100e3;
	const struct {
		double change;
		int rounds;
	} rows[] = { { 0.5, 17 }, { 2, 12 } };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		change_rate(rate, rtt_us, rows[i].change);
		net_run(rows[i].rounds * rtt_us);
		net_watch();
		net_run(50 * rtt_us);
		expect_near_rate(SETTLED, "after so many rounds");
	}
}

/* A paced window of half the pipe: no train that could tell the rate */
static void lose(u32 every, double rate, double believed)
{
	start(&each, rate, 200e3);
	know_rtt_min();
	net.window = (u32)(net_bdp() / 2);
	net.pace_us = 2 * net_service_us();
	net.loss_every = every;
	net_believe(believed, true);
	net_run(10e6);
	net_watch();
	net_run(10e6);
}

static void test_heavy_loss(void)
{
	unsigned int r;

	for (r = 3; r < ARRAY_SIZE(rates) - 1; r++) {
		double sent = rates[r] / 2, went;

		lose(7, rates[r], 10 * rates[r]);
		went = sent * 6 / 7;
		EXPECT_IN(net.low, went * 0.9, sent, "one of 7, %g kbit/s",
			  rates[r] / KBIT);
		EXPECT_IN(net.high, went * 0.9, sent, "one of 7, %g kbit/s",
			  rates[r] / KBIT);
		lose(10, rates[r], 10 * rates[r]);
		EXPECT_EQ(net.low, (u64)(10 * rates[r]), "one of 10");
		EXPECT_EQ(net.high, (u64)(10 * rates[r]), "one of 10");
	}
}

/* Proven by the first long enough train, whatever the window was by then */
static void slow_start(const struct stream *s, double rate, double rtt_us)
{
	int i;

	start(s, rate, rtt_us);
	net.window = 10;
	net.window_max = (u32)(2 * net_bdp()) + 20;
	for (i = 0; !net.busy.proven && i < 200; i++)
		net_run_samples(1, round_us());
	EXPECT_TRUE(net.busy.proven, "proven: %g kbit/s, %g ms", rate / KBIT,
		    rtt_us / 1e3);
	EXPECT_NEAR(net_estimate(), rate, rate * SETTLED,
		    "first proof, %g kbit/s, %g ms, %s", rate / KBIT,
		    rtt_us / 1e3, kinds[s->acks]);
}

static void test_slow_start(void)
{
	static const struct stream streams[] = {
		{ ACK_EACH, 0, 0, 0, 0 }, { ACK_DELAYED, 0, 0, 0, 0 },
		{ ACK_THINNED, 0, 0, 0, 0 },
	};
	unsigned int i, r, t;

	for (i = 0; i < ARRAY_SIZE(streams); i++)
		for (r = 0; r < ARRAY_SIZE(rates); r++)
			for (t = 1; t < ARRAY_SIZE(rtts_us); t++)
				slow_start(&streams[i], rates[r], rtts_us[t]);
}

/* 100 Mbit/s, 600 ms: a train of 37 ms is enough, a pipe of 7 Mbyte is not needed */
static void test_proven_early(void)
{
	const struct stream s = { ACK_DELAYED, 0, 0, 0, 0 };

	start(&s, 100 * MBIT, 600e3);
	net.segment = NET_MSS;
	net.window = 10;
	net.window_max = NET_PKTS / 8;
	while (!net.busy.proven && net.now_us < 60e6)
		net_run(10e3);
	EXPECT_IN(net.window, 1, 0.3 * net_bdp(), "window at the proof");
	EXPECT_NEAR(net_estimate(), net.rate, net.rate * 0.02, "what it says");
}

/*
 * In-tree westwood averages whole bytes per jiffy twice: a = (7 a + b) / 8,
 * rounded down. From below it stays up to 7 under its input, twice.
 */
static double floored(double rate, u32 hz, double from, int samples)
{
	u32 sample = (u32)(rate / hz), first = (u32)(rate * from / hz);
	u32 second = first;

	while (samples--) {
		first = (7 * first + sample) / 8;
		second = (7 * second + first) / 8;
	}
	return (double)second * hz;
}

/* Percent under the rate when it comes from a quarter of it */
static void test_floored_filter(void)
{
	static const struct {
		double rate;
		u32 hz;
		double under;
	} rows[] = {
		{ 64 * KBIT, 1000, 75 }, { MBIT, 1000, 11.2 },
		{ 10 * MBIT, 1000, 1.12 }, { 100 * MBIT, 1000, 0.112 },
		{ MBIT, 250, 2.8 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		double rate = rows[i].rate;
		double got = floored(rate, rows[i].hz, 0.25, 1000);

		EXPECT_NEAR(100 * (1 - got / rate), rows[i].under, 0.001,
			    "rounded down, %g kbit/s, HZ %u", rate / KBIT,
			    rows[i].hz);
		EXPECT_NEAR(floored(rate, rows[i].hz, 4, 1000), rate, 1e-6,
			    "rounded down, from above");
		settle(&each, rate, 50e3, 0.25);
		settle(&each, rate, 50e3, 4);
	}
}

/* ACKs by hand: round trip 100 ms of an empty path, 100 ms more in the queue */
#define HAND_RTT_US	100000U

static const struct bw_busy_ack queued = {
	.bytes = 10000,
	.rtt_us = 2 * HAND_RTT_US,
	.rtt_min_us = HAND_RTT_US,
	.train_us = HAND_RTT_US / 16,
	.alpha_permille = ALPHA,
};

/* Not busy: round trips of an empty path */
static const struct bw_busy_ack empty = {
	.bytes = 10000,
	.rtt_us = HAND_RTT_US,
	.rtt_min_us = HAND_RTT_US,
	.train_us = HAND_RTT_US / 16,
	.alpha_permille = ALPHA,
};

static u32 hand_us;

static bool give(struct bw_busy *b, u32 pause_us, struct bw_busy_ack a)
{
	hand_us += pause_us;
	a.now_us = hand_us;
	return bw_busy_add(b, &a);
}

/* Return: ACKs until a sample was taken */
static u32 give_until(struct bw_busy *b, u32 pause_us, struct bw_busy_ack a)
{
	u32 n = 1;

	while (!give(b, pause_us, a) && n < 10000)
		n++;
	return n;
}

static struct bw_busy begun_by(struct bw_busy_ack a)
{
	struct bw_busy b = { 0 };

	hand_us = prng_u32();
	give(&b, 0, a);
	return b;
}

/* As if the stretch went on: the queue is no sign of a late ACK */
static struct bw_busy begun(void)
{
	struct bw_busy b = begun_by(queued);

	b.run.pause_us = 0;
	return b;
}

/* The same, where no stretch counts that is shorter than a round */
static struct bw_busy begun_wary(void)
{
	struct bw_busy b = begun();

	bw_busy_congested(&b);
	return b;
}

static void test_whole_round(void)
{
	struct bw_busy b = begun_wary();

	EXPECT_EQ(bw_busy_get(&b), 0, "the first ACK opens");
	EXPECT_EQ(b.running, true, "running");
	/* 100 ms are over with the hundredth ACK, which the next one ends */
	EXPECT_EQ(give_until(&b, 1000, queued), 101, "ACKs of a sample");
	EXPECT_EQ(bw_busy_get(&b), 10000000, "10000 bytes in 1 ms");
	EXPECT_EQ(b.proven, true, "proven");
	EXPECT_EQ(give_until(&b, 1000, queued), 100, "ACKs of the next");
	/* 1 + 50 * 2 ms */
	EXPECT_EQ(give_until(&b, 2000, queued), 51, "slower");
	EXPECT_EQ(b.run.bytes, 10000, "what ended it is the next one's");
}

/* A train that ends in a gap: exact at both edges of its least length */
static void train(u32 acks, u32 least_us, bool taken)
{
	struct bw_busy b = begun();
	struct bw_busy_ack a = queued;
	u32 i;

	a.train_us = least_us;
	for (i = 0; i < acks; i++)
		give(&b, 500, a);
	/* Sent 1 us after the packet before it had left the queue */
	EXPECT_EQ(give(&b, HAND_RTT_US + 1, a), taken,
		  "%u ACKs in 500 us each, at least %u us", acks, least_us);
	EXPECT_EQ(b.proven, taken, "proven");
	EXPECT_EQ(b.run.bytes, 0, "the gap begins another stretch");
	EXPECT_EQ(b.run.ack_us, hand_us, "here");
	if (taken)
		EXPECT_EQ(bw_busy_get(&b), 20000000, "10000 in 500 us");
}

static void test_train(void)
{
	train(40, 20000, true);
	train(39, 20000, false);
	train(40, 20001, false);
	/* Never less than 5 ms */
	train(10, 0, true);
	train(9, 0, false);
	train(10, 5001, false);
}

/* One ACK later than the queue allows, by a microsecond, and not */
static void test_gap_edge(void)
{
	struct bw_busy b = begun_wary();
	int i;

	for (i = 0; i < 20; i++)
		give(&b, 500, queued);
	EXPECT_EQ(give(&b, HAND_RTT_US, queued), false, "queue just empty");
	EXPECT_EQ(b.run.bytes, 21 * 10000, "it belongs to the stretch");
	give(&b, HAND_RTT_US + 1, queued);
	EXPECT_EQ(b.run.bytes, 0, "the queue had been empty");
}

/* Eight of its longest pauses and no less */
static void test_train_pauses(void)
{
	const struct { u32 acks; bool taken; } rows[] = {
		{ 8, true }, { 7, false },
	};
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bw_busy b = begun();

		for (j = 0; j < rows[i].acks; j++)
			give(&b, 1000, queued);
		EXPECT_EQ(give(&b, HAND_RTT_US + 1, queued), rows[i].taken,
			  "%u pauses of 1 ms", rows[i].acks);
	}
}

/* Return: ACKs until the next stretch began */
static u32 give_stretch(struct bw_busy *b, u32 pause_us, struct bw_busy_ack a)
{
	u32 n = 0, from_us = b->run.from_us;

	while (b->run.from_us == from_us && ++n < 10000)
		give(b, pause_us, a);
	return n;
}

/* Two pauses and a long one next, or four; half of them is known to the next */
static void test_round_pauses(void)
{
	struct bw_busy b = begun();

	EXPECT_EQ(give_stretch(&b, 100000, queued), 3, "two of 100 ms");
	EXPECT_EQ(b.run.pause_us, 100000, "that of the ACK that ended it");
	EXPECT_EQ(give_stretch(&b, 60000, queued), 3, "100 + 2 * 60 ms");
	EXPECT_EQ(give_stretch(&b, 1000, queued), 181, "four of 60 ms");
	EXPECT_EQ(give_stretch(&b, 1000, queued), 214, "of 30 ms, after 14");
	EXPECT_EQ(give_stretch(&b, 1000, queued), 207, "two rounds, after 7");
	give_stretch(&b, 1000, queued);
	EXPECT_EQ(give_stretch(&b, 1000, queued), 201, "3.75 ms are too long");
	EXPECT_EQ(give_stretch(&b, 1000, queued), 100, "1.875 ms are not");
}

/* A packet that found no queue, and its ACK 4 ms late: long against those */
static void test_late_start(void)
{
	const struct { u32 acks; bool taken; } rows[] = {
		{ 33, true }, { 32, false },
	};
	struct bw_busy_ack a = empty;
	unsigned int i, j;

	a.rtt_us += 4000;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bw_busy b = begun_by(a);

		for (j = 0; j < rows[i].acks; j++)
			give(&b, 1000, a);
		EXPECT_EQ(give(&b, 5000, a), rows[i].taken, "%u ms",
			  rows[i].acks);
	}
}

/* Eight ACKs in 0.7 ms, every 20 ms: a run that begins with any of them is exact */
static void test_bunch(void)
{
	u32 first, i;

	for (first = 0; first < 8; first++) {
		struct bw_busy_ack a = empty;
		struct bw_busy b;

		/* It found no queue, and waited for its bunch */
		a.rtt_us += 20000;
		b = begun_by(a);
		for (i = first + 1; !b.proven && i < 1000; i++)
			give(&b, i % 8 ? 100 : 19300, queued);
		EXPECT_TRUE(b.proven, "a sample");
		EXPECT_EQ(bw_busy_get(&b), 4000000, "from ACK %u on", first);
	}
}

static void test_limited(void)
{
	struct bw_busy b = begun_wary();
	struct bw_busy_ack a = queued;

	give(&b, 1000, queued);
	a.limited = true;
	give(&b, 1000, a);
	EXPECT_EQ(b.limited, true, "its stretch is");
	b.avg.scaled = 50000000 * EWMA_ONE;
	EXPECT_EQ(give_until(&b, 1000, queued), 199, "no sample of a round");
	EXPECT_EQ(b.proven, true, "the next stretch is one");
	EXPECT_EQ(bw_busy_get(&b), 10000000, "and proof");
	give(&b, 1000, a);
	give(&b, HAND_RTT_US + 1000, queued);
	EXPECT_EQ(b.limited, false, "a gap begins another stretch");
}

/* The first train does not wait for its end, but for sixteen of its pauses */
static void test_first_train(void)
{
	struct bw_busy_ack a = queued;
	struct bw_busy b = begun();

	EXPECT_EQ(give_until(&b, 500, a), 17, "8 ms");
	EXPECT_EQ(bw_busy_get(&b), 20000000, "10000 in 500 us");
	EXPECT_EQ(give_until(&b, 500, a), 200, "a round: it is proven");
	a.train_us = 20000;
	b = begun();
	EXPECT_EQ(give_until(&b, 500, a), 41, "20 ms");
	b = begun_wary();
	EXPECT_EQ(give_until(&b, 500, a), 201, "wary: a round");
}

/* The first proof replaces a lower bound, later ones are averaged */
static void test_proof(void)
{
	struct bw_busy b = begun();

	b.avg.scaled = 1000000 * EWMA_ONE;
	give_until(&b, 1000, queued);
	EXPECT_EQ(bw_busy_get(&b), 10000000, "replaced");
	give_until(&b, 2000, queued);
	give_until(&b, 2000, queued);
	EXPECT_IN(bw_busy_get(&b), 8000000, 9000000, "averaged");
}

static void test_lower_bound(void)
{
	struct bw_busy b = begun_by(empty);

	give_until(&b, 1000, empty);
	EXPECT_EQ(bw_busy_get(&b), 10000000, "a round of any kind");
	EXPECT_EQ(b.proven, false, "is no proof");
	EXPECT_EQ(give_until(&b, 2000, empty), 10000, "it cannot lower");
	EXPECT_EQ(bw_busy_get(&b), 10000000, "unchanged");
	give_until(&b, 500, empty);
	give_until(&b, 500, empty);
	EXPECT_IN(bw_busy_get(&b), 11900000, 12400000,
		  "it raises: 0.8 * 10 + 0.2 * 20 MB/s");
}

/* ACKs twice as fast as the packets were sent: the longer time counts */
static void test_sent_slower(void)
{
	struct bw_busy_ack a = empty;
	struct bw_busy b;

	a.rtt_us = a.rtt_min_us = 3 * HAND_RTT_US;
	b = begun_by(a);
	while (a.rtt_us > HAND_RTT_US) {
		a.rtt_us -= 1000;
		a.rtt_min_us = a.rtt_us;
		give(&b, 1000, a);
	}
	EXPECT_IN(bw_busy_get(&b), 4900000, 5000000,
		  "10000 bytes sent in 2 ms, acknowledged in 1");
}

/* An eighth of the packets: lost against delivered is one to seven */
static void heavy(u32 lost, u64 want)
{
	struct bw_busy b = begun_by(empty);
	struct bw_busy_ack a = empty;
	u32 i;

	b.avg.scaled = 50000000 * EWMA_ONE;
	b.proven = true;
	a.bytes = 7000;
	for (i = 0; i < 100; i++)
		give(&b, 1000, a);
	a.lost = lost;
	give(&b, 1000, a);
	EXPECT_EQ(bw_busy_get(&b), want, "7000 delivered, %u lost", lost);
}

/* So many ACKs 1 ms apart, the last of them after a round or more */
static void rounds(struct bw_busy *b, u32 n, struct bw_busy_ack a)
{
	u32 i;

	for (i = 0; i < n * HAND_RTT_US / 1000 * 2; i++)
		give(b, 1000, a);
}

static void test_lost_bytes(void)
{
	struct bw_busy b = begun_by(empty);
	struct bw_busy_ack a = empty;

	EXPECT_EQ(bw_busy_lost_bytes(&b), 0, "none");
	a.lost = 1600;
	give(&b, 1000, a);
	give(&b, 1000, a);
	EXPECT_EQ(bw_busy_lost_bytes(&b), 3200, "two in a round");
	a.lost = U32_MAX;
	give(&b, 1000, a);
	EXPECT_EQ(bw_busy_lost_bytes(&b), (u64)BW_BUSY_LOST_MAX << BW_BUSY_LOST_SHIFT,
		  "bounded");
	a.lost = 0;
	rounds(&b, 2, a);
	EXPECT_EQ(bw_busy_lost_bytes(&b), 0, "of the open round alone");
}

static void test_heavy_edge(void)
{
	heavy(0, 50000000);
	heavy(100000, 50000000);
	heavy(100016, 7000000);
	heavy(U32_MAX, 7000000);
}

static void test_standing(void)
{
	struct bw_busy b = begun_by(empty);
	struct bw_busy_ack a = queued;

	EXPECT_EQ(bw_busy_standing_us(&b), 0, "nothing known");
	rounds(&b, 3, queued);
	EXPECT_EQ(bw_busy_standing_us(&b), HAND_RTT_US, "a queue");
	a.rtt_us = a.rtt_min_us + 7;
	give(&b, 1000, a);
	EXPECT_EQ(bw_busy_standing_us(&b), 7, "one packet found less");
	rounds(&b, 3, queued);
	EXPECT_EQ(bw_busy_standing_us(&b), HAND_RTT_US, "forgotten");
}

static void test_no_queue(void)
{
	struct bw_busy b = begun_by(empty);
	struct bw_busy_ack a = empty;

	EXPECT_EQ(bw_busy_no_queue(&b), false, "nothing known");
	a.wait_us = 100;
	a.rtt_us = a.rtt_min_us + a.wait_us;
	rounds(&b, 2, a);
	EXPECT_EQ(bw_busy_no_queue(&b), true, "none waited longer");
	a.rtt_us++;
	give(&b, 1000, a);
	EXPECT_EQ(bw_busy_no_queue(&b), false, "one did");
	a.rtt_us--;
	rounds(&b, 1, a);
	EXPECT_EQ(bw_busy_no_queue(&b), true, "a round without");
}

static void test_wary(void)
{
	struct bw_busy b = begun_by(empty);
	u32 i;

	bw_busy_congested(&b);
	for (i = 0; b.wary && i < 100; i++)
		rounds(&b, 1, empty);
	EXPECT_IN(i, BW_BUSY_WARY / 2, BW_BUSY_WARY, "rounds");
	b = begun();
	b.run.bytes = 1000000;
	b.ack_us += 10000;
	EXPECT_TRUE(bw_busy_is_train(&b, 10000, 5000, false), "a train");
	bw_busy_congested(&b);
	EXPECT_TRUE(!bw_busy_is_train(&b, 10000, 5000, false), "no longer");
}

/* Retransmitted data: counted, the next round trip says if the path was busy */
static void test_no_round_trip(void)
{
	struct bw_busy b = begun();
	struct bw_busy_ack a = queued;
	u32 sent_us = b.sent_us, queue_us = b.queue_us;

	a.rtt_us = 0;
	EXPECT_EQ(give(&b, 1000, a), false, "no sample");
	EXPECT_EQ(b.run.bytes, a.bytes, "counts");
	EXPECT_EQ(b.ack_us, hand_us, "time goes on");
	EXPECT_EQ(b.sent_us, sent_us, "nothing is known of it");
	EXPECT_EQ(b.queue_us, queue_us, "nor of the queue");
	bw_busy_pause(&b);
	give(&b, 1000, a);
	EXPECT_EQ(b.running, false, "such an ACK begins nothing");
}

/* One whose newest packet was sent before that of the ACK before */
static void test_reordered(void)
{
	struct bw_busy b = begun();
	struct bw_busy_ack a = queued;
	u32 sent_us;

	give(&b, 1000, queued);
	sent_us = b.sent_us;
	a.rtt_us += 50000;
	a.bytes = 500;
	give(&b, 10, a);
	EXPECT_EQ(b.sent_us, sent_us, "the newest packet remains");
	EXPECT_EQ(b.queue_us, HAND_RTT_US, "and its queue");
	EXPECT_EQ(b.run.bytes, 10500, "bytes count");
	EXPECT_EQ(b.round.bytes, 10500, "in the round too");
	EXPECT_EQ(b.ack_us, hand_us, "and time");
}

static void test_no_bytes(void)
{
	struct bw_busy b = begun(), before;
	struct bw_busy_ack a = queued;
	int i;

	give(&b, 1000, queued);
	a.bytes = 0;
	before = b;
	for (i = 0; i < 1000; i++)
		EXPECT_EQ(give(&b, 1000, a), false, "no sample");
	EXPECT_EQ(b.ack_us, before.ack_us, "nothing was delivered");
	EXPECT_EQ(b.run.bytes, before.run.bytes, "no bytes");
	a.lost = 10 << BW_BUSY_LOST_SHIFT;
	give(&b, 1, a);
	EXPECT_EQ(b.lost, 10, "its losses count");
}

/* A minimum that the caller has just raised beyond this round trip */
static void test_below_minimum(void)
{
	struct bw_busy b = begun();
	struct bw_busy_ack a = queued;

	a.rtt_us = a.rtt_min_us - 1;
	give(&b, 200000, queued);
	give(&b, 1000, a);
	EXPECT_EQ(b.queue_us, 0, "no queue");
	give(&b, 1000, a);
	EXPECT_EQ(b.run.bytes, 0, "the next found none");
}

static void test_pause(void)
{
	struct bw_busy b = begun();
	u64 before;

	give_until(&b, 1000, queued);
	before = b.avg.scaled;
	bw_busy_pause(&b);
	EXPECT_EQ(give(&b, 3600000000U, queued), false, "the next ACK opens");
	EXPECT_EQ(b.run.bytes, 0, "its bytes are of the time before");
	EXPECT_EQ(b.lost, 0, "no losses");
	give_until(&b, 1000, queued);
	EXPECT_NEAR((double)b.avg.scaled, (double)before,
		    (double)before * 1e-6, "idle time does not count");
}

static struct bw_busy_ack random_ack(void)
{
	struct bw_busy_ack a = {
		.bytes = prng_range(0, 9) ? prng_log32(1, U32_MAX) : 0,
		.lost = prng_range(0, 3) ? 0 : prng_log32(1, U32_MAX),
		.rtt_us = prng_range(0, 4) ? prng_log32(1, U32_MAX) : 0,
		.rtt_min_us = prng_range(0, 9) ? prng_log32(1, U32_MAX) :
			      U32_MAX,
		.train_us = prng_range(0, 4) ? prng_log32(1, U32_MAX) : 0,
		.alpha_permille = prng_range(0, 999),
		.limited = !prng_range(0, 9),
	};

	return a;
}

/* Nothing is promised of the value but that it stays in range; UBSan looks */
static void test_any_input(void)
{
	struct bw_busy b = { 0 };
	u32 now_us = prng_u32(), i, taken = 0;

	for (i = 0; i < 1000000; i++) {
		struct bw_busy_ack a = random_ack();

		now_us += prng_range(0, 3) ? prng_range(0, 10) :
					     prng_log32(1, U32_MAX);
		a.now_us = now_us;
		taken += bw_busy_add(&b, &a);
		if (!prng_range(0, 999))
			bw_busy_pause(&b);
		EXPECT_TRUE(bw_busy_get(&b) <= EWMA_MAX + 1,
			    "ACK %u: in range", i);
	}
	EXPECT_TRUE(taken > 1000, "samples were taken");
}

/* The same stream from a clock that wraps within it */
static void test_clock_wrap(void)
{
	u32 offsets[] = { 0, 0x7fff0000U, 0xffff0000U, prng_u32() };
	u64 want = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(offsets); i++) {
		prng_state = 1;
		start(&(struct stream){ ACK_MERGED, 0, 0, 0, 0 }, 10 * MBIT, 10e3);
		net.clock_us = offsets[i];
		net_run(3e6);
		want = i ? want : net.busy.avg.scaled;
		EXPECT_TRUE(want, "estimate");
		EXPECT_EQ(net.busy.avg.scaled, want, "clock from %u",
			  offsets[i]);
	}
}

static void test_saturation(void)
{
	struct bw_busy b = begun();
	struct bw_busy_ack a = queued;

	a.bytes = U32_MAX;
	a.lost = U32_MAX;
	give(&b, 1000, a);
	EXPECT_EQ(b.run.bytes, U32_MAX, "saturated");
	EXPECT_EQ(b.lost, BW_BUSY_LOST_MAX, "saturated");
	EXPECT_EQ(b.running, true, "losses do not reach the flags");
	EXPECT_EQ(give(&b, 1000, a), true, "closed early");
	EXPECT_EQ(bw_busy_get(&b), 4294967295000ULL > EWMA_MAX ?
		  EWMA_MAX : 4294967295000ULL, "2^32 in 1 ms, clamped");
	/* 2^31 bytes are still added to, one more is closed */
	b = begun();
	a.bytes = U32_MAX / 2;
	give(&b, 1000, a);
	a.bytes = 1;
	EXPECT_EQ(give(&b, 1000, a), false, "2^31 - 1");
	EXPECT_EQ(give(&b, 1000, a), true, "2^31");
}

/* ACKs of one microsecond share a time; none of them divides by it */
static void test_one_microsecond(void)
{
	struct bw_busy b = begun();
	struct bw_busy_ack a = queued;
	int i;

	a.rtt_min_us = 0;
	a.train_us = 0;
	for (i = 0; i < 1000; i++)
		EXPECT_EQ(give(&b, 0, a), false, "no time has passed");
	EXPECT_EQ(give(&b, 1, a), false, "the stretch has no length yet");
	EXPECT_EQ(give(&b, 1, a), false, "one of two pauses");
	EXPECT_EQ(give(&b, 1, a), true, "two of them");
}

/* The longest of all averages over at least @least_us */
static double fastest(const u32 *at_us, const u32 *bytes, int n, u32 least_us)
{
	double best = 0;
	int i, j;

	for (i = 0; i < n; i++) {
		double sum = 0;

		for (j = i + 1; j < n; j++) {
			sum += bytes[j];
			if (at_us[j] - at_us[i] >= least_us)
				best = fmax(best, sum / (at_us[j] - at_us[i]));
		}
	}
	return best * 1e6;
}

/*
 * A receiver sends its ACKs when it likes. It cannot make the estimate exceed
 * what it acknowledged in the least length of a sample.
 */
#define HOSTILE_ACKS	150

static double hostile_receiver(u32 train_us)
{
	u32 at_us[HOSTILE_ACKS], bytes[HOSTILE_ACKS], now_us = 0;
	struct bw_busy_ack a = queued;
	struct bw_busy b = { 0 };
	double highest = 0;
	int i;

	a.train_us = train_us;
	for (i = 0; i < HOSTILE_ACKS; i++) {
		now_us += prng_range(0, 1) ? prng_range(0, 100) :
					     prng_log32(1, 4 * HAND_RTT_US);
		at_us[i] = a.now_us = now_us;
		bytes[i] = a.bytes = prng_log32(1, 100000);
		a.rtt_us = HAND_RTT_US + prng_log32(1, 4 * HAND_RTT_US);
		a.alpha_permille = prng_range(0, 999);
		bw_busy_add(&b, &a);
		highest = fmax(highest, (double)bw_busy_get(&b));
	}
	EXPECT_IN(highest, 0, 1 + fastest(at_us, bytes, HOSTILE_ACKS,
					  max(train_us, BW_BUSY_LEAST_US)),
		  "trains of %u us", train_us);
	return highest;
}

static void test_hostile_receiver(void)
{
	double sum = 0;
	int i;

	for (i = 0; i < 3000; i++)
		sum += hostile_receiver(prng_range(0, HAND_RTT_US));
	EXPECT_TRUE(sum > 0, "some estimate was made");
}

/*
 * The worst of it: the window is held back, then acknowledged within the
 * shortest train, whose end a packet marks that was sent after a gap.
 */
static void test_hostile_burst(void)
{
	const u32 window = 100, train_us = HAND_RTT_US / 16;
	struct bw_busy_ack a = queued;
	struct bw_busy b = begun();
	double truth = (double)window * a.bytes / HAND_RTT_US * 1e6;
	u32 i;

	for (i = 0; i < window; i++)
		give(&b, train_us / window + 1, a);
	give(&b, 2 * HAND_RTT_US, a);
	EXPECT_IN((double)bw_busy_get(&b) / truth, 15, 16,
		  "windows per round trip, 1 / train");
}

static const struct tap_case cases[] = {
	{ "full pipe, ACK for each packet: within 0.1 %", test_settles_each },
	{ "full pipe, delayed ACKs: within 0.2 %", test_settles_delayed },
	{ "full pipe, ACKs held for 1 to 100 ms: within 4 %, 7 % at 1 ms",
	  test_settles_held },
	{ "full pipe, half of the ACKs lost: within 2 %",
	  test_settles_thinned },
	{ "full pipe, merged ACKs: within 2 %, 9 % at 1 ms",
	  test_settles_merged },
	{ "full pipe, ACKs behind other traffic: within 20 %",
	  test_settles_reverse },
	{ "small window, paced: no sample at all", test_small_paced },
	{ "small window in bursts: trains say the bottleneck's rate",
	  test_small_burst },
	{ "small window, no proof: at least what is sent, at most the rate",
	  test_small_unproven },
	{ "application-limited phases do not change a proven estimate",
	  test_application_limited },
	{ "idle times do not change a proven estimate", test_idle },
	{ "the rate halves or doubles: within 5 % in 16 and 13 samples",
	  test_rate_changes },
	{ "the rate halves or doubles: within 5 % in 17 and 12 rounds",
	  test_rate_changes_rounds },
	{ "bytes lost in the open round", test_lost_bytes },
	{ "heavy loss lowers to what went through, other loss does not",
	  test_heavy_loss },
	{ "slow start: the first proof is within 5 %", test_slow_start },
	{ "slow start: proven before a third of the pipe is used",
	  test_proven_early },
	{ "in-tree westwood's filter stays below, this one does not",
	  test_floored_filter },
	{ "a round is a sample, ended by the next ACK", test_whole_round },
	{ "the shortest train", test_train },
	{ "the longest gap within a stretch", test_gap_edge },
	{ "a train is eight of its pauses long", test_train_pauses },
	{ "a sample is two of its pauses long", test_round_pauses },
	{ "a train is long against a late start", test_late_start },
	{ "what an application limited is no sample", test_limited },
	{ "the first proof replaces, later ones are averaged", test_proof },
	{ "rounds of any kind raise and do not lower", test_lower_bound },
	{ "a round that was sent slower than acknowledged", test_sent_slower },
	{ "heavy loss is more than an eighth", test_heavy_edge },
	{ "a queue that stands", test_standing },
	{ "a path on which no packet waits", test_no_queue },
	{ "no trains for fifteen rounds after congestion", test_wary },
	{ "ACKs without a round trip", test_no_round_trip },
	{ "ACKs that were overtaken", test_reordered },
	{ "ACKs that deliver nothing", test_no_bytes },
	{ "a round trip below the minimum", test_below_minimum },
	{ "a pause ends both stretches", test_pause },
	{ "any input: no overflow, an estimate in range", test_any_input },
	{ "the clock may wrap", test_clock_wrap },
	{ "bytes and losses saturate", test_saturation },
	{ "ACKs of one microsecond", test_one_microsecond },
	{ "a hostile receiver cannot exceed what it acknowledged in a train",
	  test_hostile_receiver },
	{ "a hostile receiver can claim its window for each train",
	  test_hostile_burst },
	{ "a run that begins in a bunch is exact", test_bunch },
	{ "the first train counts while it goes on", test_first_train },
};

TAP_MAIN(cases)
