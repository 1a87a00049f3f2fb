// SPDX-License-Identifier: GPL-2.0
/*
 * bw_ack.h: the bandwidth estimate against the paper's, for ACK streams that
 * are regular, delayed, compressed, idle or limited by the application.
 */
#include "hetcc/bw_ack.h"
#include "ref_model.h"
#include "tap.h"

#define MSS		1448
#define ALPHA		800
#define ROUNDS		2000

/* claims: settles within 5 % at every rate */
#define SETTLED		0.05

#define MBIT		(1000000.0 / 8)

/**
 * struct stream - ACKs of a bottleneck with a constant rate
 * @rate: bytes per second
 * @per_ack: segments per ACK
 * @burst: ACKs that arrive in one microsecond
 * @interval_us: of the estimator
 * @at_us: when the stream started, exact
 * @clock_us: sender's clock at time 0
 * @acks: ACKs so far
 */
struct stream {
	double rate;
	u32 per_ack;
	u32 burst;
	u32 interval_us;
	double at_us;
	u32 clock_us;
	u32 acks;
};

static double burst_us(const struct stream *s)
{
	return (double)MSS * s->per_ack * s->burst / s->rate * 1e6;
}

/* Return: the estimator took a sample */
static bool next_ack(struct stream *s, struct bw_ack *b)
{
	u32 now_us = s->clock_us +
		     (u32)(u64)(s->at_us + s->acks / s->burst * burst_us(s));

	s->acks++;
	return bw_ack_add(b, now_us, MSS * s->per_ack, s->interval_us, ALPHA,
			  false);
}

static void change_rate(struct stream *s, double rate)
{
	s->at_us += s->acks / s->burst * burst_us(s);
	s->acks = 0;
	s->rate = rate;
}

static void feed_samples(struct stream *s, struct bw_ack *b, int samples)
{
	while (samples)
		samples -= next_ack(s, b);
}

/*
 * One sample per ACK: a span of m us is read as m rounded up or down, and the
 * mean of 1/span exceeds 1/m by at most 1 / (4 m^2). A span of a round trip
 * ends on a burst, so that bytes and time belong together.
 */
static double bias_bound(const struct stream *s)
{
	double span_us = fmax(fmax(burst_us(s), s->interval_us), 1);

	return 0.25 / (span_us * span_us) + 0.002;
}

/*
 * Single readings: below 10 us a sample is off by up to a burst more or less,
 * of which the filter takes 1 - alpha.
 */
static double reading_bound(const struct stream *s)
{
	double us = burst_us(s);

	if (us >= 10 || s->interval_us)
		return SETTLED;
	return SETTLED + (1 - ALPHA / 1000.0) * fmin(us, 1 / us);
}

static void expect_settled(struct stream *s, struct bw_ack *b, double from)
{
	const int n = 100;
	double sum = 0;
	int i;

	for (i = 0; i < n; i++) {
		double got;

		feed_samples(s, b, 1);
		got = (double)bw_ack_get(b);
		sum += got / n;
		EXPECT_NEAR(got, s->rate, s->rate * reading_bound(s),
			    "from %g, %u per ACK, bursts of %u, interval %u us",
			    from, s->per_ack, s->burst, s->interval_us);
	}
	EXPECT_NEAR(sum, s->rate, s->rate * bias_bound(s),
		    "mean, from %g, %u per ACK, bursts of %u, interval %u us",
		    from, s->per_ack, s->burst, s->interval_us);
}

static void settle(double rate, double from, u32 per_ack, u32 burst,
		   u32 interval_us)
{
	struct bw_ack b = { 0 };
	struct stream s = {
		.rate = rate * from,
		.per_ack = per_ack,
		.burst = burst,
		.interval_us = interval_us,
		.clock_us = prng_u32(),
	};

	feed_samples(&s, &b, 3);
	change_rate(&s, rate);
	feed_samples(&s, &b, 40);
	expect_settled(&s, &b, from);
}

static const double rates[] = {
	0.064 * MBIT, MBIT, 10 * MBIT, 100 * MBIT, 1000 * MBIT, 100000 * MBIT,
};

static void settle_both(u32 per_ack, u32 burst, u32 interval_us)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rates); i++) {
		settle(rates[i], 0.1, per_ack, burst, interval_us);
		settle(rates[i], 10, per_ack, burst, interval_us);
		settle(rates[i], 1, per_ack, burst, interval_us);
	}
}

static void test_settles_per_ack(void)
{
	settle_both(1, 1, 0);
}

