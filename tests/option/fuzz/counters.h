/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters and memory of the kernel's network stack, from /proc/net.
 */
#ifndef SCFUZZ_COUNTERS_H
#define SCFUZZ_COUNTERS_H

#include <stdint.h>
#include <stdio.h>

#define COUNTERS	44

/* In the order of counter_names */
struct counters {
	int64_t value[COUNTERS];
};

/* TCP of /proc/net/sockstat */
struct sockets {
	int64_t inuse, orphan, tw, alloc, mem;
};

void counters_read(struct counters *counters);

/* How much a counter has grown; its name must be one of those that are read. */
int64_t counter_grown(const struct counters *from, const struct counters *to,
		      const char *name);

/* All that have grown, as a JSON object */
void counters_print(FILE *out, const struct counters *from,
		    const struct counters *to);

void sockets_read(struct sockets *sockets);

#endif /* SCFUZZ_COUNTERS_H */
