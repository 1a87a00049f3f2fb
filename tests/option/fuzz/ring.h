/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames to and from a device through rings of memory: hundreds of them cost
 * one system call to send and none to receive.
 */
#ifndef SCFUZZ_RING_H
#define SCFUZZ_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "wire.h"

/* Frames that can be queued before ring_flush() */
#define RING_BATCH	512

void ring_open(const char *device);

/* Where to write the next frame, and that it has been written */
uint8_t *ring_next(void);
void ring_commit(size_t bytes);

/* Have the kernel take all frames; it has answered them when this returns. */
void ring_flush(void);

/* Frames since the last ring_flush() */
unsigned int ring_queued(void);

/* The next segment of the kernel, valid until the next call */
bool ring_receive(struct arrival *arrival);

/* Print the last frames that were sent. */
void ring_dump(FILE *to, unsigned int count);

#endif /* SCFUZZ_RING_H */
