// SPDX-License-Identifier: GPL-2.0
/*
 * forward_level.h: the base follows the least delay, whatever the clocks say; a service
 * time is the link's and not the sender's own rate.
 */
#include "hetcc/forward_level.h"
#include "tap.h"

#define ROUNDS		20000
#define PKTS		32

/* A round of packets that waited so long each; off_us: clocks and path */
static bool send_round(struct forward_level *e, u32 off_us, const u32 *wait_us,
		       u32 pkts)
{
	u32 i;

	for (i = 0; i < pkts; i++)
		forward_level_sample(e, off_us + wait_us[i], i);
	return forward_level_round(e);
}

static u32 least_of(const u32 *wait_us, u32 pkts)
{
	u32 i, least = U32_MAX;

	for (i = 0; i < pkts; i++)
		least = min(least, wait_us[i]);
	return least;
}

static void draw_waits(u32 *wait_us, u32 lo, u32 hi)
{
	u32 i;

	for (i = 0; i < PKTS; i++)
		wait_us[i] = prng_range(lo, hi);
}

/* Clocks that differ by anything, 2^32 us among it: only the waits count */
static void test_level_is_the_least(void)
{
	u32 wait_us[PKTS];
	int i;

	for (i = 0; i < ROUNDS; i++) {
		struct forward_level e = { 0 };
		u32 off_us = i % 2 ? prng_u32() : -prng_range(0, 100000);
		u32 least;

		draw_waits(wait_us, 0, 50000);
		wait_us[0] = 0;
		EXPECT_TRUE(send_round(&e, off_us, wait_us, PKTS), "round");
		EXPECT_EQ(e.level_us, 0, "the empty path");
		draw_waits(wait_us, 0, 1U << 20);
		send_round(&e, off_us, wait_us, PKTS);
		least = least_of(wait_us, PKTS);
		EXPECT_EQ(e.level_us, least, "clocks %u apart", off_us);
		EXPECT_EQ(wait_us[e.sent_pkts], least, "its packets in flight");
		EXPECT_EQ(e.base_us, off_us, "base");
	}
}

/* A path that gets shorter, or a clock that runs backwards: the base goes along at once */
static void test_base_follows_down(void)
{
	struct forward_level e = { 0 };
	u32 off_us = 3000, wait_us[PKTS];
	int i;

	for (i = 0; i < ROUNDS; i++) {
		draw_waits(wait_us, 0, 2000);
		wait_us[PKTS / 2] = 0;
		send_round(&e, off_us, wait_us, PKTS);
		EXPECT_EQ(e.base_us, off_us, "round %d", i);
		EXPECT_EQ(e.level_us, 0, "round %d", i);
		off_us -= prng_range(0, 1U << 20);
	}
}

/* A clock that drifts upwards shows as a delay, until it is taken for the path's */
static void test_drift_is_a_level(void)
{
	struct forward_level e = { 0 };
	u32 off_us = U32_MAX - 1000, none[1] = { 0 };
	u32 i;

	send_round(&e, off_us, none, 1);
	for (i = 1; i <= 1000; i++) {
		send_round(&e, off_us + 5 * i, none, 1);
		EXPECT_EQ(e.level_us, 5 * i, "round %u", i);
	}
	forward_level_raise_base(&e, 2000);
	EXPECT_EQ(e.level_us, 3000, "what is left of it");
	send_round(&e, off_us + 5000, none, 1);
	EXPECT_EQ(e.level_us, 3000, "the round after");
	forward_level_raise_base(&e, 5000);
	EXPECT_EQ(e.level_us, 0, "no level below 0");
	send_round(&e, off_us + 5000, none, 1);
	EXPECT_EQ(e.base_us, off_us + 5000, "base");
}

static void test_nothing_is_known(void)
{
	struct forward_level e = { 0 };
	u32 wait_us[1] = { 700 };

	EXPECT_TRUE(!forward_level_round(&e), "a round without a packet");
	send_round(&e, 0, wait_us, 1);
	EXPECT_EQ(e.level_us, 0, "the first packet makes the base");
	forward_level_reset(&e);
	EXPECT_TRUE(!forward_level_round(&e), "a round without a packet");
	send_round(&e, 1U << 30, wait_us, 1);
	EXPECT_EQ(e.base_us, (1U << 30) + 700, "another base");
	/* More than a minute is a minute */
	wait_us[0] = 1U << 30;
	send_round(&e, 1U << 30, wait_us, 1);
	EXPECT_EQ(e.level_us, FORWARD_LEVEL_MAX_US, "at most");
}

/* Rounds at the link's rate and at our own lower one: the link's, for 8 rounds at least */
static void test_service_is_the_links(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		struct forward_level e = { 0 };
		u32 link_ns = prng_log32(1000, 100000000), pkts = 1000, epoch;
		u32 link_us = (u32)((u64)link_ns * pkts / 1000);

		forward_level_service(&e, link_us, pkts);
		for (epoch = 0; epoch < 2; epoch++) {
			forward_level_service(&e, prng_range(link_us, U32_MAX), pkts);
			EXPECT_EQ(forward_level_pkts_ns(&e), link_ns, "epoch %u", epoch);
			if (!epoch)
				forward_level_next_epoch(&e);
		}
		forward_level_next_epoch(&e);
		EXPECT_TRUE(forward_level_pkts_ns(&e) >= link_ns, "forgotten");
		forward_level_service(&e, link_us, 0);
		forward_level_next_epoch(&e);
		EXPECT_TRUE(forward_level_pkts_ns(&e), "nothing new: not forgotten");
	}
}

/* Jitter of so much, uniform: the noise settles near what samples exceed the least by, twice */
static void test_noise_settles(void)
{
	static const u32 jitter_us[] = { 0, 100, 5000, 200000, 1U << 23 };
	u32 i, j, wait_us[PKTS];

	for (i = 0; i < ARRAY_SIZE(jitter_us); i++) {
		struct forward_level e = { 0 };
		u32 most = min(jitter_us[i], FORWARD_LEVEL_NOISE_MAX_US);

		for (j = 0; j < 400; j++) {
			draw_waits(wait_us, 0, jitter_us[i]);
			send_round(&e, 7, wait_us, PKTS);
			forward_level_noise(&e, 7 + wait_us[prng_range(0, PKTS - 1)]);
		}
		EXPECT_IN(forward_level_noise_us(&e), most / 4, 2 * most,
			  "jitter %u us", jitter_us[i]);
	}
}

static const struct tap_case cases[] = {
	{ "the level is the least wait, clocks anywhere", test_level_is_the_least },
	{ "the base follows the least delay", test_base_follows_down },
	{ "a drift is a level until the base is raised", test_drift_is_a_level },
	{ "first packet, reset, the longest delay", test_nothing_is_known },
	{ "the service time is the link's, not our own rate", test_service_is_the_links },
	{ "noise settles", test_noise_settles },
};

TAP_MAIN(cases)
