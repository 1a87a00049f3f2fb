// SPDX-License-Identifier: GPL-2.0
/*
 * santacruz_law.h: every step of the window within its bounds, products at
 * their edges, and longer paths told from queues of our own.
 */
#include "hetcc/santacruz_law.h"
#include "tap.h"

#define ROUNDS		200000
#define ONE		QUEUE_PKTS_ONE
#define N_OP		(3 * ONE)

static const u32 windows[] = {
	0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 127, 128, 129, 143, 144, 145,
	65535, 65536, (1 << 23) - 1, 1 << 23, (1 << 23) + 1, 1 << 24, S32_MAX,
	1U << 31, U32_MAX,
};

static const s32 queues[] = {
	-S32_MAX, -ONE, -1, 0, 1, ONE / 2 - 1, ONE / 2, ONE - 1, ONE, ONE + 1,
	N_OP / 2 - 1, N_OP / 2, N_OP, 100 * ONE, S32_MAX - 1, S32_MAX,
};

static u32 random_window(void)
{
	return prng_log32(1, 1 << 24);
}

static s32 random_queue(void)
{
	return (s32)prng_log32(1, S32_MAX);
}

/* The root is rounded down to a sixteenth of a packet, before it is divided by 4 */
static void expect_op(u32 window, s32 n_op)
{
	double want = sqrt(fmin(window, 1 << 23)) / 4 * ONE;
	s32 op = santacruz_law_op(window, n_op);

	if (want <= n_op)
		EXPECT_EQ_S(op, n_op, "window %u, n_op %d", window, n_op);
	else
		EXPECT_IN(op, fmax(n_op, want - ONE / 16 / 4), want + 1e-6,
			  "window %u, n_op %d", window, n_op);
}

static void test_op(void)
{
	unsigned int i, k;
	u32 w;

	for (w = 0; w < 70000; w++)
		expect_op(w, ONE / 2);
	for (i = 0; i < ARRAY_SIZE(windows); i++)
		for (k = 0; k < ARRAY_SIZE(queues); k++)
			expect_op(windows[i], queues[k]);
	for (i = 0; i < ROUNDS; i++)
		expect_op(prng_log32(1, U32_MAX), random_queue());
}

static void test_op_edges(void)
{
	EXPECT_EQ_S(santacruz_law_op(144, N_OP), N_OP, "144 packets");
	EXPECT_EQ_S(santacruz_law_op(146, N_OP), 193 * 4, "above");
	EXPECT_EQ_S(santacruz_law_op(10000, N_OP), 25 * ONE, "10000 packets");
	/* sqrt(2^23 * 2^8) */
	EXPECT_EQ_S(santacruz_law_op(1 << 23, N_OP), 46340 * 4, "2^23 packets");
	EXPECT_EQ_S(santacruz_law_op(U32_MAX, N_OP), 46340 * 4, "2^32 - 1");
	EXPECT_EQ_S(santacruz_law_op(U32_MAX, S32_MAX), S32_MAX, "n_op is more");
	EXPECT_EQ_S(santacruz_law_op(0, 0), 0, "nothing");
}

static void test_op_monotone(void)
{
	s32 before = 0;
	u64 w;

	for (w = 1; w <= U32_MAX; w += 1 + w / 5000) {
		s32 op = santacruz_law_op((u32)w, ONE / 2);

		EXPECT_IN(op, before, S32_MAX, "window %llu", w);
		before = op;
	}
}

static void test_shows(void)
{
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(queues); i++)
		for (k = 0; k < ARRAY_SIZE(queues); k++) {
			s32 n = queues[i], op = queues[k];
			bool want = n >= ONE / 2 && n >= op / 2;

			EXPECT_EQ(santacruz_law_shows(n, op), want, "%d of %d", n,
				  op);
		}
}

static void expect_raise(u32 window, s32 n, u32 run)
{
	u32 pkts = santacruz_law_raise(window, n, N_OP, run);
	u32 part = n >= N_OP / 2 ? 128 : 16;
	double doubled = exp2(fmin(run, 24));

	EXPECT_EQ(pkts, (u32)fmin(doubled, fmax(window / part, 1)),
		  "window %u, n %d, run %u", window, n, run);
	EXPECT_IN(pkts, 1, fmax(window / 16, 1), "window %u, n %d, run %u",
		  window, n, run);
}

