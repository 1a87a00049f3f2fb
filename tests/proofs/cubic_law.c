// SPDX-License-Identifier: GPL-2.0
/* cubic_law.h: all windows up to CUBIC_LAW_WINDOW_MAX, all times. */
#include "hetcc/cubic_law.h"
#include "proof.h"

PROOF(reduce)
{
	u32 window = nondet_u32(), left;

	ASSUME(window <= CUBIC_LAW_WINDOW_MAX);
	left = cubic_law_reduce(window);
	CHECK(left <= window && left >= window / 2);
}

PROOF(max)
{
	u32 window = nondet_u32(), last = nondet_u32(), most;

	ASSUME(window <= CUBIC_LAW_WINDOW_MAX);
	most = cubic_law_max(window, last);
	CHECK(most <= window && most >= window / 2);
}

PROOF(window)
{
	u32 w_max = nondet_u32(), rtt_ms = nondet_u32(), window;

	ASSUME(w_max <= CUBIC_LAW_WINDOW_MAX && rtt_ms <= 1U << 27);
	window = cubic_law_window(w_max, nondet_u32(), rtt_ms);
	CHECK(window <= 2 * CUBIC_LAW_WINDOW_MAX);
}
