// SPDX-License-Identifier: GPL-2.0
/*
 * ACKs and data that keep connections in lively states while their options
 * lie: most sequence and ACK numbers are ones that the kernel accepts.
 */
#include "app.h"
#include "moves.h"
#include "option.h"
#include "ring.h"
#include "rng.h"

#define FULL_WINDOW	65535
#define FAR		(16 << 20)	/* beyond every receive window */
#define LAST_MOVES	40	/* after a connection has begun to end */
#define CUT_BYTES	MAX_OPTIONS

/* Everything that may count as data for the kernel is below top. */
static void emit(struct conn *conn, struct segment *s)
{
	uint32_t end = s->seq + s->payload + CUT_BYTES * !!s->words + 2;

	if (before(conn->top, end) && end - conn->next < FAR)
		conn->top = end;
	conn_send(conn, s);
}

static uint16_t any_advertised(void)
{
	unsigned int kind = below(100);

	if (kind < 70)
		return FULL_WINDOW;
	if (kind < 94)
		return rng_u32();
	return kind < 97 ? 0 : below(100);
}

/* Acknowledge up to ack. */
static uint32_t advance(struct conn *conn, uint32_t ack)
{
	if (before(conn->una, ack) && !before(conn->nxt, ack))
		conn->una = ack;
	return conn->una;
}

static uint32_t advance_to_known(struct conn *conn)
{
	const struct known *k = conn_known(conn);
	unsigned int n;

	if (!k)
		return conn->una;
	n = between(1, (k->bytes - 1) / k->mss + 1);
	return advance(conn, n * k->mss < k->bytes ? k->seq + n * k->mss :
						     k->seq + k->bytes);
}

static uint32_t any_ack(struct conn *conn)
{
	unsigned int kind = below(100);
	uint32_t out = conn->nxt - conn->una;

	if (kind < 88)
		return conn->una;
	if (kind < 93)
		return advance_to_known(conn);
	if (kind < 94)
		return advance(conn, conn->una + below(out + 1));
	if (kind < 95)
		return advance(conn, conn->nxt);
	if (kind < 98)
		return conn->una - below(3000);
	return percent(50) ? conn->nxt + below(5000) : rng_u32();
}

static void move_ack(struct conn *conn)
{
	struct segment s = { .seq = conn->next, .ack = any_ack(conn),
			     .flags = FLAG_ACK, .window = any_advertised() };

	if (permille(10))
		s.seq += below(20000) - 10000;
	if (permille(5))
		s.flags = rng_u32();
	option_hostile(conn, &s);
	emit(conn, &s);
}

static uint16_t any_payload(void)
{
	unsigned int kind = below(10);

	if (kind < 3)
		return between(1, 30);
	if (kind < 6)
		return 88;
	return kind < 8 ? between(1, 1400) : 1400;
}

/* In order, behind a hole, again, overlapping, outside */
static uint32_t any_seq(struct conn *conn, uint16_t payload)
{
	unsigned int kind = below(100);

	if (kind < 35)
		return conn->next;
	if (kind < 70)
		return conn->next + between(1, 40) * payload;
	if (kind < 80)
		return conn->next + below(60000);
	if (kind < 90)
		return conn->next - below(2 * payload);
	if (kind < 95)
		return conn->next + below(4 << 20);
	return percent(50) ? conn->next - below(200000) : rng_u32();
}

static void move_data(struct conn *conn)
{
	struct segment s = { .ack = any_ack(conn), .payload = any_payload(),
			     .flags = FLAG_ACK, .window = any_advertised() };

	s.seq = any_seq(conn, s.payload);
	if (percent(10))
		s.flags |= FLAG_PSH;
	if (permille(5)) {
		s.flags |= FLAG_URG;
		s.urgent = rng_u32();
	}
	option_hostile(conn, &s);
	if (s.seq == conn->next)
		conn->next += s.payload;
	emit(conn, &s);
}

/* In order and of one size: what generic receive offload merges */
static void move_train(struct conn *conn)
{
	struct segment s = { .seq = conn->next, .ack = conn->una,
			     .payload = any_payload(),
			     .flags = FLAG_ACK, .window = FULL_WINDOW };
	unsigned int n = between(2, 20);

	option_hostile(conn, &s);
	while (n--) {
		s.seq = conn->next;
		conn->next += s.payload;
		emit(conn, &s);
	}
}

static void move_fin(struct conn *conn)
{
	struct segment s = { .seq = conn->next, .ack = any_ack(conn),
			     .payload = percent(50) ? any_payload() : 0,
			     .flags = FLAG_ACK | FLAG_FIN,
			     .window = FULL_WINDOW };

	if (percent(30))
		s.seq += below(5000);
	option_hostile(conn, &s);
	emit(conn, &s);
	if (conn->moves > LAST_MOVES)
		conn->moves = LAST_MOVES;
}

/* Most do not hit, those that do end the connection. */
static void move_reset(struct conn *conn)
{
	struct segment s = { .seq = conn->next, .ack = any_ack(conn),
			     .flags = percent(50) ? FLAG_RST | FLAG_ACK : FLAG_RST };

	if (percent(70))
		s.seq += below(60000);
	option_hostile(conn, &s);
	emit(conn, &s);
}

static void move_syn(struct conn *conn)
{
	struct segment s = { .seq = percent(50) ? conn->next : rng_u32(),
			     .ack = any_ack(conn), .window = FULL_WINDOW,
			     .flags = percent(50) ? FLAG_SYN | FLAG_ACK : FLAG_SYN };

	if (percent(50))
		option_syn(conn, &s);
	else
		option_hostile(conn, &s);
	emit(conn, &s);
}

/* As a keep-alive or window probe: one byte or nothing just below */
static void move_probe(struct conn *conn)
{
	struct segment s = { .seq = conn->next - 1, .ack = conn->una,
			     .payload = below(2), .flags = FLAG_ACK,
			     .window = any_advertised() };

	option_hostile(conn, &s);
	emit(conn, &s);
}

static void move_too_big(struct conn *conn)
{
	static const uint32_t mtus[] = { 0, 68, 296, 552, 552, 576, 600, 1000,
					 1280, 1281, 1300, 1492, 65536 };
	uint32_t out = conn->nxt - conn->una;
	uint32_t seq = percent(80) ? conn->una + below(out + 1) : rng_u32();

	ring_commit(wire_too_big(ring_next(), conn->ports, seq, ANY_OF(mtus)));
}

static void rare_move(struct conn *conn)
{
	static void (*const rare[])(struct conn *conn) = {
		move_probe, move_probe, move_probe, move_reset, move_syn,
		move_too_big, move_train, move_train, move_train, move_train,
		move_ack, move_data, move_fin,
	};

	ANY_OF(rare)(conn);
}

/* The kernel is told, by a reset or FIN, or it is not. */
static void end(struct conn *conn)
{
	struct segment s = { .seq = conn->next, .flags = FLAG_RST };
	unsigned int kind = below(10);

	if (conn->ending || kind < 2) {
		if (percent(70))
			conn_send(conn, &s);
		conn_drop(conn);
		return;
	}
	conn->ending = true;
	conn->moves = between(1, LAST_MOVES);
	if (kind < 5)
		move_fin(conn);
	if (kind > 3)
		app_end(conn);
}

void move(struct conn *conn)
{
	if (!conn->moves) {
		end(conn);
		return;
	}
	conn->moves--;
	if (permille(12))
		rare_move(conn);
	else if (below(100) < conn->data_percent)
		move_data(conn);
	else
		move_ack(conn);
}
