// SPDX-License-Identifier: GPL-2.0
/*
 * forward_level.h: the base follows the least delay, whatever the clocks say; a service
 * time is the link's and not the sender's own rate; a queue answers what is in flight,
 * a path does not.
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

/* Rounds at the link's rate and at our own lower one: near the link's, forgotten slowly */
static void test_service_is_the_links(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		struct forward_level e = { 0 };
		u32 link_ns = prng_log32(1000, 100000000), pkts = 1000, round;
		u32 link_us = (u32)((u64)link_ns * pkts / 1000);

		forward_level_service(&e, link_us, 0);
		EXPECT_EQ(e.pkts_ns, 0, "unknown");
		forward_level_service(&e, link_us, pkts);
		EXPECT_EQ(e.pkts_ns, link_ns, "the first");
		for (round = 0; round < 8; round++)
			forward_level_service(&e, prng_range(2 * link_us, U32_MAX), pkts);
		EXPECT_IN(e.pkts_ns, link_ns, 2.0 * link_ns, "8 slower rounds");
		for (round = 0; round < 64; round++)
			forward_level_service(&e, 4 * link_us, pkts);
		EXPECT_EQ(e.pkts_ns, 4 * link_ns, "64 slower rounds: the link's");
		forward_level_service(&e, link_us, pkts);
		EXPECT_EQ(e.pkts_ns, link_ns, "faster: at once");
	}
}

/* Jitter of the level, uniform, at a window that stays: near what rounds differ by, twice */
static void test_noise_settles(void)
{
	static const u32 jitter_us[] = { 0, 100, 5000, 200000, 1U << 22 };
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(jitter_us); i++) {
		struct forward_level e = { .pkts_ns = 100000, .sent_pkts = 50 };

		for (j = 0; j < 400; j++) {
			u32 last_us = e.level_us;

			e.level_us = prng_range(0, jitter_us[i]);
			forward_level_noise(&e, last_us, e.sent_pkts);
		}
		EXPECT_IN(forward_level_noise_us(&e), jitter_us[i] / 4,
			  4 * jitter_us[i] / 3, "jitter %u us", jitter_us[i]);
	}
}

/* What our own packets explain is no noise */
static void test_own_queue_is_no_noise(void)
{
	struct forward_level e = { .pkts_ns = 100000, .sent_pkts = 50 };
	u32 i;

	for (i = 0; i < 1000; i++) {
		u32 last_us = e.level_us, last_pkts = e.sent_pkts;

		e.sent_pkts = prng_range(50, 200);
		e.level_us = (e.sent_pkts - 50) * 100;
		forward_level_noise(&e, last_us, last_pkts);
		EXPECT_EQ(forward_level_noise_us(&e), 0, "from %u to %u packets",
			  last_pkts, e.sent_pkts);
	}
}

#define PATH_PKTS	50U
#define SERVICE_US	100U

/* A round of a path whose delay varies, with a queue of what is above PATH_PKTS or none */
static void send_varied(struct forward_level *e, u32 pkts, u32 jitter_us, bool queue)
{
	u32 wait_us = prng_range(0, jitter_us), last_us = e->level_us, last_pkts = e->sent_pkts;

	if (queue && pkts > PATH_PKTS)
		wait_us += (pkts - PATH_PKTS) * SERVICE_US;
	forward_level_sample(e, wait_us, pkts);
	e->sent_pkts = pkts;
	forward_level_round(e);
	forward_level_moved(e, last_us);
	forward_level_noise(e, last_us, last_pkts);
}

/* Windows from half to twice the path: jitter of up to a half of that hides neither */
static void test_whose_level(void)
{
	static const u32 jitter_us[] = { 0, 300, 1000, 2500 };
	u32 i, j, pkts, of_path, of_queue;

	for (i = 0; i < ARRAY_SIZE(jitter_us); i++) {
		struct forward_level path = { .pkts_ns = 1000 * SERVICE_US };
		struct forward_level queue = { .pkts_ns = 1000 * SERVICE_US };

		of_path = 0;
		of_queue = 0;
		for (j = 0; j < 1000; j++) {
			pkts = prng_range(PATH_PKTS, 4 * PATH_PKTS);
			send_varied(&path, pkts, jitter_us[i], false);
			send_varied(&queue, pkts, jitter_us[i], true);
			of_path += j > 50 && forward_level_of_path(&path);
			of_queue += j > 50 && !forward_level_of_path(&queue);
		}
		EXPECT_IN(of_path, 900, 1000, "path, jitter %u us", jitter_us[i]);
		EXPECT_IN(of_queue, 900, 1000, "queue, jitter %u us", jitter_us[i]);
	}
}

/* Its mean is the base of a path that varies; a path that is shorter than it varies ends that */
static void test_learn(void)
{
	struct forward_level e = { .pkts_ns = 1000 * SERVICE_US };
	u32 i, near = 0;

	for (i = 0; i < 1100; i++) {
		send_varied(&e, PATH_PKTS, 8000, false);
		forward_level_learn(&e);
		near += i >= 100 && e.base_us >= 1500 && e.base_us <= 6500;
	}
	/* What a level by chance lower makes of it is forgotten */
	EXPECT_IN(near, 800, 1000, "the mean is 4000 us");
	e.base_us += 50000;
	send_varied(&e, PATH_PKTS, 8000, false);
	EXPECT_IN(e.base_us, 0, 8000, "the path got shorter: its least");
	EXPECT_TRUE(!e.varies, "no mean any more");
}

/* The first packet may have waited: where the base is known, that is a level */
static void test_base_is_known(void)
{
	u32 wait_us[PKTS];
	int i;

	for (i = 0; i < ROUNDS; i++) {
		struct forward_level e = { 0 };
		u32 off_us = prng_u32();

		draw_waits(wait_us, 1, 1U << 20);
		forward_level_prime(&e, off_us);
		EXPECT_TRUE(!forward_level_round(&e), "no packet yet");
		send_round(&e, off_us, wait_us, PKTS);
		EXPECT_EQ(e.level_us, least_of(wait_us, PKTS), "base %u", off_us);
	}
}

static const struct tap_case cases[] = {
	{ "the level is the least wait, clocks anywhere", test_level_is_the_least },
	{ "the base follows the least delay", test_base_follows_down },
	{ "a drift is a level until the base is raised", test_drift_is_a_level },
	{ "first packet, reset, the longest delay", test_nothing_is_known },
	{ "the service time is the link's, not our own rate", test_service_is_the_links },
	{ "noise settles", test_noise_settles },
	{ "our own queue is no noise", test_own_queue_is_no_noise },
	{ "a queue answers what is in flight, a path does not", test_whose_level },
	{ "the mean of a path that varies", test_learn },
	{ "a base that is known", test_base_is_known },
};

TAP_MAIN(cases)
