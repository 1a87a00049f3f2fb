// SPDX-License-Identifier: GPL-2.0
/* tsval_tick.h: all arguments. */
#include "hetcc/tsval_tick.h"
#include "proof.h"

PROOF(tick)
{
	u32 ticks = nondet_u32(), elapsed_us = nondet_u32();
	u32 us = tsval_tick_us(ticks, elapsed_us);

	CHECK(us == 0 || us == 1 || us == 1000 || us == 4000 || us == 10000 ||
	      us == 100000);
	CHECK(!us || ticks || !elapsed_us);
}
