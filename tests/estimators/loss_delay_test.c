// SPDX-License-Identifier: GPL-2.0
/*
 * loss_delay.h: a queue loses packets when they wait longest, a link at any time; more
 * than a link loses is heavy.
 */
#include "hetcc/loss_delay.h"
#include "tap.h"

#define WINDOW		100
#define BASE_US		40000
#define QUEUE_US	20000
#define GAP_US		(QUEUE_US / WINDOW)

/* A round of packets that wait so long each, the last @lost of them lost; how many while none waits */
static u32 send_round(struct loss_delay *e, u32 wait_us, u32 lost)
{
	u32 i, empty = 0;

	for (i = 0; i < WINDOW; i++)
		loss_delay_sample(e, wait_us, 1, i >= WINDOW - lost);
	for (i = 0; i < lost; i++)
		empty += loss_delay_lost(e, wait_us, BASE_US, GAP_US, 1);
	loss_delay_sample(e, wait_us, 1, false);
	loss_delay_round(e, wait_us);
	return empty;
}

/* Estimator that has seen a queue of so much for long */
static struct loss_delay after_queue(u32 wait_us)
{
	struct loss_delay e = { 0 };
	u32 i;

	loss_delay_init(&e);
	for (i = 0; i < 100; i++)
		loss_delay_round(&e, wait_us);
	return e;
}

/* No packet waits: no queue can be full, but each loss counts twice */
static void test_nothing_waits(void)
{
	struct loss_delay e = { 0 };
	u32 i;

	loss_delay_init(&e);
	EXPECT_TRUE(!loss_delay_heavy(&e) && !loss_delay_of_link(&e), "nothing is lost");
	for (i = 0; i < 50; i++)
		EXPECT_EQ(send_round(&e, prng_range(0, BASE_US / 100), 1), 1, "round %u", i);
	EXPECT_TRUE(!loss_delay_heavy(&e), "1 of 100, twice, is not 1 of 12");
	for (i = 0; i < 10; i++)
		send_round(&e, 0, WINDOW * 3 / 4 / LOSS_DELAY_CEILING);
	EXPECT_TRUE(loss_delay_heavy(&e), "three quarters of the ceiling, twice");
}

/* A queue that fills and empties as a sawtooth of 8 rounds and loses at its top */
static void test_full_queue(void)
{
	struct loss_delay e = after_queue(QUEUE_US / 2);
	u32 cycle, i;

	for (cycle = 0; cycle < 100; cycle++) {
		for (i = 0; i < 8; i++)
			EXPECT_EQ(send_round(&e, QUEUE_US * i / 7, i == 7), 0,
				  "cycle %u, round %u", cycle, i);
		EXPECT_TRUE(!loss_delay_of_link(&e), "cycle %u", cycle);
	}
	EXPECT_TRUE(!loss_delay_heavy(&e), "one in 800 is not heavy");
}

/* The same queue; losses come in any round, then at its top again */
static void test_random_loss(void)
{
	struct loss_delay e = after_queue(QUEUE_US / 2);
	u32 cycle, i, at, of_link = 0;

	for (cycle = 0; cycle < 200; cycle++)
		for (i = 0, at = prng_range(0, 7); i < 8; i++) {
			send_round(&e, QUEUE_US * i / 7, i == at);
			of_link += i == at && loss_delay_of_link(&e);
		}
	EXPECT_IN(of_link, 180, 200, "200 losses whatever the delay");
	for (cycle = 0; cycle < 40; cycle++)
		for (i = 0; i < 8; i++)
			send_round(&e, QUEUE_US * i / 7, i == 7);
	EXPECT_TRUE(!loss_delay_of_link(&e), "the queue is full again and again");
}

/* A packet is missing: the one behind it shows the queue, not what comes until that is known */
static void test_packet_behind_the_hole(void)
{
	static const struct {
		u32 behind_us, later_us;
		bool below;
	} rows[] = { { 0, QUEUE_US, true }, { QUEUE_US, 0, false } };
	u32 i, before;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct loss_delay e = after_queue(QUEUE_US / 2);

		before = e.below;
		loss_delay_sample(&e, rows[i].behind_us, 1, true);
		loss_delay_sample(&e, rows[i].later_us, 1, true);
		loss_delay_lost(&e, rows[i].later_us, BASE_US, GAP_US, 1);
		EXPECT_EQ(e.below > before, rows[i].below, "row %u", i);
		/* The next loss of the same hole has another packet behind it */
		before = e.below;
		loss_delay_lost(&e, rows[i].later_us, BASE_US, GAP_US, 1);
		EXPECT_EQ(e.below > before, !rows[i].below, "row %u, another", i);
		/* And so has one after the hole is filled */
		loss_delay_sample(&e, 0, 1, false);
		before = e.below;
		loss_delay_lost(&e, rows[i].behind_us, BASE_US, GAP_US, 1);
		EXPECT_EQ(e.below > before, rows[i].below, "row %u, later", i);
	}
}

