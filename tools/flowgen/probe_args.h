/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the arguments for queues and captures have in common.
 */
#ifndef FLOWGEN_PROBE_ARGS_H
#define FLOWGEN_PROBE_ARGS_H

#include <net/if.h>
#include <stdio.h>

#define MAX_LABEL	64
#define MAX_TARGETS	1000	/* queues, or captures */

/* LABEL,NSPATH,IFNAME,LAST of an argument. */
struct target {
	char label[MAX_LABEL + 1];
	char ifname[IF_NAMESIZE];
	char *netns;
	char *last;
};

/* Read an argument of the named option; exits when it is wrong. */
void target_parse(struct target *target, const char *option, const char *text);

/* Open DIR/NAME for writing; exits when that fails. */
FILE *output_open(const char *dir, const char *name);

/* Close such a file; exits when not all of it was written. */
void output_close(FILE *file, const char *dir, const char *name);

#endif /* FLOWGEN_PROBE_ARGS_H */
