// SPDX-License-Identifier: GPL-2.0
/*
 * hetreplay: makes and changes qdiscs "replay" (tools/qdisc) and "dualpi2", of
 * which tc knows nothing, in the network namespace that it is started in.
 *
 * Commands come on standard input, one a line, so that a process that waits can
 * change a link without any time spent on starting it.  Each is answered by one
 * line of JSON, what the kernel has then; the first that fails ends it.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/pkt_sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../qdisc/sch_replay.h"
#include "args.h"
#include "dualpi2.h"
#include "tc_netlink.h"

#define MAGIC		"hetrace1"
#define LINE_BYTES	4096
#define KIND		"replay"

/* A table in a file: this, then its entries. */
struct table_header {
	uint32_t kind;
	uint32_t count;
	uint64_t period_ns;
};

struct command {
	struct tc_place at;
	const char *file;
	uint32_t stage;
	uint32_t limit_pkts;
	uint32_t limit_bytes;
	int32_t overhead;
	int64_t start_ns;	/* -1: not given */
	struct dualpi2_options dualpi2;
};

static const char *const stages[] = { "queue", "delay" };
static const char *const tables[REPLAY_TABLES] = { "opportunities", "rate", "delay", "loss" };

static int64_t number(const char *key, const char *text, int base, int64_t low, int64_t high)
{
	char *end;
	int64_t value;

	errno = 0;
	value = strtoll(text, &end, base);
	if (errno || end == text || (*end && strcmp(end, ":")) || value < low || value > high)
		fatal("%s=%s: allowed range is %" PRId64 "..%" PRId64, key, text, low, high);
	return value;
}

static uint32_t stage_of(const char *text)
{
	if (strcmp(text, stages[REPLAY_STAGE_QUEUE]) && strcmp(text, stages[REPLAY_STAGE_DELAY]))
		fatal("stage=%s: one of queue, delay", text);
	return strcmp(text, stages[REPLAY_STAGE_DELAY]) ? REPLAY_STAGE_QUEUE : REPLAY_STAGE_DELAY;
}

/* A class, such as 1:1. */
static uint32_t class_of(const char *text)
{
	unsigned int major, minor;
	char rest;

	if (sscanf(text, "%x:%x%c", &major, &minor, &rest) != 2 || major > 0xffff || minor > 0xffff)
		fatal("parent=%s: a class, such as 1:1", text);
	return major << 16 | minor;
}

static const char *kind_of(const char *text)
{
	if (strcmp(text, KIND) && strcmp(text, DUALPI2_KIND))
		fatal("kind=%s: one of " KIND ", " DUALPI2_KIND, text);
	return strcmp(text, KIND) ? DUALPI2_KIND : KIND;
}

static bool is_dualpi2(const struct command *c)
{
	return !strcmp(c->at.kind, DUALPI2_KIND);
}

static void take_word(struct command *c, char *word)
{
	char *value = strchr(word, '=');

	if (!value)
		fatal("%s: must be key=value", word);
	*value++ = '\0';
	if (!strcmp(word, "dev"))
		c->at.dev = value;
	else if (!strcmp(word, "kind"))
		c->at.kind = kind_of(value);
	else if (!strcmp(word, "parent"))
		c->at.parent = class_of(value);
	else if (is_dualpi2(c) && dualpi2_take(&c->dualpi2, word, value))
		return;
	else if (!strcmp(word, "file"))
		c->file = value;
	else if (!strcmp(word, "handle"))
		c->at.handle = number(word, value, 16, 1, 0xffff) << 16;
	else if (!strcmp(word, "stage"))
		c->stage = stage_of(value);
	else if (!strcmp(word, "limit_pkts"))
		c->limit_pkts = number(word, value, 10, 1, UINT32_MAX);
	else if (!strcmp(word, "limit_bytes"))
		c->limit_bytes = number(word, value, 10, 0, UINT32_MAX);
	else if (!strcmp(word, "overhead"))
		c->overhead = number(word, value, 10, -64, 64);
	else if (!strcmp(word, "start_ns"))
		c->start_ns = number(word, value, 10, 0, INT64_MAX / 4);
	else
		fatal("%s: no such key: dev, file, handle, kind, limit_bytes, limit_pkts, overhead, parent, stage,"
		      " start_ns; of kind=dualpi2: coupling, ecn_mask, limit_pkts, step_us, target_us, tupdate_us",
		      word);
}

static struct command parse(char *line)
{
	struct command c = {
		.at = { .kind = KIND, .parent = TC_H_ROOT, .handle = 1 << 16 },
		.limit_pkts = UINT32_MAX,
		.start_ns = -1,
	};
	char *place, *word;

	c.at.verb = strtok_r(line, " \n", &place);
	while ((word = strtok_r(NULL, " \n", &place)))
		take_word(&c, word);
	if (!c.at.dev)
		fatal("%s: needs dev=NAME", c.at.verb);
	return c;
}

static void change(const struct command *c, int flags, bool making)
{
	struct nlmsghdr *nlh = tc_begin(&c->at, RTM_NEWQDISC, NLM_F_ACK | flags);
	struct nlattr *options = mnl_attr_nest_start(nlh, TCA_OPTIONS);

	if (making) {
		mnl_attr_put_u32(nlh, TCA_REPLAY_STAGE, c->stage);
		mnl_attr_put_u32(nlh, TCA_REPLAY_LIMIT_PKTS, c->limit_pkts);
		mnl_attr_put_u32(nlh, TCA_REPLAY_LIMIT_BYTES, c->limit_bytes);
		mnl_attr_put_u32(nlh, TCA_REPLAY_OVERHEAD, c->overhead);
	}
	if (c->start_ns >= 0)
		mnl_attr_put_u64(nlh, TCA_REPLAY_START, c->start_ns);
	mnl_attr_nest_end(nlh, options);
	tc_talk(&c->at, nlh);
}

