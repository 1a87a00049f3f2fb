// SPDX-License-Identifier: GPL-2.0
/* santacruz_law.h: all windows up to SANTACRUZ_LAW_WINDOW_MAX, all queues. */
#include "hetcc/santacruz_law.h"
#include "proof.h"

/* Delays are at most 2^26 us (forward_level.h), a clock ticks within a second */
#define DELAY_MAX_US	((u32)1 << 26)

static u32 any_window(void)
{
	u32 window = nondet_u32();

	return window % (SANTACRUZ_LAW_WINDOW_MAX + 1);
}

PROOF(op)
{
	s32 n_op = nondet_s32(), op;

	ASSUME(n_op >= 0);
	op = santacruz_law_op(nondet_u32(), n_op);
	CHECK(op >= n_op);
	CHECK(op == n_op || op < 1 << 18);
}

PROOF(raise)
{
	u32 window = any_window();
	bool shows = nondet_bool(), cautious = nondet_bool();
	u32 pkts = santacruz_law_raise(window, shows, nondet_u32(), cautious);

	CHECK(pkts >= 1);
	CHECK(pkts == 1 || (!shows && pkts <= window / (cautious ? 16 : 4)));
}

PROOF(deficit)
{
	u32 window = any_window(), sent = nondet_u32(), pkts;
	bool cautious = nondet_bool();
	s32 missing = nondet_s32();

	ASSUME(sent <= (u32)1 << 31);
	pkts = santacruz_law_deficit(window, sent, missing, cautious);
	CHECK(pkts <= window / (cautious ? 16 : 4));
	if (missing <= 0 && sent <= window)
		CHECK(!pkts);
	/* Never beyond the operating point */
	if (pkts)
		CHECK((u64)window + pkts <=
		      (u64)sent + ((u32)max_t(s32, missing, 0) >> QUEUE_PKTS_SHIFT));
}

PROOF(widen)
{
	s32 op = nondet_s32(), noise = nondet_s32(), wide;
	u32 burst = nondet_u32();

	ASSUME(op >= 0 && op <= 1 << 22 && burst >= 1 && burst <= 1U << 20);
	wide = santacruz_law_widen(op, burst, noise);
	CHECK(wide >= op && wide <= op + QUEUE_PKTS_MAX / 2);
}

PROOF(lower)
{
	u32 window = any_window(), sent = nondet_u32(), least = nondet_u32(), left;
	s32 excess = nondet_s32();

	ASSUME(excess > 0);
	left = santacruz_law_lower(window, sent, excess, least);
	CHECK(left <= window && left >= window / 2 && left >= min(window, least));
}

PROOF(drain)
{
	u32 window = any_window();
	u32 left = santacruz_law_drain(window, nondet_s32());

	CHECK(left <= window);
	CHECK(left >= SANTACRUZ_LAW_DRAIN_MIN || left == window);
}

static struct santacruz_law_answer any_answer(void)
{
	struct santacruz_law_answer a = {
		.first_us = nondet_u32(), .now_us = nondet_u32(),
		.first_pkts = nondet_u32(), .now_pkts = nondet_u32(),
		.pkts_ns = nondet_u32(),
	};

	return a;
}

PROOF(grew)
{
	struct santacruz_law_answer a = any_answer();
	u32 tick_us = nondet_u32();
	bool grew;

	ASSUME(a.first_us <= DELAY_MAX_US && tick_us <= 1000000);
	grew = santacruz_law_grew(&a, tick_us);
	CHECK(!grew || a.now_us > a.first_us);
}

PROOF(unanswered)
{
	struct santacruz_law_answer a = any_answer();
	bool ours = !santacruz_law_unanswered(&a);

	/* Nothing taken out, or no delay: no verdict */
	CHECK(ours || (a.now_pkts < a.first_pkts && a.first_us));
	/* An eighth of the delay is an answer, whatever was taken out */
	CHECK(ours || a.now_us > a.first_us - a.first_us / 8 - 1);
}

PROOF(gave_way)
{
	struct santacruz_law_answer a = any_answer();
	bool gave = santacruz_law_gave_way(&a);

	CHECK(!gave || a.now_pkts <= a.first_pkts);
	CHECK(gave || a.now_pkts > a.first_pkts / 4 * 3);
}

PROOF(foreign)
{
	u32 us = nondet_u32(), pkts = nondet_u32(), pkts_ns = nondet_u32();
	bool foreign = santacruz_law_foreign(us, pkts, pkts_ns);

	CHECK(!foreign || (us && pkts_ns));
	CHECK(foreign || pkts || !us || !pkts_ns);
}
