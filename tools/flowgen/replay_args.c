// SPDX-License-Identifier: GPL-2.0
/*
 * Reading the writes that a flow replays.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "workload_args.h"

#define MAX_LINE	256
#define MAX_LABEL	(2 * MAX_LINE)
#define MAX_BYTES	1e12
#define MAX_TIME_S	1e6
#define MAX_WRITES	1000000

static void add_write(struct workload_args *args, const char *label, char *text,
		      char between)
{
	struct replayed *write = &args->writes[args->write_count];
	char *bytes = strchr(text, between);

	if (args->write_count == MAX_WRITES)
		usage_error("%s: at most %d writes", label, MAX_WRITES);
	if (!bytes)
		usage_error("%s: \"%s\" is not t_s%cbytes", label, text, between);
	*bytes++ = '\0';
	write->t = parse_seconds(label, text, 0, MAX_TIME_S);
	write->bytes = parse_integer(label, bytes, ITEM_HEADER_BYTES, MAX_BYTES);
	if (args->write_count && write->t < write[-1].t)
		usage_error("%s: time %s is before that of the line above",
			    label, text);
	args->write_count++;
}

static void read_file(struct workload_args *args, const char *name)
{
	FILE *file = fopen(args->file, "re");
	char line[MAX_LINE], label[MAX_LABEL];

	if (!file)
		usage_error("%s: %s: %s", name, args->file, strerror(errno));
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\r\n")] = '\0';
		snprintf(label, sizeof(label), "%s: %s, line %zu", name,
			 args->file, args->write_count + 1);
		add_write(args, label, line, ',');
	}
	fclose(file);
	if (!args->write_count)
		usage_error("%s: %s is empty", name, args->file);
}

static void read_text(struct workload_args *args, const char *name)
{
	char *copy = copy_string(args->writes_text);
	char *rest = copy;
	char *pair;

	while ((pair = strsep(&rest, "/")))
		add_write(args, name, pair, ':');
	free(copy);
}

void replay_read(struct workload_args *args, const char *name)
{
	args->writes = allocate(MAX_WRITES + 1, sizeof(*args->writes));
	if (args->file)
		read_file(args, name);
	else
		read_text(args, name);
}