static void test_settles_delayed(void)
{
	settle_both(2, 1, 0);
	settle_both(2, 1, 10000);
}

static void test_settles_compressed(void)
{
	settle_both(1, 8, 0);
	settle_both(2, 16, 0);
	settle_both(1, 8, 10000);
}

static void test_settles_per_round_trip(void)
{
	settle_both(1, 1, 1000);
	/* ACKs of 64 kbyte, as GRO makes them at high rates */
	settle_both(44, 1, 25000);
	settle_both(44, 1, 300000);
}

/* At 10 Gbit/s segments are 1.16 us apart: the paper's rule reads too much */
static void test_microsecond_bias(void)
{
	struct stream s = { .rate = 10000 * MBIT, .per_ack = 1, .burst = 1 };
	struct bw_ack b = { 0 };
	double sum = 0;
	int i, n = 2000;

	for (i = 0; i < n; i++) {
		feed_samples(&s, &b, 1);
		sum += (double)bw_ack_get(&b) / n;
	}
	EXPECT_IN(sum / s.rate, 1, 1 + bias_bound(&s), "interval 0");
	settle(s.rate, 1, 1, 1, 1000);
}

/* Return: one unit of truncation in the sample, and the filter's own bound */
static double filter_bound(u32 alpha)
{
	return 1 + 1.0 / EWMA_ONE * 1000 / (1000 - alpha);
}

static void random_acks(u32 alpha)
{
	struct bw_ack b = { 0 };
	u32 now_us = prng_u32();
	double ref = 0;
	int i;

	bw_ack_add(&b, now_us, MSS, 0, alpha, false);
	for (i = 0; i < 1000; i++) {
		u32 bytes = prng_log32(1, 1 << 24);
		u32 span_us = prng_log32(1, 1 << 30);
		double sample = ref_fr_sec2_sample(bytes, span_us / 1e6);

		now_us += span_us;
		/* Slower than a byte per second is not a rate of any link */
		if (sample < 1)
			bytes = span_us;
		sample = fmin(ref_fr_sec2_sample(bytes, span_us / 1e6),
			      EWMA_MAX);
		bw_ack_add(&b, now_us, bytes, 0, alpha, false);
		ref = i ? ref_fr_sec2_filter(ref, sample, alpha / 1000.0) :
			  sample;
		EXPECT_NEAR((double)b.avg.scaled / EWMA_ONE, ref,
			    filter_bound(alpha) + ref * 1e-9,
			    "alpha %u, ACK %d", alpha, i);
	}
}

static void test_random_per_ack(void)
{
	int i;

	for (i = 0; i < ROUNDS / 10; i++)
		random_acks(prng_range(0, 999));
}

static void test_first_ack_opens(void)
{
	struct bw_ack b = { 0 };

	EXPECT_EQ(bw_ack_get(&b), 0, "fresh");
	EXPECT_EQ(bw_ack_add(&b, 5000, 1000000, 0, ALPHA, false), false,
		  "the first ACK closes nothing");
	EXPECT_EQ(bw_ack_get(&b), 0, "after the first ACK");
	EXPECT_EQ(bw_ack_add(&b, 6000, 1448, 0, ALPHA, false), true,
		  "the second ACK is a sample");
	EXPECT_EQ(bw_ack_get(&b), 1448000, "1448 bytes in 1 ms");
}

/* ACKs of one microsecond are as good as one ACK for all their bytes */
static void test_one_microsecond(void)
{
	struct bw_ack many = { 0 }, one = { 0 };
	int i, j;

	for (i = 0; i < 100; i++) {
		u32 now_us = 17 * i, acks = prng_range(1, 20);

		for (j = 0; j < (int)acks; j++)
			bw_ack_add(&many, now_us, MSS, 0, ALPHA, false);
		/* What follows the closing ACK belongs to the next sample */
		bw_ack_add(&one, now_us, MSS, 0, ALPHA, false);
		bw_ack_add(&one, now_us, (acks - 1) * MSS, 0, ALPHA, false);
		EXPECT_EQ(many.bytes, one.bytes, "open bytes, burst %d", i);
		EXPECT_EQ(many.avg.scaled, one.avg.scaled, "average, burst %d",
			  i);
	}
}

/*
 * Random delays of single ACKs, order kept: a sample of at least a round trip
 * is wrong by no more than the delays at its two ends.
 */
