// SPDX-License-Identifier: GPL-2.0
/*
 * careful_resume.h: what confirms a path and what does not, the phases of a jump that
 * goes well, of one that fills a slower path's queue, of one that there is nothing to
 * send for, and sequence numbers that wrap.
 */
#include "hetcc/careful_resume.h"
#include "tap.h"

#define SAVED		12000U
#define RTT_US		600000U
#define WAIT_US		4000U
#define FLIGHT		14U
#define MSS		1448U

static void test_confirmed(void)
{
	static const struct {
		u32 rtt_us;
		u32 most;
		u32 capacity;
	} t[] = {
		{ RTT_US, U32_MAX, SAVED },
		{ RTT_US, SAVED, SAVED },
		{ RTT_US, SAVED - 1, SAVED - 1 },
		{ RTT_US, SAVED / 2, SAVED / 2 },
		{ RTT_US, SAVED / 2 - 1, 0 },
		{ RTT_US, 0, 0 },
		{ RTT_US / 2, U32_MAX, SAVED },
		{ RTT_US / 2 - 1, U32_MAX, 0 },
		{ RTT_US + WAIT_US, U32_MAX, SAVED },
		{ RTT_US + WAIT_US + 1, U32_MAX, 0 },
		{ U32_MAX, U32_MAX, 0 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		u32 got = careful_resume_capacity(SAVED, RTT_US, t[i].rtt_us,
						  WAIT_US, t[i].most);

		EXPECT_EQ(got, t[i].capacity, "%u us, %u segments",
			  t[i].rtt_us, t[i].most);
		EXPECT_EQ(careful_resume_jump(got), t[i].capacity / 2,
			  "half of it");
	}
	EXPECT_EQ(careful_resume_capacity(SAVED, U32_MAX, U32_MAX, U32_MAX,
					  U32_MAX), SAVED, "the longest");
}

/*
 * A sender behind a link that carries @pipe segments a round trip and has room for @room
 * more; a round is what was sent in it, and its fate is known in the next.
 */
struct link {
	u32 pipe;
	u32 room;
	u32 queue;
};

/* Return: of @pkts sent in a round so many arrive */
static u32 link_round(struct link *l, u32 pkts)
{
	u32 take = min(pkts + l->queue, l->pipe + l->room) - l->queue;

	l->queue += take;
	l->queue -= min(l->queue, l->pipe);
	return take;
}

/* ACK by ACK of @pkts segments; @flight is what is out before them */
static u32 acks(struct careful_resume *c, u32 pkts, u32 *flight, u32 *una,
		u32 next)
{
	u32 wnd = 0, i;

	for (i = 0; i < pkts; i++) {
		u32 got;

		*una += MSS;
		--*flight;
		got = careful_resume_ack(c, 1, *flight, *una, next);
		wnd = got ? got : wnd;
	}
	return wnd;
}

/* The first window is out, and of the jump all that it allows, before its first packet */
static struct careful_resume jumped(u32 una, u32 *next, u32 jump)
{
	struct careful_resume c;

	*next = una + FLIGHT * MSS;
	careful_resume_begin(&c, FLIGHT, *next);
	EXPECT_EQ(c.phase, CAREFUL_RESUME_UNVALIDATED, "begun");
	*next += (jump - FLIGHT) * MSS;
	return c;
}

static void good_from(u32 una)
{
	u32 jump = SAVED / 2, flight = jump, next, wnd;
	struct careful_resume c = jumped(una, &next, jump);

	wnd = acks(&c, FLIGHT, &flight, &una, next);
	EXPECT_EQ(wnd, 0, "the window stays while the first one arrives");
	EXPECT_EQ(c.phase, CAREFUL_RESUME_UNVALIDATED, "no packet of the jump");
	/* As much leaves as arrives */
	next += FLIGHT * MSS;
	flight += FLIGHT;
	wnd = acks(&c, 1, &flight, &una, next);
	EXPECT_EQ(c.phase, CAREFUL_RESUME_VALIDATING, "its first packet");
	EXPECT_EQ(wnd, jump - 1, "what is out");
	EXPECT_EQ(c.pipe, 2 * FLIGHT + 1, "what the path has held");
	wnd = acks(&c, jump - 2, &flight, &una, next + jump * MSS);
	EXPECT_EQ(c.phase, CAREFUL_RESUME_VALIDATING, "all but the last");
	wnd |= acks(&c, 1, &flight, &una, next + jump * MSS);
	EXPECT_EQ(c.phase, CAREFUL_RESUME_NORMAL, "all of it");
	EXPECT_EQ(wnd, 0, "the window is the law's");
	EXPECT_EQ(c.pipe, 2 * FLIGHT + jump, "all that has arrived");
	EXPECT_EQ(careful_resume_ack(&c, 1, 1, una, next), 0, "over");
	EXPECT_EQ(c.pipe, 2 * FLIGHT + jump, "and counted no more");
}

static void test_good(void)
{
	good_from(0);
}

static void test_wrap(void)
{
	u32 i;

	good_from(U32_MAX - FLIGHT * MSS);
	for (i = 0; i < 100; i++)
		good_from(U32_MAX - prng_range(0, SAVED * MSS));
}

static void test_nothing_to_send(void)
{
	u32 una = 1000, flight = FLIGHT, next, wnd;
	struct careful_resume c = jumped(una, &next, FLIGHT);

	wnd = acks(&c, FLIGHT, &flight, &una, next);
	EXPECT_EQ(c.phase, CAREFUL_RESUME_NORMAL, "no jump");
	EXPECT_EQ(wnd, 2 * FLIGHT, "as slow start would have it");
}

static void test_little_to_send(void)
{
	u32 una = 1000, flight = 2 * FLIGHT, next, wnd;
	struct careful_resume c = jumped(una, &next, 2 * FLIGHT);

	wnd = acks(&c, FLIGHT + 1, &flight, &una, next);
	EXPECT_EQ(c.phase, CAREFUL_RESUME_NORMAL, "no more than slow start");
	EXPECT_EQ(wnd, 2 * FLIGHT + 1, "what has arrived");
}

/* A request of one packet after the jump: the window is no smaller than that of any begin */
static void test_next_to_nothing_to_send(void)
{
	struct careful_resume c = { 0 };

	careful_resume_begin(&c, 0, 1000);
	EXPECT_EQ(careful_resume_ack(&c, 1, 0, 1000 + MSS, 1000 + MSS), CAREFUL_RESUME_INIT,
		  "initial window");
	EXPECT_EQ(c.phase, CAREFUL_RESUME_NORMAL, "over");
}

/* Of a jump into a path of any smaller capacity the window is soon what that takes */
static void test_slower(void)
{
	u32 i;

	for (i = 0; i < 1000; i++) {
		struct link l = { .pipe = prng_range(100, SAVED / 4) };
		u32 una = prng_range(0, U32_MAX), jump = SAVED / 2;
		u32 flight = jump, next, took, wnd;
		struct careful_resume c = jumped(una, &next, jump);

		l.room = prng_range(0, l.pipe);
		took = link_round(&l, jump);
		acks(&c, FLIGHT + 1, &flight, &una, next);
		EXPECT_EQ(c.phase, CAREFUL_RESUME_VALIDATING, "not known yet");
		wnd = careful_resume_lost(&c, next + MSS);
		EXPECT_EQ(c.phase, CAREFUL_RESUME_RETREAT, "the first loss");
		EXPECT_EQ(wnd, c.pipe / 2, "half of what has arrived");
		/* The last to arrive is not the last of the jump */
		acks(&c, took - FLIGHT - 1, &flight, &una, next);
		EXPECT_EQ(c.phase, CAREFUL_RESUME_RETREAT, "until repaired");
		EXPECT_EQ(careful_resume_ack(&c, 0, 0, next, next), 0,
			  "no new window");
		EXPECT_EQ(c.phase, CAREFUL_RESUME_NORMAL, "repaired");
		EXPECT_IN(careful_resume_threshold(&c), l.pipe / 2 - 1,
			  l.pipe + FLIGHT, "of %u, room for %u", l.pipe, l.room);
	}
}

static void test_lost_early(void)
{
	u32 una = 1000, next;
	struct careful_resume c = jumped(una, &next, SAVED / 2);

	EXPECT_EQ(careful_resume_lost(&c, next), FLIGHT / 2, "of the first");
	una += FLIGHT * MSS + 1;
	careful_resume_ack(&c, FLIGHT, 100, una, next);
	EXPECT_EQ(c.phase, CAREFUL_RESUME_RETREAT, "all that is out counts");
	EXPECT_EQ(careful_resume_lost(&c, next + 1), FLIGHT, "again");
	careful_resume_ack(&c, 1, 0, next, next);
	EXPECT_EQ(c.phase, CAREFUL_RESUME_NORMAL, "the mark stays");
}

/* No input makes the window larger than what is out or has arrived */
static void test_any_input(void)
{
	struct careful_resume c = { 0 };
	u32 i;

	for (i = 0; i < 200000; i++) {
		u32 flight = prng_range(0, 1U << prng_range(0, 31));
		u32 pkts = prng_range(0, 1U << prng_range(0, 31)), wnd;
		u32 una = prng_range(0, U32_MAX);

		if (c.phase == CAREFUL_RESUME_NORMAL)
			careful_resume_begin(&c, flight, una);
		else if (!prng_range(0, 9))
			careful_resume_lost(&c, una);
		wnd = careful_resume_ack(&c, pkts, flight, una, una + pkts);
		EXPECT_TRUE(!wnd || wnd == max(max(flight, c.pipe), CAREFUL_RESUME_INIT), "window %u", wnd);
		EXPECT_IN(c.phase, CAREFUL_RESUME_NORMAL, CAREFUL_RESUME_RETREAT,
			  "phase");
	}
}

static const struct tap_case cases[] = {
	{ "what confirms a path", test_confirmed },
	{ "a jump that arrives", test_good },
	{ "the same where sequence numbers wrap", test_wrap },
	{ "nothing to send", test_nothing_to_send },
	{ "next to nothing to send after a jump", test_next_to_nothing_to_send },
	{ "little to send", test_little_to_send },
	{ "a slower path: what it carries, within a factor of two", test_slower },
	{ "a loss before the first packet of the jump", test_lost_early },
	{ "any input", test_any_input },
};

TAP_MAIN(cases)
