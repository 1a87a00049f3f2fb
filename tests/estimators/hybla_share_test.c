// SPDX-License-Identifier: GPL-2.0
/*
 * hybla_share.h: growth and cuts to the last fraction, loss events as far apart
 * as the reference connection's, light and heavy loss, products at their edges,
 * and the equilibrium.
 */
#include <float.h>

#include "hetcc/hybla_share.h"
#include "tap.h"

/* The references take products of 62 bits for exact, quotients too */
_Static_assert(LDBL_MANT_DIG >= 64, "long double is too short");

#define ROUNDS		200000
#define ONE		HYBLA_LAW_RHO_ONE
#define CUT_MILLI	580
/* Reno's window is this by the root of the losses */
#define RENO		1.31

static const u32 windows[] = {
	0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 255, 256, 65535, 65536, (1 << 24) - 1,
	1 << 24, (1 << 24) + 1, S32_MAX, 1U << 31, U32_MAX,
};

static const u32 rhos[] = {
	ONE, ONE + 1, 3 * ONE / 2, 2 * ONE, 24 * ONE, 4095 * ONE,
	HYBLA_LAW_RHO_MAX - 1, HYBLA_LAW_RHO_MAX,
};

static const u32 counts[] = {
	0, 1, 2, 3, 254, 255, 256, 257, 65535, (1 << 20) - 1, 1 << 20,
	(1 << 20) + 1, 1 << 24, 1U << 31, U32_MAX,
};

static const u32 cuts[] = { 1, 2, 500, 700, 999, 1000 };

static u32 random_window(void)
{
	return prng_log32(1, 1 << 24);
}

static u32 random_rho(void)
{
	return prng_log32(ONE, HYBLA_LAW_RHO_MAX);
}

/* Nothing waited in the round before nor, so far, in the open one */
static struct hybla_share no_queue_state(u32 full)
{
	struct hybla_share s = { 0 };

	hybla_share_ack(&s, 0, 1000, 0, 0);
	hybla_share_full(&s, full);
	/* For long: steps are no bound */
	s.rounds = HYBLA_SHARE_STEPS * HYBLA_SHARE_STEP_ROUNDS;
	return s;
}

static u32 round_pkts(u32 wnd, u32 rho)
{
	long double w = fminl(wnd, 1 << 24);

	return (u32)fmaxl(floorl(w * ONE / rho), 1);
}

/* Growth per round trip, segments */
static double real_gain(u32 w, u32 rho, u32 fill)
{
	double r = (double)rho / ONE;

	return fmax(r, fmax(1 - 1 / r, 0.5) * w / fill);
}

/* The same in Q12, as it is rounded */
static long double ref_gain(const struct hybla_share *s, u32 w, u32 rho)
{
	bool below = w < s->full - floorl(s->full / 8.0L);
	long double part = ceill(ONE - (long double)ONE * ONE / rho);

	long double step = ldexpl(rho, s->rounds / 2);

	part = fmaxl(part, ONE / 2);
	if (!hybla_share_no_queue(s) || s->lost > s->size / 32 + 1)
		return rho;
	if (below || !s->full)
		step = HUGE_VALL;
	return fmaxl(rho, fminl(step, floorl(part * w / (below ? 2 : 8))));
}

static void expect_grow(struct hybla_share *s, u32 wnd, u32 acked, u32 rho)
{
	u32 w = (u32)fminl(fmaxl(wnd, 1), 1 << 24);
	long double unit = (long double)w * ONE;
	long double total = ref_gain(s, w, rho) * fminl(acked, 1 << 20) +
			    fminl(s->rem, unit - 1);
	long double inc = floorl(total / unit);
	u32 got = hybla_share_grow(s, wnd, acked, rho);

	EXPECT_EQ(got, fminl(inc, U32_MAX), "window %u, %u acked, rho %u", wnd,
		  acked, rho);
	EXPECT_EQ(s->rem, total - inc * unit, "left, window %u, %u acked", wnd,
		  acked);
}

static void expect_grow_anyhow(u32 wnd, u32 acked, u32 rho)
{
	struct hybla_share states[] = {
		{ 0 }, { .rem = (1ULL << 36) - 1 }, no_queue_state(0),
		no_queue_state(1 << 24), no_queue_state(U32_MAX), no_queue_state(0),
		no_queue_state(0),
	};
	unsigned int i;

	states[3].rem = (1ULL << 36) - 1;
	states[5].lost = 32;
	states[6].lost = 33;
	states[3].rounds = acked % 49;
	for (i = 0; i < ARRAY_SIZE(states); i++)
		expect_grow(&states[i], wnd, acked, rho);
}

static void test_grow_edges(void)
{
	unsigned int i, k, l;

	for (i = 0; i < ARRAY_SIZE(windows); i++)
		for (k = 0; k < ARRAY_SIZE(counts); k++)
			for (l = 0; l < ARRAY_SIZE(rhos); l++)
				expect_grow_anyhow(windows[i], counts[k],
						   rhos[l]);
	for (i = 0; i < ROUNDS / 4; i++)
		expect_grow_anyhow(prng_log32(1, U32_MAX),
				   prng_log32(1, U32_MAX), random_rho());
}

