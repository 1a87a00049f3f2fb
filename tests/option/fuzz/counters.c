// SPDX-License-Identifier: GPL-2.0
/*
 * Reading /proc/net/netstat and snmp: pairs of lines, names and values.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "counters.h"
#include "rng.h"

#define LINE_BYTES	16384

static const char *const counter_names[] = {
	"TCPSCEstab", "TCPSCMalformed", "TCPSCIgnored", "TCPSCSpurious",
	"TCPSCStripped", "ActiveOpens", "PassiveOpens", "InSegs", "OutSegs",
	"RetransSegs", "InErrs", "OutRsts", "EstabResets", "TCPTimeouts",
	"TCPLossProbes", "TCPSackRecovery", "TCPLostRetransmit",
	"TCPFastRetrans", "TCPSlowStartRetrans", "TCPFullUndo",
	"TCPPartialUndo", "TCPDSACKUndo", "TCPLossUndo", "TCPSACKReneging",
	"TCPSackShifted", "TCPSackMerged", "TCPSackShiftFallback",
	"TCPOFOQueue", "TCPOFODrop", "TCPOFOMerge", "TCPChallengeACK",
	"TCPSYNChallenge", "TCPBacklogCoalesce", "TCPBacklogDrop",
	"TCPRcvCollapsed", "PruneCalled", "TCPZeroWindowDrop",
	"TCPAbortOnTimeout", "TCPAbortOnClose", "TCPAbortOnData",
	"TCPAbortFailed", "TCPMemoryPressures", "TCPSACKReorder",
	"TCPRetransFail",
};

static_assert(COUNT_OF(counter_names) == COUNTERS, "one name for each");

static FILE *open_proc(const char *path)
{
	FILE *file = fopen(path, "re");

	if (!file)
		fatal("%s: %s", path, strerror(errno));
	return file;
}

static void note(struct counters *counters, const char *name, const char *value)
{
	unsigned int i;

	for (i = 0; i < COUNTERS; i++)
		if (!strcmp(counter_names[i], name))
			counters->value[i] = strtoll(value, NULL, 10);
}

static void read_file(struct counters *counters, const char *path)
{
	static char names[LINE_BYTES], values[LINE_BYTES];
	FILE *file = open_proc(path);

	while (fgets(names, sizeof(names), file) &&
	       fgets(values, sizeof(values), file)) {
		char *in_names, *in_values;
		char *name = strtok_r(names, " \n", &in_names);
		char *value = strtok_r(values, " \n", &in_values);

		while (name && value) {
			note(counters, name, value);
			name = strtok_r(NULL, " \n", &in_names);
			value = strtok_r(NULL, " \n", &in_values);
		}
	}
	fclose(file);
}

void counters_read(struct counters *counters)
{
	memset(counters, 0, sizeof(*counters));
	read_file(counters, "/proc/net/netstat");
	read_file(counters, "/proc/net/snmp");
}

int64_t counter_grown(const struct counters *from, const struct counters *to,
		      const char *name)
{
	unsigned int i;

	for (i = 0; i < COUNTERS; i++)
		if (!strcmp(counter_names[i], name))
			return to->value[i] - from->value[i];
	fatal("%s is not among the counters", name);
}

void counters_print(FILE *out, const struct counters *from,
		    const struct counters *to)
{
	const char *comma = "";
	unsigned int i;

	fputc('{', out);
	for (i = 0; i < COUNTERS; i++) {
		int64_t grown = to->value[i] - from->value[i];

		if (!grown)
			continue;
		fprintf(out, "%s\"%s\": %" PRId64, comma, counter_names[i], grown);
		comma = ", ";
	}
	fputc('}', out);
}

/* TCP: inuse 4 orphan 0 tw 0 alloc 5 mem 1, and inuse of IPv6 elsewhere */
void sockets_read(struct sockets *sockets)
{
	FILE *file = open_proc("/proc/net/sockstat");
	FILE *file6 = open_proc("/proc/net/sockstat6");
	char line[256];
	int64_t more;

	memset(sockets, 0, sizeof(*sockets));
	while (fgets(line, sizeof(line), file))
		sscanf(line, "TCP: inuse %" SCNd64 " orphan %" SCNd64 " tw %" SCNd64
		       " alloc %" SCNd64 " mem %" SCNd64, &sockets->inuse,
		       &sockets->orphan, &sockets->tw, &sockets->alloc,
		       &sockets->mem);
	while (fgets(line, sizeof(line), file6))
		if (sscanf(line, "TCP6: inuse %" SCNd64, &more) == 1)
			sockets->inuse += more;
	fclose(file);
	fclose(file6);
}
