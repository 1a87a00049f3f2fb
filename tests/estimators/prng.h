/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reproducible random inputs (splitmix64). The environment variable HETCC_SEED
 * sets the seed; every test case draws from a stream of its own.
 */
#ifndef HETCC_PRNG_H
#define HETCC_PRNG_H

#include <math.h>
#include <stdlib.h>

#include "../splitmix64.h"
#include "user_compat.h"

#define PRNG_SEED	20040101ULL

static u64 prng_state;

static inline u64 prng_u64(void)
{
	return splitmix64(prng_state += SPLITMIX64_GAMMA);
}

static inline u64 prng_seed(void)
{
	const char *seed = getenv("HETCC_SEED");

	return seed ? strtoull(seed, NULL, 0) : PRNG_SEED;
}

static inline void prng_start(u64 stream)
{
	prng_state = prng_seed();
	prng_state = prng_u64() ^ (stream * SPLITMIX64_GAMMA);
}

static inline u32 prng_u32(void)
{
	return (u32)(prng_u64() >> 32);
}

/* Uniform in [0, 1) */
static inline double prng_unit(void)
{
	return (double)(prng_u64() >> 11) / (double)(1ULL << 53);
}

/* Uniform in lo..hi, both included */
static inline u32 prng_range(u32 lo, u32 hi)
{
	return lo + (u32)(prng_u64() % ((u64)hi - lo + 1));
}

/* Every magnitude of lo..hi equally likely; lo at least 1 */
static inline u64 prng_log(u64 lo, u64 hi)
{
	double v = (double)lo * pow((double)hi / (double)lo, prng_unit());

	return clamp((u64)v, lo, hi);
}

static inline u32 prng_log32(u32 lo, u32 hi)
{
	return (u32)prng_log(lo, hi);
}

#endif /* HETCC_PRNG_H */
