// SPDX-License-Identifier: GPL-2.0
/*
 * clock_skew.h: the prediction against exact arithmetic, and the skew that is
 * learnt from two ways between clocks of known rates.
 */
#include <string.h>

#include "hetcc/clock_skew.h"
#include "tap.h"

#define HOUR_US		3600000000.0L
#define PPM_MAX		500
#define CONNECTIONS	200

static struct clock_skew begun(s32 ppb, u32 now_us)
{
	struct clock_skew k;

	clock_skew_begin(&k, now_us, prng_u32(), prng_u32());
	k.ppb = ppb;
	return k;
}

/* What @ppb makes of @us; exact but for 2^-64 */
static long double drift_us(s32 ppb, long double us)
{
	return ppb * us / 1000000000.0L;
}

/*
 * The sum of all predictions over an hour of steps up to @step_us: each call
 * may lose 2^-15 us, the last remainder is below 1 us.
 */
static void hour_run(s32 ppb, u32 step_us)
{
	struct clock_skew k = begun(ppb, prng_u32());
	u32 fwd_us = k.fwd_us, rev_us = k.rev_us, now_us = k.now_us;
	long double passed_us = 0;
	u32 i, calls = 0;
	s64 sum_us = 0;

	for (i = 0; passed_us < HOUR_US && i < 20000; i++) {
		u32 us = prng_range(0, step_us);

		now_us += us;
		passed_us += us;
		calls++;
		sum_us += clock_skew_advance(&k, now_us);
		EXPECT_NEAR(sum_us, drift_us(ppb, passed_us),
			    1 + calls / 32768.0, "%d ppb, call %u", ppb, i);
	}
	EXPECT_EQ(k.fwd_us - fwd_us, (u32)sum_us, "forward");
	EXPECT_EQ(rev_us - k.rev_us, (u32)sum_us, "reverse");
	EXPECT_EQ(k.now_us, now_us, "now");
}

static s32 random_ppb(void)
{
	s32 ppb = (s32)prng_log32(1, CLOCK_SKEW_MAX);

	return prng_u32() & 1 ? ppb : -ppb;
}

static void test_advance_hour(void)
{
	int i;

	for (i = 0; i < 40; i++)
		hour_run(random_ppb(), prng_log32(360000, 100000000));
	hour_run(0, 1000000);
	hour_run(CLOCK_SKEW_MAX, 360000);
	hour_run(-CLOCK_SKEW_MAX, 360000);
}

/* Steps of microseconds: nothing but remainders */
static void test_advance_short(void)
{
	int i;

	for (i = 0; i < 20; i++)
		hour_run(random_ppb(), prng_log32(1, 1000));
}

