// SPDX-License-Identifier: GPL-2.0
/*
 * Programs on the kernel's ends. No call blocks.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app.h"
#include "args.h"
#include "rng.h"

#define LISTENERS	12
#define LISTEN_PORT	4000
#define LISTEN_QUEUE	512
#define SMALL_BUFFER	4096

char app_buffer[APP_BUFFER];

static const char *const ccs[] = { "santacruz", "cubic", "reno", "bbr",
				   "westwood_fr", "hybla_ext", "dctcp", "cdg" };
static int listeners[LISTENERS];
static unsigned int expected[LISTENERS];

static void set_int(int fd, int level, int name, int value)
{
	setsockopt(fd, level, name, &value, sizeof(value));
}

/* One that is not there leaves the default. */
static void set_cc(int fd, unsigned int n)
{
	const char *name = ccs[n % COUNT_OF(ccs)];

	setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, strlen(name));
}

static int new_socket(void)
{
	int fd = socket(wire_ip == 4 ? AF_INET : AF_INET6,
			SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		fatal("socket: %s", strerror(errno));
	return fd;
}

int app_listen(uint16_t port)
{
	struct sockaddr_storage at;
	socklen_t bytes = wire_local(port, &at);
	int fd = new_socket();

	set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (bind(fd, (struct sockaddr *)&at, bytes) || listen(fd, LISTEN_QUEUE))
		fatal("listening to port %u: %s", port, strerror(errno));
	return fd;
}

void app_open(void)
{
	unsigned int i;

	for (i = 0; i < LISTENERS; i++) {
		listeners[i] = app_listen(LISTEN_PORT + i);
		set_cc(listeners[i], i);
		if (i % 4 == 3)
			set_int(listeners[i], SOL_SOCKET, SO_RCVBUF,
				SMALL_BUFFER);
		if (i % 3 == 1)
			set_int(listeners[i], IPPROTO_TCP, TCP_NODELAY, 1);
	}
}

void app_close(void)
{
	unsigned int i;

	for (i = 0; i < LISTENERS; i++)
		close(listeners[i]);
}

uint16_t app_port(void)
{
	return LISTEN_PORT + below(LISTENERS);
}

void app_connect(struct conn *conn)
{
	struct sockaddr_storage to;
	socklen_t bytes = wire_peer(conn->ports.peer, &to);

	if (conn->fd == NO_FD) {
		conn->fd = new_socket();
		set_cc(conn->fd, rng_u32());
	}
	if (connect(conn->fd, (struct sockaddr *)&to, bytes) &&
	    errno != EINPROGRESS)
		conn_drop(conn);
}

void app_expect(const struct conn *conn)
{
	expected[conn->ports.local - LISTEN_PORT]++;
}

static uint16_t port_of(const struct sockaddr_storage *from)
{
	return ntohs(((const struct sockaddr_in *)from)->sin_port);
}

static void accept_all(int listener)
{
	struct sockaddr_storage from;
	struct conn *conn;
	socklen_t bytes;
	int fd;

	for (;;) {
		bytes = sizeof(from);
		fd = accept4(listener, (struct sockaddr *)&from, &bytes,
			     SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0)
			return;
		conn = conn_of(port_of(&from));
		if (conn && conn->state == CONN_OPEN && conn->fd == NO_FD)
			conn->fd = fd;
		else
			close(fd);
	}
}

void app_accept(void)
{
	unsigned int i;

	for (i = 0; i < LISTENERS; i++) {
		if (expected[i])
			accept_all(listeners[i]);
		expected[i] = 0;
	}
}

static void work_write(struct conn *conn)
{
	static const uint32_t sizes[] = { 1, 10, 100, 1000, 3000, 10000, 40000,
					  100000, APP_BUFFER };
	int flags = MSG_NOSIGNAL | (percent(2) ? MSG_OOB : 0) |
		    (percent(10) ? MSG_MORE : 0) | (percent(5) ? MSG_EOR : 0);

	send(conn->fd, app_buffer, ANY_OF(sizes), flags);
}

static void work_read(struct conn *conn)
{
	int flags = percent(5) ? MSG_PEEK : percent(5) ? MSG_OOB : 0;

	recv(conn->fd, app_buffer, percent(50) ? APP_BUFFER : below(2000) + 1,
	     flags);
}

static void work_option(struct conn *conn)
{
	static const struct {
		int level, name;
	} options[] = {
		{ IPPROTO_TCP, TCP_NODELAY }, { IPPROTO_TCP, TCP_CORK },
		{ IPPROTO_TCP, TCP_QUICKACK }, { IPPROTO_TCP, TCP_WINDOW_CLAMP },
		{ IPPROTO_TCP, TCP_NOTSENT_LOWAT }, { IPPROTO_TCP, TCP_MAXSEG },
		{ IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS },
		{ SOL_SOCKET, SO_RCVBUF }, { SOL_SOCKET, SO_SNDBUF },
		{ SOL_SOCKET, SO_KEEPALIVE },
	};
	unsigned int n = below(COUNT_OF(options) + 2);

	if (n < COUNT_OF(options))
		set_int(conn->fd, options[n].level, options[n].name,
			percent(70) ? below(2) : below(100000));
	else
		set_cc(conn->fd, rng_u32());
}

/* The same socket connects to another port: nothing may be left of before. */
static void work_reconnect(struct conn *conn)
{
	struct sockaddr nobody = { .sa_family = AF_UNSPEC };
	int fd = conn->fd;

	if (connect(fd, &nobody, sizeof(nobody)))
		return;
	conn_renew(conn, fd);
	app_connect(conn);
}

void app_work(struct conn *conn)
{
	if (conn->state != CONN_OPEN || conn->fd == NO_FD)
		return;
	if (permille(30))
		work_option(conn);
	else if (permille(3))
		work_reconnect(conn);
	else if (below(100) < conn->data_percent)
		work_read(conn);
	else
		work_write(conn);
}

void app_end(struct conn *conn)
{
	struct linger at_once = { .l_onoff = 1 };

	if (conn->fd == NO_FD)
		return;
	if (percent(40)) {
		shutdown(conn->fd, SHUT_WR);
		return;
	}
	if (percent(20))
		setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &at_once,
			   sizeof(at_once));
	close(conn->fd);
	conn->fd = NO_FD;
}
