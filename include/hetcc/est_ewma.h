/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Exponential average that keeps its remainder.
 *
 *   avg = alpha * avg + (1 - alpha) * sample
 *
 * The state is held upscaled by HETCC_EWMA_ONE. A filter that stores the
 * rounded average sticks below a rising input; this one settles from both
 * sides to within 1 / (1 - alpha) / HETCC_EWMA_ONE units: 0.02 at alpha = 0.8.
 */
#ifndef HETCC_EST_EWMA_H
#define HETCC_EST_EWMA_H

#include "fixed.h"

#define HETCC_EWMA_SHIFT	8
#define HETCC_EWMA_ONE		((u64)1 << HETCC_EWMA_SHIFT)
/* sample < 2^40: 2^40 * 2^8 * 1000 < 2^58 fits the signed product below */
#define HETCC_EWMA_MAX		((1ULL << 40) - 1)
#define HETCC_PERMILLE		1000

/**
 * struct hetcc_ewma - filter state
 * @scaled: average times HETCC_EWMA_ONE; 0 until the first sample
 */
struct hetcc_ewma {
	u64 scaled;
};

/**
 * hetcc_ewma_get() - current average
 * @e: filter
 *
 * Return: the average, rounded to nearest; 0 before the first sample.
 */
static inline u64 hetcc_ewma_get(const struct hetcc_ewma *e)
{
	return (e->scaled + HETCC_EWMA_ONE / 2) >> HETCC_EWMA_SHIFT;
}

/**
 * hetcc_ewma_add() - add a sample
 * @e: filter
 * @sample: value, clamped to HETCC_EWMA_MAX
 * @alpha_permille: weight of the old average, 0..999
 *
 * The first sample starts the filter.
 */
static inline void hetcc_ewma_add(struct hetcc_ewma *e, u64 sample,
				  u32 alpha_permille)
{
	s64 delta;

	sample = min_t(u64, sample, HETCC_EWMA_MAX);
	if (!e->scaled) {
		e->scaled = sample << HETCC_EWMA_SHIFT;
		return;
	}
	delta = (s64)(sample << HETCC_EWMA_SHIFT) - (s64)e->scaled;
	e->scaled += div_s64(delta * (s64)(HETCC_PERMILLE - alpha_permille),
			     HETCC_PERMILLE);
}

#endif /* HETCC_EST_EWMA_H */
