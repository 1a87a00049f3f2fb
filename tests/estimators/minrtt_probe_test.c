// SPDX-License-Identifier: GPL-2.0
/*
 * minrtt_probe.h: a shorter path at once, a longer one after two probes that agree,
 * told from queues of the sender's own and from those of others; rests between
 * probes that found a queue of either kind.
 */
#include "hetcc/minrtt_probe.h"
#include "tap.h"

#define RTT_US		50000U
#define WAIT_US		4000U
/* Without deviations */
#define SAME_US		WAIT_US
#define ROUNDS		2000

static struct minrtt_probe fresh(u32 min_us)
{
	struct minrtt_probe p;

	minrtt_probe_init(&p, min_us);
	return p;
}

/* On a path without deviations */
static void add(struct minrtt_probe *p, u32 rtt_us)
{
	minrtt_probe_add(p, rtt_us, 0);
}

static enum minrtt_probe_event end_round(struct minrtt_probe *p, u32 wait_us)
{
	return minrtt_probe_round(p, wait_us, wait_us);
}

/* A round whose smallest round trip is @rtt_us, neither its first nor its last */
static enum minrtt_probe_event path_round(struct minrtt_probe *p, u32 rtt_us)
{
	add(p, rtt_us + prng_range(0, 100000));
	add(p, rtt_us);
	add(p, rtt_us + prng_range(0, 100000));
	return end_round(p, WAIT_US);
}

/* What stands has grown in a round, and no further than a queue does */
static u32 grown_us(const struct minrtt_probe *p, u32 rtt_us)
{
	u32 most_us = p->min_us + MINRTT_PROBE_AT_ONCE * WAIT_US;

	return p->stood || p->min_us == MINRTT_PROBE_NONE ? rtt_us : min(rtt_us, most_us);
}

/* Return: rounds of @rtt_us until a probe opens, with the one that opens it */
static u32 until_probe(struct minrtt_probe *p, u32 rtt_us)
{
	enum minrtt_probe_event event = MINRTT_PROBE_GO_ON;
	u32 rounds;

	for (rounds = 0; rounds < 1000 && event == MINRTT_PROBE_GO_ON; rounds++)
		event = path_round(p, grown_us(p, rtt_us));
	EXPECT_EQ(event, MINRTT_PROBE_BEGIN, "after %u rounds", rounds);
	EXPECT_EQ(p->probing, true, "it is open");
	return rounds;
}

/* The two rounds of a probe that sees @rtt_us. Return: what it says */
static enum minrtt_probe_event probe(struct minrtt_probe *p, u32 rtt_us)
{
	enum minrtt_probe_event event;

	EXPECT_EQ(path_round(p, rtt_us + 50000), MINRTT_PROBE_GO_ON, "emptying");
	EXPECT_EQ(p->probing, true, "still open");
	event = path_round(p, rtt_us);
	EXPECT_EQ(p->probing, false, "closed");
	return event;
}

/* Rounds until a probe, and the probe. Return: what it says */
static enum minrtt_probe_event next_probe(struct minrtt_probe *p, u32 rtt_us,
					  u32 rounds)
{
	EXPECT_EQ(until_probe(p, rtt_us + 20000), rounds, "until the probe");
	return probe(p, rtt_us);
}

static void expect_known(const struct minrtt_probe *p, u32 left,
			 const char *when)
{
	EXPECT_EQ(p->seen_us, 0, "%s: nothing was seen", when);
	EXPECT_EQ(p->every, 0, "%s: interval", when);
	EXPECT_EQ(p->left, left, "%s: rounds until the next probe", when);
	EXPECT_EQ(p->probing, false, "%s: no probe", when);
}

static void test_first(void)
{
	struct minrtt_probe p = fresh(MINRTT_PROBE_NONE);
	int i;

	for (i = 0; i < 300; i++)
		EXPECT_EQ(end_round(&p, WAIT_US), MINRTT_PROBE_GO_ON,
			  "nothing measured");
	EXPECT_EQ(p.min_us, MINRTT_PROBE_NONE, "not known");
	expect_known(&p, 4, "nothing measured");
	add(&p, U32_MAX - 1);
	EXPECT_EQ(p.min_us, U32_MAX - 1, "the largest");
	EXPECT_EQ(end_round(&p, 0), MINRTT_PROBE_GO_ON, "the minimum");
	add(&p, 1);
	EXPECT_EQ(p.min_us, 1, "the smallest");
	EXPECT_EQ(end_round(&p, 0), MINRTT_PROBE_GO_ON, "the minimum");
	expect_known(&p, 4, "near the minimum");
}

