// SPDX-License-Identifier: GPL-2.0
/*
 * The receiving side of a workload over TCP: takes any number of connections,
 * notes when each item is whole, and answers where the item asks for it.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "args.h"
#include "clock.h"
#include "flow.h"
#include "json.h"
#include "proto.h"
#include "report.h"
#include "sender.h"
#include "tcp_socket.h"
#include "tcp_stats.h"

#define BACKLOG	4096
#define EVENTS	64

/* A connection that was accepted. */
struct taken {
	struct taken *next;
	int fd;
	struct item_header header;
	size_t have;		/* bytes of the header */
	int64_t left;		/* bytes of the part */
	int64_t bytes;		/* of the item so far */
	int64_t mark;		/* low-water mark */
	bool closed;
};

struct intake {
	int epoll;
	struct taken *taken;	/* guarded by run.lock */
	int64_t received;	/* by connections that are closed */
};

static int open_receiver(struct flow *flow)
{
	struct epoll_event event = { .events = EPOLLIN };

	flow->intake = allocate(1, sizeof(*flow->intake));
	flow->intake->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (flow->intake->epoll < 0) {
		flow_error(flow, "epoll", errno);
		return -1;
	}
	flow->fd = tcp_listen_socket(flow, BACKLOG);
	if (flow->fd < 0)
		return -1;
	return epoll_ctl(flow->intake->epoll, EPOLL_CTL_ADD, flow->fd, &event);
}

static void take_connection(struct flow *flow)
{
	static const int on = 1;
	struct taken *taken;
	struct epoll_event event = { .events = EPOLLIN };
	int fd = accept4(flow->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	taken = allocate(1, sizeof(*taken));
	taken->fd = fd;
	event.data.ptr = taken;
	epoll_ctl(flow->intake->epoll, EPOLL_CTL_ADD, fd, &event);
	pthread_mutex_lock(&run.lock);
	taken->next = flow->intake->taken;
	flow->intake->taken = taken;
	pthread_mutex_unlock(&run.lock);
}

static void record_done(struct flow *flow, const struct taken *taken)
{
	pthread_mutex_lock(&run.lock);
	record_begin("done", flow, run_time());
	json_integer("conn", ntohl(taken->header.conn));
	json_integer("n", ntohl(taken->header.item));
	json_integer("bytes", taken->bytes);
	record_finish();
	pthread_mutex_unlock(&run.lock);
}

static int answer(struct flow *flow, const struct taken *taken)
{
	static const char request[REQUEST_BYTES];

	if (send(taken->fd, request, sizeof(request), MSG_NOSIGNAL) ==
	    sizeof(request))
		return 0;
	if (errno == ECONNRESET || errno == EPIPE)
		return -1;
	flow_error(flow, "send", errno);
	return -1;
}

static int end_part(struct flow *flow, struct taken *taken)
{
	uint32_t flags = ntohl(taken->header.flags);

	taken->have = 0;
	if (flags & ITEM_MORE)
		return 0;
	record_done(flow, taken);
	taken->bytes = 0;
	return flags & ITEM_REPLY ? answer(flow, taken) : 0;
}

static int begin_part(struct flow *flow, struct taken *taken)
{
	int64_t size = be64toh(taken->header.bytes);

	if (ntohl(taken->header.magic) != FLOWGEN_MAGIC ||
	    size < ITEM_HEADER_BYTES) {
		flow_error(flow, "header of an item", EPROTO);
		return -1;
	}
	taken->bytes += size;
	taken->left = size - ITEM_HEADER_BYTES;
	return taken->left ? 0 : end_part(flow, taken);
}

/* Read a piece; 1: go on, 0: nothing more now, -1: the connection is over. */
static int read_piece(struct flow *flow, struct taken *taken)
{
	bool in_header = taken->have < ITEM_HEADER_BYTES;
	ssize_t got;

	if (in_header)
		got = recv(taken->fd, (char *)&taken->header + taken->have,
			   ITEM_HEADER_BYTES - taken->have, 0);
	else
		got = recv(taken->fd, NULL, taken->left, MSG_TRUNC);
	if (got < 0 && errno == EAGAIN)
		return 0;
	if (got <= 0)
		return -1;
	if (in_header) {
		taken->have += got;
		if (taken->have == ITEM_HEADER_BYTES && begin_part(flow, taken))
			return -1;
	} else {
		taken->left -= got;
		if (!taken->left && end_part(flow, taken))
			return -1;
	}
	return 1;
}

/* Wake up when the part is whole, or for as much as the buffer has room for. */
static void set_mark(struct flow *flow, struct taken *taken)
{
	bool in_header = taken->have < ITEM_HEADER_BYTES;
	int64_t want = in_header ? ITEM_HEADER_BYTES - (int64_t)taken->have :
				   taken->left;
	int64_t mark = tcp_low_water_mark(flow, taken->fd);

	if (mark > want)
		mark = want;
	if (mark != taken->mark)
		tcp_set_low_water_mark(flow, taken->fd, mark);
	taken->mark = mark;
}

static int64_t bytes_received(int fd)
{
	struct tcp_stats stats;

	tcp_info_read(fd, &stats);
	return stats.info.bytes_received;
}

static void close_taken(struct flow *flow, struct taken *taken)
{
	struct taken **place = &flow->intake->taken;

	pthread_mutex_lock(&run.lock);
	while (*place != taken)
		place = &(*place)->next;
	*place = taken->next;
	flow->intake->received += bytes_received(taken->fd);
	close(taken->fd);
	pthread_mutex_unlock(&run.lock);
	free(taken);
}

static void read_connection(struct flow *flow, struct taken *taken)
{
	int more;

	do
		more = read_piece(flow, taken);
	while (more > 0);
	if (more < 0)
		close_taken(flow, taken);
	else
		set_mark(flow, taken);
}

static void *receiver_thread(void *argument)
{
	struct epoll_event events[EVENTS];
	struct flow *flow = argument;
	int count, i;

	if (!flow_advance(flow, FLOW_CONNECTING) ||
	    !flow_advance(flow, FLOW_RUNNING))
		return NULL;
	while (flow->state != FLOW_OVER) {
		count = epoll_wait(flow->intake->epoll, events, EVENTS, -1);
		for (i = 0; i < count; i++) {
			if (events[i].data.ptr)
				read_connection(flow, events[i].data.ptr);
			else
				take_connection(flow);
		}
	}
	return NULL;
}

static void record_intake(const struct flow *flow)
{
	int64_t sum = flow->intake->received;
	const struct taken *taken;

	for (taken = flow->intake->taken; taken; taken = taken->next)
		sum += bytes_received(taken->fd);
	json_integer("bytes_received", sum);
}

static void sample_receiver(struct flow *flow, int64_t t)
{
	record_begin("rsample", flow, t);
	record_intake(flow);
	record_finish();
}

static void end_receiver(struct flow *flow, int64_t t, const char *reason,
			 bool complete)
{
	record_begin_end(flow, t, reason, complete);
	record_intake(flow);
	record_finish();
}

const struct flow_ops work_recv_ops = {
	.open = open_receiver,
	.thread = receiver_thread,
	.sample = sample_receiver,
	.end = end_receiver,
};
