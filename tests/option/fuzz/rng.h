/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reproducible random numbers (splitmix64), one stream for the whole run.
 */
#ifndef SCFUZZ_RNG_H
#define SCFUZZ_RNG_H

#include <stdbool.h>
#include <stdint.h>

#include "../../splitmix64.h"

extern uint64_t rng_state;

static inline uint64_t rng_u64(void)
{
	return splitmix64(rng_state += SPLITMIX64_GAMMA);
}

static inline uint32_t rng_u32(void)
{
	return rng_u64() >> 32;
}

/* 0 to n - 1; n at least 1 */
static inline uint32_t below(uint32_t n)
{
	return ((uint64_t)rng_u32() * n) >> 32;
}

/* lo to hi, both included */
static inline uint32_t between(uint32_t lo, uint32_t hi)
{
	return lo + below(hi - lo + 1);
}

static inline bool percent(uint32_t p)
{
	return below(100) < p;
}

static inline bool permille(uint32_t p)
{
	return below(1000) < p;
}

#define COUNT_OF(array)	(sizeof(array) / sizeof((array)[0]))
#define ANY_OF(array)	((array)[below(COUNT_OF(array))])

#endif /* SCFUZZ_RNG_H */