static void test_shorter(void)
{
	struct minrtt_probe p = fresh(RTT_US);
	int i;

	for (i = 0; i < ROUNDS; i++) {
		u32 rtt_us = prng_log32(1, 2 * RTT_US);
		u32 want_us = min(p.min_us, rtt_us);

		add(&p, rtt_us);
		EXPECT_EQ(p.min_us, want_us, "round trip of %u us", rtt_us);
	}
	p = fresh(RTT_US);
	until_probe(&p, 2 * RTT_US);
	add(&p, RTT_US - 1);
	EXPECT_EQ(p.min_us, RTT_US - 1, "while a probe is open");
	EXPECT_EQ(end_round(&p, 0), MINRTT_PROBE_GO_ON, "emptying");
	add(&p, RTT_US - 1);
	EXPECT_EQ(end_round(&p, 0), MINRTT_PROBE_EMPTY, "ends it");
	expect_known(&p, 16, "after it");
}

/* Four rounds, a probe of two, two more, a probe: raised in the tenth round */
static void test_longer(void)
{
	static const enum minrtt_probe_event words[] = {
		MINRTT_PROBE_GO_ON, MINRTT_PROBE_GO_ON, MINRTT_PROBE_GO_ON,
		MINRTT_PROBE_BEGIN, MINRTT_PROBE_GO_ON, MINRTT_PROBE_OTHERS,
		MINRTT_PROBE_GO_ON, MINRTT_PROBE_BEGIN, MINRTT_PROBE_GO_ON,
		MINRTT_PROBE_LONGER,
	};
	struct minrtt_probe p = fresh(RTT_US);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		EXPECT_EQ(p.min_us, RTT_US, "before round %u", i + 1);
		EXPECT_EQ(path_round(&p, grown_us(&p, 2 * RTT_US)), words[i],
			  "round %u", i + 1);
	}
	EXPECT_EQ(p.min_us, 2 * RTT_US, "raised");
	expect_known(&p, 4, "raised");
	for (i = 0; i < 100; i++)
		EXPECT_EQ(path_round(&p, 2 * RTT_US), MINRTT_PROBE_GO_ON,
			  "the path is known");
}

/* The second round of a probe counts: the first is to empty the queue */
static void test_probe_measures(void)
{
	struct minrtt_probe p = fresh(RTT_US);

	until_probe(&p, 3 * RTT_US);
	path_round(&p, RTT_US + 10000);
	EXPECT_EQ(path_round(&p, 2 * RTT_US), MINRTT_PROBE_OTHERS, "first probe");
	EXPECT_EQ(p.seen_us, 2 * RTT_US, "what it saw");
	until_probe(&p, RTT_US + 10000);
	EXPECT_EQ(probe(&p, 2 * RTT_US), MINRTT_PROBE_LONGER, "the second");
	EXPECT_EQ(p.min_us, 2 * RTT_US, "not what was between");
}

static void expect_pair(u32 first_us, u32 second_us, bool same)
{
	struct minrtt_probe p = fresh(RTT_US);

	EXPECT_EQ(next_probe(&p, first_us, 4), MINRTT_PROBE_OTHERS, "first probe");
	EXPECT_EQ(p.seen_us, first_us, "what it saw");
	EXPECT_EQ(next_probe(&p, second_us, 2),
		  same ? MINRTT_PROBE_LONGER : MINRTT_PROBE_OTHERS, "%u, %u us",
		  first_us, second_us);
	EXPECT_EQ(p.min_us, same ? second_us : RTT_US, "%u, %u us", first_us,
		  second_us);
	EXPECT_EQ(p.seen_us, same ? 0 : second_us, "the later of them");
}

static void test_same_edge(void)
{
	expect_pair(80000, 80000, true);
	expect_pair(80000, 80000 + SAME_US, true);
	expect_pair(80000, 80000 - SAME_US, true);
	expect_pair(80000, 80000 + SAME_US + 1, false);
	expect_pair(80000, 80000 - SAME_US - 1, false);
	expect_pair(RTT_US + WAIT_US + 1, RTT_US + WAIT_US + 1, true);
	expect_pair(80000, U32_MAX / 2, false);
	expect_pair(U32_MAX / 2, 80000, false);
}

/* Of three probes the last two agree */
static void test_later_pair(void)
{
	struct minrtt_probe p = fresh(RTT_US);

	EXPECT_EQ(next_probe(&p, 70000, 4), MINRTT_PROBE_OTHERS, "first");
	EXPECT_EQ(next_probe(&p, 90000, 2), MINRTT_PROBE_OTHERS, "second");
	EXPECT_EQ(next_probe(&p, 91000, 16), MINRTT_PROBE_LONGER, "third");
	EXPECT_EQ(p.min_us, 91000, "raised");
	expect_known(&p, 4, "raised");
}

