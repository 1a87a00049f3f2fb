// SPDX-License-Identifier: GPL-2.0
/*
 * loss_delay.h: what is lost while the queue is surely not full is the link's, what is
 * lost at its top may be a full queue's; more than a link loses is heavy.
 */
#include "hetcc/loss_delay.h"
#include "tap.h"

#define WINDOW		100
#define BASE_US		40000
#define QUEUE_US	20000
#define GAP_US		(QUEUE_US / WINDOW)
/* The sender keeps three packets there */
#define OWN_US		(3 * GAP_US)
/* Packets of a round that the mean is taken of */
#define OF_MEAN		10

/* A round of packets that wait so long each, the last @lost of them lost; how many were the link's */
static u32 send_round(struct loss_delay *e, u32 wait_us, u32 lost)
{
	u32 i, link = 0;

	for (i = 0; i < WINDOW; i++)
		loss_delay_sample(e, wait_us, 1, i >= WINDOW - lost, GAP_US);
	for (i = 0; i < OF_MEAN; i++)
		loss_delay_wait(e, wait_us);
	for (i = 0; i < lost; i++)
		link += loss_delay_lost(e, wait_us, BASE_US, GAP_US, 1, false, false);
	loss_delay_sample(e, wait_us, 1, false, 0);
	loss_delay_round(e, wait_us, OWN_US, WINDOW);
	return link;
}

/* No queue has been seen: nothing can have been full */
static void test_no_queue_seen(void)
{
	struct loss_delay e = { 0 }, first = { 0 };
	u32 i;

	loss_delay_init(&e);
	EXPECT_TRUE(!loss_delay_heavy(&e), "nothing is lost");
	for (i = 0; i < 50; i++)
		EXPECT_EQ(send_round(&e, prng_range(0, BASE_US / 100), 1), 1, "round %u", i);
	EXPECT_TRUE(!loss_delay_heavy(&e), "1 of 100 is not heavy");
	loss_delay_init(&first);
	for (i = 1; i <= LOSS_DELAY_CHANCE + 1; i++) {
		loss_delay_lost(&first, 0, BASE_US, GAP_US, 1, false, false);
		EXPECT_EQ(loss_delay_heavy(&first), i > LOSS_DELAY_CHANCE, "%u of no packets", i);
	}
	for (i = 0; i < 12; i++)
		send_round(&e, 0, WINDOW * 3 / 2 / LOSS_DELAY_CEILING);
	EXPECT_TRUE(loss_delay_heavy(&e), "above the ceiling, whatever is seen");
}

/* A queue that fills and empties as a sawtooth of 8 rounds and loses at its top */
static void test_full_queue(void)
{
	struct loss_delay e = { 0 };
	u32 cycle, i;

	loss_delay_init(&e);
	send_round(&e, QUEUE_US, 0);
	for (cycle = 0; cycle < 100; cycle++) {
		for (i = 0; i < 8; i++)
			EXPECT_EQ(send_round(&e, QUEUE_US * i / 7, i == 7), 0,
				  "cycle %u, round %u", cycle, i);
		EXPECT_TRUE(cycle < 10 || !loss_delay_of_link(&e), "cycle %u", cycle);
	}
}

/* The same queue; losses come while it is short */
static void test_random_loss(void)
{
	struct loss_delay e = { 0 };
	u32 cycle, i;

	loss_delay_init(&e);
	send_round(&e, QUEUE_US, 0);
	for (cycle = 0; cycle < 100; cycle++)
		for (i = 0; i < 8; i++)
			EXPECT_EQ(send_round(&e, QUEUE_US * i / 7, i == 2), i == 2,
				  "cycle %u, round %u", cycle, i);
	EXPECT_TRUE(loss_delay_of_link(&e), "all of them are the link's");
	EXPECT_TRUE(!loss_delay_heavy(&e), "one in 800 is not heavy");
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
		bool link;
	} rows[] = { { 0, QUEUE_US, true }, { QUEUE_US, 0, false } };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct loss_delay e = { 0 };

		loss_delay_init(&e);
		send_round(&e, QUEUE_US, 0);
		loss_delay_sample(&e, rows[i].behind_us, 1, true, GAP_US);
		loss_delay_sample(&e, rows[i].later_us, 1, true, GAP_US);
		EXPECT_EQ(loss_delay_lost(&e, rows[i].later_us, BASE_US, GAP_US, 1, false, false),
			  rows[i].link, "row %u", i);
		/* The hole is filled: the next loss has another packet behind it */
		loss_delay_sample(&e, 0, 1, false, 0);
		EXPECT_EQ(loss_delay_lost(&e, rows[i].later_us, BASE_US, GAP_US, 1, false, false),
			  rows[i].later_us < QUEUE_US / 2, "row %u, later", i);
	}
}

