// SPDX-License-Identifier: GPL-2.0
/*
 * Opening connections and following what the kernel sends on them. What it
 * sends is checked as well: no segment above the MTU, no malformed option, no
 * echo of data that was never sent.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "app.h"
#include "conn.h"
#include "option.h"
#include "probe.h"
#include "ring.h"
#include "rng.h"

#define LAST_PORT		65535
#define MAX_COMPLAINTS		8
#define SYN_WINDOW		65535
#define ACTIVE_PERCENT		35
#define RESET_STRAY_PERCENT	30
#define MAX_MOVES		1500
#define MIN_GRANULARITY		50
#define OUTSTANDING_TRIES	6

struct conn conns[CONNS];
struct conn_totals conn_totals;
uint64_t now_us;
uint64_t complaints;
unsigned int conn_send_percent = 50;

static uint8_t slot_of[LAST_PORT + 1];	/* port to slot + 1 */
static uint32_t last_port = FIRST_PORT;

void complain(struct wire_ports ports, const char *what, uint32_t value)
{
	if (complaints++ < MAX_COMPLAINTS)
		fprintf(stderr, "scfuzz: port %u: the kernel sent %s: %u (%#x)\n",
			ports.peer, what, value, value);
}

void conn_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	now_us = now.tv_sec * 1000000ULL + now.tv_nsec / 1000;
}

struct conn *conn_of(uint16_t port)
{
	return slot_of[port] ? &conns[slot_of[port] - 1] : NULL;
}

void conn_drop(struct conn *conn)
{
	if (conn->state == CONN_FREE)
		return;
	if (conn->fd != NO_FD)
		close(conn->fd);
	slot_of[conn->ports.peer] = 0;
	conn->fd = NO_FD;
	conn->state = CONN_FREE;
}

static uint16_t new_port(void)
{
	do {
		if (++last_port > LAST_PORT)
			last_port = FIRST_PORT;
	} while (slot_of[last_port]);
	return last_port;
}

static uint16_t random_mss(void)
{
	static const uint16_t common[] = { 88, 88, 216, 536, 1000, 1220, 1440,
					   1460, 1460, 8960, 48, 0, 65535 };

	return percent(90) ? ANY_OF(common) : below(2000);
}

static uint8_t random_share(void)
{
	if (below(100) < conn_send_percent)
		return percent(50) ? 2 : 20;
	return percent(50) ? 60 : 95;
}

void conn_renew(struct conn *conn, int fd)
{
	if (conn->state != CONN_FREE)
		slot_of[conn->ports.peer] = 0;
	memset(conn, 0, sizeof(*conn));
	conn->fd = fd;
	conn->ports.peer = new_port();
	slot_of[conn->ports.peer] = conn - conns + 1;
	conn->moves = percent(10) ? below(8) : between(50, MAX_MOVES);
	conn->data_percent = random_share();
	conn->offer_sc = percent(96);
	conn->offer_sack = percent(98);
	conn->offer_ts = percent(60);
	conn->scale = below(15);
	conn->mss = random_mss();
	conn->iss = rng_u32();
	conn->next = conn->iss;
	conn->top = conn->iss;
	conn->clock_us = rng_u32();
	conn->state = CONN_AWAITED;
	conn_totals.opened++;
}

static void send_syn(struct conn *conn, uint8_t flags)
{
	struct segment s = { .seq = conn->next, .ack = conn->nxt,
			     .flags = flags, .window = SYN_WINDOW };

	option_syn(conn, &s);
	conn_send(conn, &s);
}

void conn_open(struct conn *conn)
{
	conn_renew(conn, NO_FD);
	if (percent(ACTIVE_PERCENT)) {
		app_connect(conn);
		return;
	}
	conn->state = CONN_CALLED;
	conn->ports.local = app_port();
	send_syn(conn, FLAG_SYN);
	conn->top = ++conn->next;
}

void conn_send(const struct conn *conn, const struct segment *segment)
{
	ring_commit(wire_tcp(ring_next(), conn->ports, segment));
}

const struct known *conn_known(const struct conn *conn)
{
	unsigned int count = conn->known_count, tries = OUTSTANDING_TRIES;
	const struct known *known = NULL;

	if (count > KNOWN_SEGMENTS)
		count = KNOWN_SEGMENTS;
	while (count && tries--) {
		known = &conn->known[below(count)];
		if (before(conn->una, known->seq + known->bytes))
			break;
	}
	return known;
}