/* The window stays: so much and not a segment less, whatever the pieces */
static void test_rho_per_round(void)
{
	int i, k;

	for (i = 0; i < ROUNDS / 100; i++) {
		struct hybla_share s = { 0 };
		u32 w = random_window(), rho = random_rho();
		u64 grown = 0, acked = 0;

		for (k = 0; k < 100; k++) {
			u32 pkts = prng_log32(1, min(w, 1U << 20));

			acked += pkts;
			grown += hybla_share_grow(&s, w, pkts, rho);
			EXPECT_EQ(grown, floorl((long double)acked * rho /
						((long double)w * ONE)),
				  "window %u, rho %u, %llu acked", w, rho,
				  acked);
		}
	}
}

/* 100 round trips of 10 segments, rho 1.5: 1 of 10 segments per 6.67 ACKs */
static void test_rho_by_hand(void)
{
	struct hybla_share s = { 0 };
	u32 i, grown = 0;

	for (i = 1; i <= 1000; i++) {
		grown += hybla_share_grow(&s, 10, 1, 3 * ONE / 2);
		EXPECT_EQ(grown, i * 3 / 20, "ACK %u", i);
	}
	EXPECT_EQ(hybla_share_grow(&s, 10, 10, 7 * ONE), 7, "a round trip");
	EXPECT_EQ(hybla_share_grow(&s, 1, 1, HYBLA_LAW_RHO_MAX), 4096, "the most");
}

static void grow_window(u32 from, u32 rho, u32 acks)
{
	struct hybla_share s = { 0 };
	u32 w = from, i, inc;
	double want;
	u64 spent = 0;

	for (i = 1; i <= acks; i++) {
		inc = hybla_share_grow(&s, w, 1, rho);
		spent += (u64)inc * w;
		w += inc;
		EXPECT_EQ(spent * ONE + s.rem, (u64)i * rho,
			  "from %u, rho %u, ACK %u", from, rho, i);
	}
	/* dW = rho / W per segment */
	want = sqrt((double)from * from + 2.0 * acks * rho / ONE);
	EXPECT_IN(w, want - 1.01, want + 0.51, "from %u, rho %u", from, rho);
}

static void test_growing_window(void)
{
	int i;

	for (i = 0; i < 300; i++) {
		u32 from = prng_log32(1, 1 << 20);
		u32 most = min(from, 4096U) * ONE;

		grow_window(from, prng_log32(ONE, most), 5000);
	}
}

/* What is left of a large window is less than one segment of a small one */
static void test_shrinking_window(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		struct hybla_share s = { 0 };
		u32 large = prng_log32(2, 1 << 24);
		u32 small = prng_range(1, large - 1);
		u64 left;

		hybla_share_grow(&s, large, prng_log32(1, large), ONE);
		left = s.rem;
		EXPECT_EQ(hybla_share_grow(&s, small, 0, ONE), 0, "%u to %u",
			  large, small);
		EXPECT_EQ(s.rem, min(left, (u64)small * ONE - 1), "%u to %u",
			  large, small);
		EXPECT_EQ(hybla_share_grow(&s, large, 0, ONE), 0, "back");
	}
}

static void expect_no_queue(u32 w, u32 rho, u32 full, u32 fill)
{
	const u32 rounds = 20;
	struct hybla_share s = no_queue_state(full);
	double want = rounds * real_gain(w, rho, fill);
	u64 grown = 0;
	u32 i;

	for (i = 0; i < rounds; i++)
		grown += hybla_share_grow(&s, w, w, rho);
	EXPECT_IN(grown, want - 1 - (double)rounds / ONE,
		  want + (double)rounds * w / fill / ONE,
		  "window %u, rho %u, full %u", w, rho, full);
}

static void test_no_queue(void)
{
	int i;

	for (i = 0; i < ROUNDS / 10; i++) {
		u32 w = prng_log32(1, 1 << 20), rho = random_rho();

		expect_no_queue(w, rho, 0, 8);
		expect_no_queue(w, rho, w, 8);
		expect_no_queue(w, rho, w + w / 8, 8);
		expect_no_queue(w, rho, w + w / 7 + 2, 2);
		expect_no_queue(w, rho, U32_MAX, 2);
	}
}

/* 800 filled the path: 700 are an eighth below it, 699 are more */
static void test_no_queue_by_hand(void)
{
	struct hybla_share s = no_queue_state(800);

	EXPECT_EQ(hybla_share_grow(&s, 700, 700, 4 * ONE), 65, "65.6");
	s = no_queue_state(800);
	EXPECT_EQ(hybla_share_grow(&s, 699, 699, 4 * ONE), 262, "262.1");
	s = no_queue_state(800);
	EXPECT_EQ(hybla_share_grow(&s, 16, 16, 24 * ONE), 24, "rho is more");
	s.calm = false;
	EXPECT_EQ(hybla_share_grow(&s, 699, 699, 4 * ONE), 4, "a queue");
}

