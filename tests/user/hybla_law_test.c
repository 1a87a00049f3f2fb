// SPDX-License-Identifier: GPL-2.0
/*
 * hybla_law.h: normalised round trip time and Hybla's window increments, with
 * every fraction of a segment accounted for.
 */
#include "hetcc/hybla_law.h"
#include "ref_model.h"
#include "tap.h"

#define ROUNDS		200000
#define RUNS		400
#define ACKS		5000

#define RTT_MIN_US	1000
#define RTT_MAX_US	2000000
#define RTT0_MIN_US	1000
#define RTT0_MAX_US	500000

static struct hybla_law make_rho(u32 rtt_us, u32 rtt0_us)
{
	struct hybla_law h = { 0 };

	hybla_law_set_rho(&h, rtt_us, rtt0_us);
	return h;
}

static struct hybla_law random_rho(void)
{
	u32 rtt_us = prng_log32(RTT_MIN_US, RTT_MAX_US);

	return make_rho(rtt_us, prng_log32(RTT0_MIN_US, RTT0_MAX_US));
}

/* rho as the increments use it */
static double held_rho(const struct hybla_law *h)
{
	return (double)h->rho / HYBLA_LAW_RHO_ONE;
}

static void test_eq5(void)
{
	const double step = 1.0 / HYBLA_LAW_RHO_ONE, top = 4096;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		u32 rtt_us = prng_log32(1, U32_MAX);
		u32 rtt0_us = prng_log32(1, U32_MAX);
		struct hybla_law h = make_rho(rtt_us, rtt0_us);
		double want = fmin(ref_hybla_eq5(rtt_us, rtt0_us), top);

		EXPECT_IN(held_rho(&h), fmax(want - step, 1), want,
			  "rtt %u us, rtt0 %u us", rtt_us, rtt0_us);
	}
}

