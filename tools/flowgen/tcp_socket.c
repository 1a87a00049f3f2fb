// SPDX-License-Identifier: GPL-2.0
/*
 * Sockets of TCP flows.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "tcp_socket.h"

/*
 * A low-water mark near the window would let the window close before the
 * receiver wakes up, and stall the sender for a round trip each time.  The
 * window is half the receive buffer at first.
 */
#define RCVBUF_PER_LOWAT	16
#define CLAMP_PER_LOWAT		8

static int set_congestion_control(struct flow *flow, int fd)
{
	if (!flow->cc ||
	    !setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, flow->cc,
			strlen(flow->cc)))
		return 0;
	flow_error(flow, "cc", errno);
	return -1;
}

static int set_pacing(struct flow *flow, int fd)
{
	uint64_t rate = flow->pace_mbit * BITS_PER_MBIT / BITS_PER_BYTE;

	if (!rate || !setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE,
				 &rate, sizeof(rate)))
		return 0;
	flow_error(flow, "pace_mbit", errno);
	return -1;
}

#define SET_OPTION(_name, _applies, _level, _option, ...)		\
	|| flow_set_option(flow, fd, _level, _option, #_name, flow->_name)

static int set_sender(struct flow *flow, int fd)
{
	if (set_congestion_control(flow, fd) || set_pacing(flow, fd)
	    SENDER_OPTIONS(SET_OPTION))
		return -1;
	return 0;
}

static int bind_sender(struct flow *flow, int fd, bool own_port)
{
	union address any_port = flow->src;

	if (!flow->src_text && !(flow->sport && own_port))
		return 0;
	if (own_port)
		return flow_bind(flow, fd, &flow->src);
	/* The port has the same place in both families. */
	any_port.in.sin_port = 0;
	return flow_bind(flow, fd, &any_port);
}

static int make_socket(struct flow *flow)
{
	int fd = socket(flow->addr.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		flow_error(flow, "socket", errno);
	return fd;
}

static int close_and_fail(int fd)
{
	close(fd);
	return -1;
}

int tcp_sender_socket(struct flow *flow, bool own_port)
{
	int fd = make_socket(flow);

	if (fd >= 0 &&
	    (set_sender(flow, fd) || bind_sender(flow, fd, own_port)))
		return close_and_fail(fd);
	return fd;
}

int tcp_socket_error(int fd)
{
	int error = 0;
	socklen_t size = sizeof(error);

	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
	return error;
}

/* Dissolving the connection sends a RST, drops the queue and wakes a writer. */
void tcp_dissolve(int fd)
{
	static const struct linger no_linger = { .l_onoff = 1 };
	struct sockaddr nowhere = { .sa_family = AF_UNSPEC };

	if (!connect(fd, &nowhere, sizeof(nowhere)))
		return;
	/* Some kernels refuse that while a thread waits (EBUSY). */
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &no_linger,
		   sizeof(no_linger));
	shutdown(fd, SHUT_RDWR);
}

/*
 * Only buffer and clamp are set before listen(), because the SYN-ACK announces
 * the window scale.  The low-water mark is not: it sets the clamp as well, and
 * with that a scale which would limit the window for ever.
 */
static int set_receiver(struct flow *flow, int fd)
{
	static const int off;

	if (flow->addr.sa.sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (false RECEIVER_OPTIONS(SET_OPTION))
		return -1;
	return flow_bind(flow, fd, &flow->addr);
}

int tcp_listen_socket(struct flow *flow, int backlog)
{
	int fd = make_socket(flow);

	if (fd < 0)
		return -1;
	if (set_receiver(flow, fd))
		return close_and_fail(fd);
	if (listen(fd, backlog)) {
		flow_error(flow, "listen", errno);
		return close_and_fail(fd);
	}
	return fd;
}

int64_t tcp_low_water_mark(const struct flow *flow, int fd)
{
	socklen_t size = sizeof(int);
	int rcvbuf = 0;
	int64_t mark;

	if (flow->rcvlowat)
		return flow->rcvlowat;
	getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, &size);
	mark = rcvbuf / RCVBUF_PER_LOWAT;
	if (mark > MAX_LOWAT)
		mark = MAX_LOWAT;
	if (flow->clamp && mark > flow->clamp / CLAMP_PER_LOWAT)
		mark = flow->clamp / CLAMP_PER_LOWAT;
	return mark ? mark : 1;
}

/* The clamp once more, since the low-water mark may have changed it. */
int tcp_set_low_water_mark(struct flow *flow, int fd, int64_t mark)
{
	if (flow_set_option(flow, fd, SOL_SOCKET, SO_RCVLOWAT, "rcvlowat", mark))
		return -1;
	return flow_set_option(flow, fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, "clamp",
			       flow->clamp);
}