/* Near the window that filled the path: rho, rho, 2 rho, 2 rho... up to an eighth */
static void test_steps(void)
{
	static const u32 want[] = { 0, 3, 3, 6, 6, 12, 12, 24, 24, 48, 48, 83 };
	struct hybla_share s = no_queue_state(1000);
	u32 i, k;

	for (k = 0; k < 2; k++) {
		/* A queue, in the rounds before */
		hybla_share_marked(&s);
		for (i = 0; i < ARRAY_SIZE(want); i++) {
			hybla_share_ack(&s, s.end, 1000, 0, 0);
			s.rem = 0;
			if (want[i])
				EXPECT_EQ(hybla_share_grow(&s, 1000, 1000, 3 * ONE),
					  want[i], "round %u", i);
		}
	}
	for (i = 0; i < 300; i++)
		hybla_share_ack(&s, s.end, 1000, 0, 0);
	EXPECT_EQ(s.rounds, 48, "as many as count");
	hybla_share_full(&s, 0);
	s.rounds = 0;
	EXPECT_EQ(hybla_share_grow(&s, 1000, 1000, 3 * ONE), 83, "not known");
	hybla_share_full(&s, 2000);
	EXPECT_EQ(hybla_share_grow(&s, 1000, 1000, 3 * ONE), 334, "far below");
}

/* Of 1600 segments up to 51 lost are light, from 102 on heavy */
static void expect_light(u32 size, u32 lost, bool no_queue, bool fast)
{
	struct hybla_share s = { 0 };

	hybla_share_ack(&s, 0, size, 0, 0);
	hybla_share_ack(&s, 0, size, lost, 0);
	EXPECT_EQ(hybla_share_no_queue(&s), no_queue, "%u lost of %u", lost, size);
	EXPECT_EQ(hybla_share_grow(&s, 700, 700, 4 * ONE), fast ? 65 : 4,
		  "%u lost of %u", lost, size);
}

static void test_light(void)
{
	expect_light(1600, 0, true, true);
	expect_light(1600, 51, true, true);
	expect_light(1600, 52, true, false);
	expect_light(1600, 101, true, false);
	expect_light(1600, 102, false, false);
	expect_light(0, 1, true, true);
	expect_light(0, 2, false, false);
	expect_light(31, 1, true, true);
	expect_light(31, 2, true, false);
	expect_light(32, 2, true, true);
	expect_light(32, 3, true, false);
	expect_light(U32_MAX, U32_MAX / 32 + 1, true, true);
	expect_light(U32_MAX, U32_MAX / 32 + 2, true, false);
}

/* Fast growth comes back with the next round */
static void test_light_again(void)
{
	struct hybla_share s = no_queue_state(0);

	hybla_share_lost(&s, 33);
	EXPECT_EQ(hybla_share_grow(&s, 700, 700, 4 * ONE), 4, "33 of 1000");
	hybla_share_ack(&s, 1000, 1000, 0, 0);
	s.rem = 0;
	EXPECT_EQ(hybla_share_grow(&s, 700, 700, 4 * ONE), 65, "over");
}

/* Up to rho = 2 half of what it is at most: a 16th, and a quarter below 700 */
static void expect_half(u32 rho)
{
	struct hybla_share s = no_queue_state(800);

	EXPECT_EQ(hybla_share_grow(&s, 700, 700, rho), 43, "43.75, rho %u", rho);
	s = no_queue_state(800);
	EXPECT_EQ(hybla_share_grow(&s, 699, 699, rho), 174, "174.75, rho %u",
		  rho);
	s = no_queue_state(800);
	s.calm = false;
	EXPECT_EQ(hybla_share_grow(&s, 699, 699, rho), rho / ONE, "a queue");
	s = no_queue_state(0);
	EXPECT_EQ(hybla_share_grow(&s, 8, 8, rho), rho / ONE, "rho is more");
}

static void test_no_queue_small_rho(void)
{
	struct hybla_share s = no_queue_state(800);

	expect_half(ONE);
	expect_half(3 * ONE / 2);
	expect_half(2 * ONE);
	EXPECT_EQ(hybla_share_grow(&s, 700, 700, 5 * ONE / 2), 52, "52.5");
}

static long double ref_cut(const struct hybla_share *s, u32 wnd, u32 lost,
			   u32 rho, u32 cut_milli)
{
	long double w = fminl(wnd, 1 << 24), events, cut;

	events = floorl((long double)lost / round_pkts(wnd, rho));
	events = fminl(fmaxl(events, 1), 255);
	cut = floorl(w * 256 * events * cut_milli * ONE / (rho * 1000.0L));
	return fminl(cut + s->frac, w * 128);
}

static void expect_cut(struct hybla_share s, u32 wnd, u32 acked, u32 lost,
		       u32 rho, u32 cut_milli)
{
	long double since = fminl((long double)s.since + acked + lost, U32_MAX);
	long double want = ref_cut(&s, wnd, lost, rho, cut_milli);
	bool event = lost && since >= round_pkts(wnd, rho);
	u32 frac = s.frac, got;

	got = hybla_share_cut(&s, wnd, acked, lost, rho, cut_milli);
	EXPECT_EQ(got, event ? floorl(want / 256) : 0,
		  "window %u, %u acked, %u lost, rho %u, cut %u", wnd, acked,
		  lost, rho, cut_milli);
	EXPECT_EQ(s.frac, event ? fmodl(want, 256) : frac,
		  "left, window %u, %u lost, rho %u", wnd, lost, rho);
	EXPECT_EQ(s.since, event ? 0 : since, "window %u, %u acked, %u lost",
		  wnd, acked, lost);
	EXPECT_TRUE(got <= wnd / 2, "%u of %u: at most half", got, wnd);
}

static void expect_cut_anyhow(u32 wnd, u32 acked, u32 lost, u32 rho)
{
	static const struct hybla_share states[] = {
		{ 0 }, { .frac = 255 }, { .since = U32_MAX, .frac = 128 },
	};
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(states); i++)
		for (k = 0; k < ARRAY_SIZE(cuts); k++)
			expect_cut(states[i], wnd, acked, lost, rho, cuts[k]);
}