/* A packet that waits no longer than that found no queue */
static void test_wait_edge(void)
{
	struct minrtt_probe p = fresh(RTT_US);
	int i;

	for (i = 0; i < 300; i++) {
		EXPECT_EQ(path_round(&p, RTT_US + WAIT_US), MINRTT_PROBE_GO_ON,
			  "round %d", i);
		expect_known(&p, 4, "near the minimum");
	}
	EXPECT_EQ(until_probe(&p, RTT_US + WAIT_US + 1), 4, "longer than that");
}

/* One round near the minimum, and the count of the first four begins anew */
static void test_count_begins_anew(void)
{
	struct minrtt_probe p = fresh(RTT_US);
	u32 i, far;

	for (i = 0; i < 300; i++) {
		for (far = 0; far < i % 4; far++)
			EXPECT_EQ(path_round(&p, grown_us(&p, 2 * RTT_US)),
				  MINRTT_PROBE_GO_ON, "%u rounds", far + 1);
		EXPECT_EQ(path_round(&p, RTT_US), MINRTT_PROBE_GO_ON, "near");
		expect_known(&p, 4, "near");
	}
	EXPECT_EQ(until_probe(&p, 2 * RTT_US), 4, "in a row");
}

/* After an empty probe a round near the minimum shortens no rest above four */
static void expect_rest_goes_on(u32 far)
{
	struct minrtt_probe p = fresh(RTT_US);
	u32 i, left = max(16 - far, 4U);

	until_probe(&p, 2 * RTT_US);
	EXPECT_EQ(probe(&p, RTT_US), MINRTT_PROBE_EMPTY, "probe");
	for (i = 0; i < far; i++)
		EXPECT_EQ(path_round(&p, grown_us(&p, 2 * RTT_US)),
			  MINRTT_PROBE_GO_ON, "%u of %u", i + 1, far);
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(path_round(&p, RTT_US), MINRTT_PROBE_GO_ON, "near");
		expect_known(&p, left, "near");
	}
	EXPECT_EQ(until_probe(&p, 2 * RTT_US), left, "after %u", far);
}

static void test_rest_goes_on(void)
{
	u32 far;

	for (far = 0; far < 16; far++)
		expect_rest_goes_on(far);
}

/* A long rest between probes at others ends when their queue has gone */
static void test_long_rest_ends(void)
{
	static const u32 far[] = { 0, 1, 47, 48, 49, 59, 60, 61, 63 };
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(far); i++) {
		u32 left = min(max(64 - far[i], 4U), 16U);
		struct minrtt_probe p = fresh(RTT_US);

		for (k = 0; k < 5; k++) {
			until_probe(&p, 3 * RTT_US);
			EXPECT_EQ(probe(&p, (2 + k) * RTT_US),
				  MINRTT_PROBE_OTHERS, "probe %u", k + 1);
		}
		EXPECT_EQ(p.left, 64, "the longest rest");
		for (k = 0; k < far[i]; k++)
			path_round(&p, 2 * RTT_US);
		path_round(&p, RTT_US);
		expect_known(&p, left, "gone");
	}
}

/* It is gone after the window was held down, in the probe's first round or in its second */
static void test_own_queue(void)
{
	struct minrtt_probe p = fresh(RTT_US);
	int i;

	for (i = 0; i < 300; i++) {
		EXPECT_EQ(until_probe(&p, 3 * RTT_US), i ? 16 : 4, "probe %d",
			  i);
		EXPECT_EQ(path_round(&p, RTT_US + (i % 2 ? WAIT_US + 1 : 0)),
			  MINRTT_PROBE_GO_ON, "emptying");
		EXPECT_EQ(path_round(&p, RTT_US + WAIT_US), MINRTT_PROBE_EMPTY,
			  "probe %d", i);
		expect_known(&p, 16, "empty");
	}
	EXPECT_EQ(p.min_us, RTT_US, "minimum");
}

/* A probe at the old path between two at a longer one: they do not agree */
static void test_empty_between(void)
{
	struct minrtt_probe p = fresh(RTT_US);
	int i;

	for (i = 0; i < 100; i++) {
		EXPECT_EQ(next_probe(&p, 2 * RTT_US, i ? 16 : 4),
			  MINRTT_PROBE_OTHERS, "a queue");
		EXPECT_EQ(next_probe(&p, RTT_US, 2), MINRTT_PROBE_EMPTY, "none");
	}
	EXPECT_EQ(next_probe(&p, 2 * RTT_US, 16), MINRTT_PROBE_OTHERS, "a queue");
	EXPECT_EQ(path_round(&p, RTT_US), MINRTT_PROBE_GO_ON, "gone by itself");
	EXPECT_EQ(next_probe(&p, 2 * RTT_US, 16), MINRTT_PROBE_OTHERS, "another");
	EXPECT_EQ(p.min_us, RTT_US, "minimum");
}

