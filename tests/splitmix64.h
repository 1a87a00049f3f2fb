/* SPDX-License-Identifier: GPL-2.0 */
/* The generator of all reproducible random inputs (Steele, Lea, Flood 2014). */
#ifndef HETCC_SPLITMIX64_H
#define HETCC_SPLITMIX64_H

#include <stdint.h>

#define SPLITMIX64_GAMMA	0x9e3779b97f4a7c15ULL

/* The output for a state, which the caller has advanced by SPLITMIX64_GAMMA */
static inline uint64_t splitmix64(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

#endif /* HETCC_SPLITMIX64_H */