static void test_cut_edges(void)
{
	unsigned int i, k, l, m;

	for (i = 0; i < ARRAY_SIZE(windows); i++)
		for (k = 0; k < ARRAY_SIZE(counts); k += 2)
			for (l = 0; l < ARRAY_SIZE(counts); l++)
				for (m = 0; m < ARRAY_SIZE(rhos); m++)
					expect_cut_anyhow(windows[i], counts[k],
							  counts[l], rhos[m]);
}

static void test_cut_any(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		struct hybla_share s = {
			.since = prng_log32(1, U32_MAX),
			.frac = prng_range(0, 255),
		};
		u32 wnd = prng_log32(1, U32_MAX), rho = random_rho();

		expect_cut(s, wnd, prng_log32(1, U32_MAX),
			   prng_log32(1, U32_MAX), rho, prng_range(1, 1000));
		s.since = prng_range(0, 2 * round_pkts(wnd, rho));
		expect_cut(s, wnd, 0, prng_range(0, 3), rho,
			   prng_range(1, 1000));
	}
}

/*
 * Events one by one while the window falls: nothing is lost but 1/256 each. By
 * rho of 4 and more no cut but of the smallest windows is half of one.
 */
static void cut_window(u32 from, u32 rho, u32 cut_milli)
{
	struct hybla_share s = { 0 };
	double want = 0, part = cut_milli / 1000.0 * ONE / rho;
	u32 w = from, event;

	for (event = 1; event <= 200 && w >= 4; event++) {
		want += w * part;
		w -= hybla_share_cut(&s, w, w, 1, rho, cut_milli);
		EXPECT_IN(from - w, want - 1 - event / 256.0, want + 1e-6,
			  "from %u, rho %u, cut %u, event %u", from, rho,
			  cut_milli, event);
	}
}

static void test_cut_sum(void)
{
	int i;

	for (i = 0; i < 2000; i++) {
		u32 from = prng_log32(4, 1 << 24);
		u32 rho = prng_log32(4 * ONE, HYBLA_LAW_RHO_MAX);

		cut_window(from, rho, prng_range(1, 1000));
	}
	cut_window(1000, 24 * ONE, CUT_MILLI);
	cut_window(30, 24 * ONE, CUT_MILLI);
}

/* 600 segments, rho 24, 0.7: 17.5 per event; rho 2: 210; rho 1: half */
static void test_cut_by_hand(void)
{
	struct hybla_share s = { 0 };

	EXPECT_EQ(hybla_share_cut(&s, 600, 24, 0, 24 * ONE, 700), 0, "no loss");
	EXPECT_EQ(hybla_share_cut(&s, 600, 0, 1, 24 * ONE, 700), 17, "a loss");
	EXPECT_EQ(hybla_share_cut(&s, 600, 24, 1, 24 * ONE, 700), 18, "next");
	EXPECT_EQ(hybla_share_cut(&s, 600, 24, 1, 24 * ONE, 700), 17, "third");
	EXPECT_EQ(hybla_share_cut(&s, 600, 300, 1, 2 * ONE, 700), 210, "rho 2");
	EXPECT_EQ(hybla_share_cut(&s, 600, 600, 1, ONE, 700), 300, "rho 1");
}

/* One event for all losses of W / rho segments, the next right after them */
static void expect_spacing(u32 w, u32 rho)
{
	u32 apart = round_pkts(w, rho), i, events = 0;
	struct hybla_share s = { 0 };

	for (i = 1; i <= 3 * apart; i++) {
		u32 got = hybla_share_cut(&s, w, 0, 1, rho, 1000);

		EXPECT_EQ(s.since, i % apart, "window %u, rho %u", w, rho);
		EXPECT_EQ(!!got, i % apart == 0, "loss %u of window %u", i, w);
		events += got > 0;
	}
	EXPECT_EQ(events, 3, "window %u, rho %u", w, rho);
}

static void test_spacing(void)
{
	int i;

	for (i = 0; i < 1000; i++) {
		u32 w = prng_log32(2, 10000);

		/* Each cut is a segment or more */
		expect_spacing(w, ONE * prng_range(1, max(w / 2, 1U)));
	}
}

/* A loss right after, then none for long, then one */
static void test_spacing_by_hand(void)
{
	struct hybla_share s = { 0 };

	hybla_share_pass(&s, 99);
	EXPECT_EQ(hybla_share_cut(&s, 400, 0, 1, 4 * ONE, 700), 70, "100th");
	EXPECT_EQ(hybla_share_cut(&s, 400, 98, 1, 4 * ONE, 700), 0, "99th");
	EXPECT_EQ(hybla_share_cut(&s, 400, 1, 0, 4 * ONE, 700), 0, "no loss");
	EXPECT_EQ(hybla_share_cut(&s, 400, 0, 1, 4 * ONE, 700), 70, "101st");
	hybla_share_pass(&s, U32_MAX);
	hybla_share_pass(&s, U32_MAX);
	EXPECT_EQ(s.since, U32_MAX, "no wrap");
	EXPECT_EQ(hybla_share_cut(&s, 400, 9, 1, 4 * ONE, 700), 70, "one");
	EXPECT_EQ(s.since, 0, "which it counts from");
}