static void test_raise(void)
{
	unsigned int i, k;
	u32 run;

	for (i = 0; i < ARRAY_SIZE(windows); i++)
		for (k = 0; k < ARRAY_SIZE(queues); k++)
			for (run = 0; run < 40; run++)
				expect_raise(windows[i], queues[k], run);
	expect_raise(U32_MAX, 0, U32_MAX);
	for (i = 0; i < ROUNDS / 4; i++)
		expect_raise(random_window(), random_queue(),
			     prng_range(0, 31));
}

/* From any window to ten thousand times that, in O(log) rounds */
static void test_raise_rounds(void)
{
	u32 from, to, window, run;

	for (from = 2; from < 1000; from++) {
		to = min(from * 10000, 500000U);
		window = from;
		for (run = 0; window < to && run < 1000; run++)
			window += santacruz_law_raise(window, 0, N_OP,
						      min(run, 15U));
		/* Singly up to 32, then by at least a 24th */
		EXPECT_IN(run, 1, 32 + log(10000.0) / log(1 + 1.0 / 24) + 8,
			  "from %u", from);
	}
}

static void expect_lower(u32 window, s32 excess)
{
	u32 pkts = santacruz_law_lower(window, excess);
	u32 part = (u32)excess / ONE;

	EXPECT_EQ(pkts, min(max(part, 1U), window / 2),
		  "window %u, excess %d", window, excess);
	if (window >= 2)
		EXPECT_IN(pkts, 1, window / 2, "window %u, excess %d", window,
			  excess);
}

static void test_lower(void)
{
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(windows); i++)
		for (k = 0; k < ARRAY_SIZE(queues); k++)
			if (queues[k] > 0)
				expect_lower(windows[i], queues[k]);
	for (i = 0; i < ROUNDS; i++)
		expect_lower(random_window(), random_queue());
}

/* A queue that nobody else adds to is never lowered below the point */
static void test_lower_stops(void)
{
	u32 window;
	int i;

	for (i = 0; i < ROUNDS / 10; i++) {
		u32 bdp = prng_log32(2, 100000), run = 0;
		s32 op = santacruz_law_op(bdp, N_OP), excess;

		window = bdp + (u32)(op / ONE) + prng_log32(1, 2 * bdp + 20);
		while ((excess = (s32)(window - bdp) * ONE - op) > 0 &&
		       run++ < 100)
			window -= santacruz_law_lower(window, excess);
		EXPECT_IN(run, 0, 4, "BDP %u", bdp);
		EXPECT_NEAR((window - bdp) * (double)ONE, op, 1.0 * ONE,
			    "BDP %u", bdp);
	}
}

static void expect_drain(u32 window, s32 n)
{
	u32 pkts = santacruz_law_drain(window, n);
	double all = floor(fmax(n, 0) / ONE) + 1 + fmax(window / 8, 1);

	EXPECT_EQ(pkts, (u32)fmin(all, (window - 1) / 2), "window %u, n %d",
		  window, n);
	EXPECT_IN(pkts, 0, (window - 1) / 2.0, "window %u, n %d", window, n);
}

static void test_drain(void)
{
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(windows); i++)
		for (k = 0; k < ARRAY_SIZE(queues) && windows[i]; k++)
			expect_drain(windows[i], queues[k]);
	for (i = 0; i < ROUNDS; i++)
		expect_drain(random_window(), random_queue());
}

/* The queue and more, where the window is large enough */
static void test_drain_empties(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		u32 bdp = prng_log32(20, 1000000);
		u32 queue = prng_range(0, bdp / 4), window = bdp + queue;
		u32 left = window - santacruz_law_drain(window, (s32)queue * ONE);

		EXPECT_IN(left, bdp / 2.0, bdp - bdp / 8.0, "BDP %u, queue %u",
			  bdp, queue);
	}
}

