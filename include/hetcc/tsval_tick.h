/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Resolution of a peer's timestamp clock (RFC 7323: 1 ms to 1 s, and
 * microseconds between Linux hosts that agree on it).
 */
#ifndef HETCC_TSVAL_TICK_H
#define HETCC_TSVAL_TICK_H

#include "fixed.h"

/* Ten ticks of the coarsest clock that is told apart */
#define TSVAL_TICK_PROBE_US	1000000U

/**
 * tsval_tick_us() - classify a timestamp clock
 * @ticks: how far the peer's clock went
 * @elapsed_us: in this time, at least TSVAL_TICK_PROBE_US
 *
 * Return: 1, 1000, 4000, 10000 or 100000 us per tick; 0: none of these.
 */
static inline u32 tsval_tick_us(u32 ticks, u32 elapsed_us)
{
	static const u32 known[] = { 1, 1000, 4000, 10000, 100000 };
	u32 i;

	for (i = 0; i < 5; i++) {
		u64 us = (u64)ticks * known[i];

		if (us >= elapsed_us - elapsed_us / 3 &&
		    us <= (u64)elapsed_us + elapsed_us / 2)
			return known[i];
	}
	return 0;
}

#endif /* HETCC_TSVAL_TICK_H */
