/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sampling the statistics of queueing disciplines by netlink.
 */
#ifndef FLOWGEN_QUEUE_H
#define FLOWGEN_QUEUE_H

#include <stdint.h>

/* Take in a --queue argument: LABEL,NSPATH,IFNAME,PARENT. */
void queue_add(const char *argument);

int queue_count(void);

/* Open all queues and DIR/queue.bin; exits when one is not there. */
void queue_open(const char *dir);

/* Write one record for each queue; t in ns from t0. */
void queue_sample(int64_t t);

/*
 * Close DIR/queue.bin, write DIR/queue.json with the number of samples that the
 * caller missed.  Returns -1 if samples failed.
 */
int queue_close(const char *dir, int64_t missed);

#endif /* FLOWGEN_QUEUE_H */