static void bunched(u32 rtt_us, u32 jitter_us)
{
	const double segment_us = 115.84, rate = MSS / segment_us * 1e6;
	struct bw_ack b = { 0 };
	u32 now_us = 0, at_us, i;

	for (i = 0; i < 50 * (rtt_us / 100); i++) {
		at_us = (u32)(i * segment_us) + prng_range(0, jitter_us);
		now_us = max(now_us, at_us);
		if (!bw_ack_add(&b, now_us, MSS, rtt_us, ALPHA, false))
			continue;
		EXPECT_NEAR(bw_ack_get(&b), rate,
			    rate * (jitter_us + segment_us + 1) / rtt_us,
			    "rtt %u us, ACKs delayed by up to %u us", rtt_us,
			    jitter_us);
	}
}

static void test_bunching(void)
{
	u32 rtt_us;

	for (rtt_us = 5000; rtt_us <= 320000; rtt_us *= 2) {
		bunched(rtt_us, rtt_us / 50);
		bunched(rtt_us, rtt_us / 5);
	}
}

static void test_interval(void)
{
	struct bw_ack b = { 0 };

	bw_ack_add(&b, 0, 1, 1000, ALPHA, false);
	EXPECT_EQ(bw_ack_add(&b, 999, 1000, 1000, ALPHA, false), false,
		  "one microsecond short");
	EXPECT_EQ(bw_ack_add(&b, 1000, 1000, 1000, ALPHA, false), true,
		  "the whole interval");
	EXPECT_EQ(bw_ack_get(&b), 2000000, "2000 bytes in 1 ms");
	EXPECT_EQ(bw_ack_add(&b, 5000, 0, 1000, ALPHA, false), false,
		  "an ACK without data closes no sample");
	EXPECT_EQ(bw_ack_add(&b, 6000, 10000, 1000, ALPHA, false), true,
		  "its time counts");
	EXPECT_EQ(b.avg.scaled, 2000000ULL * EWMA_ONE, "10000 in 5 ms");
}

static void test_pause(void)
{
	struct stream s = { .rate = 10 * MBIT, .per_ack = 1, .burst = 1 };
	struct bw_ack b = { 0 };
	int i;

	feed_samples(&s, &b, 200);
	for (i = 0; i < 20; i++) {
		bw_ack_pause(&b);
		EXPECT_EQ(b.bytes, 0, "open sample is forgotten");
		s.clock_us += 10000000;
		EXPECT_EQ(next_ack(&s, &b), false, "the next ACK opens");
		feed_samples(&s, &b, 1);
		EXPECT_NEAR(bw_ack_get(&b), s.rate, s.rate * 0.001,
			    "after idle time %d", i);
	}
}

/* The same without the pause, to show that the pause is what does it */
static void test_no_pause(void)
{
	struct stream s = { .rate = 10 * MBIT, .per_ack = 1, .burst = 1 };
	struct bw_ack b = { 0 };

	feed_samples(&s, &b, 200);
	s.clock_us += 10000000;
	feed_samples(&s, &b, 1);
	EXPECT_NEAR(bw_ack_get(&b), s.rate * ALPHA / 1000, s.rate * 0.001,
		    "idle time counted");
}

static void start_at_1m(struct bw_ack *b)
{
	bw_ack_add(b, 0, 0, 0, ALPHA, false);
	bw_ack_add(b, 1000, 1000, 0, ALPHA, false);
}

static void test_limited_cannot_lower(void)
{
	struct bw_ack b = { 0 };
	u32 now_us;

	start_at_1m(&b);
	for (now_us = 2000; now_us < 100000; now_us += 1000) {
		bw_ack_add(&b, now_us, prng_range(1, 999), 0, ALPHA, true);
		EXPECT_EQ(b.avg.scaled, 1000000ULL * EWMA_ONE,
			  "limited sample at %u us", now_us);
	}
	EXPECT_EQ(bw_ack_add(&b, now_us, 2000, 0, ALPHA, true), true,
		  "a higher sample is taken");
	EXPECT_EQ(bw_ack_get(&b), 1200000, "0.8 * 1 MB/s + 0.2 * 2 MB/s");
	EXPECT_EQ(bw_ack_add(&b, now_us + 1000, 200, 0, ALPHA, false), true,
		  "a lower sample is taken where the sender filled the pipe");
	EXPECT_EQ(bw_ack_get(&b), 1000000, "0.8 * 1.2 MB/s + 0.2 * 0.2");
}

/* bw_ack.h: "Return: true if the estimate was given a new sample" */
static void test_limited_returns_false(void)
{
	struct bw_ack b = { 0 };

	start_at_1m(&b);
	EXPECT_EQ(bw_ack_add(&b, 2000, 10, 0, ALPHA, true), false,
		  "a limited sample below the estimate is not given to it");
}

