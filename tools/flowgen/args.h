/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reading numbers from the command line, and the ways a program gives up.
 */
#ifndef FLOWGEN_ARGS_H
#define FLOWGEN_ARGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define EXIT_USAGE	2

/* Limit of every time on a command line, in seconds. */
#define MAX_SECONDS	1000000000LL

#define PRINTF_LIKE(fmt, args)	__attribute__((format(printf, fmt, args)))

/* The command line is wrong: say so and exit with EXIT_USAGE. */
void usage_error(const char *fmt, ...)
	PRINTF_LIKE(1, 2) __attribute__((noreturn));

/* Something failed at run time: say so and exit with EXIT_FAILURE. */
void fatal(const char *fmt, ...) PRINTF_LIKE(1, 2) __attribute__((noreturn));

/* Say something on standard error, with the program's name before it. */
void warn(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* These take the text of an argument, and its name for the error message. */
int64_t parse_integer(const char *name, const char *text, int64_t min,
		      int64_t max);
double parse_real(const char *name, const char *text, double min, double max);

/* Seconds, as a decimal fraction, to nanoseconds; min and max in seconds. */
int64_t parse_seconds(const char *name, const char *text, double min,
		      double max);

/*
 * Open a file for writing, NULL when that fails, with a buffer that is large:
 * a write to the lab's file system costs far more than the copying.
 */
FILE *open_output(const char *path);

/* A copy of a string, or the end of the program. */
char *copy_string(const char *text);

/* Zeroed memory, or the end of the program. */
void *allocate(size_t count, size_t size);

#endif /* FLOWGEN_ARGS_H */
