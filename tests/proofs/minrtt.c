// SPDX-License-Identifier: GPL-2.0
/*
 * minrtt.h: any state that it can have, any time.
 *
 * Times are modulo 2^32, and from 2^30 us on there is no look:
 * wraps: minrtt_look: now_us - m->until_us
 * wraps: minrtt_look: now_us + (unsigned int)2 * rtt_us
 * wraps: minrtt_look: * in (unsigned int)2 * rtt_us
 * wraps: minrtt_add: now_us - m->until_us
 */
#include "hetcc/minrtt.h"
#include "proof.h"

static bool is_state(const struct minrtt *m)
{
	return m->row < MINRTT_LOOKS && (!m->looking || m->look_us >= m->min_us);
}

static struct minrtt any_state(void)
{
	struct minrtt m = { nondet_u32(), nondet_u32(), nondet_u32(),
			    nondet_u32(), nondet_bool(), nondet_u8() };

	return m;
}

PROOF(init)
{
	struct minrtt m;

	minrtt_init(&m);
	CHECK(is_state(&m) && m.min_us == MINRTT_NONE);
}

PROOF(look)
{
	struct minrtt m = any_state();

	ASSUME(is_state(&m));
	minrtt_look(&m, nondet_u32(), nondet_u32());
	CHECK(is_state(&m));
}

PROOF(add)
{
	struct minrtt m = any_state(), was = m;
	u32 rtt_us = nondet_u32();
	bool raised;

	ASSUME(is_state(&m) && rtt_us && rtt_us < MINRTT_NONE);
	raised = minrtt_add(&m, nondet_u32(), rtt_us);
	CHECK(is_state(&m) && m.min_us <= rtt_us);
	CHECK(raised || m.min_us <= was.min_us);
	CHECK(!raised || was.row == MINRTT_LOOKS - 1);
}