/* Any limited ACK of a sample marks the whole sample, and no later one */
static void test_limited_sticks(void)
{
	struct bw_ack b = { 0 };

	start_at_1m(&b);
	bw_ack_add(&b, 1500, 10, 2000, ALPHA, true);
	bw_ack_add(&b, 3000, 10, 2000, ALPHA, false);
	EXPECT_EQ(bw_ack_get(&b), 1000000, "limited at its first ACK only");
	bw_ack_add(&b, 5000, 200, 2000, ALPHA, false);
	EXPECT_EQ(bw_ack_get(&b), 820000, "the next sample is not limited");
	bw_ack_add(&b, 5500, 200, 2000, ALPHA, true);
	bw_ack_pause(&b);
	bw_ack_add(&b, 6000, 0, 2000, ALPHA, false);
	bw_ack_add(&b, 8000, 200, 2000, ALPHA, false);
	EXPECT_EQ(bw_ack_get(&b), 676000, "a pause forgets the mark");
}

static void test_clock_wrap(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		u32 interval_us = prng_range(0, 1) * 10000, offset = prng_u32();
		struct stream s = { 10 * MBIT, 1, 1, interval_us, 0, 0, 0 };
		struct stream t = s;
		struct bw_ack b = { 0 }, c = { 0 };

		/* Every other clock wraps within the stream */
		t.clock_us = i % 2 ? offset : U32_MAX - offset % 50000;
		feed_samples(&s, &b, 50);
		feed_samples(&t, &c, 50);
		EXPECT_EQ(c.avg.scaled, b.avg.scaled, "clock offset %u",
			  t.clock_us);
	}
}

/* bw_ack.h: bytes < 2^32, times 10^6 < 2^52 */
static void test_sample_range(void)
{
	struct bw_ack b = { .running = true };

	EXPECT_EQ(bw_ack_add(&b, 0, 1U << 31, 0, ALPHA, false), false,
		  "no time has passed");
	EXPECT_EQ(bw_ack_add(&b, 1, 1U << 31, 0, 0, false), true,
		  "2^32 bytes in 1 us");
	EXPECT_EQ(bw_ack_get(&b), EWMA_MAX, "clamped, not wrapped");
	bw_ack_add(&b, 0, U32_MAX, U32_MAX, 0, false);
	EXPECT_EQ(bw_ack_get(&b), 1000000, "2^32 - 1 bytes in as many us");
	bw_ack_add(&b, U32_MAX, 1, U32_MAX, 0, false);
	EXPECT_EQ(bw_ack_get(&b), 0, "1 byte in 2^32 - 1 us");
}

/* The settled estimate of a span that carries more than 2^32 bytes */
static void test_huge_sample(void)
{
	struct stream s = {
		.rate = 100000 * MBIT,
		.per_ack = 44,
		.burst = 1,
		.interval_us = 500000,
	};
	struct bw_ack b = { 0 };

	feed_samples(&s, &b, 20);
	EXPECT_NEAR(bw_ack_get(&b), s.rate, s.rate * SETTLED,
		    "100 Gbit/s, round trip 500 ms: 6.25 GB a sample");
}

static const struct tap_case cases[] = {
	{ "settles at 64 kbit/s to 100 Gbit/s, one sample per ACK",
	  test_settles_per_ack },
	{ "settles with delayed ACKs", test_settles_delayed },
	{ "settles with compressed ACKs", test_settles_compressed },
	{ "settles with one sample per round trip",
	  test_settles_per_round_trip },
	{ "spans of about a microsecond: bias below 1/(4 span^2)",
	  test_microsecond_bias },
	{ "random ACKs: the paper's estimate within the filter's bound",
	  test_random_per_ack },
	{ "the first ACK opens a sample, its bytes do not count",
	  test_first_ack_opens },
	{ "ACKs within one microsecond share a sample", test_one_microsecond },
	{ "a span of a round trip is blind to bunching", test_bunching },
	{ "a sample spans at least the interval", test_interval },
	{ "idle time after a pause does not count", test_pause },
	{ "idle time without a pause does count", test_no_pause },
	{ "a limited sample cannot lower the estimate",
	  test_limited_cannot_lower },
	{ "a limited sample that is dropped is not reported as taken",
	  test_limited_returns_false },
	{ "one limited ACK marks its sample only", test_limited_sticks },
	{ "the clock may wrap", test_clock_wrap },
	{ "the range of a sample", test_sample_range },
	{ "a sample of more than 2^32 bytes", test_huge_sample },
};

TAP_MAIN(cases)
