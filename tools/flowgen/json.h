/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fields of a JSON object, written to the output of the run.  Each writes a
 * comma first, so the object must have a field already.  All functions expect
 * run.lock to be held.
 */
#ifndef FLOWGEN_JSON_H
#define FLOWGEN_JSON_H

#include <stdbool.h>
#include <stdint.h>

/* A time in ns, written in seconds with six decimals. */
void json_time(const char *name, int64_t t);
void json_integer(const char *name, uint64_t value);
void json_null(const char *name);
void json_bool(const char *name, bool value);
void json_string(const char *name, const char *text);

/* An integer, or null when it is not known. */
void json_integer_if(bool known, const char *name, uint64_t value);

#endif /* FLOWGEN_JSON_H */
