// SPDX-License-Identifier: GPL-2.0
/* minrtt_probe.h: any state that it can have, all round trips. */
#include "hetcc/minrtt_probe.h"
#include "proof.h"

static bool is_state(const struct minrtt_probe *p)
{
	return p->min_us <= p->round_us && p->left >= 1 &&
	       p->left <= MINRTT_PROBE_REST << MINRTT_PROBE_EVERY_MAX &&
	       !(p->probing && p->cut) &&
	       p->every <= MINRTT_PROBE_EVERY_MAX;
}

static struct minrtt_probe any_state(void)
{
	struct minrtt_probe p = { nondet_u32(), nondet_u32(), nondet_u32(),
				  nondet_bool(), nondet_u8(), nondet_u8(),
				  nondet_bool(), nondet_bool(), nondet_u8() };

	return p;
}

PROOF(init)
{
	struct minrtt_probe p;

	minrtt_probe_init(&p, nondet_u32());
	CHECK(is_state(&p));
	minrtt_probe_abort(&p);
	CHECK(is_state(&p) && !p.probing);
	minrtt_probe_renew(&p);
	CHECK(is_state(&p) && p.left <= MINRTT_PROBE_ROUNDS);
}

PROOF(add)
{
	struct minrtt_probe p = any_state();
	u32 rtt_us = nondet_u32();

	ASSUME(is_state(&p));
	minrtt_probe_add(&p, rtt_us, nondet_u32());
	CHECK(is_state(&p) && p.min_us <= rtt_us);
}

PROOF(round)
{
	struct minrtt_probe p = any_state(), was = p;
	enum minrtt_probe_event event;

	ASSUME(is_state(&p));
	event = minrtt_probe_round(&p, nondet_u32(), nondet_u32());
	CHECK(is_state(&p));
	CHECK(event == MINRTT_PROBE_LONGER ? p.min_us == was.round_us :
	      p.min_us == was.min_us);
	CHECK(event != MINRTT_PROBE_BEGIN || (p.probing && !was.probing));
}

PROOF(at_once)
{
	struct minrtt_probe p = any_state();
	u32 wait_us = nondet_u32();

	ASSUME(is_state(&p));
	CHECK(!minrtt_probe_at_once(&p, p.round_us, wait_us) ||
	      (!p.stood && p.round_us - p.min_us > wait_us));
}

PROOF(cut)
{
	struct minrtt_probe p = any_state(), was = p;

	ASSUME(is_state(&p));
	minrtt_probe_cut(&p);
	CHECK(is_state(&p) && p.probing == was.probing && p.seen_us == was.seen_us);
	CHECK(minrtt_probe_is_open(&p));
}

PROOF(stands)
{
	struct minrtt_probe p = any_state();
	u32 wait_us = nondet_u32();

	ASSUME(is_state(&p));
	CHECK(!minrtt_probe_stands(&p, wait_us) ||
	      (p.stood && p.round_us > p.min_us));
}