/* A mean shows what a probe has emptied after it: that rests as one that was seen in time */
static void test_empty_later(void)
{
	struct minrtt_probe p = fresh(RTT_US);

	EXPECT_EQ(next_probe(&p, 2 * RTT_US, 4), MINRTT_PROBE_OTHERS, "too early");
	path_round(&p, RTT_US);
	expect_known(&p, 16, "gone");
	/* Two looks that differ were at others': it may come back soon, or the path change */
	EXPECT_EQ(next_probe(&p, 2 * RTT_US, 16), MINRTT_PROBE_OTHERS, "first");
	EXPECT_EQ(next_probe(&p, 3 * RTT_US, 2), MINRTT_PROBE_OTHERS, "second");
	while (p.left > 4)
		path_round(&p, 2 * RTT_US);
	path_round(&p, RTT_US);
	expect_known(&p, 4, "others'");
}

static void test_others_vary(void)
{
	static const u32 rounds[] = { 4, 2, 16, 32, 64, 64, 64, 64, 64 };
	struct minrtt_probe p = fresh(RTT_US);
	u32 i, seen_us = 2 * RTT_US;

	for (i = 0; i < ARRAY_SIZE(rounds); i++) {
		EXPECT_EQ(next_probe(&p, seen_us, rounds[i]), MINRTT_PROBE_OTHERS,
			  "probe %u", i + 1);
		seen_us += i % 2 ? SAME_US + 1 : -SAME_US - 1;
	}
	for (i = 0; i < 300; i++)
		EXPECT_EQ(next_probe(&p, RTT_US + (2 + i % 2) * 10000, 64),
			  MINRTT_PROBE_OTHERS, "probe %u more", i + 1);
	EXPECT_EQ(p.min_us, RTT_US, "never longer");
	path_round(&p, RTT_US);
	expect_known(&p, 16, "the queue has gone");
}

/* Return: six probes at a queue of up to five round trips have raised the minimum */
static bool random_queue_raises(void)
{
	struct minrtt_probe p = fresh(RTT_US);
	int i;

	for (i = 0; i < 6; i++) {
		u32 rtt_us = RTT_US + prng_range(WAIT_US + 1, 5 * RTT_US);

		until_probe(&p, 6 * RTT_US);
		if (probe(&p, rtt_us) == MINRTT_PROBE_LONGER)
			return true;
		EXPECT_EQ(p.min_us, RTT_US, "probe %d", i);
	}
	return false;
}

/*
 * Two probes agree by chance with a probability of 2 * SAME_US / (5 * RTT_US),
 * which is 3.2 %, and one of five pairs with 15 %.
 */
static void test_others_random(void)
{
	u32 i, raised = 0;

	for (i = 0; i < ROUNDS; i++)
		raised += random_queue_raises();
	EXPECT_IN(raised, ROUNDS * 0.12, ROUNDS * 0.18, "of %u connections",
		  ROUNDS);
}

/* A queue of others that stays as it is is a path, until it goes */
static void test_others_stand(void)
{
	struct minrtt_probe p = fresh(RTT_US);

	next_probe(&p, RTT_US + 30000, 4);
	EXPECT_EQ(next_probe(&p, RTT_US + 30000, 2), MINRTT_PROBE_LONGER, "path");
	add(&p, RTT_US);
	EXPECT_EQ(p.min_us, RTT_US, "at once");
}

static void test_abort(void)
{
	struct minrtt_probe p = fresh(RTT_US);
	int i;

	until_probe(&p, 2 * RTT_US);
	for (i = 0; i < 300; i++) {
		if (i % 2)
			path_round(&p, 2 * RTT_US);
		minrtt_probe_abort(&p);
		EXPECT_EQ(p.probing, false, "closed");
		EXPECT_EQ(until_probe(&p, 2 * RTT_US), 4, "again, %d", i);
	}
	EXPECT_EQ(p.min_us, RTT_US, "no probe has ended");
	EXPECT_EQ(p.seen_us, 0, "nothing was seen");
}

/* What was known before is kept: what was seen, and how seldom to probe */
static void test_abort_keeps(void)
{
	struct minrtt_probe p = fresh(RTT_US);

	next_probe(&p, 2 * RTT_US, 4);
	until_probe(&p, 2 * RTT_US);
	minrtt_probe_abort(&p);
	EXPECT_EQ(next_probe(&p, 2 * RTT_US, 4), MINRTT_PROBE_LONGER, "agree");
	p = fresh(RTT_US);
	next_probe(&p, 2 * RTT_US, 4);
	next_probe(&p, 3 * RTT_US, 2);
	until_probe(&p, 2 * RTT_US);
	minrtt_probe_abort(&p);
	EXPECT_EQ(next_probe(&p, 2 * RTT_US, 4), MINRTT_PROBE_OTHERS, "differ");
	EXPECT_EQ(until_probe(&p, 2 * RTT_US), 32, "the third that differs");
}