static void expect_lift(u32 left_us, s32 op, u32 pkts_ns, u32 lifted)
{
	u32 lift = santacruz_law_lift(left_us, op, pkts_ns, lifted);
	double kept_us = floor((double)op * pkts_ns / (1000.0 * ONE));

	if (!pkts_ns || left_us <= floor(kept_us / 2))
		EXPECT_EQ(lift, 0, "%u us left of %g us", left_us, kept_us);
	EXPECT_IN(lift, 0, SANTACRUZ_LAW_LIFT_MAX - fmin(lifted,
							 SANTACRUZ_LAW_LIFT_MAX),
		  "%u us left, %u lifted", left_us, lifted);
	EXPECT_IN(lift * 64.0, 0, left_us, "%u us left of %g us", left_us,
		  kept_us);
	if (pkts_ns && lifted < SANTACRUZ_LAW_LIFT_MAX && left_us > kept_us / 2) {
		double part = fmin(left_us / fmax(kept_us, 1), 1) * left_us;

		EXPECT_NEAR(lift, fmin(floor(part / 64),
				       SANTACRUZ_LAW_LIFT_MAX - lifted), 1,
			    "%u us left of %g us, %u lifted", left_us, kept_us,
			    lifted);
	}
}

/* 2^31 * 2^32 / 2^18 < 2^45; left_us^2 < 2^64 */
static void test_lift(void)
{
	static const u32 edges[] = {
		0, 1, 63, 64, 65, 127, 128, 9983, 9984, 9985, 1000000,
		S32_MAX, 1U << 31, U32_MAX,
	};
	static const u32 lifts[] = { 0, 1, 155, 156, 157, 16383, U32_MAX };
	unsigned int i, k, l, m;

	for (i = 0; i < ARRAY_SIZE(edges); i++)
		for (k = 0; k < ARRAY_SIZE(edges); k++)
			for (l = 0; l < ARRAY_SIZE(queues); l++)
				for (m = 0; m < ARRAY_SIZE(lifts); m++)
					if (queues[l] > 0)
						expect_lift(edges[i], queues[l],
							    edges[k], lifts[m]);
	for (i = 0; i < ROUNDS; i++)
		expect_lift(prng_log32(1, U32_MAX), random_queue(),
			    prng_log32(1, U32_MAX), prng_range(0, 160));
}

static void test_lift_edges(void)
{
	/* 3 packets of 1 ms */
	EXPECT_EQ(santacruz_law_lift(1500, N_OP, 1000000, 0), 0, "half");
	EXPECT_EQ(santacruz_law_lift(1501, N_OP, 1000000, 0), 751 / 64, "above");
	EXPECT_EQ(santacruz_law_lift(3000, N_OP, 1000000, 0), 3000 / 64, "all");
	EXPECT_EQ(santacruz_law_lift(9000, N_OP, 1000000, 0), 9000 / 64, "more");
	EXPECT_EQ(santacruz_law_lift(20000, N_OP, 1000000, 0), 156, "at most");
	EXPECT_EQ(santacruz_law_lift(20000, N_OP, 1000000, 100), 56, "the rest");
	EXPECT_EQ(santacruz_law_lift(20000, N_OP, 1000000, 156), 0, "no more");
	EXPECT_EQ(santacruz_law_lift(20000, N_OP, 0, 0), 0, "pktS unknown");
}

/* Drain by drain, all lifts together are 10 ms */
static void test_lift_budget(void)
{
	int i, k;

	for (i = 0; i < 1000; i++) {
		u32 lifted = 0;

		for (k = 0; k < 200; k++)
			lifted += santacruz_law_lift(prng_log32(1, 100000), N_OP,
						     prng_log32(1000, 1000000),
						     lifted);
		EXPECT_IN(lifted * 64, 0, 10000, "in all");
	}
}

/**
 * struct run - a run of lowering on a model of one bottleneck, as the module does it
 * @d: what it shows
 * @pkts_us: service time
 * @rtt_us: of the empty path
 * @longer_us: what it is longer by than the base has it
 * @low_us: what ticks have the base too low by
 * @run: rounds in a row that have lowered the window
 * @window: now
 * @late: at the end of the last round: what the packets now measured were sent under
 */
struct run {
	struct santacruz_law_lowering d;
	double pkts_us;
	double rtt_us;
	double longer_us;
	double low_us;
	u32 run;
	u32 window;
	u32 late;
};

static struct run start_run(u32 bdp, double pkts_us, u32 tick_us)
{
	return (struct run){
		.d = { .tick_us = tick_us, .jump_us = 1 },
		.pkts_us = pkts_us,
		.rtt_us = bdp * pkts_us,
		.low_us = tick_us > 1 ? prng_unit() * tick_us : 0,
	};
}

