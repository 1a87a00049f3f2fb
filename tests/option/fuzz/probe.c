// SPDX-License-Identifier: GPL-2.0
/*
 * The healthy peer sends a request, a program on the kernel's side sends it
 * back, the peer acknowledges; after some rounds the program closes. Both use
 * the Santa Cruz option as they should.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app.h"
#include "args.h"
#include "option.h"
#include "probe.h"
#include "ring.h"
#include "rng.h"

#define PROBE_PORT	3999
#define REQUEST_BYTES	100
#define ROUNDS		40
#define AGAIN_US	1000000
#define PATIENCE_US	10000000
#define MIN_TRIES	8
#define TRANSFER_BYTES	(1 << 20)
#define TRANSFER_PORT	3998
#define POLL_MS		10000

enum step {
	STEP_CALL,	/* SYN */
	STEP_ASK,	/* request */
	STEP_CLOSE,	/* the kernel's FIN is awaited */
	STEP_STEPS,
};

static struct {
	enum step step;
	struct wire_ports ports;
	uint32_t una, rcv_nxt;	/* ours, the kernel's */
	uint32_t answered;	/* bytes of this request */
	uint64_t begun_us, tried_us;
	unsigned int tries;	/* of this step */
	unsigned int rounds;
	int fd;
} peer;

static int listener;

struct probe_totals probe_totals;

void probe_open(void)
{
	listener = app_listen(PROBE_PORT);
	peer.ports = (struct wire_ports){ .peer = 1, .local = PROBE_PORT };
	peer.fd = NO_FD;
	peer.una = rng_u32();
}

void probe_close(void)
{
	close(listener);
	if (peer.fd != NO_FD)
		close(peer.fd);
}

static void emit(const struct segment *s)
{
	ring_commit(wire_tcp(ring_next(), peer.ports, s));
}

static void call(void)
{
	const uint8_t options[] = { 2, 4, 5, 0xb4, 1, 1, 4, 2,
				    SC_KIND, 4, 0x53, 0x43 };
	struct segment s = { .seq = peer.una - 1, .flags = FLAG_SYN,
			     .window = 65535, .option_bytes = sizeof(options) };

	memcpy(s.options, options, sizeof(options));
	emit(&s);
}

static void ask(void)
{
	struct segment s = { .seq = peer.una, .ack = peer.rcv_nxt,
			     .payload = REQUEST_BYTES, .window = 65535,
			     .flags = FLAG_ACK | FLAG_PSH };

	option_valid(&s, 0, 0);
	emit(&s);
}

static void acknowledge(const struct arrival *a, uint8_t flags)
{
	struct segment s = { .seq = peer.una, .ack = peer.rcv_nxt,
			     .flags = FLAG_ACK | flags, .window = 65535 };

	if (a->payload)
		option_valid(&s, 1, a->seq);
	emit(&s);
}

static void enter(enum step step)
{
	peer.step = step;
	peer.tries = 0;
	peer.answered = 0;
	peer.begun_us = now_us;
}

/* All of the request has come back. */
static void round_over(void)
{
	uint64_t took_us = now_us - peer.begun_us;

	probe_totals.rounds++;
	if (took_us > probe_totals.slowest_us)
		probe_totals.slowest_us = took_us;
	enter(++peer.rounds % ROUNDS ? STEP_ASK : STEP_CLOSE);
}

/* Ports of the healthy peer: 1 to FIRST_PORT - 1, in turn */
static void begin_anew(void)
{
	probe_totals.connections++;
	peer.ports.peer = peer.ports.peer % (FIRST_PORT - 1) + 1;
	peer.una = rng_u32();
	enter(STEP_CALL);
}

static void take_data(const struct arrival *a)
{
	peer.rcv_nxt += a->payload;
	peer.answered += a->payload;
	if (before(peer.una, a->ack))
		peer.una = a->ack;
	acknowledge(a, 0);
	if (peer.step == STEP_ASK && peer.answered == REQUEST_BYTES)
		round_over();
}

void probe_arrival(const struct arrival *a)
{
	if (a->ports.peer != peer.ports.peer || a->flags & FLAG_RST)
		return;
	if (a->flags & FLAG_SYN) {
		if (peer.step != STEP_CALL || a->ack != peer.una)
			return;
		peer.rcv_nxt = a->seq + 1;
		acknowledge(a, 0);
		enter(STEP_ASK);
	} else if (peer.step == STEP_CALL) {
		return;
	} else if (a->seq == peer.rcv_nxt && a->flags & FLAG_FIN) {
		peer.rcv_nxt += a->payload + 1;
		acknowledge(a, FLAG_FIN);
		begin_anew();
	} else if (a->seq == peer.rcv_nxt && a->payload) {
		take_data(a);
	} else if (a->payload) {
		acknowledge(a, 0);
	}
}

/* The program: sends back what it gets, closes after the last round. */
static void program(void)
{
	ssize_t got;

	if (peer.fd == NO_FD)
		peer.fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (peer.fd == NO_FD)
		return;
	got = recv(peer.fd, app_buffer, REQUEST_BYTES, 0);
	if (got > 0)
		send(peer.fd, app_buffer, got, MSG_NOSIGNAL);
	if (peer.step == STEP_CLOSE) {
		close(peer.fd);
		peer.fd = NO_FD;
	}
}

bool probe_step(void)
{
	static void (*const act[STEP_STEPS])(void) = { call, ask, NULL };

	if (!peer.tries || now_us - peer.tried_us > AGAIN_US) {
		if (peer.tries > MIN_TRIES && now_us - peer.begun_us > PATIENCE_US)
			return false;
		if (!peer.tries)
			peer.begun_us = now_us;
		peer.tries++;
		peer.tried_us = now_us;
		if (act[peer.step])
			act[peer.step]();
		ring_flush();
	}
	program();
	return true;
}

static int connect_to(int server)
{
	struct sockaddr_storage to;
	socklen_t bytes = sizeof(to);
	int fd;

	if (getsockname(server, (struct sockaddr *)&to, &bytes))
		fatal("getsockname: %s", strerror(errno));
	fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, bytes))
		fatal("connect: %s", strerror(errno));
	return fd;
}

static bool pass(int from, int to)
{
	struct pollfd wait = { .fd = to, .events = POLLIN };
	size_t sent = 0, got = 0;

	while (got < TRANSFER_BYTES) {
		ssize_t n = send(from, app_buffer,
				 sent < TRANSFER_BYTES ? 1 << 14 : 0,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		sent += n > 0 ? n : 0;
		if (poll(&wait, 1, POLL_MS) <= 0)
			return false;
		n = recv(to, app_buffer, APP_BUFFER, MSG_DONTWAIT);
		if (n <= 0)
			return false;
		got += n;
	}
	return true;
}

bool probe_transfer(void)
{
	int server = app_listen(TRANSFER_PORT);
	int from = connect_to(server);
	int to = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	bool good = to >= 0 && pass(from, to);

	close(from);
	close(to);
	close(server);
	return good;
}
