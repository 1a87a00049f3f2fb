// SPDX-License-Identifier: GPL-2.0
/*
 * Random numbers that depend on a seed alone.
 */
#include <math.h>

#include "rng.h"

#define GOLDEN_GAMMA	0x9e3779b97f4a7c15ULL
#define MANTISSA_BITS	53

static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

void rng_seed(struct rng *rng, uint64_t seed, uint64_t flow, uint64_t purpose)
{
	rng->state = mix(seed + GOLDEN_GAMMA);
	rng->state = mix(rng->state + (flow + 1) * GOLDEN_GAMMA);
	rng->state = mix(rng->state + (purpose + 1) * GOLDEN_GAMMA);
}

double rng_uniform(struct rng *rng)
{
	rng->state += GOLDEN_GAMMA;
	return ((mix(rng->state) >> (64 - MANTISSA_BITS)) + 0.5) /
	       (1ULL << MANTISSA_BITS);
}

double rng_normal(struct rng *rng)
{
	double radius = sqrt(-2 * log(rng_uniform(rng)));

	return radius * cos(2 * M_PI * rng_uniform(rng));
}
