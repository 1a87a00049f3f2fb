// SPDX-License-Identifier: GPL-2.0
/*
 * return_path.h: waits of ACKs told from waits of packets, whatever the offset and the
 * drift of the receiver's clock, its tick, and where the counters wrap.
 */
#include "hetcc/return_path.h"
#include "tap.h"

#define ROUNDS		1000
#define MIN_US		100000U
/* A tick and a unit: what a reading may be off by */
#define OFF_US		(RETURN_PATH_TICK_US + (1U << RETURN_PATH_SHIFT))

/* A receiver's clock: ticks of @tick_us, faster by @ppm, ahead by any number */
struct clock {
	u32 ahead;
	u32 tick_us;
	s32 ppm;
};

static u32 tsval(const struct clock *c, u64 us)
{
	return c->ahead + (u32)((us + us / 1000000 * c->ppm) / c->tick_us);
}

/* The ACK of a packet that arrived at @us and waited, as did its ACK. Return: what is read */
static u32 ack(struct return_path *r, const struct clock *c, u64 us,
	       u32 forward_us, u32 back_us)
{
	return return_path_add(r, (u32)(us + MIN_US / 2 + back_us),
			       tsval(c, us), forward_us + back_us, MIN_US);
}

/* Packets of a round that begins at @us, with waits of up to a round trip */
static void some_round(struct return_path *r, const struct clock *c, u64 us)
{
	u32 i;

	for (i = 0; i < 20; i++) {
		u32 forward_us = prng_range(0, MIN_US);
		u32 back_us = prng_range(0, 1) ? prng_range(0, MIN_US) : 0;
		u32 read_us = ack(r, c, us + i * MIN_US / 20, forward_us, back_us);

		EXPECT_TRUE(read_us <= back_us + OFF_US &&
			    read_us <= forward_us + back_us,
			    "%u of %u and %u", read_us, forward_us, back_us);
		EXPECT_TRUE(read_us + OFF_US >= back_us ||
			    back_us < RETURN_PATH_LEAST_US + OFF_US,
			    "%u of %u", read_us, back_us);
	}
	return_path_round(r, (u32)(us + MIN_US), MIN_US);
}

static struct return_path fresh(const struct clock *c, u64 us)
{
	struct return_path r = { 0 };

	return_path_begin(&r, (u32)(us + MIN_US / 2), tsval(c, us));
	return r;
}

static void test_told_apart(void)
{
	/* Both counters wrap on the way */
	struct clock c = { .ahead = U32_MAX - 20000, .tick_us = 1000 };
	u64 us = U32_MAX - 20000000ULL;
	struct return_path r = fresh(&c, us);
	u32 i;

	for (i = 0; i < ROUNDS; i++, us += MIN_US)
		some_round(&r, &c, us);
	EXPECT_TRUE(!r.off, "the clock is a good one");
}

/* Only the packets wait: nothing of it is taken for the ACKs' */
static void drift(s32 ppm)
{
	struct clock c = { .ahead = prng_u32(), .tick_us = 1000, .ppm = ppm };
	u64 us = prng_log(1000000, 1ULL << 40);
	struct return_path r = fresh(&c, us);
	u32 i, j, most = 0;

	for (i = 0; i < 20 * ROUNDS; i++, us += MIN_US) {
		for (j = 0; j < 20; j++)
			most = max(most, ack(&r, &c, us + j * MIN_US / 20,
					     prng_range(50000, 90000), 0));
		return_path_round(&r, (u32)us, MIN_US);
	}
	EXPECT_EQ(most, 0U, "%d ppm", ppm);
	EXPECT_TRUE(!r.off, "%d ppm", ppm);
}

static void test_drift(void)
{
	drift(-450);
	drift(-100);
	drift(0);
	drift(100);
	drift(450);
}

