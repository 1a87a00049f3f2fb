// SPDX-License-Identifier: GPL-2.0
/*
 * Reading numbers from the command line, and the ways a program gives up.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "clock.h"

#define OUTPUT_BUFFER_BYTES	(1 << 20)

static void say(const char *fmt, va_list ap)
{
	fprintf(stderr, "%s: ", program_invocation_short_name);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

void usage_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	fprintf(stderr, "%s: see %s --help\n", program_invocation_short_name,
		program_invocation_short_name);
	exit(EXIT_USAGE);
}

void fatal(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	exit(EXIT_FAILURE);
}

void warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

int64_t parse_integer(const char *name, const char *text, int64_t min,
		      int64_t max)
{
	char *end;
	int64_t value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (end == text || *end)
		usage_error("%s: \"%s\" is not an integer; allowed are %" PRId64
			    " to %" PRId64, name, text, min, max);
	if (errno || value < min || value > max)
		usage_error("%s: %s is out of range; allowed are %" PRId64
			    " to %" PRId64, name, text, min, max);
	return value;
}

static long double parse_number(const char *name, const char *text,
				long double min, long double max)
{
	long double value;
	char *end;

	value = strtold(text, &end);
	if (end == text || *end || isnan(value))
		usage_error("%s: \"%s\" is not a number; allowed are %Lg to %Lg",
			    name, text, min, max);
	/* The limits are no more exact than that. */
	if ((double)value < min || (double)value > max)
		usage_error("%s: %s is out of range; allowed are %Lg to %Lg",
			    name, text, min, max);
	return value;
}

double parse_real(const char *name, const char *text, double min, double max)
{
	return parse_number(name, text, min, max);
}

/* A long double holds nanoseconds of 500 years where it has 64 bits or more. */
int64_t parse_seconds(const char *name, const char *text, double min,
		      double max)
{
	return llroundl(parse_number(name, text, min, max) * NSEC_PER_SEC);
}

/* The C library takes the size of the buffer only with the buffer itself. */
FILE *open_output(const char *path)
{
	FILE *file = fopen(path, "we");

	if (file)
		setvbuf(file, allocate(1, OUTPUT_BUFFER_BYTES), _IOFBF,
			OUTPUT_BUFFER_BYTES);
	return file;
}

char *copy_string(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		fatal("out of memory");
	return copy;
}

void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size);

	if (!memory)
		fatal("out of memory");
	return memory;
}