/* Rounds in which nothing was measured say and count nothing */
static void test_no_samples(void)
{
	static const enum minrtt_probe_event words[] = {
		MINRTT_PROBE_GO_ON, MINRTT_PROBE_GO_ON, MINRTT_PROBE_GO_ON,
		MINRTT_PROBE_BEGIN, MINRTT_PROBE_GO_ON, MINRTT_PROBE_OTHERS,
	};
	struct minrtt_probe p = fresh(RTT_US);
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		for (k = 0; k < 300; k++)
			EXPECT_EQ(end_round(&p, WAIT_US),
				  MINRTT_PROBE_GO_ON, "before round %u", i + 1);
		EXPECT_EQ(path_round(&p, grown_us(&p, 2 * RTT_US)), words[i],
			  "round %u", i + 1);
	}
	EXPECT_EQ(p.left, 2, "until the next probe");
	EXPECT_EQ(p.min_us, RTT_US, "minimum");
}

/* A path that is not known is as long as its first round trip */
static void test_not_known(void)
{
	struct minrtt_probe p = fresh(MINRTT_PROBE_NONE);

	EXPECT_EQ(path_round(&p, RTT_US), MINRTT_PROBE_GO_ON, "the first round");
	EXPECT_EQ(p.min_us, RTT_US, "its smallest");
	EXPECT_EQ(until_probe(&p, 2 * RTT_US), 4, "longer");
	minrtt_probe_init(&p, MINRTT_PROBE_NONE);
	EXPECT_EQ(p.min_us, MINRTT_PROBE_NONE, "forgotten");
	EXPECT_EQ(p.round_us, MINRTT_PROBE_NONE, "no round trip");
	expect_known(&p, 4, "a new connection");
}

/* Round trips of @rtt_us alone: rounds until @event, at most 1000 */
static u32 rounds_until(struct minrtt_probe *p, u32 rtt_us, u32 wait_us,
			enum minrtt_probe_event event)
{
	u32 rounds;

	for (rounds = 1; rounds < 1000; rounds++) {
		add(p, rtt_us);
		if (end_round(p, wait_us) == event)
			break;
	}
	return rounds;
}

/* By one microsecond, and probes that agree to it */
static void test_wait_zero(void)
{
	struct minrtt_probe p = fresh(RTT_US);

	EXPECT_EQ(rounds_until(&p, RTT_US, 0, MINRTT_PROBE_BEGIN), 1000, "near");
	EXPECT_EQ(rounds_until(&p, RTT_US + 1, 0, MINRTT_PROBE_LONGER), 10,
		  "longer");
	EXPECT_EQ(p.min_us, RTT_US + 1, "raised");
	rounds_until(&p, RTT_US + 5, 0, MINRTT_PROBE_OTHERS);
	EXPECT_EQ(rounds_until(&p, RTT_US + 6, 0, MINRTT_PROBE_OTHERS), 4,
		  "another");
	EXPECT_EQ(rounds_until(&p, RTT_US + 6, 0, MINRTT_PROBE_LONGER), 18,
		  "the same, after a rest of 16");
}

static void test_largest(void)
{
	struct minrtt_probe p = fresh(1);

	EXPECT_EQ(rounds_until(&p, U32_MAX - 1, U32_MAX, MINRTT_PROBE_BEGIN), 1000,
		  "nothing waits for 2^32 us");
	EXPECT_EQ(rounds_until(&p, U32_MAX - 1, U32_MAX - 2, MINRTT_PROBE_BEGIN),
		  1000, "2^32 - 3 us more");
	EXPECT_EQ(rounds_until(&p, S32_MAX, S32_MAX - 2, MINRTT_PROBE_LONGER),
		  10, "is longer than 2^31 - 3");
	EXPECT_EQ(p.min_us, (u32)S32_MAX, "raised");
}

/* Rounds of the path with a queue of our own, gone while a probe is open */
static void path_rounds(struct minrtt_probe *p, u32 path_us, u32 rounds)
{
	bool held = p->probing;

	for (; rounds; rounds--) {
		u32 queue_us = held ? 0 : prng_range(5000, 100000);

		path_round(p, path_us + queue_us);
		held = p->probing;
	}
}

/* One after the other: a rest of 16, a probe, two rounds, a probe are enough */
static void test_steps(void)
{
	struct minrtt_probe p = fresh(RTT_US);
	u32 i, path_us = RTT_US;

	for (i = 1; i < ROUNDS; i++) {
		path_us += prng_range(5000, 100000);
		path_rounds(&p, path_us, prng_range(22, 80));
		EXPECT_EQ(p.min_us, path_us, "path %u", i);
		if (path_us < 10 * RTT_US)
			continue;
		path_us = RTT_US;
		path_round(&p, path_us);
		EXPECT_EQ(p.min_us, path_us, "shorter, path %u", i);
	}
}

