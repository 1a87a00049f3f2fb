// SPDX-License-Identifier: GPL-2.0
/*
 * return_path.h: any state, all times.
 *
 * Clocks are modulo 2^32:
 * wraps: return_path_units: tsval * 1000u
 * wraps: return_path_add: return_value_return_path_units - (unsigned int)r->least
 * wraps: return_path_round: now_us - min_us
 */
#include "hetcc/return_path.h"
#include "proof.h"

static struct return_path any_state(void)
{
	struct return_path r = {
		.least = nondet_u16() & RETURN_PATH_MASK,
		.off = nondet_bool(),
	};

	return r;
}

PROOF(add)
{
	struct return_path r = any_state();
	u32 now_us = nondet_u32(), tsval = nondet_u32();
	u32 wait_us = nondet_u32(), min_us = nondet_u32();
	bool off = r.off;
	u32 us = return_path_add(&r, now_us, tsval, wait_us, min_us);

	CHECK(!us || !min_us || us < (u64)wait_us + min_us);
	CHECK(!off || !us);
	CHECK(us <= wait_us || us - wait_us >= RETURN_PATH_TICK_US ||
	      us + 1ULL == (u64)wait_us + min_us);
	CHECK(!us || us >= RETURN_PATH_TICK_US || us == wait_us ||
	      us + 1ULL == (u64)wait_us + min_us);
}

PROOF(begin)
{
	struct return_path r = any_state();
	u32 now_us = nondet_u32(), tsval = nondet_u32();

	return_path_begin(&r, now_us, tsval);
	CHECK(r.least == return_path_units(now_us, tsval));
	CHECK(!return_path_add(&r, now_us, tsval, nondet_u32(), nondet_u32()));
}

PROOF(round)
{
	struct return_path r = any_state();
	u16 least = r.least;
	u32 min_us = nondet_u32();

	ASSUME(min_us < 1U << RETURN_PATH_FADE_SHIFT);
	return_path_round(&r, nondet_u32(), min_us);
	CHECK(r.least == least || r.least == (least + 1) % 0x8000);
}

PROOF(round_of_any_length)
{
	struct return_path r = any_state();

	return_path_round(&r, nondet_u32(), nondet_u32());
	CHECK(r.least <= RETURN_PATH_MASK);
}
