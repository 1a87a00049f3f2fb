// SPDX-License-Identifier: GPL-2.0
/*
 * Sampling the statistics of queueing disciplines by netlink.
 *
 * Each namespace has one socket, and one message that holds a request for each
 * of its queues.  The kernel answers while it takes the message, so the replies
 * are there when sendto() returns, and nothing ever waits for them.  They stay
 * in the socket until many can be taken out at once, since system calls are what
 * costs in virtual time.
 */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "netns.h"
#include "probe_args.h"
#include "queue.h"
#include "queue_stats.h"
#include "record.h"

#define REQUEST_BYTES	(MNL_NLMSG_HDRLEN + MNL_ALIGN(sizeof(struct tcmsg)))

/* NLMSG_GOODSIZE, which the kernel does not exceed, is below this. */
#define REPLY_BYTES	8192

/*
 * A tick is one sample of all queues.  The replies to so many are left in the
 * socket, fewer when they would be more than fit; most take about 1 kB there.
 */
#define MAX_TICKS		64
#define MAX_REPLIES		2048
#define SOCKET_BUFFER_BYTES	(MAX_REPLIES * 4096)

/* Replies that one system call takes. */
#define REPLY_BATCH		64

/* The sequence number of a request: its tick and its queue. */
#define SEQ_TICK_SHIFT		16
#define SEQ_QUEUE_MASK		0xffffu

struct queue {
	struct target target;
	uint32_t parent;	/* tcm_parent, or 0 */
	uint32_t handle;	/* tcm_handle, or 0 */
	uint64_t failures;	/* samples without statistics */
	bool reported;
};

/* A network namespace with queues in it. */
struct space {
	struct netns_id id;
	struct mnl_socket *socket;
	char *requests;
	size_t request_bytes;
	int count;		/* of requests */
};

struct sample {
	struct queue_record record;
	bool good;
};

static struct queue queues[MAX_TARGETS];
static int queues_used;
static struct space *spaces;
static int spaces_used;
static FILE *output;	/* NULL: samples are not kept */

/* The ticks whose replies are to come: their times, and a record per queue. */
static int ticks_pending;
static int ticks_max;
static int64_t tick_times[MAX_TICKS];
static struct sample *samples;

int queue_count(void)
{
	return queues_used;
}

static uint32_t parse_hex(const char *label, const char *text, const char *part,
			  size_t length)
{
	char *end;
	unsigned long value;
	char digits[8] = "";

	if (length && length < sizeof(digits)) {
		memcpy(digits, part, length);
		value = strtoul(digits, &end, 16);
		if (!*end && value <= 0xffff)
			return value;
	}
	usage_error("--queue: %s: \"%s\": allowed are root, M: and M:N, hexadecimal 0 to ffff",
		    label, text);
}

/* "root": the root qdisc; "M:": the qdisc M:; "M:N": that below class M:N. */
static void parse_parent(struct queue *queue)
{
	const char *label = queue->target.label;
	const char *text = queue->target.last;
	size_t major = strcspn(text, ":");
	const char *minor = text[major] ? text + major + 1 : "";
	uint32_t id;

	if (!strcmp(text, "root")) {
		queue->parent = TC_H_ROOT;
		return;
	}
	id = parse_hex(label, text, text, major) << 16;
	if (!strcmp(text + major, ":"))
		queue->handle = id;
	else
		queue->parent = id | parse_hex(label, text, minor,
					       strlen(minor));
}

void queue_add(const char *argument)
{
	struct queue *queue = &queues[queues_used];
	int i;

	if (queues_used == MAX_TARGETS)
		usage_error("--queue is given more than %d times", MAX_TARGETS);
	target_parse(&queue->target, "--queue", argument);
	parse_parent(queue);
	for (i = 0; i < queues_used; i++)
		if (!strcmp(queues[i].target.label, queue->target.label))
			usage_error("--queue: label \"%s\" is given twice",
				    queue->target.label);
	queues_used++;
}

static struct mnl_socket *open_socket(const char *label)
{
	static const int size = SOCKET_BUFFER_BYTES;
	struct mnl_socket *nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);

	if (!nl || mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID))
		fatal("%s: cannot open a netlink socket: %s", label,
		      strerror(errno));
	if (setsockopt(mnl_socket_get_fd(nl), SOL_SOCKET, SO_RCVBUFFORCE, &size,
		       sizeof(size)))
		warn("%s: cannot enlarge the netlink buffer: %s", label,
		     strerror(errno));
	return nl;
}