static void test_eq5_edges(void)
{
	static const struct {
		u32 rtt_us, rtt0_us, want;
	} rows[] = {
		{ 0, 25000, HYBLA_LAW_RHO_ONE },
		{ 0, 0, HYBLA_LAW_RHO_ONE },
		{ 1, U32_MAX, HYBLA_LAW_RHO_ONE },
		{ 24999, 25000, HYBLA_LAW_RHO_ONE },
		{ 25000, 25000, HYBLA_LAW_RHO_ONE },
		{ 25007, 25000, HYBLA_LAW_RHO_ONE + 1 },
		{ 600000, 25000, 24 * HYBLA_LAW_RHO_ONE },
		{ 4096, 1, HYBLA_LAW_RHO_MAX },
		{ 4095, 1, HYBLA_LAW_RHO_MAX - HYBLA_LAW_RHO_ONE },
		{ 4097, 1, HYBLA_LAW_RHO_MAX },
		{ 4095, 0, HYBLA_LAW_RHO_MAX - HYBLA_LAW_RHO_ONE },
		{ U32_MAX, 0, HYBLA_LAW_RHO_MAX },
		{ U32_MAX, 1, HYBLA_LAW_RHO_MAX },
		{ U32_MAX, U32_MAX, HYBLA_LAW_RHO_ONE },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		EXPECT_EQ(make_rho(rows[i].rtt_us, rows[i].rtt0_us).rho,
			  rows[i].want, "rtt %u us, rtt0 %u us",
			  rows[i].rtt_us, rows[i].rtt0_us);
}

static void test_ss_increment(void)
{
	u32 rtt_us;

	for (rtt_us = 25000; rtt_us < 40 * 25000; rtt_us += 7) {
		struct hybla_law h = make_rho(rtt_us, 25000);
		double want = fmin(ref_hybla_eq9_ss(held_rho(&h)), 1 << 15);

		EXPECT_NEAR((double)h.ss_inc / FIXED_EXP_ONE, want,
			    (want + 1) * 1e-4, "rtt %u us", rtt_us);
		EXPECT_IN(h.ss_inc, FIXED_EXP_ONE, FIXED_EXP_MAX, "rtt %u us",
			  rtt_us);
	}
}

static void test_set_follows(void)
{
	struct hybla_law h = make_rho(600000, 25000);

	hybla_law_set_rho(&h, 25000, 25000);
	EXPECT_EQ(h.rho, HYBLA_LAW_RHO_ONE, "rho falls with the round trip");
	EXPECT_EQ(h.ss_inc, FIXED_EXP_ONE, "2^1 - 1");
	EXPECT_EQ(hybla_law_ca(&h, 10, 9), 0, "0.9 segments");
	hybla_law_set_rho(&h, 50000, 25000);
	EXPECT_EQ(h.ss_inc, 3 * FIXED_EXP_ONE, "2^2 - 1");
	EXPECT_EQ(hybla_law_ca(&h, 10, 1), 1, "carried 0.9, and 2^2 / 10");
	EXPECT_EQ(hybla_law_ca(&h, 10, 1), 0, "0.7");
	EXPECT_EQ(hybla_law_ca(&h, 10, 1), 1, "1.1");
}

static void test_scale(void)
{
	struct hybla_law h = make_rho(62500, 25000), top = make_rho(1 << 20, 1);
	int i;

	EXPECT_EQ(hybla_law_scale(&h, 0), 0, "nothing");
	EXPECT_EQ(hybla_law_scale(&h, 3), 7, "2.5 * 3, rounded down");
	EXPECT_EQ(hybla_law_scale(&top, 1), 4096, "rho cap");
	EXPECT_EQ(hybla_law_scale(&top, 4095), 4095U << 12, "below the cap");
	EXPECT_EQ(hybla_law_scale(&top, 4097), HYBLA_LAW_CWND_MAX, "above it");
	EXPECT_EQ(hybla_law_scale(&top, U32_MAX), HYBLA_LAW_CWND_MAX,
		  "2^24 * 2^32");
	for (i = 0; i < 1000; i++) {
		u32 pkts = prng_log32(1, 65536);

		h = random_rho();
		EXPECT_EQ(hybla_law_scale(&h, pkts),
			  (u64)fmin(floor(held_rho(&h) * pkts),
				    HYBLA_LAW_CWND_MAX), "%u", pkts);
	}
}

/* Segments added and carried are those that ss_inc gave, to the last bit */
static void test_ss_exact(void)
{
	int i, k;

	for (i = 0; i < RUNS; i++) {
		struct hybla_law h = random_rho();
		u64 added = 0, segments = 0;

		for (k = 0; k < ACKS; k++) {
			u32 n = prng_range(1, 64), acked = n;

			added += hybla_law_ss(&h, U32_MAX, &acked);
			segments += n;
			EXPECT_EQ(acked, 0, "nothing is left over, ACK %d", k);
		}
		EXPECT_EQ(added, segments * h.ss_inc >> FIXED_EXP_SHIFT,
			  "rho %g, %llu segments", held_rho(&h), segments);
	}
}

/* One ACK for n segments does what n ACKs for one do */
static void test_ss_split(void)
{
	int i, k;

	for (i = 0; i < RUNS; i++) {
		struct hybla_law whole = random_rho(), single = whole;
		u64 sum = 0, by_one = 0;

		for (k = 0; k < 100; k++) {
			u32 n = prng_range(1, 64), acked = n, one;

			sum += hybla_law_ss(&whole, U32_MAX, &acked);
			while (n--) {
				one = 1;
				by_one += hybla_law_ss(&single, U32_MAX, &one);
			}
			EXPECT_EQ(by_one, sum, "rho %g, ACK %d",
				  held_rho(&whole), k);
		}
	}
}

/*
 * Where ssthresh is reached: the segments used up are the fewest that reach
 * it, all others are left over. @fraction: carried from before, Q16.
 */
static void expect_fewest(const struct hybla_law *h, u64 fraction, u32 room,
			  u32 used)
{
	u64 need = (u64)room << FIXED_EXP_SHIFT;

	EXPECT_TRUE((u64)used * h->ss_inc + fraction >= need,
		    "rho %g, room %u: %u segments reach ssthresh", held_rho(h),
		    room, used);
	EXPECT_TRUE(!used || (used - 1ULL) * h->ss_inc + fraction < need,
		    "rho %g, room %u: %u segments are not one too many",
		    held_rho(h), room, used);
}

static void test_ss_room(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		u32 first = prng_range(0, 9), n = prng_log32(1, U32_MAX);
		u32 room = prng_log32(1, U32_MAX) - 1, acked = n, added;
		struct hybla_law h = random_rho();
		u64 fraction = (u64)first * h.ss_inc % FIXED_EXP_ONE;

		hybla_law_ss(&h, U32_MAX, &first);
		added = hybla_law_ss(&h, room, &acked);
		EXPECT_IN(acked, 0, n, "left over");
		EXPECT_EQ(added, min_t(u64, room, (fraction + (u64)n * h.ss_inc)
						  >> FIXED_EXP_SHIFT),
			  "window, rho %g, room %u, %u segments", held_rho(&h),
			  room, n);
		if (added == room)
			expect_fewest(&h, fraction, room, n - acked);
		else
			EXPECT_EQ(acked, 0, "left over below ssthresh");
	}
}