/* Counters stay within 1..64, so they do not wrap */
static void expect_counters(const struct minrtt_probe *p)
{
	EXPECT_IN(p->every, 0, MINRTT_PROBE_EVERY_MAX, "every");
	EXPECT_IN(p->left, 1, p->probing || p->cut ? MINRTT_PROBE_LENGTH :
		  MINRTT_PROBE_REST << p->every, "left");
}

static void any_round(struct minrtt_probe *p, u32 wait_us)
{
	u32 before_us = p->min_us, round_us = p->round_us;
	bool probed = p->probing, cut = p->cut;
	enum minrtt_probe_event event = end_round(p, wait_us);

	EXPECT_EQ(p->min_us, event == MINRTT_PROBE_LONGER ? round_us : before_us,
		  "minimum after event %d", event);
	EXPECT_TRUE(p->min_us >= before_us, "raised");
	EXPECT_EQ(p->probing, event == MINRTT_PROBE_BEGIN ||
		  (probed && event == MINRTT_PROBE_GO_ON), "event %d", event);
	EXPECT_TRUE(probed || cut || event <= MINRTT_PROBE_BEGIN, "event %d", event);
	EXPECT_TRUE(!(p->probing && p->cut), "one of them");
	EXPECT_EQ(p->round_us, MINRTT_PROBE_NONE, "another round");
}

static void test_any_input(void)
{
	struct minrtt_probe p = fresh(MINRTT_PROBE_NONE);
	int i;

	for (i = 0; i < 1000000; i++) {
		u32 coin = prng_range(0, 9);

		if (coin)
			minrtt_probe_add(&p, prng_log32(1 << coin, U32_MAX - 1),
					 prng_log32(1, U32_MAX));
		if (prng_range(0, 1))
			any_round(&p, prng_log32(1, U32_MAX) - 1);
		if (!prng_range(0, 99))
			minrtt_probe_abort(&p);
		if (!prng_range(0, 19))
			minrtt_probe_cut(&p);
		if (!prng_range(0, 9999))
			minrtt_probe_init(&p, prng_log32(1, U32_MAX));
		expect_counters(&p);
	}
}

/* One packet near the minimum, in the round before or in the open one, is enough */
static void test_stands(void)
{
	struct minrtt_probe p;

	minrtt_probe_init(&p, 40000);
	EXPECT_TRUE(!minrtt_probe_stands(&p, 4000), "nothing is known");
	add(&p, 45000);
	EXPECT_TRUE(!minrtt_probe_stands(&p, 4000), "half a round");
	end_round(&p, 4000);
	EXPECT_TRUE(minrtt_probe_stands(&p, 4000), "a round");
	add(&p, 44001);
	EXPECT_TRUE(minrtt_probe_stands(&p, 4000), "and more");
	add(&p, 44000);
	EXPECT_TRUE(!minrtt_probe_stands(&p, 4000), "until one comes early");
	end_round(&p, 4000);
	add(&p, 50000);
	EXPECT_TRUE(!minrtt_probe_stands(&p, 4000), "in the round before");
}

/*
 * One ACK that was delayed, at the end of each round: what counts as waiting is then more
 * than the path is longer, in each round of each probe, and yet no packet came near.
 */
static void test_delayed_ack(void)
{
	struct minrtt_probe p = fresh(RTT_US);
	u32 longer_us = RTT_US + 3 * WAIT_US, i;
	enum minrtt_probe_event event = MINRTT_PROBE_GO_ON;

	until_probe(&p, longer_us);
	for (i = 0; i < 100 && event != MINRTT_PROBE_LONGER; i++) {
		minrtt_probe_add(&p, longer_us, WAIT_US / 8);
		minrtt_probe_add(&p, longer_us + 40000, 8 * WAIT_US);
		/* A probe begins where a round ends well */
		event = minrtt_probe_round(&p, WAIT_US,
					   p.probing ? 8 * WAIT_US : WAIT_US);
	}
	EXPECT_EQ(event, MINRTT_PROBE_LONGER, "all the same");
	EXPECT_EQ(i, 6, "in two rounds, two more, and two");
	EXPECT_EQ(p.min_us, longer_us, "raised");
}

/* A round ends badly: nothing stands, but what the count has seen so far is not undone */
static void test_neither(void)
{
	struct minrtt_probe p = fresh(RTT_US);
	u32 i;

	for (i = 0; i < 3; i++)
		path_round(&p, RTT_US + 2 * WAIT_US);
	for (i = 0; i < 300; i++) {
		add(&p, RTT_US + 2 * WAIT_US);
		EXPECT_EQ(minrtt_probe_round(&p, WAIT_US, 8 * WAIT_US),
			  MINRTT_PROBE_GO_ON, "round %u", i);
	}
	EXPECT_EQ(until_probe(&p, RTT_US + 2 * WAIT_US), 1, "the fourth");
}