/* The space of the namespace that we are in. */
static struct space *find_space(struct netns_id id, const char *label)
{
	struct space *space;
	int i;

	for (i = 0; i < spaces_used; i++)
		if (spaces[i].id.device == id.device &&
		    spaces[i].id.inode == id.inode)
			return &spaces[i];
	space = &spaces[spaces_used++];
	space->id = id;
	space->socket = open_socket(label);
	space->requests = allocate(queues_used, REQUEST_BYTES);
	return space;
}

/*
 * A request for one queue.  Without NLM_F_ECHO the kernel would answer to the
 * listeners of RTNLGRP_TC only.
 */
static void add_request(struct space *space, int index, int ifindex)
{
	struct queue *queue = &queues[index];
	struct nlmsghdr *message =
		mnl_nlmsg_put_header(space->requests + space->request_bytes);
	struct tcmsg *tc;

	message->nlmsg_type = RTM_GETQDISC;
	message->nlmsg_flags = NLM_F_REQUEST | NLM_F_ECHO;
	message->nlmsg_seq = index;
	tc = mnl_nlmsg_put_extra_header(message, sizeof(*tc));
	tc->tcm_ifindex = ifindex;
	tc->tcm_parent = queue->parent;
	tc->tcm_handle = queue->handle;
	space->request_bytes += message->nlmsg_len;
	space->count++;
}

static int reply_error(const struct nlmsghdr *message)
{
	const struct nlmsgerr *error = mnl_nlmsg_get_payload(message);

	return message->nlmsg_type == NLMSG_ERROR ? -error->error : ENOMSG;
}

/* Only the first failure of a queue is reported; write_samples() counts all. */
static void report_failure(struct queue *queue, int error)
{
	if (!queue->reported)
		warn("%s: no statistics of %s on %s: %s", queue->target.label,
		     queue->target.last, queue->target.ifname, strerror(error));
	queue->reported = true;
}

static void take_reply(const struct nlmsghdr *message)
{
	unsigned int index = message->nlmsg_seq & SEQ_QUEUE_MASK;
	unsigned int tick = message->nlmsg_seq >> SEQ_TICK_SHIFT;
	struct sample *sample;

	if (index >= (unsigned int)queues_used ||
	    tick >= (unsigned int)ticks_pending)
		return;
	sample = &samples[tick * queues_used + index];
	sample->record.t_ns = tick_times[tick];
	sample->record.label = index;
	if (message->nlmsg_type == RTM_NEWQDISC)
		sample->good = queue_stats_read(message, &sample->record);
	if (!sample->good)
		report_failure(&queues[index], reply_error(message));
}

