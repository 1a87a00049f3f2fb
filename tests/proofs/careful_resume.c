// SPDX-License-Identifier: GPL-2.0
/*
 * careful_resume.h: any state, all sequence numbers. What a jump and a retreat take is
 * bounded by what is remembered and by what has arrived; the phases go one way.
 *
 * wraps: careful_resume_begin: next + (unsigned int)1
 * wraps: careful_resume_ack: una - c->mark
 */
#include "hetcc/careful_resume.h"
#include "proof.h"

static struct careful_resume any_state(void)
{
	struct careful_resume c = {
		.pipe = nondet_u32(), .mark = nondet_u32(),
		.phase = nondet_u8() & 3,
	};

	return c;
}

PROOF(capacity)
{
	u32 saved = nondet_u32(), saved_us = nondet_u32();
	u32 rtt_us = nondet_u32(), wait_us = nondet_u32();
	u32 most = nondet_u32(), capacity;

	capacity = careful_resume_capacity(saved, saved_us, rtt_us, wait_us,
					   most);
	CHECK(capacity <= saved && capacity <= most);
	CHECK(!capacity || (rtt_us >= saved_us / 2 && capacity >= saved / 2));
	CHECK(careful_resume_jump(capacity) <= saved / 2);
}

PROOF(begin)
{
	struct careful_resume c;
	u32 flight = nondet_u32();

	careful_resume_begin(&c, flight, nondet_u32());
	CHECK(c.phase == CAREFUL_RESUME_UNVALIDATED && c.pipe == flight);
}

PROOF(ack)
{
	struct careful_resume c = any_state();
	u32 flight = nondet_u32(), pipe = c.pipe, wnd;
	u8 phase = c.phase;

	wnd = careful_resume_ack(&c, nondet_u32(), flight, nondet_u32(),
				 nondet_u32());
	CHECK(c.phase == phase || c.phase == CAREFUL_RESUME_NORMAL ||
	      (phase == CAREFUL_RESUME_UNVALIDATED &&
	       c.phase == CAREFUL_RESUME_VALIDATING));
	CHECK(c.pipe >= pipe);
	CHECK(!wnd || phase == CAREFUL_RESUME_UNVALIDATED);
	CHECK(!wnd || wnd == max(max(flight, c.pipe), CAREFUL_RESUME_INIT));
}

PROOF(lost)
{
	struct careful_resume c = any_state();
	u32 pipe = c.pipe, mark = c.mark, wnd;
	u8 phase = c.phase;

	wnd = careful_resume_lost(&c, nondet_u32());
	CHECK(c.phase == CAREFUL_RESUME_RETREAT && c.pipe == pipe);
	CHECK(wnd == pipe / 2 && careful_resume_threshold(&c) == wnd);
	CHECK(c.mark == mark || phase == CAREFUL_RESUME_UNVALIDATED);
}
