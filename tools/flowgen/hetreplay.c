// SPDX-License-Identifier: GPL-2.0
/*
 * hetreplay: makes and changes qdiscs "replay" (tools/qdisc), of which tc knows
 * nothing, in the network namespace that it is started in.
 *
 * Commands come on standard input, one a line, so that a process that waits can
 * change a link without any time spent on starting it.  Each is answered by one
 * line of JSON, what the kernel has then; the first that fails ends it.
 */
#include <errno.h>
#include <inttypes.h>
#include <libmnl/libmnl.h>
#include <linux/gen_stats.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../qdisc/sch_replay.h"
#include "args.h"

#define MAGIC		"hetrace1"
#define LINE_BYTES	4096
#define MESSAGE_BYTES	(REPLAY_CHUNK_ENTRIES * sizeof(struct replay_entry) + 1024)
#define REPLY_BYTES	16384

/* A table in a file: this, then its entries. */
struct table_header {
	uint32_t kind;
	uint32_t count;
	uint64_t period_ns;
};

struct command {
	const char *verb;
	const char *dev;
	const char *file;
	uint32_t handle;
	uint32_t stage;
	uint32_t limit_pkts;
	uint32_t limit_bytes;
	int32_t overhead;
	int64_t start_ns;	/* -1: not given */
};

static struct mnl_socket *nl;
static unsigned int sequence;
static char message[MESSAGE_BYTES];
static char reply[REPLY_BYTES];
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

static void take_word(struct command *c, char *word)
{
	char *value = strchr(word, '=');

	if (!value)
		fatal("%s: must be key=value", word);
	*value++ = '\0';
	if (!strcmp(word, "dev"))
		c->dev = value;
	else if (!strcmp(word, "file"))
		c->file = value;
	else if (!strcmp(word, "handle"))
		c->handle = number(word, value, 16, 1, 0xffff) << 16;
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
		fatal("%s: no such key: dev, file, handle, limit_bytes, limit_pkts, overhead, stage, start_ns", word);
}

static struct command parse(char *line)
{
	struct command c = { .handle = 1 << 16, .limit_pkts = UINT32_MAX, .start_ns = -1 };
	char *place, *word;

	c.verb = strtok_r(line, " \n", &place);
	while ((word = strtok_r(NULL, " \n", &place)))
		take_word(&c, word);
	if (!c.dev)
		fatal("%s: needs dev=NAME", c.verb);
	return c;
}

/* ------------------------------------------------------------------ netlink */

static struct nlmsghdr *begin(const struct command *c, int type, int flags)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(message);
	struct tcmsg *tc;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	nlh->nlmsg_seq = ++sequence;
	tc = mnl_nlmsg_put_extra_header(nlh, sizeof(*tc));
	tc->tcm_ifindex = if_nametoindex(c->dev);
	tc->tcm_handle = c->handle;
	if (!tc->tcm_ifindex)
		fatal("%s: no such interface", c->dev);
	if (type == RTM_NEWQDISC) {
		tc->tcm_parent = TC_H_ROOT;
		mnl_attr_put_strz(nlh, TCA_KIND, "replay");
	}
	return nlh;
}

/* What the kernel says of an error, if it says anything. */
static const char *reason(const struct nlmsghdr *nlh)
{
	const struct nlmsgerr *err = mnl_nlmsg_get_payload(nlh);
	size_t head = sizeof(*err);
	const struct nlattr *attr;

	if (!(nlh->nlmsg_flags & NLM_F_ACK_TLVS))
		return "";
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED))
		head += mnl_nlmsg_get_payload_len(&err->msg);
	mnl_attr_for_each(attr, nlh, head)
		if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MSG)
			return mnl_attr_get_str(attr);
	return "";
}

