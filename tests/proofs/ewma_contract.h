/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ewma_add() as ewma.c proves it, in place of its code, for proofs of what uses it: the
 * caller keeps its ranges, and what comes back lies between the average and the sample.
 */
#ifndef HETCC_EWMA_CONTRACT_H
#define HETCC_EWMA_CONTRACT_H

#include "proof.h"

#define ewma_add ewma_add_code
#include "hetcc/ewma.h"
#undef ewma_add

static inline void ewma_add(struct ewma *e, u64 sample, u32 alpha_permille)
{
	u64 to = min_t(u64, sample, EWMA_MAX) << EWMA_SHIFT;
	u64 scaled = nondet_u64();

	CHECK(e->scaled <= EWMA_MAX << EWMA_SHIFT);
	CHECK(alpha_permille <= 999);
	ASSUME(scaled <= max(to, e->scaled));
	ASSUME(scaled >= min(to, e->scaled) || !e->scaled);
	e->scaled = scaled;
}

#endif /* HETCC_EWMA_CONTRACT_H */