/* W / rho segments from a loss event on, lost ones included; not after other losses */
static void test_repairs(void)
{
	struct hybla_share s;

	hybla_share_begin(&s, 0);
	EXPECT_EQ(hybla_share_repairs(&s, U32_MAX, ONE), false, "nothing lost");
	hybla_share_pass(&s, 1);
	EXPECT_EQ(hybla_share_repairs(&s, 400, 4 * ONE), false, "the link's");
	hybla_share_cut(&s, 400, 0, 1, 4 * ONE, 700);
	EXPECT_EQ(hybla_share_repairs(&s, 400, 4 * ONE), true, "a cut");
	hybla_share_cut(&s, 400, 98, 1, 4 * ONE, 700);
	EXPECT_EQ(hybla_share_repairs(&s, 400, 4 * ONE), true, "99th");
	hybla_share_pass(&s, 1);
	EXPECT_EQ(hybla_share_repairs(&s, 400, 4 * ONE), false, "100th");
	EXPECT_EQ(hybla_share_repairs(&s, 404, 4 * ONE), true, "of 101");
	EXPECT_EQ(hybla_share_repairs(&s, 0, HYBLA_LAW_RHO_MAX), false, "one");
}

static void test_events_at_once(void)
{
	u32 rho, n;

	for (rho = 24; rho <= 1200; rho *= 2)
		for (n = 1; n < 600; n++) {
			struct hybla_share s = { 0 };
			u32 lost = n * 10 + prng_range(0, 9);
			double want = floor(10 * 0.7 * min(n, 255U));

			EXPECT_EQ(hybla_share_cut(&s, 10 * rho, 0, lost,
						  rho * ONE, 700),
				  fmin(want, 5 * rho), "%u lost, rho %u", lost,
				  rho);
		}
}

/* Nothing but half is left of any cut; a window of one segment stays */
static void test_half(void)
{
	struct hybla_share s = { 0 };
	u32 w, i;

	for (w = 0; w < 1000; w++) {
		s.frac = 255;
		EXPECT_EQ(hybla_share_cut(&s, w, w, 1000 * (w + 1), ONE, 1000),
			  w / 2, "window %u", w);
		EXPECT_EQ(s.frac, w % 2 * 128, "left of window %u", w);
	}
	for (i = 0; i < 10; i++)
		EXPECT_EQ(hybla_share_cut(&s, 1, 1, 1, ONE, 1000), 0, "one");
}

/* What hybla_share counts, without an end to the numbers */
struct rounds {
	u64 delivered;
	u64 end;
	double size;
	double lost;
	double waited;
	bool calm;
};

static bool ref_heavy(const struct rounds *r)
{
	return r->lost > floor(r->size / 16) + 1;
}

static bool ref_calm(const struct rounds *r)
{
	return r->waited <= floor(r->size / 4) && !ref_heavy(r);
}

static bool ref_ack(struct rounds *r, u32 flight, u32 lost, u32 waited)
{
	r->lost += lost;
	r->waited += waited;
	if (r->delivered < r->end)
		return false;
	r->calm = ref_calm(r);
	r->lost = 0;
	r->waited = 0;
	r->size = flight;
	r->end = r->delivered + min(flight, 1U << 30);
	return true;
}

static void expect_ack(struct hybla_share *s, struct rounds *r, u32 flight,
		       u32 lost, u32 waited)
{
	bool got = hybla_share_ack(s, (u32)r->delivered, flight, lost, waited);

	EXPECT_EQ(got, ref_ack(r, flight, lost, waited),
		  "round over, %llu delivered", r->delivered);
	EXPECT_EQ(hybla_share_is_heavy(s), ref_heavy(r),
		  "heavy loss, %g of %g", r->lost, r->size);
	EXPECT_EQ(hybla_share_no_queue(s), r->calm && ref_calm(r),
		  "no queue, %g of %g waited", r->waited, r->size);
}

/* A window's worth of ACKs, again and again, over the wrap of the count */
static void test_rounds(void)
{
	u32 i, k;

	for (i = 0; i < 100; i++) {
		struct rounds r = { .delivered = U32_MAX - 1000 };
		struct hybla_share s = { 0 };
		u32 flight = prng_log32(1, 1000), part = prng_range(1, 20);

		for (k = 0; k < 2000; k++) {
			u32 pkts = prng_range(0, 3);

			r.delivered += pkts;
			expect_ack(&s, &r, flight,
				   prng_range(0, part) ? 0 : pkts,
				   prng_range(0, part / 2) ? 0 : pkts);
		}
	}
}

/* Flights and losses of any size, no wrap in sums, 2^32 delivered many times */
static void test_rounds_any(void)
{
	struct rounds r = { 0 };
	struct hybla_share s = { 0 };
	int i;

	for (i = 0; i < ROUNDS; i++) {
		u32 large = prng_range(0, 3) ? 0 : prng_log32(1, U32_MAX);
		u32 flight = prng_range(0, 9) ? prng_log32(1, U32_MAX) : 0;

		r.delivered += prng_log32(1, 1 << 30) - 1;
		expect_ack(&s, &r, flight, prng_range(0, 3) ? 0 : large, large);
	}
	EXPECT_IN(r.delivered, exp2(34), exp2(63), "wraps");
}

