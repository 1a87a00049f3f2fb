// SPDX-License-Identifier: GPL-2.0
/*
 * TCP senders and receivers.
 *
 * In virtual time a wake-up costs wall time and nothing else does.  So the
 * sender blocks in large writes, and the receiver's low-water mark lets it
 * sleep until much data is there.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "args.h"
#include "clock.h"
#include "flow.h"
#include "report.h"
#include "tcp_socket.h"
#include "tcp_stats.h"

/* Most that one recv() discards; nothing is copied, so it costs no memory. */
#define DISCARD_BYTES	(1 << 30)

static int open_sender(struct flow *flow)
{
	flow->fd = tcp_sender_socket(flow, true);
	return flow->fd < 0 ? -1 : 0;
}

static int write_all(struct flow *flow)
{
	int64_t left = flow->bytes ? flow->bytes : INT64_MAX;
	char *zeros = allocate(1, flow->write);
	ssize_t done = 0;

	while (left > 0 && done >= 0) {
		done = send(flow->fd, zeros,
			    left < flow->write ? left : flow->write,
			    MSG_NOSIGNAL);
		left -= done;
	}
	free(zeros);
	return done < 0 ? -1 : 0;
}

/*
 * Whether all data and the FIN are acknowledged.  TCP_CLOSE without an error is
 * what is left of a connection whose peer has closed, too.
 */
static bool is_acknowledged(int fd)
{
	struct tcp_stats stats;

	tcp_info_read(fd, &stats);
	return stats.info.state == TCP_FIN_WAIT2 ||
	       stats.info.state == TCP_TIME_WAIT ||
	       stats.info.state == TCP_CLOSE;
}

/*
 * Send the FIN and wait for its acknowledgment.  The kernel wakes those who
 * poll a socket at every change of its state, FIN_WAIT1 to FIN_WAIT2 among
 * them; an edge-triggered epoll reports such a wake-up once, because a socket
 * that is shut down counts as writable.  Returns 0 or an errno.
 */
static int wait_acknowledged(int fd)
{
	struct epoll_event event = { .events = EPOLLOUT | EPOLLET };
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	int error = 0;

	if (epoll < 0)
		return errno;
	if (shutdown(fd, SHUT_WR) ||
	    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		error = errno;
	while (!error && !is_acknowledged(fd))
		if (epoll_wait(epoll, &event, 1, -1) < 0 && errno != EINTR)
			error = errno;
	close(epoll);
	return error ? error : tcp_socket_error(fd);
}

static void transfer(struct flow *flow)
{
	int error;

	if (!flow_advance(flow, FLOW_CONNECTING))
		return;
	if (connect(flow->fd, &flow->addr.sa, address_length(&flow->addr))) {
		flow_error(flow, "connect", errno);
		return;
	}
	if (!flow_advance(flow, FLOW_RUNNING))
		return;
	if (write_all(flow)) {
		flow_error(flow, "send", errno);
		return;
	}
	error = wait_acknowledged(flow->fd);
	if (error)
		flow_error(flow, "send", error);
	else
		flow_end(flow, "bytes", true);
}

static void *sender_thread(void *argument)
{
	struct flow *flow = argument;

	sleep_until(run.t0 + flow->start);
	transfer(flow);
	flow_close(flow);
	return NULL;
}

static void abort_sender(struct flow *flow)
{
	if (flow->fd >= 0)
		tcp_dissolve(flow->fd);
}

static void sample_sender(struct flow *flow, int64_t t)
{
	struct tcp_stats stats;

	tcp_stats_read(flow->fd, &stats);
	record_begin("sample", flow, t);
	record_sender_stats(&stats);
	record_finish();
}

static void end_sender(struct flow *flow, int64_t t, const char *reason,
		       bool complete)
{
	struct tcp_stats stats;

	tcp_stats_read(flow->fd, &stats);
	record_begin_end(flow, t, reason, complete);
	record_sender_stats(&stats);
	record_finish();
}

static int open_receiver(struct flow *flow)
{
	flow->fd = tcp_listen_socket(flow, 1);
	return flow->fd < 0 ? -1 : 0;
}

/*
 * Discard what comes, until the end or an error.  The low-water mark follows
 * the receive buffer, which the kernel enlarges, as long as it may still rise.
 */
static ssize_t discard(struct flow *flow)
{
	int64_t mark, last = 0;
	ssize_t got;

	do {
		mark = last < MAX_LOWAT ? tcp_low_water_mark(flow, flow->fd) : last;
		if (mark > last && tcp_set_low_water_mark(flow, flow->fd, mark))
			return -1;
		last = mark;
		got = recv(flow->fd, NULL, DISCARD_BYTES, MSG_TRUNC);
	} while (got > 0);
	return got;
}

static int accept_one(struct flow *flow)
{
	int fd = accept4(flow->fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0) {
		flow_error(flow, "accept", errno);
		return -1;
	}
	/* Puts the connection in the place of the listening socket. */
	dup3(fd, flow->fd, O_CLOEXEC);
	close(fd);
	return 0;
}

static void *receiver_thread(void *argument)
{
	struct flow *flow = argument;
	ssize_t got;

	if (!flow_advance(flow, FLOW_CONNECTING) || accept_one(flow) ||
	    !flow_advance(flow, FLOW_RUNNING))
		return NULL;
	got = discard(flow);
	if (!got)
		flow_end(flow, "fin", true);
	else if (errno == ECONNRESET)
		flow_end(flow, "reset", false);
	else
		flow_error(flow, "recv", errno);
	flow_close(flow);
	return NULL;
}

static void sample_receiver(struct flow *flow, int64_t t)
{
	struct tcp_stats stats;

	tcp_info_read(flow->fd, &stats);
	record_begin("rsample", flow, t);
	record_receiver_stats(&stats);
	record_finish();
}

static void end_receiver(struct flow *flow, int64_t t, const char *reason,
			 bool complete)
{
	struct tcp_stats stats;

	tcp_info_read(flow->fd, &stats);
	record_begin_end(flow, t, reason, complete);
	record_receiver_stats(&stats);
	record_finish();
}

const struct flow_ops tcp_send_ops = {
	.open = open_sender,
	.thread = sender_thread,
	.sample = sample_sender,
	.end = end_sender,
	.abort = abort_sender,
};

const struct flow_ops tcp_recv_ops = {
	.open = open_receiver,
	.thread = receiver_thread,
	.sample = sample_receiver,
	.end = end_receiver,
};