/* A packet that was sent much later than the lost one met another queue */
static void test_packets_far_apart(void)
{
	struct loss_delay e = { 0 };
	u32 below;

	loss_delay_init(&e);
	send_round(&e, QUEUE_US, 0);
	EXPECT_TRUE(!loss_delay_lost(&e, 0, BASE_US, QUEUE_US, 1, false, false), "far apart");
	EXPECT_TRUE(loss_delay_lost(&e, 0, BASE_US, GAP_US, 1, false, false), "close");
	below = e.below;
	loss_delay_sample(&e, 0, 1, true, QUEUE_US);
	EXPECT_TRUE(!loss_delay_lost(&e, 0, BASE_US, GAP_US, 1, false, false), "of the hole it is known");
	EXPECT_EQ(e.below, below, "the share has no part of it");
	loss_delay_sample(&e, 0, 1, false, 0);
	loss_delay_sample(&e, 0, 1, true, U32_MAX);
	EXPECT_TRUE(!loss_delay_lost(&e, 0, BASE_US, GAP_US, 1, false, false), "it is not known");
}

/* Whatever a full queue has lost before: four rounds that lose where packets waited less tell */
static void test_four_below(void)
{
	struct loss_delay e = { 0 };
	u32 i;

	loss_delay_init(&e);
	send_round(&e, QUEUE_US, 0);
	for (i = 0; i < 1000; i++) {
		loss_delay_sample(&e, QUEUE_US, WINDOW, false, 0);
		loss_delay_lost(&e, QUEUE_US + 1, BASE_US, GAP_US, 1, false, false);
		loss_delay_answered(&e);
		EXPECT_TRUE(!loss_delay_of_link(&e), "loss %u", i);
		loss_delay_round(&e, 0, OWN_US, WINDOW);
	}
	for (i = 0; i < 4; i++) {
		loss_delay_lost(&e, QUEUE_US / 2, BASE_US, GAP_US, 1, false, false);
		EXPECT_EQ(loss_delay_open(&e), i >= 2, "loss %u below: not a full queue's", i);
		EXPECT_EQ(loss_delay_of_link(&e), i == 3, "loss %u below: the link's", i);
		loss_delay_round(&e, 0, OWN_US, WINDOW);
	}
}

/* At first it is open whose losses that tell are; five rounds at the top of a queue decide */
static void test_open(void)
{
	struct loss_delay e = { 0 };
	u32 i;

	loss_delay_init(&e);
	send_round(&e, QUEUE_US, 0);
	send_round(&e, 0, 0);
	for (i = 1; i <= 12; i++) {
		loss_delay_sample(&e, QUEUE_US, WINDOW, false, 0);
		loss_delay_lost(&e, QUEUE_US, BASE_US, GAP_US, 1, false, false);
		EXPECT_EQ(loss_delay_open(&e), i < 5, "round %u", i);
		EXPECT_TRUE(!loss_delay_of_link(&e), "round %u: nor is it known to be the link's", i);
		loss_delay_round(&e, 0, OWN_US, WINDOW);
	}
	loss_delay_init(&e);
	loss_delay_lost(&e, QUEUE_US, BASE_US, QUEUE_US, 1, false, false);
	EXPECT_TRUE(!loss_delay_open(&e), "a packet too far from the lost one does not tell");
}

/* In a window that doubles waits grow: losses above the mean say nothing, those below it do */
static void test_doubling(void)
{
	struct loss_delay e = { 0 };
	u32 i;

	loss_delay_init(&e);
	send_round(&e, QUEUE_US, 0);
	send_round(&e, 0, 0);
	for (i = 0; i < 20; i++) {
		loss_delay_lost(&e, QUEUE_US, BASE_US, GAP_US, 1, false, true);
		loss_delay_round(&e, 0, OWN_US, WINDOW);
	}
	EXPECT_EQ(e.below, LOSS_DELAY_LINK, "above");
	loss_delay_lost(&e, 0, BASE_US, GAP_US, 1, false, true);
	EXPECT_TRUE(loss_delay_of_link(&e), "below");
}

