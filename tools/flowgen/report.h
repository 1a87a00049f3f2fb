/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The output of flowgen: one JSON object on each line.  All functions expect
 * run.lock to be held.
 */
#ifndef FLOWGEN_REPORT_H
#define FLOWGEN_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "flow.h"

void report_open(const char *path);

/* Write out what is buffered; exits when the output is not complete. */
void report_close(void);

/* A record: begin, any number of fields (json.h), finish.  Time in ns. */
void record_begin(const char *type, const struct flow *flow, int64_t t);
void record_finish(void);

void report_start(struct flow *flow);
void report_error(const struct flow *flow, int64_t t, const char *what,
		  int error);

/* What the end records of all flows have in common; leaves it open. */
void record_begin_end(const struct flow *flow, int64_t t, const char *reason,
		      bool complete);

#endif /* FLOWGEN_REPORT_H */