/* The option of a data segment or ACK */
static void check_echo(const struct conn *conn, const struct arrival *a,
		       const uint8_t *p)
{
	uint16_t gran = get16(p + 13);
	int bits = (p[1] - 15) * 8;

	if (p[1] < 13)
		return;
	if (p[4] & 15 && before(conn->top, get32(p + 5) + 1))
		complain(a->ports, "an echo of what was never sent",
			 get32(p + 5) - conn->top);
	if (p[1] < 16)
		return;
	if (gran < MIN_GRANULARITY)
		complain(a->ports, "a granularity too small", gran);
	while (bits && !(p[15 + (bits - 1) / 8] & 0x80 >> (bits - 1) % 8))
		bits--;
	if (!bits || before(conn->top, a->ack + (uint32_t)bits * gran))
		complain(a->ports, "a window of what was never sent", bits);
}

static void take_option(struct conn *conn, const struct arrival *a,
			struct option_view *view)
{
	const uint8_t *p = view->sc;

	conn_totals.kernel_options++;
	if (p[1] != 5 && p[1] != 13 && (p[1] < 16 || p[1] > 33))
		complain(a->ports, "an option of this length", p[1]);
	else if (!(a->payload || a->flags & FLAG_FIN) != !(p[4] >> 4))
		complain(a->ports, "a wrong Data.copy", p[4]);
	else
		check_echo(conn, a, p);
}

/* Remember what can be named in ACKs. */
static void take_data(struct conn *conn, const struct arrival *a,
		      const struct option_view *view)
{
	struct known *k = &conn->known[conn->known_count % KNOWN_SEGMENTS];

	if (a->payload) {
		k->seq = a->seq;
		k->bytes = a->payload;
		k->mss = a->gso ? a->gso : a->payload;
		k->copy = view->sc ? view->sc[4] >> 4 : 1;
		conn->known_count++;
	}
	if (before(conn->nxt, a->seq + a->payload + (a->flags & FLAG_FIN)))
		conn->nxt = a->seq + a->payload + (a->flags & FLAG_FIN);
}

static void take_segment(struct conn *conn, const struct arrival *a,
			 struct option_view *view)
{
	if (!view->good || a->headers + (a->gso ? a->gso : a->payload) > WIRE_MTU)
		complain(a->ports, view->good ? "a segment above the MTU" :
						"malformed options",
			 a->headers + a->payload);
	if (view->sc && conn->sc)
		take_option(conn, a, view);
	else if (view->sc)
		complain(a->ports, "an option not agreed upon", a->flags);
	else if (conn->sc && a->payload && conn->moves > CONNS)
		conn->moves = CONNS;	/* it has gone back to SACK */
	take_data(conn, a, view);
	if (before(conn->top, a->ack))
		complain(a->ports, "an ACK of what was never sent",
			 a->ack - conn->top);
	else
		conn->next = a->ack;
}

/* The kernel's SYN or SYN-ACK: the connection is open when it is answered. */
static void take_syn(struct conn *conn, const struct arrival *a,
		     const struct option_view *view)
{
	bool calls = !(a->flags & FLAG_ACK);

	/* The answer to a forged SYN: this is another connection now */
	if (!calls && a->ack != conn->iss + 1)
		conn_drop(conn);
	if (conn->state != (calls ? CONN_AWAITED : CONN_CALLED))
		return;
	conn->ports.local = a->ports.local;
	conn->irs = a->seq;
	conn->una = a->seq + 1;
	conn->nxt = conn->una;
	conn->ts = conn->offer_ts && view->ts;
	conn->sc = view->sc;
	conn->state = CONN_OPEN;
	conn_totals.established++;
	conn_totals.with_option += conn->sc;
	if (calls) {
		send_syn(conn, FLAG_SYN | FLAG_ACK);
		conn->top = ++conn->next;
	} else {
		option_first_ack(conn);
		app_expect(conn);
	}
}

static void stray(const struct arrival *a)
{
	struct segment s = { .seq = a->ack, .flags = FLAG_RST };

	conn_totals.strays++;
	if (!(a->flags & FLAG_RST) && percent(RESET_STRAY_PERCENT))
		ring_commit(wire_tcp(ring_next(), a->ports, &s));
}

static void take(const struct arrival *a)
{
	struct conn *conn = conn_of(a->ports.peer);
	struct option_view view;

	if (a->ports.peer < FIRST_PORT) {
		probe_arrival(a);
		return;
	}
	if (!conn || (conn->ports.local && conn->ports.local != a->ports.local)) {
		stray(a);
		return;
	}
	conn_totals.kernel_segments++;
	option_view(a->options, a->option_bytes, &view);
	if (view.ts)
		conn->tsecr = get32(view.ts + 2);
	if (a->flags & FLAG_RST) {
		conn_totals.reset++;
		conn_drop(conn);
	} else if (a->flags & FLAG_SYN) {
		take_syn(conn, a, &view);
	} else if (conn->state == CONN_OPEN) {
		take_segment(conn, a, &view);
	}
}

void conn_receive(void)
{
	struct arrival a;

	while (ring_receive(&a))
		take(&a);
}
