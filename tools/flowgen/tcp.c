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
#include "tcp_stats.h"

/* Enough for few wake-ups at any rate. */
#define MAX_LOWAT	200000

/* Most that one recv() discards; nothing is copied, so it costs no memory. */
#define DISCARD_BYTES	(1 << 30)

/*
 * A low-water mark near the window would let the window close before the
 * receiver wakes up, and stall the sender for a round trip each time.  The
 * window is half the receive buffer at first.
 */
#define RCVBUF_PER_LOWAT	16
#define CLAMP_PER_LOWAT		8

static int set_congestion_control(struct flow *flow)
{
	if (!flow->cc ||
	    !setsockopt(flow->fd, IPPROTO_TCP, TCP_CONGESTION, flow->cc,
			strlen(flow->cc)))
		return 0;
	flow_error(flow, "cc", errno);
	return -1;
}

static int set_pacing(struct flow *flow)
{
	uint64_t rate = flow->pace_mbit * BITS_PER_MBIT / BITS_PER_BYTE;

	if (!rate || !setsockopt(flow->fd, SOL_SOCKET, SO_MAX_PACING_RATE,
				 &rate, sizeof(rate)))
		return 0;
	flow_error(flow, "pace_mbit", errno);
	return -1;
}

static int bind_sender(struct flow *flow)
{
	if (!flow->src_text && !flow->sport)
		return 0;
	return flow_bind(flow, &flow->src);
}

static int open_sender(struct flow *flow)
{
	flow->fd = socket(flow->addr.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (flow->fd < 0) {
		flow_error(flow, "socket", errno);
		return -1;
	}
	if (set_congestion_control(flow) || set_pacing(flow))
		return -1;
	if (flow_set_option(flow, SOL_SOCKET, SO_SNDBUF, "sndbuf", flow->sndbuf))
		return -1;
	if (flow_set_option(flow, IPPROTO_TCP, TCP_NOTSENT_LOWAT,
			    "notsent_lowat", flow->notsent_lowat))
		return -1;
	return bind_sender(flow);
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

static int socket_error(int fd)
{
	int error = 0;
	socklen_t size = sizeof(error);

	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
	return error;
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
	return error ? error : socket_error(fd);
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

/* Dissolving the connection sends a RST, drops the queue and wakes a writer. */
static void abort_sender(struct flow *flow)
{
	static const struct linger no_linger = { .l_onoff = 1 };
	struct sockaddr nowhere = { .sa_family = AF_UNSPEC };

	if (!connect(flow->fd, &nowhere, sizeof(nowhere)))
		return;
	/* Some kernels refuse that while a thread waits (EBUSY). */
	setsockopt(flow->fd, SOL_SOCKET, SO_LINGER, &no_linger,
		   sizeof(no_linger));
	shutdown(flow->fd, SHUT_RDWR);
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

/*
 * Only buffer and clamp are set before listen(), because the SYN-ACK announces
 * the window scale.  The low-water mark is not: it sets the clamp as well, and
 * with that a scale which would limit the window for ever.
 */
static int open_receiver(struct flow *flow)
{
	static const int off;

	flow->fd = socket(flow->addr.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (flow->fd < 0) {
		flow_error(flow, "socket", errno);
		return -1;
	}
	if (flow->addr.sa.sa_family == AF_INET6)
		setsockopt(flow->fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (flow_set_option(flow, SOL_SOCKET, SO_RCVBUF, "rcvbuf", flow->rcvbuf))
		return -1;
	if (flow_set_option(flow, IPPROTO_TCP, TCP_WINDOW_CLAMP, "clamp",
			    flow->clamp))
		return -1;
	if (flow_bind(flow, &flow->addr))
		return -1;
	if (listen(flow->fd, 1)) {
		flow_error(flow, "listen", errno);
		return -1;
	}
	return 0;
}

/* The highest low-water mark that the receive buffer has room for now, or 1. */
static int64_t low_water_mark(const struct flow *flow)
{
	socklen_t size = sizeof(int);
	int rcvbuf = 0;
	int64_t mark;

	if (flow->rcvlowat)
		return flow->rcvlowat;
	getsockopt(flow->fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, &size);
	mark = rcvbuf / RCVBUF_PER_LOWAT;
	if (mark > MAX_LOWAT)
		mark = MAX_LOWAT;
	if (flow->clamp && mark > flow->clamp / CLAMP_PER_LOWAT)
		mark = flow->clamp / CLAMP_PER_LOWAT;
	return mark ? mark : 1;
}

/* The clamp once more, since the low-water mark may have changed it. */
static int set_low_water_mark(struct flow *flow, int64_t mark)
{
	if (flow_set_option(flow, SOL_SOCKET, SO_RCVLOWAT, "rcvlowat", mark))
		return -1;
	return flow_set_option(flow, IPPROTO_TCP, TCP_WINDOW_CLAMP, "clamp",
			       flow->clamp);
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
		mark = last < MAX_LOWAT ? low_water_mark(flow) : last;
		if (mark > last && set_low_water_mark(flow, mark))
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
