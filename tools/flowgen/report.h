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

/* A record: begin, any number of fields, end.  Times in ns. */
void record_begin(const char *type, const struct flow *flow, int64_t t);
void record_time(const char *name, int64_t t);
void record_integer(const char *name, uint64_t value);
void record_null(const char *name);
void record_string(const char *name, const char *text);
void record_bool(const char *name, bool value);
void record_finish(void);

/* An integer, or null when it is not known. */
void record_integer_if(bool known, const char *name, uint64_t value);

void report_start(struct flow *flow);
void report_error(const struct flow *flow, int64_t t, const char *what,
		  int error);

/* What the end records of all flows have in common; leaves it open. */
void record_begin_end(const struct flow *flow, int64_t t, const char *reason,
		      bool complete);

#endif /* FLOWGEN_REPORT_H */