/* Losses of one round met the same queue: any number of them moves the share as one does */
static void test_one_round(void)
{
	struct loss_delay e = { 0 };
	u32 i, first;

	loss_delay_init(&e);
	send_round(&e, QUEUE_US, 0);
	for (i = 0; i < 20; i++)
		send_round(&e, QUEUE_US / 2, 1);
	first = e.below;
	EXPECT_TRUE(loss_delay_of_link(&e), "the link's");
	for (i = 0; i < 100; i++)
		loss_delay_lost(&e, 2 * QUEUE_US, BASE_US, GAP_US, 1, false, false);
	EXPECT_TRUE(loss_delay_of_link(&e), "100 at the top of a wave of jitter");
	EXPECT_EQ(e.votes, LOSS_DELAY_VOTES_MAX, "counted to there");
	loss_delay_round(&e, 0, OWN_US, WINDOW);
	EXPECT_EQ(e.below, first - (first + 8) / 16, "one loss above");
	for (i = 0; i < 3; i++)
		loss_delay_lost(&e, i ? 0 : 2 * QUEUE_US, BASE_US, GAP_US, 1, false, false);
	first = e.below;
	loss_delay_round(&e, 0, OWN_US, WINDOW);
	EXPECT_TRUE(e.below > first, "two of three below");
	first = e.below;
	for (i = 0; i < 2; i++)
		loss_delay_lost(&e, i ? 0 : 2 * QUEUE_US, BASE_US, GAP_US, 1, false, false);
	loss_delay_round(&e, 0, OWN_US, WINDOW);
	EXPECT_EQ(e.below, first, "one of two says nothing");
}

/* A queue that is always full: all waits are alike, and half of its losses are below the mean */
static void test_standing_queue(void)
{
	struct loss_delay e = { 0 };
	u32 i;

	loss_delay_init(&e);
	for (i = 0; i < 100; i++) {
		send_round(&e, QUEUE_US - prng_range(0, GAP_US), 1);
		EXPECT_TRUE(!loss_delay_of_link(&e), "round %u", i);
	}
	for (i = 0; i < 10; i++)
		send_round(&e, i % 2 * OWN_US, !(i % 2));
	EXPECT_TRUE(loss_delay_of_link(&e), "it stands no more, and losses go on");
	loss_delay_init(&e);
	e.high_us = OWN_US;
	for (i = 0; i < 8; i++)
		send_round(&e, OWN_US - prng_range(0, OWN_US / 8), 1);
	EXPECT_TRUE(!e.stands, "what the sender itself keeps there is none");
}

/* The queue has become shorter: what it has held is no reason to call its losses a link's */
static void test_shorter_queue(void)
{
	struct loss_delay e = { 0 };
	u32 i, link = 0;

	loss_delay_init(&e);
	send_round(&e, QUEUE_US, 0);
	for (i = 0; i < 100; i++)
		send_round(&e, 0, 0);
	EXPECT_TRUE(loss_delay_lost(&e, QUEUE_US / 8, BASE_US, GAP_US, 1, false, false), "not full");
	for (i = 0; i < 100; i++)
		link += send_round(&e, i % 8 * QUEUE_US / 64, i % 8 == 7);
	EXPECT_IN(link, 1, 8, "until five rounds have lost at the top of it");
}

/*
 * Of each WINDOW packets so many are lost: the link's, or at the top of a queue that is full
 * now and then, which half as many make congestion.
 */
static void test_ceiling(void)
{
	static const struct {
		double of_ceiling;
		u32 wait_us;
		bool heavy;
	} rows[] = {
		{ 0.25, 0, false }, { 0.75, 0, false }, { 2, 0, true },
		{ 0.25, QUEUE_US, false }, { 0.75, QUEUE_US, true },
	};
	u32 j, k, heavy;

	for (k = 0; k < ARRAY_SIZE(rows); k++) {
		struct loss_delay e = { 0 };
		double loss = rows[k].of_ceiling / LOSS_DELAY_CEILING;

		loss_delay_init(&e);
		send_round(&e, QUEUE_US, 0);
		for (j = 0, heavy = 0; j < 400; j++) {
			send_round(&e, rows[k].wait_us, (u32)(WINDOW * loss + prng_unit()));
			e.gap_pkts = LOSS_DELAY_GAP_FIRST << LOSS_DELAY_GAP_SHIFT;
			heavy += loss_delay_heavy(&e);
		}
		EXPECT_IN(heavy, rows[k].heavy ? 360 : 0, rows[k].heavy ? 400 : 60,
			  "row %u: rounds of 400 at a loss of %g", k, loss);
	}
}

