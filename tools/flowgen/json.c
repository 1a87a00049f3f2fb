// SPDX-License-Identifier: GPL-2.0
/*
 * The fields of a JSON object, written to the output of the run.
 */
#include <inttypes.h>
#include <stdio.h>

#include "clock.h"
#include "flow.h"
#include "json.h"

void json_time(const char *name, int64_t t)
{
	fprintf(run.out, ",\"%s\":%.6f", name, ns_to_sec(t));
}

void json_integer(const char *name, uint64_t value)
{
	fprintf(run.out, ",\"%s\":%" PRIu64, name, value);
}

void json_null(const char *name)
{
	fprintf(run.out, ",\"%s\":null", name);
}

void json_integer_if(bool known, const char *name, uint64_t value)
{
	if (known)
		json_integer(name, value);
	else
		json_null(name);
}

void json_bool(const char *name, bool value)
{
	fprintf(run.out, ",\"%s\":%s", name, value ? "true" : "false");
}

void json_string(const char *name, const char *text)
{
	fprintf(run.out, ",\"%s\":\"", name);
	for (; *text; text++) {
		unsigned char c = *text;

		if (c == '"' || c == '\\')
			fprintf(run.out, "\\%c", c);
		else if (c < ' ')
			fprintf(run.out, "\\u%04x", c);
		else
			fputc(c, run.out);
	}
	fputc('"', run.out);
}