/*
 * What is left over may be used up behind ssthresh: both together are what one
 * run gives, less at most the segment that reached ssthresh.
 */
static void test_ss_not_twice(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		u32 n = prng_range(1, 64), acked = n;
		struct hybla_law h = random_rho();
		u64 whole = (u64)n * h.ss_inc >> FIXED_EXP_SHIFT;
		u32 room = prng_log32(1, (u32)whole + 1);
		u64 added = hybla_law_ss(&h, room, &acked);

		added += hybla_law_ss(&h, U32_MAX, &acked);
		EXPECT_IN(added, (double)whole - 1 -
			  (double)h.ss_inc / FIXED_EXP_ONE, whole,
			  "rho %g, %u segments, room %u", held_rho(&h), n,
			  room);
		EXPECT_EQ(acked, 0, "all used up");
	}
}

static void test_ss_edges(void)
{
	static const struct {
		u32 rtt_us, room, acked, added, left;
	} rows[] = {
		{ 25000, 0, 0, 0, 0 },
		{ 25000, 0, 5, 0, 5 },
		{ 25000, 5, 5, 5, 0 },
		{ 25000, 5, 6, 5, 1 },
		{ 25000, 5, 4, 4, 0 },
		{ 50000, 7, 3, 7, 0 },
		{ 50000, 7, 4, 7, 1 },
		{ 25000, U32_MAX, U32_MAX, U32_MAX, 0 },
		{ 25000, 1, U32_MAX, 1, U32_MAX - 1 },
		/* 2^15 - 1 per segment: 2^31 * 2^32 */
		{ 600000, U32_MAX, U32_MAX, U32_MAX, U32_MAX - 131077 },
		{ 600000, U32_MAX, 2, 65534, 0 },
		{ 600000, 1, 1, 1, 0 },
		{ 600000, 0, U32_MAX, 0, U32_MAX },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct hybla_law h = make_rho(rows[i].rtt_us, 25000);
		u32 acked = rows[i].acked;

		EXPECT_EQ(hybla_law_ss(&h, rows[i].room, &acked),
			  rows[i].added, "row %u: window", i);
		EXPECT_EQ(acked, rows[i].left, "row %u: left over", i);
	}
}

/* hybla_law.h cuts rho^2 to Q16, by less than 2^-16 a segment */
static double cut(double segments_by_w)
{
	return segments_by_w / FIXED_EXP_ONE;
}

static void ca_constant(u32 w, u32 most_acked)
{
	struct hybla_law h = random_rho();
	double want = 0, slack = 0;
	u64 added = 0;
	int k;

	for (k = 0; k < ACKS; k++) {
		u32 acked = prng_range(1, most_acked);

		added += hybla_law_ca(&h, w, acked);
		want += acked * ref_hybla_eq9_ca(held_rho(&h), w);
		slack += cut((double)acked / w);
		EXPECT_IN(added, want - 1 - slack, want + 1e-6 * want,
			  "rho %g, W %u, ACK %d", held_rho(&h), w, k);
	}
}

static void test_ca_constant(void)
{
	int i;

	for (i = 0; i < RUNS; i++) {
		ca_constant(prng_log32(1, 100000), 1);
		ca_constant(prng_log32(1, 100000), 64);
	}
}

/*
 * The window grows by what it is told to, up to a clamp as the stack has. Each
 * change of the window may cost the last bit of a Q16 fraction.
 */