/* Losses at a full queue, so many packets apart on average, in windows of ten packets */
static u32 often_rounds(struct loss_delay *e, double apart_pkts)
{
	u32 i, j, often = 0;

	for (i = 0; i < 2000; i++) {
		for (j = 0; j < 10; j++)
			loss_delay_sample(e, QUEUE_US, 1, false, 0);
		if (prng_unit() < 10 / apart_pkts)
			loss_delay_lost(e, QUEUE_US, BASE_US, QUEUE_US, 1, false, false);
		loss_delay_round(e, QUEUE_US, OWN_US, 10);
		often += i >= 500 && loss_delay_often(e);
	}
	return often;
}

/* One loss in 24 packets is too often, one in 144 is not; unless they are the link's */
static void test_often(void)
{
	struct loss_delay e = { 0 };

	loss_delay_init(&e);
	EXPECT_TRUE(!loss_delay_often(&e), "nothing is lost");
	EXPECT_IN(often_rounds(&e, LOSS_DELAY_OFTEN_PKTS / 2), 1450, 1500, "often");
	EXPECT_TRUE(loss_delay_heavy(&e), "that is congestion");
	EXPECT_IN(often_rounds(&e, LOSS_DELAY_OFTEN_PKTS * 3), 0, 50, "not often");
	e.below = LOSS_DELAY_LINK_CLEAR + 1;
	EXPECT_EQ(often_rounds(&e, LOSS_DELAY_OFTEN_PKTS / 2), 0, "clearly the link's");
}

/* Many packets of one overrun are one loss; a long time without counts as 127 packets */
static void test_often_limits(void)
{
	struct loss_delay e = { 0 };
	u32 i;

	loss_delay_init(&e);
	send_round(&e, QUEUE_US, 0);
	send_round(&e, 0, 0);
	send_round(&e, QUEUE_US, WINDOW / 2);
	EXPECT_TRUE(!loss_delay_often(&e), "one overrun");
	for (i = 0; i < 100; i++) {
		loss_delay_sample(&e, QUEUE_US, 1U << 31, false, 0);
		loss_delay_lost(&e, QUEUE_US, BASE_US, QUEUE_US, 1, false, false);
		loss_delay_round(&e, QUEUE_US, OWN_US, WINDOW);
	}
	EXPECT_IN(e.gap_pkts >> LOSS_DELAY_GAP_SHIFT, LOSS_DELAY_GAP_MAX - 1,
		  LOSS_DELAY_GAP_MAX, "packets");
	for (i = 0; i < 20; i++) {
		loss_delay_lost(&e, QUEUE_US, BASE_US, QUEUE_US, 1, false, false);
		loss_delay_round(&e, QUEUE_US, OWN_US, WINDOW);
	}
	EXPECT_TRUE(loss_delay_often(&e), "soon seen");
}

/* What a reduction has answered is not counted again; what comes after it is */
static void test_answered(void)
{
	struct loss_delay e = { 0 };
	u32 i;

	loss_delay_init(&e);
	send_round(&e, QUEUE_US, 0);
	send_round(&e, 0, 0);
	send_round(&e, QUEUE_US, WINDOW / 4);
	EXPECT_TRUE(loss_delay_heavy(&e), "an overrun");
	loss_delay_answered(&e);
	EXPECT_TRUE(!loss_delay_heavy(&e), "it is answered");
	EXPECT_TRUE(!loss_delay_of_link(&e), "whose it was is not forgotten");
	send_round(&e, QUEUE_US, 1);
	EXPECT_TRUE(!loss_delay_heavy(&e), "one packet");
	for (i = 0; i < 8; i++)
		send_round(&e, QUEUE_US, WINDOW / 4);
	EXPECT_TRUE(loss_delay_heavy(&e), "the window is still too large");
}