/* A count that wraps while a round is open */
static void test_round_wraps(void)
{
	struct hybla_share s = { 0 };
	u32 from = U32_MAX - 49, i;

	s.end = from;
	EXPECT_EQ(hybla_share_ack(&s, from, 100, 0, 0), true, "begins");
	for (i = 1; i < 100; i++)
		EXPECT_EQ(hybla_share_ack(&s, from + i, 100, 0, 0), false,
			  "segment %u", i);
	EXPECT_EQ(hybla_share_ack(&s, from + 100, 100, 0, 0), true, "over");
}

/* A state that begins late in a connection's life */
static void test_first_round(void)
{
	static const u32 delivered[] = {
		0, 1, S32_MAX, 1U << 31, (1U << 31) + 1, U32_MAX,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(delivered); i++) {
		struct hybla_share s = { 0 };
		u32 now = delivered[i];

		EXPECT_EQ(hybla_share_no_queue(&s), false, "not known");
		EXPECT_EQ(hybla_share_ack(&s, now, 10, 0, 0), true,
			  "first ACK, %u delivered", now);
		EXPECT_EQ(hybla_share_ack(&s, now + 9, 10, 0, 0), false,
			  "open, %u delivered", now);
		EXPECT_EQ(hybla_share_ack(&s, now + 10, 10, 0, 0), true,
			  "over, %u delivered", now);
	}
}

static void expect_calm(u32 flight, u32 waited, u32 lost, bool calm)
{
	struct hybla_share s = { 0 };

	hybla_share_ack(&s, 0, flight, 0, 0);
	hybla_share_ack(&s, 0, flight, lost, waited);
	EXPECT_EQ(hybla_share_no_queue(&s), calm,
		  "%u waited, %u lost of %u, open", waited, lost, flight);
	EXPECT_EQ(hybla_share_ack(&s, min(flight, 1U << 30), flight, 0, 0),
		  true, "%u delivered", flight);
	EXPECT_EQ(hybla_share_no_queue(&s), calm,
		  "%u waited, %u lost of %u, over", waited, lost, flight);
}

static void test_few(void)
{
	expect_calm(100, 0, 0, true);
	expect_calm(100, 25, 0, true);
	expect_calm(100, 26, 0, false);
	expect_calm(100, 100, 0, false);
	expect_calm(100, 0, 7, true);
	expect_calm(100, 0, 8, false);
	expect_calm(100, 25, 7, true);
	expect_calm(100, 26, 7, false);
	expect_calm(100, U32_MAX, 0, false);
	expect_calm(100, 0, U32_MAX, false);
	expect_calm(3, 0, 0, true);
	expect_calm(3, 1, 0, false);
	expect_calm(1, 0, 1, true);
	expect_calm(1, 0, 2, false);
	expect_calm(15, 0, 1, true);
	expect_calm(15, 0, 2, false);
	expect_calm(16, 0, 2, true);
	expect_calm(16, 0, 3, false);
	expect_calm(U32_MAX, U32_MAX / 4, U32_MAX / 16 + 1, true);
	expect_calm(U32_MAX, 0, U32_MAX / 16 + 2, false);
	expect_calm(U32_MAX, U32_MAX / 4 + 1, 0, false);
}

/* No queue: of two rounds, and the open one may withdraw it at once */
static void test_no_queue_rounds(void)
{
	struct hybla_share s = no_queue_state(0);

	EXPECT_EQ(hybla_share_no_queue(&s), true, "calm");
	hybla_share_ack(&s, 500, 1000, 0, 251);
	EXPECT_EQ(hybla_share_no_queue(&s), false, "the open round");
	hybla_share_ack(&s, 1000, 1000, 0, 0);
	EXPECT_EQ(hybla_share_no_queue(&s), false, "the round before");
	hybla_share_ack(&s, 1999, 1000, 0, 0);
	EXPECT_EQ(hybla_share_no_queue(&s), false, "until its end");
	hybla_share_ack(&s, 2000, 1000, 0, 0);
	EXPECT_EQ(hybla_share_no_queue(&s), true, "calm again");
	hybla_share_ack(&s, 2100, 1000, 63, 0);
	EXPECT_EQ(hybla_share_is_heavy(&s), false, "not heavy");
	EXPECT_EQ(hybla_share_no_queue(&s), true, "as before");
	hybla_share_ack(&s, 2101, 1000, 1, 0);
	EXPECT_EQ(hybla_share_is_heavy(&s), true, "heavy");
	EXPECT_EQ(hybla_share_no_queue(&s), false, "which is a queue");
	hybla_share_ack(&s, 3000, 1000, 0, 0);
	EXPECT_EQ(hybla_share_is_heavy(&s), false, "of the open round alone");
}

/* Nothing in flight: every ACK is a round, and two losses are heavy */
static void test_flight_zero(void)
{
	struct hybla_share s = { 0 };
	int i;

	for (i = 0; i < 3; i++) {
		EXPECT_EQ(hybla_share_ack(&s, 5, 0, 0, 0), true, "round");
		EXPECT_EQ(hybla_share_no_queue(&s), true, "nothing waited");
	}
	EXPECT_EQ(hybla_share_ack(&s, 6, 0, 0, 1), true, "one waits");
	EXPECT_EQ(hybla_share_no_queue(&s), false, "all that there was");
	hybla_share_ack(&s, 6, 0, 1, 0);
	EXPECT_EQ(hybla_share_no_queue(&s), true, "a loss");
	hybla_share_ack(&s, 6, 0, 2, 0);
	EXPECT_EQ(hybla_share_no_queue(&s), false, "two");
}