static void ca_growing(u32 w, u32 top, u32 most_acked)
{
	struct hybla_law h = random_rho();
	u32 start = w;
	double want = 0, slack = 0;
	u64 added = 0;
	int k;

	for (k = 0; k < 4 * ACKS; k++) {
		u32 acked = prng_range(1, most_acked);
		u32 inc = hybla_law_ca(&h, w, acked);

		want += acked * ref_hybla_eq9_ca(held_rho(&h), w);
		slack += cut((double)acked / w + 1);
		added += inc;
		w = (u32)min_t(u64, (u64)w + inc, top);
	}
	EXPECT_IN(added, want - 1 - slack, want + 1 + 1e-6 * want,
		  "rho %g, W %u to %u, up to %u segments per ACK",
		  held_rho(&h), start, w, most_acked);
}

static void test_ca_growing(void)
{
	int i;

	for (i = 0; i < RUNS; i++) {
		u32 w = prng_log32(1, 10000), top = prng_log32(w, 10000000);

		ca_growing(w, top, 1);
		ca_growing(w, top, 64);
	}
}

/* Against the unrounded rho: 1 / 4096 of rho counts twice in its square */
static void test_ca_eq9(void)
{
	int i, k;

	for (i = 0; i < RUNS; i++) {
		u32 rtt_us = prng_log32(RTT_MIN_US, RTT_MAX_US);
		u32 rtt0_us = prng_log32(RTT0_MIN_US, RTT0_MAX_US);
		struct hybla_law h = make_rho(rtt_us, rtt0_us);
		double rho = ref_hybla_eq5(rtt_us, rtt0_us), want;
		u32 w = prng_log32(1, 10000);
		u64 added = 0;

		for (k = 0; k < ACKS; k++)
			added += hybla_law_ca(&h, w, 1);
		want = ACKS * ref_hybla_eq9_ca(rho, w);
		EXPECT_NEAR(added, want, 1 + want * 2 / HYBLA_LAW_RHO_ONE,
			    "rtt %u us, rtt0 %u us, W %u", rtt_us, rtt0_us, w);
	}
}

static void test_ca_shrink(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		struct hybla_law h = random_rho();
		u32 w = prng_log32(1, HYBLA_LAW_CWND_MAX);

		hybla_law_ca(&h, w, prng_range(1, 64));
		w = prng_log32(1, w);
		EXPECT_EQ(hybla_law_ca(&h, w, 0), 0,
			  "the carry is below a segment at W %u", w);
	}
}

static void test_ca_edges(void)
{
	static const struct {
		u32 rtt_us, rtt0_us, cwnd, acked, want;
	} rows[] = {
		{ 25000, 25000, 1, 1, 1 },
		{ 25000, 25000, 0, 1, 1 },
		{ 25000, 25000, 10, 0, 0 },
		{ 25000, 25000, 10, 9, 0 },
		{ 25000, 25000, 10, 10, 1 },
		{ 50000, 25000, 1, 1, 4 },
		{ 25000, 25000, 1, U32_MAX, 1 << 20 },
		{ 25000, 25000, HYBLA_LAW_CWND_MAX, 1 << 20, 0 },
		/* W is cut to 2^24, acked to 2^20, rho to 2^12 */
		{ 1 << 20, 1, U32_MAX, 1, 1 },
		{ 1 << 20, 1, U32_MAX, U32_MAX, 1 << 20 },
		{ 1 << 20, 1, HYBLA_LAW_CWND_MAX, U32_MAX, 1 << 20 },
		{ 1 << 20, 1, 1, 1, 1 << 24 },
		{ 1 << 20, 1, 1, 255, 255 << 24 },
		{ 1 << 20, 1, 1, 256, U32_MAX },
		{ 1 << 20, 1, 1, U32_MAX, U32_MAX },
		{ 1 << 20, 1, 0, U32_MAX, U32_MAX },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct hybla_law h = make_rho(rows[i].rtt_us, rows[i].rtt0_us);

		EXPECT_EQ(hybla_law_ca(&h, rows[i].cwnd, rows[i].acked),
			  rows[i].want, "row %u: cwnd %u, acked %u", i,
			  rows[i].cwnd, rows[i].acked);
		EXPECT_EQ(hybla_law_ca(&h, rows[i].cwnd, 0), 0,
			  "row %u: carried", i);
	}
}

/* Leaving one phase for the other brings less than a segment along */
static void test_phase_change(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		struct hybla_law ss = random_rho(), ca = ss;
		u32 w = prng_log32(1, HYBLA_LAW_CWND_MAX);
		u32 acked = prng_range(1, 64), none = 0;

		hybla_law_ss(&ss, U32_MAX, &acked);
		EXPECT_EQ(hybla_law_ca(&ss, w, 0), 0, "into avoidance, W %u",
			  w);
		hybla_law_ca(&ca, w, prng_range(1, 64));
		EXPECT_EQ(hybla_law_ss(&ca, U32_MAX, &none), 0,
			  "into slow start, W %u", w);
	}
}