static double queue_us(const struct run *r)
{
	return fmax(r->late * r->pkts_us - r->rtt_us - r->longer_us, 0);
}

/* A window that does not fill the path is received once per round trip */
static void measure(struct run *r)
{
	double read_us = r->longer_us + queue_us(r) + r->low_us, pkts_us;

	if (r->d.tick_us > 1)
		read_us -= prng_unit() * r->d.tick_us;
	pkts_us = fmax(r->pkts_us, (r->rtt_us + r->longer_us) / r->late);
	r->d.now_us = (u32)fmax(read_us, 0);
	r->d.pkts_ns = (u32)(pkts_us * 1000);
	r->d.sent = r->late;
}

static bool path_changed(struct run *r)
{
	if (!r->run || santacruz_law_delay_grows(&r->d)) {
		r->d.before = r->window;
		r->d.first_us = r->d.now_us;
		return false;
	}
	return santacruz_law_path_changed(&r->d);
}

/* Return: true once the law takes the delay for the path's */
static bool lower_round(struct run *r)
{
	s32 n, predicted, op = santacruz_law_op(r->window, N_OP);

	measure(r);
	n = queue_pkts_from_us((s32)r->d.now_us, r->d.pkts_ns);
	predicted = n - (s32)(r->late - r->window) * ONE;
	if (n <= op + ONE / 2 && predicted <= op + ONE) {
		r->late = r->window;
		r->run = 0;
		return false;
	}
	if (path_changed(r))
		return true;
	r->late = r->window;
	if (predicted - op > ONE / 2)
		r->window -= santacruz_law_lower(r->window, predicted - op);
	r->window = max(r->window, 2U);
	r->run++;
	return false;
}

/* Our own queue, worked off: never a path, at whatever tick */
static void own_queue_run(u32 tick_us, double jump)
{
	u32 bdp = prng_log32(5, 5000), i;
	struct run r = start_run(bdp, prng_log32(20, 10000), tick_us);

	r.window = bdp + prng_log32(4, bdp + 10);
	r.late = r.window;
	r.d.jump_us = (u32)(queue_us(&r) * jump);
	for (i = 0; i < 31; i++)
		EXPECT_TRUE(!lower_round(&r),
			    "round %u: BDP %u, %g us a packet, tick %u us: queue",
			    i, bdp, r.pkts_us, tick_us);
}

static void test_own_queue(void)
{
	static const u32 ticks[] = { 1, 1000, 4000, 10000 };
	int i;

	for (i = 0; i < ROUNDS / 20; i++) {
		own_queue_run(ticks[i % 4], 0);
		own_queue_run(ticks[i % 4], prng_unit() * 2);
	}
}

/*
 * A path longer by @longer_us than the base. The operating point's queue is gone
 * at once: the path holds it.
 *
 * Return: rounds until the law takes it for what it is; 99: never.
 */
static u32 longer_path(u32 bdp, u32 longer_us, u32 tick_us, bool jump)
{
	struct run r = start_run(bdp, prng_log32(20, 1000), tick_us);
	u32 i, op = (u32)santacruz_law_op(bdp, N_OP) / ONE;

	/* Else it is a queue of the size that is wanted */
	r.longer_us = fmax(longer_us, 4 * op * r.pkts_us);
	r.d.jump_us = jump ? (u32)r.longer_us : 1;
	r.window = bdp + op;
	r.late = r.window;
	for (i = 1; i < 32; i++)
		if (lower_round(&r))
			return i;
	return 99;
}

static void longer_paths(const u32 bdp[2], bool jump, u32 most)
{
	static const u32 ticks[] = { 1, 1000, 4000, 10000 };
	int i;

	for (i = 0; i < ROUNDS / 100; i++) {
		u32 tick_us = ticks[i % 4];
		u32 longer_us = prng_range(max(5000U, 6 * tick_us), 100000);
		u32 size = prng_log32(bdp[0], bdp[1]);

		EXPECT_IN(longer_path(size, longer_us, tick_us, jump), 1, most,
			  "BDP %u, longer by %u us, tick %u us", size,
			  longer_us, tick_us);
	}
}

/*
 * From one packet to the next: told as soon as lowering shows no effect. Of
 * some 20 packets, lowering leaves none that could show it.
 */
