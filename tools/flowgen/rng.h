/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Random numbers that depend on a seed alone: SplitMix64 (Steele, Lea and Flood,
 * "Fast splittable pseudorandom number generators", OOPSLA 2014).
 */
#ifndef FLOWGEN_RNG_H
#define FLOWGEN_RNG_H

#include <stdint.h>

struct rng {
	uint64_t state;
};

/* A stream of its own for each purpose of each flow of each run. */
void rng_seed(struct rng *rng, uint64_t seed, uint64_t flow, uint64_t purpose);

/* Uniform in the open interval from 0 to 1. */
double rng_uniform(struct rng *rng);

/* Normal, mean 0, variance 1 (Box and Muller). */
double rng_normal(struct rng *rng);

#endif /* FLOWGEN_RNG_H */