#define RTT0_S		0.025
#define GAMMA		32.0

/* One round trip: every segment of the window is acknowledged, one by one */
static u32 round_trip(struct hybla_law *h, u32 w, u32 ssthresh)
{
	u32 acks = w;

	while (acks--) {
		u32 acked = 1;

		if (w < ssthresh)
			w += hybla_law_ss(h, ssthresh - w, &acked);
		if (acked)
			w += hybla_law_ca(h, w, acked);
	}
	return w;
}

static double round_trip_ref(double rho, double w)
{
	double ssthresh = rho * GAMMA;
	int acks = (int)w;

	while (acks--) {
		if (w < ssthresh)
			w = fmin(w + ref_hybla_eq9_ss(rho), ssthresh);
		else
			w += ref_hybla_eq9_ca(rho, w);
	}
	return w;
}

/*
 * ACKs tell of the window one round trip ago, so equation 6 is an upper bound,
 * and a lower one a round trip later, but for what the growth of W within a
 * round trip takes off rho^2 / W: rho^2 / 2 * ln(W / ssthresh) in all.
 */
static void expect_eq6(double w, double t, double rtt)
{
	double rho = ref_hybla_eq5(rtt, RTT0_S);
	double lag = rho * rho / 2 * fmax(log(w / (rho * GAMMA)), 0);

	EXPECT_IN(w, ref_hybla_eq6(t - rtt, rtt, RTT0_S, GAMMA) - lag - 2,
		  ref_hybla_eq6(t, rtt, RTT0_S, GAMMA) * 1.001 + 2,
		  "equation 6, rtt %g s, t %g s", rtt, t);
}

static void test_window_in_time(void)
{
	static const u32 rtt_ms[] = { 25, 50, 100, 200, 300, 400, 500, 600 };
	unsigned int i;
	double t;

	for (i = 0; i < ARRAY_SIZE(rtt_ms); i++) {
		struct hybla_law h = make_rho(rtt_ms[i] * 1000, 25000);
		double rtt = rtt_ms[i] / 1000.0, want = held_rho(&h);
		u32 ssthresh = hybla_law_scale(&h, GAMMA);
		u32 w = hybla_law_scale(&h, 1);

		for (t = rtt; t < 10; t += rtt) {
			w = round_trip(&h, w, ssthresh);
			want = round_trip_ref(held_rho(&h), want);
			EXPECT_NEAR(w, want, 2 + want * 0.002,
				    "equation 9, rtt %u ms, t %g s", rtt_ms[i],
				    t);
			expect_eq6(w, t, rtt);
		}
	}
}

static const struct tap_case cases[] = {
	{ "equation 5 to within 1/4096, from 1 to 4096", test_eq5 },
	{ "equation 5: edges, zero divisor", test_eq5_edges },
	{ "equation 9: 2^rho - 1 to within 1e-4, at most 2^15",
	  test_ss_increment },
	{ "rho follows the round trip, the carry stays", test_set_follows },
	{ "rho times segments, rounded down and capped", test_scale },
	{ "slow start: no fraction lost over a long run", test_ss_exact },
	{ "slow start: an ACK for n segments equals n ACKs", test_ss_split },
	{ "slow start: room and segments left over agree", test_ss_room },
	{ "slow start: nothing is counted on both sides of ssthresh",
	  test_ss_not_twice },
	{ "slow start: edges, huge operands", test_ss_edges },
	{ "avoidance: within a segment of rho^2/W, constant window",
	  test_ca_constant },
	{ "avoidance: within a segment of rho^2/W, growing window",
	  test_ca_growing },
	{ "avoidance: equation 9 with the unrounded rho", test_ca_eq9 },
	{ "avoidance: the carry stays below a segment of a smaller window",
	  test_ca_shrink },
	{ "avoidance: edges, window 1 and huge", test_ca_edges },
	{ "a change of phase brings less than a segment along",
	  test_phase_change },
	{ "window in time: equations 9 and 6, 25 to 600 ms",
	  test_window_in_time },
};

TAP_MAIN(cases)
