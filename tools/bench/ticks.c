// SPDX-License-Identifier: GPL-2.0
/*
 * The processor's own counter, for Python's ctypes.
 */
#include <stdint.h>
#include <x86intrin.h>

uint64_t ticks(void);

uint64_t ticks(void)
{
	return __rdtsc();
}