/* Take replies that a socket holds, so many at most; returns how many there were. */
static int take_replies(struct space *space, int most)
{
	static char replies[REPLY_BATCH][REPLY_BYTES];
	struct mmsghdr messages[REPLY_BATCH] = { 0 };
	struct iovec vectors[REPLY_BATCH];
	const struct nlmsghdr *reply;
	int i, count;

	if (most > REPLY_BATCH)
		most = REPLY_BATCH;
	for (i = 0; i < most; i++) {
		vectors[i].iov_base = replies[i];
		vectors[i].iov_len = REPLY_BYTES;
		messages[i].msg_hdr.msg_iov = &vectors[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	count = recvmmsg(mnl_socket_get_fd(space->socket), messages, most,
			 MSG_DONTWAIT, NULL);
	for (i = 0; i < count; i++) {
		reply = (const struct nlmsghdr *)replies[i];
		if (mnl_nlmsg_ok(reply, messages[i].msg_len))
			take_reply(reply);
	}
	return count;
}

/* Write the records of all pending ticks, sorted by time. */
static void write_samples(void)
{
	int i;

	for (i = 0; i < ticks_pending * queues_used; i++) {
		if (!samples[i].good)
			queues[i % queues_used].failures++;
		else if (output)
			fwrite(&samples[i].record, sizeof(samples[i].record), 1,
			       output);
	}
}

/*
 * One reply for each request, and no call to learn that there are no more: in virtual
 * time a call that fails takes a microsecond, in which packets wait.
 */
static void take_all(struct space *space)
{
	int count, left = space->count * ticks_pending;

	while (left > 0) {
		count = take_replies(space, left);
		if (count <= 0)
			return;
		left -= count;
	}
}

static void collect(void)
{
	int i;

	memset(samples, 0, sizeof(*samples) * ticks_pending * queues_used);
	for (i = 0; i < spaces_used; i++)
		take_all(&spaces[i]);
	write_samples();
	ticks_pending = 0;
}

static void send_requests(struct space *space)
{
	struct nlmsghdr *message = (struct nlmsghdr *)space->requests;
	int i;

	for (i = 0; i < space->count; i++) {
		message->nlmsg_seq &= SEQ_QUEUE_MASK;
		message->nlmsg_seq |= ticks_pending << SEQ_TICK_SHIFT;
		message = (struct nlmsghdr *)((char *)message + REQUEST_BYTES);
	}
	mnl_socket_sendto(space->socket, space->requests, space->request_bytes);
}

void queue_sample(int64_t t)
{
	int i;

	if (!queues_used)
		return;
	tick_times[ticks_pending] = t;
	for (i = 0; i < spaces_used; i++)
		send_requests(&spaces[i]);
	if (++ticks_pending == ticks_max)
		collect();
}

/* As many ticks as the namespace with the most queues allows. */
static void set_ticks_max(void)
{
	int i, most = 1;

	for (i = 0; i < spaces_used; i++)
		if (spaces[i].count > most)
			most = spaces[i].count;
	ticks_max = MAX_REPLIES / most;
	if (ticks_max > MAX_TICKS)
		ticks_max = MAX_TICKS;
	samples = allocate(ticks_max * queues_used, sizeof(*samples));
}

/*
 * A first sample, which is not kept, has told whether the queue exists.  The
 * kernel has no reply for a qdisc that it keeps hidden, such as noqueue or the
 * default qdisc of a class.
 */
static void check_queue(struct queue *queue)
{
	if (!queue->failures)
		return;
	fatal("%s: %s has no visible qdisc at %s", queue->target.label,
	      queue->target.ifname, queue->target.last);
}

static void open_queue(int index)
{
	const struct target *target = &queues[index].target;
	struct netns_id id = netns_enter(target->netns, target->label);
	int ifindex = if_nametoindex(target->ifname);

	if (!ifindex)
		fatal("%s: %s: %s", target->label, target->ifname,
		      strerror(errno));
	add_request(find_space(id, target->label), index, ifindex);
	netns_leave();
}

void queue_open(const char *dir)
{
	int i;

	if (!queues_used)
		return;
	spaces = allocate(queues_used, sizeof(*spaces));
	for (i = 0; i < queues_used; i++)
		open_queue(i);
	set_ticks_max();
	queue_sample(0);
	collect();
	for (i = 0; i < queues_used; i++)
		check_queue(&queues[i]);
	output = output_open(dir, "queue.bin");
}

static void write_json(FILE *json, int64_t missed)
{
	int i;

	fputs("{\"labels\":[", json);
	for (i = 0; i < queues_used; i++)
		fprintf(json, "%s\"%s\"", i ? "," : "", queues[i].target.label);
	fprintf(json, "],\"record\":\"%s\",\"record_bytes\":%zu,\"fields\":[%s]",
		QUEUE_RECORD_FORMAT, sizeof(struct queue_record),
		QUEUE_RECORD_FIELDS);
	fputs(",\"failures\":[", json);
	for (i = 0; i < queues_used; i++)
		fprintf(json, "%s%llu", i ? "," : "",
			(unsigned long long)queues[i].failures);
	fprintf(json, "],\"missed\":%lld}\n", (long long)missed);
}

int queue_close(const char *dir, int64_t missed)
{
	FILE *json;
	int i, result = 0;

	if (!queues_used)
		return 0;
	collect();
	output_close(output, dir, "queue.bin");
	json = output_open(dir, "queue.json");
	write_json(json, missed);
	output_close(json, dir, "queue.json");
	for (i = 0; i < queues_used; i++)
		if (queues[i].failures)
			result = -1;
	return result;
}