/* 10^6 * 2^31 us * 2^6 < 2^57 */
static void test_advance_edges(void)
{
	static const s32 rows[][3] = {
		/* ppb, step, prediction */
		{ CLOCK_SKEW_MAX, S32_MAX, 2147483 },
		{ -CLOCK_SKEW_MAX, S32_MAX, -2147483 },
		{ CLOCK_SKEW_MAX, 1000, 1 },
		{ CLOCK_SKEW_MAX, 999, 0 },
		{ -CLOCK_SKEW_MAX, 1000, -1 },
		{ -CLOCK_SKEW_MAX, 999, 0 },
		{ 1, S32_MAX, 2 },
		{ -1, S32_MAX, -2 },
		{ CLOCK_SKEW_MAX, 0, 0 },
		/* Time that goes back predicts nothing */
		{ CLOCK_SKEW_MAX, -1000000, 0 },
		{ CLOCK_SKEW_MAX, -S32_MAX - 1, 0 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct clock_skew k = begun(rows[i][0], prng_u32());

		EXPECT_EQ_S(clock_skew_advance(&k, k.now_us + (u32)rows[i][1]),
			    rows[i][2], "%d ppb, %d us", rows[i][0],
			    rows[i][1]);
	}
}

/* The remainder of one call counts in the next, whatever it is */
static void test_advance_remainder(void)
{
	struct clock_skew k = begun(CLOCK_SKEW_MAX, 0);
	s32 rem;

	for (rem = -CLOCK_SKEW_REM_ONE + 1; rem < CLOCK_SKEW_REM_ONE; rem++) {
		long double want = rem / 32768.0L + 2147483.647L;

		k.rem = (s16)rem;
		EXPECT_NEAR(clock_skew_advance(&k, k.now_us + S32_MAX) +
			    k.rem / 32768.0L, want, 1 / 32768.0, "rem %d", rem);
	}
}

/**
 * struct pair - two hosts
 * @k: skew under test
 * @ppm: receiver's clock against the sender's
 * @epoch_us: length of an epoch
 * @tick_us: of the receiver's clock
 * @fwd_us: forward path
 * @rev_us: reverse path
 * @s_us: sender's clock at the start
 * @r_us: receiver's clock at the start
 * @now_us: true time, by the sender's clock
 */
struct pair {
	struct clock_skew k;
	double ppm;
	u32 epoch_us;
	u32 tick_us;
	double fwd_us;
	double rev_us;
	u32 s_us;
	u32 r_us;
	double now_us;
};

/* Receiver's clock @after_us later than now, up to a tick low */
static u32 receiver_us(const struct pair *p, double after_us)
{
	double us = (p->now_us + after_us) * (1 + p->ppm * 1e-6);

	if (p->tick_us > 1)
		us -= prng_unit() * p->tick_us;
	return p->r_us + (u32)(s64)floor(us);
}

static u32 forward_us(const struct pair *p)
{
	return receiver_us(p, 0) - (p->s_us + (u32)(s64)(p->now_us - p->fwd_us));
}

static u32 reverse_us(const struct pair *p)
{
	return p->s_us + (u32)(s64)(p->now_us + p->rev_us) - receiver_us(p, 0);
}

static struct pair start_pair(double ppm, u32 tick_us)
{
	struct pair p = {
		.ppm = ppm,
		.epoch_us = prng_log32(5000000, 60000000),
		.tick_us = tick_us,
		.fwd_us = prng_range(1000, 300000),
		.rev_us = prng_range(1000, 300000),
		.s_us = prng_u32(),
		.r_us = prng_u32(),
	};

	clock_skew_begin(&p.k, p.s_us, forward_us(&p), reverse_us(&p));
	return p;
}

#define STEPS	50

/* An epoch; its last step is the drain. Return: what the base is moved by. */
static s32 run_epoch(struct pair *p)
{
	u32 i;

	for (i = 0; i < STEPS; i++) {
		p->now_us += p->epoch_us / STEPS;
		clock_skew_advance(&p->k, p->s_us + (u32)(s64)p->now_us);
		clock_skew_reverse(&p->k, reverse_us(p));
	}
	return clock_skew_epoch(&p->k, forward_us(p));
}

static double error_ppm(const struct pair *p)
{
	return p->k.ppb * 1e-3 - p->ppm;
}

/* What a tick and the microseconds of either clock are in an epoch */
static double noise_ppm(const struct pair *p)
{
	return ((p->tick_us > 1 ? p->tick_us : 0) + 4.0) / p->epoch_us * 1e6;
}

/*
 * Each epoch halves the error and adds half a noise; the first says nothing
 * of a slow receiver, whose reverse path was least when it began.
 */
static void converge_run(double ppm, u32 tick_us)
{
	struct pair p = start_pair(ppm, tick_us);
	double bound = fabs(ppm);
	int i;

	for (i = 0; i < 24; i++) {
		run_epoch(&p);
		if (i)
			bound = bound / 2 + noise_ppm(&p) / 2;
		EXPECT_NEAR(error_ppm(&p), 0, bound + noise_ppm(&p),
			    "%g ppm, epoch %d of %u us", ppm, i, p.epoch_us);
	}
}

static void test_converges(void)
{
	int i;

	for (i = 0; i < CONNECTIONS; i++)
		converge_run((prng_unit() * 2 - 1) * PPM_MAX, 1);
	converge_run(PPM_MAX, 1);
	converge_run(-PPM_MAX, 1);
	converge_run(0, 1);
}

/* A tick of less than 500 ppm of the epoch, or it passes for no clock's */
static void test_converges_ticks(void)
{
	int i;

	for (i = 0; i < CONNECTIONS; i++)
		converge_run((prng_unit() * 2 - 1) * PPM_MAX, 1000);
}

/*
 * 4 and 10 ms: what a tick makes of a short epoch may pass for no clock's. It never
 * takes the skew further off than a tick of one epoch.
 */
static void test_coarse_ticks(void)
{
	static const u32 ticks[] = { 4000, 10000 };
	int i, k;

	for (i = 0; i < CONNECTIONS; i++) {
		struct pair p = start_pair((prng_unit() * 2 - 1) * 100,
					   ticks[i % 2]);

		for (k = 0; k < 24; k++) {
			run_epoch(&p);
			EXPECT_NEAR(error_ppm(&p), 0, fabs(p.ppm) +
				    noise_ppm(&p), "%g ppm, epoch %d of %u us",
				    p.ppm, k, p.epoch_us);
		}
	}
}

/* Once learnt, predictions leave nothing but noise to the epoch */
static void test_residual(void)
{
	int i, k;

	for (i = 0; i < CONNECTIONS; i++) {
		struct pair p = start_pair((prng_unit() * 2 - 1) * PPM_MAX, 1);

		for (k = 0; k < 24; k++)
			run_epoch(&p);
		EXPECT_NEAR(run_epoch(&p), 0, 8, "%g ppm, epochs of %u us",
			    p.ppm, p.epoch_us);
	}
}

/* Paths that change, one way at a time; both clocks run alike */
static void one_way_run(double fwd_us, double rev_us, const char *what)
{
	struct pair p = start_pair(0, 1);
	int i;

	for (i = 0; i < 20; i++) {
		p.fwd_us += prng_unit() * fwd_us;
		p.rev_us += prng_unit() * rev_us;
		EXPECT_NEAR(run_epoch(&p), 0, 2, "%s, epoch %d", what, i);
		EXPECT_NEAR(p.k.ppb, 0, noise_ppm(&p) * 1000, "%s, epoch %d",
			    what, i);
	}
}

static void test_one_way(void)
{
	int i;

	for (i = 0; i < CONNECTIONS / 4; i++) {
		one_way_run(2000, 0, "a longer forward path");
		one_way_run(-50, 0, "a shorter forward path");
		one_way_run(0, 2000, "a reverse queue");
		one_way_run(0, -50, "a reverse queue that drains");
		one_way_run(2000, 2000, "queues on both ways");
	}
}

/* Of what both ways say, the part that neither denies */
static void test_agree(void)
{
	static const s32 rows[][3] = {
		{ 0, 0, 0 }, { 500, 300, 300 }, { 300, 500, 300 },
		{ -500, -300, -300 }, { -300, -500, -300 }, { 500, -300, 0 },
		{ -500, 300, 0 }, { 0, 300, 0 }, { -1, 0, 0 }, { 0, -1, 0 },
		{ S32_MAX, 1, 1 }, { -S32_MAX - 1, -1, -1 },
		{ -S32_MAX - 1, S32_MAX, 0 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		EXPECT_EQ_S(clock_skew_agree(rows[i][0], rows[i][1]),
			    rows[i][2], "%d and %d us", rows[i][0], rows[i][1]);
}

/* Both ways move as a clock of @ppm would, at once, at the end of an epoch */
static s32 residual_run(double ppm)
{
	struct clock_skew k = begun(0, prng_u32());
	s32 us = (s32)(ppm * 10);

	clock_skew_advance(&k, k.now_us + 10000000);
	clock_skew_reverse(&k, k.rev_us - (u32)us);
	k.rev_min_us = k.rev_us - (u32)us;
	us = clock_skew_epoch(&k, k.fwd_us + (u32)us);
	EXPECT_EQ_S(k.ppb, us * 50, "half of %g ppm", ppm);
	return us;
}

static void test_no_clock(void)
{
	double ppm;

	for (ppm = -3000; ppm <= 3000; ppm += 0.1) {
		s32 us = (s32)(ppm * 10);

		EXPECT_EQ_S(residual_run(ppm), us > 10000 || us < -10000 ? 0 :
			    us, "%g ppm", ppm);
	}
}

static void test_clamped(void)
{
	struct pair p = start_pair(3000, 1);
	int i;

	p.k.ppb = CLOCK_SKEW_MAX;
	p.ppm = 1900;
	for (i = 0; i < 20; i++) {
		run_epoch(&p);
		EXPECT_EQ_S(p.k.ppb, CLOCK_SKEW_MAX, "1900 ppm, epoch %d", i);
	}
	p = start_pair(-1900, 1);
	p.k.ppb = -CLOCK_SKEW_MAX;
	for (i = 0; i < 20; i++) {
		run_epoch(&p);
		EXPECT_EQ_S(p.k.ppb, -CLOCK_SKEW_MAX, "-1900 ppm, epoch %d", i);
	}
}

static void test_short_epoch(void)
{
	struct pair p = start_pair(500, 1);
	struct clock_skew before;

	p.epoch_us = CLOCK_SKEW_EPOCH_US - STEPS;
	before = p.k;
	EXPECT_EQ_S(run_epoch(&p), 0, "short");
	EXPECT_EQ_S(p.k.ppb, 0, "no skew");
	EXPECT_EQ(p.k.begin_us, before.begin_us, "the epoch goes on");
	EXPECT_EQ(p.k.fwd_us, before.fwd_us, "so does what it began with");
	p.epoch_us = CLOCK_SKEW_EPOCH_US;
	run_epoch(&p);
	EXPECT_NEAR(p.k.ppb * 1e-3, 250, 4, "long enough");
	EXPECT_EQ(p.k.begin_us, p.k.now_us, "the next one begins");
}

/* The first ACK of an epoch is its least, though the path is longer by minutes */
static void test_least_reverse(void)
{
	struct clock_skew k = begun(0, prng_u32());
	u32 longer_us;

	clock_skew_advance(&k, k.now_us + 10000000);
	clock_skew_epoch(&k, k.fwd_us);
	for (longer_us = 1; longer_us < 1U << 29; longer_us *= 2) {
		u32 rev_us = k.rev_us + longer_us;

		clock_skew_advance(&k, k.now_us + 10000000);
		clock_skew_reverse(&k, rev_us);
		EXPECT_EQ(k.rev_min_us, rev_us, "longer by %u us", longer_us);
		clock_skew_reverse(&k, rev_us + 1);
		EXPECT_EQ(k.rev_min_us, rev_us, "a second ACK");
		EXPECT_EQ_S(clock_skew_epoch(&k, k.fwd_us), 0, "no skew");
		EXPECT_EQ(k.rev_us, rev_us, "what the next one begins with");
	}
}

static u32 wild(void)
{
	static const u32 edges[] = { 0, 1, U32_MAX, S32_MAX, 1U << 31 };

	return prng_u32() & 1 ? edges[prng_range(0, ARRAY_SIZE(edges) - 1)] :
				prng_u32();
}

/* 2^31 us * 10^9 < 2^61; nothing overflows, whatever a peer's clock reads */
static void test_wild(void)
{
	int i, n;

	for (i = 0; i < 2000; i++) {
		struct clock_skew k;

		clock_skew_begin(&k, wild(), wild(), wild());
		for (n = 0; n < 50; n++) {
			EXPECT_IN(clock_skew_advance(&k, k.now_us + wild()),
				  -2147484, 2147484, "prediction");
			clock_skew_reverse(&k, k.rev_us + wild());
			EXPECT_IN(clock_skew_epoch(&k, k.fwd_us + wild()),
				  -2147484, 2147484, "1000 ppm of 35 min");
			EXPECT_IN(k.ppb, -CLOCK_SKEW_MAX, CLOCK_SKEW_MAX, "ppb");
		}
	}
}

/* Drains' marks are not the skew's */
static void test_begin(void)
{
	struct clock_skew k;

	memset(&k, 0xff, sizeof(k));
	clock_skew_begin(&k, 1, 2, 3);
	EXPECT_EQ_S(k.ppb, 0, "ppb");
	EXPECT_EQ_S(k.rem, 0, "remainder");
	EXPECT_EQ(k.lifted + k.drained + k.fell, 0, "marks of drains");
	EXPECT_EQ(k.now_us, 1, "now");
	EXPECT_EQ(k.begin_us, 1, "begin");
	EXPECT_EQ(k.fwd_us, 2, "forward");
	EXPECT_EQ(k.rev_us, 3, "reverse");
	EXPECT_EQ(k.rev_min_us, 3, "least reverse");
}

static const struct tap_case cases[] = {
	{ "begin forgets everything", test_begin },
	{ "advance: an hour in steps of up to 100 s", test_advance_hour },
	{ "advance: 20000 steps of up to 1 ms", test_advance_short },
	{ "advance: edges, both signs, time that goes back",
	  test_advance_edges },
	{ "advance: every remainder counts", test_advance_remainder },
	{ "epoch: converges, -500 to 500 ppm", test_converges },
	{ "epoch: converges to a tick of 1 ms", test_converges_ticks },
	{ "epoch: ticks of 4 and 10 ms do no harm", test_coarse_ticks },
	{ "epoch: nothing left once learnt", test_residual },
	{ "epoch: one way is no skew", test_one_way },
	{ "epoch: the smaller of two residuals of a sign", test_agree },
	{ "epoch: more than 1000 ppm is no clock", test_no_clock },
	{ "epoch: skew saturates at 1000 ppm", test_clamped },
	{ "epoch: below a second it goes on", test_short_epoch },
	{ "epoch: its first ACK counts", test_least_reverse },
	{ "any times stay in range", test_wild },
};

TAP_MAIN(cases)