/* A single packet may have waited for a delayed ACK; what a queue has held is forgotten */
static void test_held(void)
{
	struct loss_delay e = { 0 };
	u32 i;

	loss_delay_init(&e);
	loss_delay_round(&e, QUEUE_US, OWN_US, LOSS_DELAY_ROUND_PKTS - 1);
	EXPECT_TRUE(loss_delay_lost(&e, QUEUE_US, BASE_US, GAP_US, 1, false, false), "no queue is seen");
	loss_delay_round(&e, QUEUE_US, OWN_US, LOSS_DELAY_ROUND_PKTS);
	EXPECT_TRUE(!loss_delay_lost(&e, QUEUE_US, BASE_US, GAP_US, 1, false, false), "a queue is seen");
	for (i = 0; i < 4000; i++)
		send_round(&e, 0, 0);
	EXPECT_TRUE(loss_delay_lost(&e, QUEUE_US, BASE_US, GAP_US, 1, false, false), "forgotten");
}

/* All of a round waited longer than the mean: the losses of the next are a link's as before */
static void test_longer_path(void)
{
	struct loss_delay e = { 0 };
	u32 round, i, wait_us, below = 0;

	loss_delay_init(&e);
	for (round = 0; round < 40; round++) {
		u32 longer_us = round < 20 ? 0 : 100 * QUEUE_US;

		for (i = 0; i < OF_MEAN; i++)
			loss_delay_wait(&e, longer_us + prng_range(0, GAP_US));
		wait_us = longer_us + prng_range(0, GAP_US);
		/* The round in which it gets longer cannot be helped; a mean of 32 takes three for the jitter */
		if (round >= 24)
			below += wait_us <= loss_delay_mean_us(&e);
		loss_delay_round(&e, longer_us, OWN_US, WINDOW);
	}
	EXPECT_IN(below, 4, 12, "of 16 losses so many were below the mean");
	loss_delay_round(&e, LOSS_DELAY_WAIT_MAX_US, OWN_US, WINDOW);
	EXPECT_EQ(loss_delay_mean_us(&e), LOSS_DELAY_WAIT_MAX_US, "the longest level");
	loss_delay_round(&e, 0, OWN_US, WINDOW);
	EXPECT_EQ(loss_delay_mean_us(&e), LOSS_DELAY_WAIT_MAX_US, "a shorter one takes nothing away");
}

/* The way back got longer: no level shows it, all round trips do, and the mean follows in a round */
static void test_longer_way_back(void)
{
	struct loss_delay e = { 0 };
	u32 i, mean_us;

	loss_delay_init(&e);
	for (i = 0; i < 20; i++)
		send_round(&e, prng_range(0, GAP_US), 0);
	mean_us = loss_delay_mean_us(&e);
	for (i = 0; i < WINDOW; i++)
		loss_delay_sample(&e, 10 * QUEUE_US + prng_range(i ? 1 : 0, GAP_US), 1, false, 0);
	loss_delay_round(&e, 0, OWN_US, LOSS_DELAY_ROUND_PKTS - 1);
	EXPECT_EQ(loss_delay_mean_us(&e), mean_us, "too few packets");
	for (i = 0; i < WINDOW; i++)
		loss_delay_sample(&e, 10 * QUEUE_US + prng_range(0, GAP_US), 1, false, 0);
	loss_delay_round(&e, 0, OWN_US, WINDOW);
	EXPECT_IN(loss_delay_mean_us(&e), 10 * QUEUE_US * 7 / 8, 10 * QUEUE_US + GAP_US, "the next round");
	EXPECT_TRUE(e.high_us <= GAP_US, "it is no queue");
	mean_us = loss_delay_mean_us(&e);
	loss_delay_round(&e, 0, OWN_US, WINDOW);
	EXPECT_EQ(loss_delay_mean_us(&e), mean_us, "a round without round trips");
}

/* What a byte keeps of a wait: its order, and all but an eighth */
static void test_coarse(void)
{
	u32 i, us, last = 0;

	for (i = 0; i < 24 * 64; i++) {
		us = (1ULL << i / 64) + ((u64)(i % 64) << i / 64) / 64;
		EXPECT_TRUE(loss_delay_coarse(us) >= last, "%u us: order", us);
		last = loss_delay_coarse(us);
		EXPECT_IN(loss_delay_fine(last), us - us / 8, us, "%u us", us);
	}
	EXPECT_EQ(loss_delay_fine(loss_delay_coarse(0)), 0, "nothing");
	EXPECT_TRUE(loss_delay_coarse(U32_MAX) < LOSS_DELAY_LEAST_NONE, "all of them are in front of none");
}