/* Whatever was there before is gone, and the first loss is an event */
static void expect_begin(u32 now, u32 later)
{
	struct hybla_share s = {
		.rem = U64_MAX, .frac = 255, .since = 5, .end = now + 77,
		.size = 1000, .lost = 9, .waited = 9, .full = 900, .calm = true,
	};

	hybla_share_begin(&s, now);
	EXPECT_EQ(s.end, now, "end");
	EXPECT_EQ(s.rem || s.frac || s.size || s.lost || s.waited || s.full, 0,
		  "nothing is left");
	EXPECT_EQ(hybla_share_no_queue(&s), false, "not known");
	EXPECT_EQ(hybla_share_cut(&s, U32_MAX, 0, 1, ONE, 1000), 1 << 23,
		  "the first loss");
	EXPECT_EQ(hybla_share_ack(&s, now + later, 10, 0, 0), true,
		  "first ACK, %u and %u delivered", now, later);
	EXPECT_EQ(hybla_share_no_queue(&s), true, "nothing has waited");
	EXPECT_EQ(hybla_share_ack(&s, now + later + 9, 10, 0, 0), false, "open");
	EXPECT_EQ(hybla_share_ack(&s, now + later + 10, 10, 0, 0), true, "over");
}

static void test_begin(void)
{
	static const u32 at[] = {
		0, 1, 1000, S32_MAX, 1U << 31, (1U << 31) + 1, U32_MAX,
	};
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(at); i++)
		for (k = 0; k < ARRAY_SIZE(at); k++)
			expect_begin(at[i], at[k]);
}

/* They count as those of an ACK do, in the open round alone, and cut nothing */
static void test_lost(void)
{
	struct hybla_share s = no_queue_state(800), before = s;

	hybla_share_lost(&s, 60);
	hybla_share_lost(&s, 0);
	hybla_share_lost(&s, 3);
	EXPECT_EQ(s.lost, 63, "sum");
	EXPECT_EQ(hybla_share_is_heavy(&s), false, "63 of 1000");
	hybla_share_ack(&s, 1, 1000, 1, 0);
	EXPECT_EQ(hybla_share_is_heavy(&s), true, "with that of an ACK");
	EXPECT_EQ(hybla_share_no_queue(&s), false, "which is a queue");
	EXPECT_EQ(s.since, before.since, "no event");
	EXPECT_EQ(s.end, before.end, "the round stays open");
	EXPECT_EQ(s.waited, before.waited, "none waited");
	hybla_share_lost(&s, U32_MAX);
	EXPECT_EQ(s.lost, U32_MAX, "no wrap");
	hybla_share_ack(&s, 1000, 1000, 0, 0);
	EXPECT_EQ(s.lost, 0, "another round");
	EXPECT_EQ(hybla_share_no_queue(&s), false, "after one of heavy loss");
	hybla_share_ack(&s, 2000, 1000, 0, 0);
	EXPECT_EQ(hybla_share_no_queue(&s), true, "and after that");
}

/* A queue in the open round and in the next, however many ACKs follow */
static void test_marked(void)
{
	struct hybla_share s = no_queue_state(0);

	hybla_share_marked(&s);
	EXPECT_EQ(hybla_share_no_queue(&s), false, "at once");
	hybla_share_ack(&s, 500, 1000, 0, 500);
	EXPECT_EQ(s.waited, U32_MAX, "no wrap");
	EXPECT_EQ(hybla_share_is_heavy(&s), false, "no loss");
	hybla_share_ack(&s, 1000, 1000, 0, 0);
	EXPECT_EQ(hybla_share_no_queue(&s), false, "the next round");
	hybla_share_ack(&s, 2000, 1000, 0, 0);
	EXPECT_EQ(hybla_share_no_queue(&s), true, "forgotten");
}

/**
 * struct loop - a window under losses that know nothing of each other
 * @s: law
 * @window: now
 * @rho: Q12
 * @cut_milli: see hybla_share_cut(); 0: Reno, which halves
 */
struct loop {
	struct hybla_share s;
	u32 window;
	u32 rho;
	u32 cut_milli;
};

/* By rho = 1.2 two losses of one round trip are 60 packets apart, and halve it once */
static void test_half_in_a_round_trip(void)
{
	struct hybla_share s = { .since = U32_MAX };
	u32 rho = 6 * ONE / 5, w = 72;

	w -= hybla_share_cut(&s, w, 0, 1, rho, 700);
	EXPECT_EQ(w, 36, "the first");
	w -= hybla_share_cut(&s, w, 60, 1, rho, 700);
	EXPECT_EQ(w, 36, "the second");
	w -= hybla_share_cut(&s, w, 60, 1, rho, 700);
	EXPECT_EQ(w, 18, "the next round trip");
}

/* Few wait long, but losses are those of a full queue */
static void test_shallow(void)
{
	struct hybla_share s = no_queue_state(0);

	hybla_share_set_full(&s, true);
	EXPECT_TRUE(hybla_share_is_full(&s), "as it was told");
	EXPECT_EQ(hybla_share_no_queue(&s), false, "a queue");
	EXPECT_EQ(hybla_share_grow(&s, 700, 700, 4 * ONE), 4, "slow");
	hybla_share_set_full(&s, false);
	EXPECT_EQ(hybla_share_no_queue(&s), true, "over");
}

