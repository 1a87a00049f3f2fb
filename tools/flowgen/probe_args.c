// SPDX-License-Identifier: GPL-2.0
/*
 * What the arguments for queues and captures have in common.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "probe_args.h"

#define LABEL_CHARACTERS						\
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

static void check_label(const char *option, const char *label)
{
	size_t length = strlen(label);

	if (length < 1 || length > MAX_LABEL)
		usage_error("%s: label \"%s\" has %zu characters; allowed are 1 to %d",
			    option, label, length, MAX_LABEL);
	if (label[strspn(label, LABEL_CHARACTERS)] || label[0] == '.')
		usage_error("%s: label \"%s\": allowed are letters, digits, -, _ and, not first, .",
			    option, label);
}

void target_parse(struct target *target, const char *option, const char *text)
{
	char *copy = copy_string(text);
	char *rest = copy;
	char *label = strsep(&rest, ",");
	char *netns = strsep(&rest, ",");
	char *ifname = strsep(&rest, ",");

	if (!rest || strchr(rest, ',') || !*netns)
		usage_error("%s: \"%s\" does not have the 4 parts that %s needs",
			    option, text, option);
	check_label(option, label);
	if (!*ifname || strlen(ifname) >= sizeof(target->ifname))
		usage_error("%s: %s: interface \"%s\": allowed are 1 to %d characters",
			    option, label, ifname, IF_NAMESIZE - 1);
	strcpy(target->label, label);
	strcpy(target->ifname, ifname);
	target->netns = copy_string(netns);
	target->last = copy_string(rest);
	free(copy);
}

static void print_path(char *path, const char *dir, const char *name)
{
	if (snprintf(path, PATH_MAX, "%s/%s", dir, name) >= PATH_MAX)
		fatal("--out %s: the name is too long", dir);
}

FILE *output_open(const char *dir, const char *name)
{
	char path[PATH_MAX];
	FILE *file;

	print_path(path, dir, name);
	file = open_output(path);
	if (!file)
		fatal("%s: %s", path, strerror(errno));
	return file;
}

void output_close(FILE *file, const char *dir, const char *name)
{
	int bad = ferror(file);

	if (fclose(file) || bad)
		fatal("%s/%s is not complete: %s", dir, name, strerror(errno));
}