static void test_longer_path(void)
{
	static const u32 small[] = { 30, 50 }, large[] = { 50, 5000 };

	/* Four packets of a small window may take as long as the jump */
	longer_paths(small, true, 9);
	longer_paths(large, true, 6);
}

/* Longer little by little: as others' queue would be, and so it is taken for one */
static void test_longer_path_slowly(void)
{
	int i;

	for (i = 0; i < ROUNDS / 100; i++)
		EXPECT_EQ(longer_path(prng_log32(5, 5000),
				      prng_range(6000, 100000), 1000, false),
			  99, "path %d", i);
}

static void test_path_edges(void)
{
	static const struct {
		struct santacruz_law_lowering d;
		bool want;
	} rows[] = {
		/* before, sent, first, now, jump, pktS, tick */
		{ { 100, 90, 10000, 10000, 4096, 1000000, 1 }, true },
		{ { 100, 90, 10000, 7501, 4096, 1000000, 1 }, true },
		{ { 100, 90, 10000, 7500, 4096, 1000000, 1 }, false },
		/* It stands, or it grows */
		{ { 100, 90, 10000, 11251, 4096, 1000000, 1 }, true },
		{ { 100, 90, 10000, 11252, 4096, 1000000, 1 }, false },
		/* Nothing taken out, or too little of it */
		{ { 100, 100, 10000, 10000, 4096, 1000000, 1 }, false },
		{ { 100, 110, 10000, 10000, 4096, 1000000, 1 }, false },
		{ { 100, 95, 10000, 10000, 4096, 1000000, 1 }, true },
		{ { 100, 96, 10000, 10000, 4096, 1000000, 1 }, false },
		/* No jump: less than 3/8 of it */
		{ { 100, 90, 10000, 10000, 3750, 900000, 1 }, true },
		{ { 100, 90, 10000, 10000, 3749, 900000, 1 }, false },
		/* A burst of less than four packets */
		{ { 100, 90, 10000, 10000, 4096, 1024000, 1 }, true },
		{ { 100, 90, 10000, 10000, 4096, 1025000, 1 }, false },
		/* Below four ticks */
		{ { 100, 90, 10000, 10000, 4096, 1000000, 2500 }, true },
		{ { 100, 90, 10000, 10000, 4096, 1000000, 2501 }, false },
		/* No queue gives back more than there was */
		{ { 600, 100, 40000, 10000, 32768, 300000, 10000 }, false },
		{ { 600, 100, 40000, 30000, 32768, 300000, 10000 }, false },
		{ { 600, 100, 40000, 30001, 32768, 300000, 10000 }, true },
		/* 2^32 * 2^32 / 1000 < 2^55 */
		{ { U32_MAX, 0, S32_MAX, S32_MAX, U32_MAX, U32_MAX, 100000 },
		  true },
		{ { U32_MAX, 0, S32_MAX, S32_MAX, 0, U32_MAX, 1 }, false },
		{ { U32_MAX, 0, 4, 0, U32_MAX, 0, 1 }, false },
		{ { 0 }, false },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		EXPECT_EQ(santacruz_law_path_changed(&rows[i].d), rows[i].want,
			  "row %u", i);
}

static const struct tap_case cases[] = {
	{ "operating point: the root against floating point", test_op },
	{ "operating point: edges, saturation at 2^23 packets",
	  test_op_edges },
	{ "operating point: monotonic", test_op_monotone },
	{ "a queue shows from half the point and half a packet on",
	  test_shows },
	{ "raise: 1, 2, 4..., at least 1, at most a 16th, a 128th",
	  test_raise },
	{ "raise: O(log) rounds to any window", test_raise_rounds },
	{ "lower: at least 1 of 2, at most half", test_lower },
	{ "lower: comes to the point and stays", test_lower_stops },
	{ "drain: less than half", test_drain },
	{ "drain: the queue and an eighth", test_drain_empties },
	{ "lift: range, overflow, budget", test_lift },
	{ "lift: nothing below half of the point", test_lift_edges },
	{ "lift: 10 ms in all", test_lift_budget },
	{ "path: a queue of our own is none, ticks 1 us to 10 ms",
	  test_own_queue },
	{ "path: 5 to 100 ms longer at once", test_longer_path },
	{ "path: 5 to 100 ms longer by and by", test_longer_path_slowly },
	{ "path: edges, overflow", test_path_edges },
};

TAP_MAIN(cases)