static u32 loop_cut(struct loop *l, u32 lost)
{
	if (l->cut_milli)
		return hybla_share_cut(&l->s, l->window, !lost, lost, l->rho,
				       l->cut_milli);
	hybla_share_pass(&l->s, 1);
	if (!lost || l->s.since < l->window)
		return 0;
	l->s.since = 0;
	return l->window / 2;
}

static void loop_packet(struct loop *l, double loss)
{
	u32 lost = prng_unit() < loss;

	l->window -= loop_cut(l, lost);
	l->window = max(l->window, 2U);
	if (!hybla_share_repairs(&l->s, l->window, l->rho))
		l->window += hybla_share_grow(&l->s, l->window, !lost, l->rho);
}

/* Return: the mean over time, each packet being one by the window of a round trip */
static double loop_mean(double loss, u32 rho, u32 cut_milli)
{
	struct loop l = { .rho = rho * ONE, .cut_milli = cut_milli };
	u32 n = (u32)(4000 / (loss * 0.7)), i;
	double round_trips = 0;

	l.window = (u32)(rho * 1.2 / sqrt(loss));
	for (i = 0; i < n; i++) {
		loop_packet(&l, loss);
		round_trips += 1.0 / l.window;
	}
	return n / round_trips;
}

/*
 * Equilibrium in windows of the reference connection: after an event there are W / rho
 * packets without another and without growth, and a lost packet does not grow the
 * window either, so that cut * u^2 = (1 - p) / p.
 */
static double model_mean(double loss, double cut)
{
	return sqrt((1 - loss) / (cut * loss));
}

static void expect_equilibrium(double loss, u32 rho)
{
	double mean = loop_mean(loss, rho, CUT_MILLI) / rho;
	double plain = 1 / sqrt(CUT_MILLI / 1000.0 * loss);
	double model = model_mean(loss, CUT_MILLI / 1000.0);

	EXPECT_IN(mean / plain, 0.95, 1.10, "rho %u, loss %g", rho, loss);
	EXPECT_IN(mean / model, 0.94, 1.03, "rho %u, loss %g, with the gaps",
		  rho, loss);
}

static void test_equilibrium(void)
{
	static const double losses[] = { 0.001, 0.01, 0.05 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(losses); i++) {
		expect_equilibrium(losses[i], 4);
		expect_equilibrium(losses[i], 24);
	}
}

/* With rho = 1 the cut is at most half; 0.58 is Reno's for any larger rho */
static void test_reno(void)
{
	static const double losses[] = { 0.001, 0.01, 0.05 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(losses); i++) {
		double loss = losses[i], reno = loop_mean(loss, 1, 0);

		EXPECT_IN(reno * sqrt(loss) / RENO, 0.97, 1.15, "Reno, loss %g",
			  loss);
		EXPECT_IN(loop_mean(loss, 1, CUT_MILLI) / reno, 0.95, 1.05,
			  "rho 1, loss %g", loss);
		EXPECT_IN(loop_mean(loss, 4, 580) / 4 / reno, 0.92, 1.05,
			  "rho 4, loss %g", loss);
		EXPECT_IN(loop_mean(loss, 24, 580) / 24 / reno, 0.93, 1.05,
			  "rho 24, loss %g", loss);
	}
}

static const struct tap_case cases[] = {
	{ "growth of any window, ACK and rho", test_grow_edges },
	{ "growth is rho per round trip, to the last segment",
	  test_rho_per_round },
	{ "growth by hand", test_rho_by_hand },
	{ "a window that grows loses nothing", test_growing_window },
	{ "a window that shrinks gains nothing", test_shrinking_window },
	{ "no queue: an eighth per round trip, half of a window below full",
	  test_no_queue },
	{ "no queue by hand", test_no_queue_by_hand },
	{ "fast growth by light loss alone", test_light },
	{ "and again in the next round", test_light_again },
	{ "no queue: half of that with a small rho", test_no_queue_small_rho },
	{ "cut of edges of everything", test_cut_edges },
	{ "cut of any window, loss and rho", test_cut_any },
	{ "cuts lose no fraction", test_cut_sum },
	{ "cuts by hand", test_cut_by_hand },
	{ "loss events are W / rho apart", test_spacing },
	{ "what counts between them", test_spacing_by_hand },
	{ "several loss events in one ACK", test_events_at_once },
	{ "no growth while the reference would repair", test_repairs },
	{ "never more than half", test_half },
	{ "rounds of many ACKs", test_rounds },
	{ "rounds of any size", test_rounds_any },
	{ "rounds over the wrap of the count", test_round_wraps },
	{ "the first round, wherever the count is", test_first_round },
	{ "few that wait, heavy loss", test_few },
	{ "no queue is of two rounds", test_no_queue_rounds },
	{ "nothing in flight", test_flight_zero },
	{ "a state that begins anew", test_begin },
	{ "losses that no ACK reports", test_lost },
	{ "a mark is a queue", test_marked },
	{ "equilibrium: rho / sqrt(cut * p)", test_equilibrium },
	{ "half in a round trip, however many losses", test_half_in_a_round_trip },
	{ "a queue too short to wait in", test_shallow },
	{ "equilibrium of Reno: cut 0.58", test_reno },
	{ "near the full window steps double every second round", test_steps },
};

TAP_MAIN(cases)
