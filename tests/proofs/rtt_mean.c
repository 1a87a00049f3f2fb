// SPDX-License-Identifier: GPL-2.0
/*
 * rtt_mean.h: any state, any round trips and windows.
 *
 * The count of packets is modulo 2^32:
 * wraps: rtt_mean_is_due: delivered - pkts
 */
#include "hetcc/rtt_mean.h"
#include "proof.h"

static struct rtt_mean any_state(void)
{
	struct rtt_mean m = { nondet_u32(), nondet_u16() };

	return m;
}

PROOF(begin)
{
	struct rtt_mean m;
	u32 rtt_us = nondet_u32();

	rtt_mean_begin(&m, rtt_us);
	CHECK(rtt_mean_us(&m) == min(rtt_us, RTT_MEAN_MAX_US) && !m.dev_us);
}

PROOF(add)
{
	struct rtt_mean m = any_state(), was = m;
	u32 rtt_us = nondet_u32(), wnd = nondet_u32();
	u32 rtt = clamp(rtt_us, 1U, RTT_MEAN_MAX_US) << RTT_MEAN_SHIFT;

	rtt_mean_add(&m, rtt_us, wnd);
	/* Towards the sample and not beyond it */
	CHECK(was.mean ? m.mean >= min(was.mean, rtt) &&
	      m.mean <= max(was.mean, rtt) : m.mean == rtt);
}

PROOF(at_least)
{
	struct rtt_mean m = any_state(), was = m;
	u32 rtt_us = nondet_u32();

	rtt_mean_at_least(&m, rtt_us);
	CHECK(m.dev_us == was.dev_us && m.mean >= was.mean);
	CHECK(!was.mean || rtt_mean_us(&m) >= min(rtt_us, RTT_MEAN_MAX_US));
}

PROOF(due)
{
	u32 pkts = nondet_u32(), wnd = nondet_u32();

	CHECK(!rtt_mean_is_due(nondet_u32(), 0, wnd));
	CHECK(wnd >= RTT_MEAN_SAMPLES || !pkts ||
	      rtt_mean_is_due(nondet_u32(), pkts, wnd));
}

PROOF(wait)
{
	struct rtt_mean m = any_state();
	u32 min_us = nondet_u32();

	CHECK(rtt_mean_wait_us(&m, min_us) <= rtt_mean_us(&m));
	CHECK(!rtt_mean_wait_us(&m, min_us) || rtt_mean_us(&m) > min_us);
}