/* Send a request; returns its answer, which is not an error. */
static const struct nlmsghdr *talk(const struct command *c, struct nlmsghdr *nlh)
{
	const struct nlmsghdr *answer = (const struct nlmsghdr *)reply;
	const struct nlmsgerr *err = mnl_nlmsg_get_payload(answer);
	int length;

	if (mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0)
		fatal("netlink: %s", strerror(errno));
	length = mnl_socket_recvfrom(nl, reply, sizeof(reply));
	if (length < 0 || !mnl_nlmsg_ok(answer, length))
		fatal("netlink: %s", strerror(errno));
	if (answer->nlmsg_type == NLMSG_ERROR && err->error)
		fatal("%s %s: %s%s%s", c->verb, c->dev, strerror(-err->error), *reason(answer) ? ": " : "",
		      reason(answer));
	return answer;
}

static void change(const struct command *c, int flags, bool making)
{
	struct nlmsghdr *nlh = begin(c, RTM_NEWQDISC, NLM_F_ACK | flags);
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
	talk(c, nlh);
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
	struct nlmsghdr *nlh = begin(c, RTM_NEWQDISC, NLM_F_ACK);
	struct nlattr *options = mnl_attr_nest_start(nlh, TCA_OPTIONS);

	mnl_attr_put_u32(nlh, TCA_REPLAY_TABLE, t->kind);
	if (first) {
		mnl_attr_put_u32(nlh, TCA_REPLAY_TOTAL, t->count);
		mnl_attr_put_u64(nlh, TCA_REPLAY_PERIOD, t->period_ns);
	}
	mnl_attr_put(nlh, TCA_REPLAY_CHUNK, count * sizeof(*entries), entries);
	mnl_attr_nest_end(nlh, options);
	talk(c, nlh);
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
	printf("{\"dev\":\"%s\",\"kind\":\"replay\",\"handle\":\"%x:\",\"start_ns\":%lld,\"used\":%llu,\"lost\":%llu,",
	       c->dev, c->handle >> 16, (long long)st->start_ns, (unsigned long long)st->used,
	       (unsigned long long)st->lost);
	printf("\"options\":{\"stage\":\"%s\",\"limit_pkts\":%u,\"limit_bytes\":%u,\"overhead\":%d",
	       stages[st->stage == REPLAY_STAGE_DELAY], st->limit_pkts, st->limit_bytes, st->overhead);
	print_tables(st);
	puts("}}");
	fflush(stdout);
}

static void show(const struct command *c)
{
	struct replay_xstats st = { 0 };
	const struct nlattr *attr, *nested;
	const struct nlmsghdr *nlh;
	const char *kind = "";

	nlh = talk(c, begin(c, RTM_GETQDISC, NLM_F_ECHO));
	mnl_attr_for_each(attr, nlh, sizeof(struct tcmsg)) {
		if (mnl_attr_get_type(attr) == TCA_KIND)
			kind = mnl_attr_get_str(attr);
		if (mnl_attr_get_type(attr) != TCA_STATS2)
			continue;
		mnl_attr_for_each_nested(nested, attr)
			if (mnl_attr_get_type(nested) == TCA_STATS_APP &&
			    mnl_attr_get_payload_len(nested) == sizeof(st))
				memcpy(&st, mnl_attr_get_payload(nested), sizeof(st));
	}
	if (strcmp(kind, "replay"))
		fatal("show %s: its qdisc is %s, not replay", c->dev, kind);
	print_xstats(c, &st);
}

static void carry_out(struct command *c)
{
	bool making = !strcmp(c->verb, "make");

	if (!making && strcmp(c->verb, "change") && strcmp(c->verb, "show"))
		fatal("%s: no such command: make, change, show", c->verb);
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
	const int one = 1;

	if (argc > 1)
		usage_error("%s: takes no arguments, but commands on standard input:\n"
			    "make|change|show dev=NAME [handle=1:] [stage=queue|delay] [limit_pkts=N] [limit_bytes=N]\n"
			    "[overhead=N] [file=TABLES] [start_ns=N]", argv[1]);
	nl = mnl_socket_open(NETLINK_ROUTE);
	if (!nl || mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID))
		fatal("netlink: %s", strerror(errno));
	mnl_socket_setsockopt(nl, NETLINK_EXT_ACK, (void *)&one, sizeof(one));
	while (fgets(line, sizeof(line), stdin)) {
		if (*line == '\n')
			continue;
		c = parse(line);
		carry_out(&c);
	}
	return 0;
}
