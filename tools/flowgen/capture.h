/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Capturing packets in network namespaces.
 */
#ifndef FLOWGEN_CAPTURE_H
#define FLOWGEN_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The kernel hands over a block of packets when it is full or this old, so
 * that wake-ups are few.
 */
#define CAPTURE_BLOCK_MS	1000

/* Take in a --capture argument: LABEL,NSPATH,IFNAME,in|out. */
void capture_add(const char *argument);

int capture_count(void);

/*
 * Start all captures, with DIR/LABEL.cap and, with pcap, DIR/LABEL.pcap; exits
 * when one fails.  t0 on CLOCK_MONOTONIC; what comes after until, from t0, is
 * left out.
 */
void capture_open(const char *dir, bool pcap, int64_t t0, int64_t until);

/* Read the blocks that the kernel has handed over, without waiting. */
void capture_read(void);

/*
 * Read what is left, close the files and write DIR/captures.json.  Returns -1
 * if a capture failed before its end.
 */
int capture_close(const char *dir);

#endif /* FLOWGEN_CAPTURE_H */