/* Where all round trips of a round lie far apart, waits up to that far are none */
static void test_deviation(void)
{
	u32 dev_us, edge_us;

	for (dev_us = WAIT_US + 96; dev_us < RTT_US / 2; dev_us *= 2) {
		struct minrtt_probe p = fresh(RTT_US);

		until_probe(&p, 3 * RTT_US);
		path_round(&p, 3 * RTT_US);
		edge_us = (1U << fls(dev_us)) - 1;
		minrtt_probe_add(&p, RTT_US + edge_us, dev_us);
		EXPECT_EQ(minrtt_probe_round(&p, WAIT_US, WAIT_US),
			  MINRTT_PROBE_EMPTY, "%u us", dev_us);
		until_probe(&p, 3 * RTT_US);
		path_round(&p, 3 * RTT_US);
		minrtt_probe_add(&p, RTT_US + edge_us + 1, dev_us);
		EXPECT_EQ(minrtt_probe_round(&p, WAIT_US, WAIT_US),
			  MINRTT_PROBE_OTHERS, "%u us and more", dev_us);
	}
}

/* After rests that have become long, heavy loss says that the path may be another one */
static void test_renewed(void)
{
	struct minrtt_probe p = fresh(RTT_US);
	u32 i;

	for (i = 0; i < 6; i++) {
		until_probe(&p, 3 * RTT_US);
		probe(&p, 2 * RTT_US + i * 10 * WAIT_US);
	}
	minrtt_probe_renew(&p);
	EXPECT_EQ(until_probe(&p, 2 * RTT_US), (u32)MINRTT_PROBE_ROUNDS, "soon");
	probe(&p, 2 * RTT_US);
	minrtt_probe_renew(&p);
	minrtt_probe_renew(&p);
	EXPECT_EQ(until_probe(&p, 2 * RTT_US), (u32)MINRTT_PROBE_AGAIN,
		  "what is due sooner is not put off");
}

/* The two rounds of a halved window, nothing held. Return: what they say */
static enum minrtt_probe_event cut_rounds(struct minrtt_probe *p, u32 rtt_us)
{
	minrtt_probe_cut(p);
	EXPECT_TRUE(minrtt_probe_is_open(p) && !p->probing, "not known yet");
	EXPECT_EQ(path_round(p, 3 * RTT_US), MINRTT_PROBE_GO_ON, "emptying");
	EXPECT_TRUE(minrtt_probe_is_open(p), "emptying");
	return path_round(p, rtt_us);
}

/* With half of the window: the queue was the sender's own, another's, or none */
static void test_cut(void)
{
	struct minrtt_probe p = fresh(RTT_US);

	path_round(&p, grown_us(&p, 2 * RTT_US));
	EXPECT_EQ(cut_rounds(&p, RTT_US + WAIT_US), MINRTT_PROBE_EMPTY, "own");
	expect_known(&p, MINRTT_PROBE_REST, "own");
	EXPECT_TRUE(!minrtt_probe_is_open(&p), "own");
	EXPECT_EQ(cut_rounds(&p, 2 * RTT_US), MINRTT_PROBE_OTHERS, "not own");
	EXPECT_TRUE(minrtt_probe_is_open(&p), "so that it stands says nothing");
	EXPECT_EQ(cut_rounds(&p, 2 * RTT_US + SAME_US), MINRTT_PROBE_LONGER, "twice");
	EXPECT_EQ(p.min_us, 2 * RTT_US + SAME_US, "raised");
	EXPECT_TRUE(!minrtt_probe_is_open(&p), "known again");
	/* A probe that is open goes on */
	until_probe(&p, 4 * RTT_US);
	minrtt_probe_cut(&p);
	EXPECT_TRUE(p.probing && !p.cut, "held already");
	/* A timeout or a pause ends either */
	minrtt_probe_abort(&p);
	minrtt_probe_cut(&p);
	minrtt_probe_abort(&p);
	EXPECT_TRUE(!minrtt_probe_is_open(&p), "aborted");
}

/* One that differs from the one before was at a queue: it is known again what stands */
static void test_open(void)
{
	struct minrtt_probe p = fresh(RTT_US);

	EXPECT_TRUE(!minrtt_probe_is_open(&p), "a new connection");
	next_probe(&p, 2 * RTT_US, 4);
	EXPECT_TRUE(minrtt_probe_is_open(&p), "after one");
	next_probe(&p, 3 * RTT_US, 2);
	EXPECT_TRUE(!minrtt_probe_is_open(&p), "after two that differ");
	path_round(&p, RTT_US);
	next_probe(&p, 2 * RTT_US, 16);
	EXPECT_TRUE(minrtt_probe_is_open(&p), "after one, again");
}