/* -------------------------------------------------------------------- tables */

static void read_exactly(FILE *from, void *to, size_t size, const char *name)
{
	if (fread(to, 1, size, from) != size)
		fatal("%s: ends in the middle", name);
}

static void send_chunk(const struct command *c, const struct table_header *t,
		       const struct replay_entry *entries, uint32_t count, bool first)
{
	struct nlmsghdr *nlh = tc_begin(&c->at, RTM_NEWQDISC, NLM_F_ACK);
	struct nlattr *options = mnl_attr_nest_start(nlh, TCA_OPTIONS);

	mnl_attr_put_u32(nlh, TCA_REPLAY_TABLE, t->kind);
	if (first) {
		mnl_attr_put_u32(nlh, TCA_REPLAY_TOTAL, t->count);
		mnl_attr_put_u64(nlh, TCA_REPLAY_PERIOD, t->period_ns);
	}
	mnl_attr_put(nlh, TCA_REPLAY_CHUNK, count * sizeof(*entries), entries);
	mnl_attr_nest_end(nlh, options);
	tc_talk(&c->at, nlh);
}

static void send_table(const struct command *c, FILE *from, const struct table_header *t)
{
	static struct replay_entry entries[REPLAY_CHUNK_ENTRIES];
	uint32_t done, now;

	for (done = 0; done < t->count; done += now) {
		now = t->count - done;
		if (now > REPLAY_CHUNK_ENTRIES)
			now = REPLAY_CHUNK_ENTRIES;
		read_exactly(from, entries, now * sizeof(*entries), c->file);
		send_chunk(c, t, entries, now, !done);
	}
}

static void load(const struct command *c)
{
	char magic[sizeof(MAGIC) - 1];
	struct table_header header;
	FILE *from;

	if (!c->file)
		return;
	from = fopen(c->file, "r");
	if (!from)
		fatal("%s: %s", c->file, strerror(errno));
	read_exactly(from, magic, sizeof(magic), c->file);
	if (memcmp(magic, MAGIC, sizeof(magic)))
		fatal("%s: not a file of tables", c->file);
	while (fread(&header, sizeof(header), 1, from) == 1)
		send_table(c, from, &header);
	fclose(from);
}

/* ------------------------------------------------------------------- answers */

static void print_tables(const struct replay_xstats *st)
{
	int i;

	for (i = 0; i < REPLAY_TABLES; i++)
		if (st->entries[i])
			printf(",\"%s\":%u,\"%s_period_ns\":%llu", tables[i], st->entries[i], tables[i],
			       (unsigned long long)st->period_ns[i]);
}

static void print_xstats(const struct command *c, const struct replay_xstats *st)
{
	printf("{\"dev\":\"%s\",\"kind\":\"" KIND "\",\"handle\":\"%x:\",", c->at.dev, c->at.handle >> 16);
	printf("\"start_ns\":%lld,\"used\":%llu,\"lost\":%llu,", (long long)st->start_ns,
	       (unsigned long long)st->used, (unsigned long long)st->lost);
	printf("\"options\":{\"stage\":\"%s\",\"limit_pkts\":%u,\"limit_bytes\":%u,\"overhead\":%d",
	       stages[st->stage == REPLAY_STAGE_DELAY], st->limit_pkts, st->limit_bytes, st->overhead);
	print_tables(st);
	puts("}}");
	fflush(stdout);
}

static void show(const struct command *c)
{
	struct replay_xstats st = { 0 };

	tc_show(&c->at, &st, sizeof(st));
	print_xstats(c, &st);
}

static void carry_out_dualpi2(struct command *c, bool making)
{
	if (!making && strcmp(c->at.verb, "show"))
		fatal("%s: no such command of " DUALPI2_KIND ": make, show", c->at.verb);
	if (making)
		dualpi2_make(&c->at, &c->dualpi2);
	dualpi2_show(&c->at);
}

static void carry_out(struct command *c)
{
	bool making = !strcmp(c->at.verb, "make");

	if (!making && strcmp(c->at.verb, "change") && strcmp(c->at.verb, "show"))
		fatal("%s: no such command: make, change, show", c->at.verb);
	if (is_dualpi2(c)) {
		carry_out_dualpi2(c, making);
		return;
	}
	if (making)
		change(c, NLM_F_CREATE | NLM_F_EXCL, true);
	load(c);
	if (!making && c->start_ns >= 0)
		change(c, 0, false);
	show(c);
}

int main(int argc, char **argv)
{
	static char line[LINE_BYTES];
	struct command c;

	if (argc > 1)
		usage_error("%s: takes no arguments, but commands on standard input:\n"
			    "make|change|show dev=NAME [handle=1:] [stage=queue|delay] [limit_pkts=N] [limit_bytes=N]\n"
			    "[overhead=N] [file=TABLES] [start_ns=N]\n"
			    "make|show kind=dualpi2 dev=NAME handle=10: parent=1:1 [limit_pkts=N] [target_us=N]\n"
			    "[tupdate_us=N] [step_us=N] [coupling=N] [ecn_mask=1|3]", argv[1]);
	tc_open();
	while (fgets(line, sizeof(line), stdin)) {
		if (*line == '\n')
			continue;
		c = parse(line);
		carry_out(&c);
	}
	return 0;
}