/* With ticks of another length timestamps are left alone within two round trips */
static void test_ticks(void)
{
	static const u32 ticks[] = { 1, 4000, 10000, 100000, 1000000 };
	u32 i, j, last;

	for (i = 0; i < ARRAY_SIZE(ticks); i++) {
		struct clock c = { .ahead = prng_u32(), .tick_us = ticks[i] };
		u64 us = 50000000;
		struct return_path r = fresh(&c, us);

		for (j = 0; j < 2000; j++, us += 1000)
			last = ack(&r, &c, us, j < 300 ? 0 : 50000, 0);
		EXPECT_EQ(last, 0U, "ticks of %u us", ticks[i]);
		EXPECT_EQ((u32)r.off, ticks[i] > 1000, "ticks of %u us", ticks[i]);
	}
}

/* What never goes away becomes part of the way: 50 ms at 488 ppm */
static void test_fades(void)
{
	struct clock c = { .tick_us = 1000 };
	u64 us = 10000000;
	struct return_path r = fresh(&c, us);
	u32 i, read_us = U32_MAX;

	for (i = 0; i < 4000 && read_us; i++, us += MIN_US) {
		read_us = ack(&r, &c, us, 0, 50000);
		return_path_round(&r, (u32)us, MIN_US);
	}
	EXPECT_IN(i, 900, 1100, "%u rounds", i);
}

/* The least round trip holds a wait: what is read is the whole wait, but for ticks */
static void test_wait_in_the_least(void)
{
	struct clock c = { .tick_us = 1000 };
	struct return_path r = fresh(&c, 10000000);
	u32 back_us, read_us, least_us = 3 * MIN_US;

	for (back_us = 2 * MIN_US; back_us > 4000; back_us -= 500) {
		u64 us = 20000000 + prng_range(0, 1000000);
		u32 rtt_us = MIN_US + back_us, min_us = min(least_us, rtt_us);

		read_us = return_path_add(&r, (u32)(us + MIN_US / 2 + back_us),
					  tsval(&c, us), rtt_us - min_us, min_us);
		least_us = min(least_us, rtt_us - read_us);
		EXPECT_IN(rtt_us - read_us, MIN_US, MIN_US + 4000, "%u", back_us);
	}
	EXPECT_IN(least_us, MIN_US, MIN_US + 2 * OFF_US, "the path without a wait");
}

/* Steps of the clock make no least round trip shorter, a whole one does not vanish */
static void test_edges(void)
{
	struct return_path r = { 0 };

	return_path_begin(&r, 0, 0);
	EXPECT_EQ(return_path_add(&r, 1999, 0, 0, 5000), 0U, "a tick's size");
	EXPECT_EQ(return_path_add(&r, 2100, 0, 100, 5000), 100U, "no more");
	EXPECT_EQ(return_path_add(&r, 4096, 0, 2500, 5000), 2500U, "no more");
	EXPECT_EQ(return_path_add(&r, 5120, 0, 2500, 5000), 4120U, "more");
	EXPECT_EQ(return_path_add(&r, 3072, 0, 0, 2072), 2071U, "all but 1 us");
	EXPECT_EQ((u32)r.off, 0U, "the clock is a good one");
	EXPECT_EQ(return_path_add(&r, 3200, 0, 0, 2072), 0U, "too long");
	EXPECT_EQ((u32)r.off, 1U, "no clock of 1 ms");
}

/* Whatever the numbers, a reading is never more than what there was */
static void test_any(void)
{
	struct return_path r = { 0 };
	u32 i;

	for (i = 0; i < 1000000; i++) {
		u32 wait_us = prng_log32(1, U32_MAX) - 1;
		u32 min_us = prng_log32(1, U32_MAX);
		u32 us = return_path_add(&r, prng_u32(), prng_u32(), wait_us,
					 min_us);

		EXPECT_TRUE(us < (u64)wait_us + min_us, "%u of %u and %u", us,
			    wait_us, min_us);
		r.off &= prng_range(0, 3) > 0;
		if (!prng_range(0, 3))
			return_path_round(&r, prng_u32(), prng_u32());
	}
}

static const struct tap_case cases[] = {
	{ "waits of packets and of ACKs, told apart", test_told_apart },
	{ "clocks that drift", test_drift },
	{ "ticks that are not 1 ms", test_ticks },
	{ "a longer way back", test_fades },
	{ "a wait in the least round trip", test_wait_in_the_least },
	{ "edges of what is read", test_edges },
	{ "any numbers", test_any },
};

TAP_MAIN(cases)
