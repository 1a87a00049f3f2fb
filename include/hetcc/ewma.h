/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Exponential average that keeps its remainder.
 *
 *   avg = alpha * avg + (1 - alpha) * sample
 *
 * The state is held upscaled by EWMA_ONE. A filter that stores the
 * rounded average sticks below a rising input; this one settles from both
 * sides to within 1 / (1 - alpha) / EWMA_ONE units: 0.02 at alpha = 0.8.
 */
#ifndef HETCC_EWMA_H
#define HETCC_EWMA_H

#include "fixed.h"

#define EWMA_SHIFT		8
#define EWMA_ONE		((u64)1 << EWMA_SHIFT)
/* sample < 2^40: 2^40 * 2^8 * 1000 < 2^58 fits the products below */
#define EWMA_MAX		((1ULL << 40) - 1)

/**
 * struct ewma - filter state
 * @scaled: average times EWMA_ONE; 0 until the first sample
 */
struct ewma {
	u64 scaled;
};

/**
 * ewma_get() - current average
 * @e: filter
 *
 * Return: the average, rounded to nearest; 0 before the first sample.
 */
static inline u64 ewma_get(const struct ewma *e)
{
	return (e->scaled + EWMA_ONE / 2) >> EWMA_SHIFT;
}

/**
 * ewma_add() - add a sample
 * @e: filter
 * @sample: value, clamped to EWMA_MAX
 * @alpha_permille: weight of the old average, 0..999
 *
 * The first sample starts the filter.
 */
static inline void ewma_add(struct ewma *e, u64 sample, u32 alpha_permille)
{
	u64 to = min_t(u64, sample, EWMA_MAX) << EWMA_SHIFT;
	u32 part = FIXED_MILLI - alpha_permille;

	if (!e->scaled)
		e->scaled = to;
	else if (to > e->scaled)
		e->scaled += div_u64((to - e->scaled) * part, FIXED_MILLI);
	else
		e->scaled -= div_u64((e->scaled - to) * part, FIXED_MILLI);
}

#endif /* HETCC_EWMA_H */