/* Where packets are farther apart than a quarter of the wait, the queue may have emptied in between */
static void test_packets_far_apart(void)
{
	struct loss_delay e = after_queue(QUEUE_US);
	u32 before = e.below;

	loss_delay_lost(&e, 0, BASE_US, QUEUE_US / 4 + 1, 1);
	EXPECT_EQ(e.below, before, "far apart: whose it is remains open");
	EXPECT_EQ(e.doubt, 1, "and a full queue may have lost it");
	loss_delay_lost(&e, 0, BASE_US, QUEUE_US / 4, 1);
	EXPECT_TRUE(e.below > before, "close");
	EXPECT_EQ(e.doubt, 1, "the link's");
}

/* Beyond so many, losses are congestion: of any kind, or where a queue may have been full */
static void test_heavy(void)
{
	static const struct {
		u32 wait_us, ceiling, times;
	} rows[] = {
		{ 0, LOSS_DELAY_CEILING, 2 },
		{ QUEUE_US / 2, LOSS_DELAY_CEILING, 1 },
		{ QUEUE_US, LOSS_DELAY_DOUBT_CEILING, 1 },
	};
	u32 i, j, k, heavy;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		for (k = 0; k < 2; k++) {
			struct loss_delay e = after_queue(rows[i].wait_us ? QUEUE_US * 3 / 4 : 0);
			double loss = (k ? 2.0 : 0.25) / rows[i].ceiling / rows[i].times;

			for (j = 0, heavy = 0; j < 400; j++) {
				u32 lost = (u32)(2 * WINDOW * loss + prng_unit());

				send_round(&e, rows[i].wait_us, lost);
				send_round(&e, rows[i].wait_us ? 3 * QUEUE_US / 2 - rows[i].wait_us : 0, 0);
				heavy += loss_delay_heavy(&e);
			}
			EXPECT_IN(heavy, k ? 360 : 0, k ? 400 : 60,
				  "rounds of 400 at a loss of %g, %u us", loss, rows[i].wait_us);
		}
}

/* A quarter of the losses below the mean: the link's; less will do where they do not end */
static void test_often(void)
{
	static const struct {
		u32 below, lost;
		bool link;
	} rows[] = {
		{ LOSS_DELAY_LINK, LOSS_DELAY_OFTEN - 1, false },
		{ LOSS_DELAY_LINK + 1, LOSS_DELAY_OFTEN - 1, true },
		{ LOSS_DELAY_LINK_OFTEN, LOSS_DELAY_OFTEN, false },
		{ LOSS_DELAY_LINK_OFTEN + 1, LOSS_DELAY_OFTEN, true },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct loss_delay e = { .below = rows[i].below, .lost = rows[i].lost };

		EXPECT_EQ(loss_delay_of_link(&e), rows[i].link, "row %u", i);
	}
}

/* Exactly, a few microseconds too */
static void test_mean(void)
{
	static const u32 waits_us[] = { 1, 3, QUEUE_US, LOSS_DELAY_WAIT_MAX_US, 0 };
	struct loss_delay e = { 0 };
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(waits_us); i++) {
		for (j = 0; j < 100; j++)
			loss_delay_round(&e, waits_us[i]);
		EXPECT_EQ(loss_delay_mean_us(&e), waits_us[i], "row %u", i);
	}
	loss_delay_round(&e, S32_MAX);
	EXPECT_EQ(loss_delay_mean_us(&e), LOSS_DELAY_WAIT_MAX_US / 4, "a minute and more");
}

static const struct tap_case cases[] = {
	{ "nothing waits: the link's, and counted twice", test_nothing_waits },
	{ "losses of a full queue", test_full_queue },
	{ "losses of the link", test_random_loss },
	{ "the packet behind the hole decides", test_packet_behind_the_hole },
	{ "packets far apart say nothing", test_packets_far_apart },
	{ "what is more than a link loses", test_heavy },
	{ "losses without an end", test_often },
	{ "the mean reaches what it is of", test_mean },
};

TAP_MAIN(cases)