/* A receiver whose clock hides the level: the round trips show the queue */
static void test_hidden_queue(void)
{
	struct loss_delay e = { 0 };
	u32 i;

	loss_delay_init(&e);
	loss_delay_wait(&e, QUEUE_US);
	EXPECT_EQ(loss_delay_full_us(&e), QUEUE_US, "the first wait");
	for (i = 0; i < 1000; i++)
		loss_delay_wait(&e, i % 2 ? QUEUE_US : 0);
	EXPECT_IN(loss_delay_full_us(&e), QUEUE_US * 45 / 100, QUEUE_US * 55 / 100, "the mean");
	loss_delay_wait(&e, U32_MAX);
	EXPECT_IN(loss_delay_full_us(&e), LOSS_DELAY_WAIT_MAX_US >> LOSS_DELAY_MEAN_SHIFT,
		  LOSS_DELAY_WAIT_MAX_US / 16, "the longest wait counts as 2^24 us");
	for (i = 0; i < 1000; i++)
		loss_delay_wait(&e, QUEUE_US);
	EXPECT_IN(loss_delay_full_us(&e), QUEUE_US, QUEUE_US + 1, "a queue is seen");
	EXPECT_TRUE(!loss_delay_lost(&e, QUEUE_US, BASE_US, GAP_US, 1, false, false), "it may be full");
}

/* A sender that knows the queue to be empty: no doubt */
static void test_known_to_be_empty(void)
{
	struct loss_delay e = { 0 };
	u32 i, gap_pkts;

	loss_delay_init(&e);
	loss_delay_round(&e, QUEUE_US, OWN_US, LOSS_DELAY_ROUND_PKTS);
	gap_pkts = e.gap_pkts;
	for (i = 1; i <= 100; i++) {
		EXPECT_TRUE(loss_delay_lost(&e, QUEUE_US, BASE_US, GAP_US, 1, true, false), "loss %u", i);
		EXPECT_EQ(e.lost, i, "counted");
	}
	EXPECT_EQ(e.gap_pkts, gap_pkts, "no doubt");
	EXPECT_TRUE(loss_delay_heavy(&e), "the ceiling holds all the same");
}

/* Losses below the mean, round after round, make it clear; at first, and above it, nothing is */
static void test_clear(void)
{
	struct loss_delay e = { 0 };
	u32 i;

	loss_delay_init(&e);
	EXPECT_TRUE(!loss_delay_clear(&e), "nothing is lost");
	send_round(&e, QUEUE_US, 0);
	send_round(&e, 0, 0);
	for (i = 1; i <= 12; i++) {
		loss_delay_lost(&e, 0, BASE_US, GAP_US, 1, false, false);
		EXPECT_EQ(loss_delay_clear(&e), i >= 3, "%u rounds below the mean", i);
		loss_delay_round(&e, 0, OWN_US, WINDOW);
	}
	for (i = 1; i <= 24; i++) {
		loss_delay_sample(&e, QUEUE_US, WINDOW, false, 0);
		loss_delay_lost(&e, QUEUE_US + 1, BASE_US, GAP_US, 1, false, false);
		loss_delay_round(&e, 0, OWN_US, WINDOW);
	}
	EXPECT_TRUE(!loss_delay_clear(&e), "24 rounds above it");
}

static const struct tap_case cases[] = {
	{ "no queue seen: the link's", test_no_queue_seen },
	{ "losses of a full queue", test_full_queue },
	{ "answered losses", test_answered },
	{ "losses of the link", test_random_loss },
	{ "the packet behind the hole decides", test_packet_behind_the_hole },
	{ "four rounds below the mean tell", test_four_below },
	{ "losses of one round are one", test_one_round },
	{ "a queue that stands", test_standing_queue },
	{ "a queue that has become shorter", test_shorter_queue },
	{ "packets far apart say nothing", test_packets_far_apart },
	{ "what is more than a link loses", test_ceiling },
	{ "losses that come too often", test_often },
	{ "an overrun is one loss", test_often_limits },
	{ "what a queue has held", test_held },
	{ "a path that gets longer", test_longer_path },
	{ "a way back that gets longer", test_longer_way_back },
	{ "a wait in a byte", test_coarse },
	{ "a queue that the level hides", test_hidden_queue },
	{ "a queue that is known to be empty", test_known_to_be_empty },
	{ "whose losses are is open at first", test_open },
	{ "losses of a window that doubles", test_doubling },
	{ "losses that are clearly the link's", test_clear },
};

TAP_MAIN(cases)