/* Deviations that explain more: half of that */
static void test_same_deviation(void)
{
	u32 dev_us = 4 * WAIT_US, off_us, same_us = ((1U << fls(dev_us)) - 1) / 2;

	for (off_us = same_us; off_us <= same_us + 1; off_us++) {
		struct minrtt_probe p = fresh(RTT_US);

		next_probe(&p, 3 * RTT_US, 4);
		until_probe(&p, 3 * RTT_US);
		path_round(&p, 3 * RTT_US);
		minrtt_probe_add(&p, 3 * RTT_US + off_us, dev_us);
		EXPECT_EQ(minrtt_probe_round(&p, WAIT_US, WAIT_US),
			  off_us > same_us ? MINRTT_PROBE_OTHERS :
			  MINRTT_PROBE_LONGER, "%u us", off_us);
	}
}

/* What stands from one round to the next may be the path: six rounds then, not ten */
static void test_at_once(void)
{
	u32 most_us = RTT_US + MINRTT_PROBE_AT_ONCE * WAIT_US;
	struct minrtt_probe p = fresh(RTT_US);

	EXPECT_EQ(path_round(&p, most_us + MINRTT_PROBE_AT_ONCE - 1), MINRTT_PROBE_GO_ON,
		  "a queue that grows");
	EXPECT_EQ(path_round(&p, RTT_US), MINRTT_PROBE_GO_ON, "gone");
	EXPECT_EQ(path_round(&p, most_us + MINRTT_PROBE_AT_ONCE), MINRTT_PROBE_BEGIN, "at once");
	EXPECT_EQ(probe(&p, RTT_US), MINRTT_PROBE_EMPTY, "the sender's own");
	EXPECT_EQ(path_round(&p, RTT_US), MINRTT_PROBE_GO_ON, "a round until it comes back");
	EXPECT_EQ(path_round(&p, 2 * RTT_US), MINRTT_PROBE_GO_ON, "which is no path");
	EXPECT_EQ(path_round(&p, RTT_US), MINRTT_PROBE_GO_ON, "gone");
	EXPECT_EQ(path_round(&p, 2 * RTT_US), MINRTT_PROBE_BEGIN, "whatever the rest");
	EXPECT_EQ(probe(&p, 2 * RTT_US), MINRTT_PROBE_OTHERS, "first");
	EXPECT_EQ(next_probe(&p, 3 * RTT_US, 2), MINRTT_PROBE_OTHERS, "others'");
	/* It does not stand, nor has it been gone: what others fill comes and goes */
	add(&p, RTT_US + 3 * WAIT_US);
	EXPECT_EQ(minrtt_probe_round(&p, WAIT_US, 3 * WAIT_US), MINRTT_PROBE_GO_ON, "less");
	EXPECT_EQ(path_round(&p, 2 * RTT_US), MINRTT_PROBE_GO_ON, "the rest goes on");
}

static const struct tap_case cases[] = {
	{ "a round that a delayed ACK ends counts for nothing", test_neither },
	{ "waits that deviations explain", test_deviation },
	{ "heavy loss is looked into", test_renewed },
	{ "a queue that stands", test_stands },
	{ "the first round trip", test_first },
	{ "a smaller one is believed at once", test_shorter },
	{ "a longer path: two probes, ten rounds", test_longer },
	{ "a probe measures in its second round", test_probe_measures },
	{ "an ACK is delayed at the end of each of its rounds", test_delayed_ack },
	{ "probes agree within what counts as no queue", test_same_edge },
	{ "a probe agrees with the one before", test_later_pair },
	{ "what counts as waiting", test_wait_edge },
	{ "a round near the minimum begins the count anew",
	  test_count_begins_anew },
	{ "and leaves a rest as it is", test_rest_goes_on },
	{ "but for the longest", test_long_rest_ends },
	{ "a queue of the sender's own", test_own_queue },
	{ "what was seen before the queue was gone", test_empty_between },
	{ "queues of others that vary: probes become rarer", test_others_vary },
	{ "queues of others, at random", test_others_random },
	{ "a queue of others that stands", test_others_stand },
	{ "a probe that heavy loss or a pause has ended", test_abort },
	{ "what it keeps", test_abort_keeps },
	{ "rounds without a round trip", test_no_samples },
	{ "a path that is not known", test_not_known },
	{ "nothing may wait", test_wait_zero },
	{ "the largest round trips", test_largest },
	{ "a path that gets longer, and shorter", test_steps },
	{ "any input", test_any_input },
	{ "half of the window is a probe", test_cut },
	{ "until when it is not known what stands", test_open },
	{ "two probes differ by half of what deviations explain", test_same_deviation },
	{ "what stands at once", test_at_once },
	{ "an empty queue that shows late", test_empty_later },
};

TAP_MAIN(cases)
