/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A healthy connection beside the hostile ones: whatever those do, the kernel
 * is to answer this one. And an ordinary transfer, for when all is over.
 */
#ifndef SCFUZZ_PROBE_H
#define SCFUZZ_PROBE_H

#include <stdbool.h>

#include "wire.h"

struct probe_totals {
	uint64_t rounds;	/* requests answered */
	uint64_t connections;
	uint64_t slowest_us;	/* round, of virtual time */
};

extern struct probe_totals probe_totals;

void probe_open(void);
void probe_close(void);

/* A segment of the kernel for a port below FIRST_PORT */
void probe_arrival(const struct arrival *arrival);

/* Do what is due; false if the kernel does not answer any more. */
bool probe_step(void);

/* Send a megabyte from one socket of the kernel to another. */
bool probe_transfer(void);

#endif /* SCFUZZ_PROBE_H */
