// SPDX-License-Identifier: GPL-2.0
/*
 * Hostile options: random bytes, valid grammar with fields at their edges,
 * mutations of the last valid option, and combinations that no stack sends.
 */
#include <string.h>

#include "option.h"
#include "rng.h"

#define KIND_EOL	0
#define KIND_NOP	1
#define KIND_MSS	2
#define KIND_SCALE	3
#define KIND_SACK_OK	4
#define KIND_SACK	5
#define BLOCK_BYTES	12	/* a SACK option of one block with its NOPs */
#define KIND_TS		8
#define TS_BYTES	10
#define DATA_BYTES	5
#define ECHO_BYTES	13
#define WINDOW_BYTES	15	/* and 1 to MAX_WINDOW */
#define MAX_WINDOW	18
#define HALF		0x80000000u
#define PARTS		10000

struct option_totals option_totals;

static unsigned int room(const struct segment *s)
{
	return MAX_OPTIONS - s->option_bytes;
}

static void add(struct segment *s, const uint8_t *p, unsigned int bytes)
{
	if (bytes > room(s))
		bytes = room(s);
	memcpy(s->options + s->option_bytes, p, bytes);
	s->option_bytes += bytes;
}

static void add_random(struct segment *s, unsigned int bytes)
{
	while (bytes-- && room(s))
		s->options[s->option_bytes++] = rng_u32();
}

/* To whole words, mostly by NOPs */
static void pad(struct segment *s)
{
	uint8_t with = percent(97) ? KIND_NOP : percent(50) ? KIND_EOL : SC_KIND;

	while (s->option_bytes % 4)
		s->options[s->option_bytes++] = with;
}

void option_view(const uint8_t *p, unsigned int bytes, struct option_view *view)
{
	memset(view, 0, sizeof(*view));
	while (bytes && *p != KIND_EOL) {
		unsigned int length = *p == KIND_NOP ? 1 : bytes > 1 ? p[1] : 0;

		if (!length || length > bytes || (*p != KIND_NOP && length < 2))
			return;
		if (*p == SC_KIND && length >= 4 && get16(p + 2) == SC_EXID) {
			if (view->sc)
				return;
			view->sc = p;
		}
		if (*p == KIND_TS && length == TS_BYTES)
			view->ts = p;
		p += length;
		bytes -= length;
	}
	view->good = true;
}

static void add_ts(const struct conn *conn, struct segment *s)
{
	uint8_t p[TS_BYTES + 2] = { KIND_NOP, KIND_NOP, KIND_TS, TS_BYTES };

	put32(p + 4, (conn->clock_us >> 4) + (uint32_t)(now_us / 1000));
	put32(p + 8, conn->tsecr);
	if (permille(10))
		put32(p + 4, rng_u32());
	if (permille(20))
		put32(p + 8, conn->tsecr - between(1, 2000));
	add(s, p, sizeof(p));
}

/* What the option of a SYN looks like if it is to be refused */
static void add_bad_permitted(struct segment *s)
{
	uint8_t p[6] = { SC_KIND, 4, 0x53, 0x43, rng_u32(), rng_u32() };

	switch (below(5)) {
	case 0:
		p[1] = below(7);
		break;
	case 1:
		p[2 + below(2)] ^= 1 << below(8);
		break;
	case 2:
		add(s, p, 4);
		break;
	case 3:
		p[1] = DATA_BYTES;
		break;
	default:
		add_random(s, below(16));
	}
	add(s, p, p[1] && p[1] < sizeof(p) ? p[1] : 4);
}

void option_syn(struct conn *conn, struct segment *s)
{
	const uint8_t permitted[] = { SC_KIND, 4, 0x53, 0x43 };
	const uint8_t scale[] = { KIND_NOP, KIND_SCALE, 3, conn->scale };
	const uint8_t sack[] = { KIND_NOP, KIND_NOP, KIND_SACK_OK, 2 };
	uint8_t mss[] = { KIND_MSS, 4, conn->mss >> 8, conn->mss };

	add(s, mss, sizeof(mss));
	if (conn->offer_sack)
		add(s, sack, sizeof(sack));
	add(s, scale, sizeof(scale));
	if (conn->offer_ts)
		add_ts(conn, s);
	if (conn->offer_sc && permille(970))
		add(s, permitted, sizeof(permitted));
	else if (percent(70))
		add_bad_permitted(s);
	pad(s);
}

/* A sequence number to name: one that was sent, or near one, or a lie */
static uint32_t any_sn(const struct conn *conn)
{
	const struct known *k = conn_known(conn);
	const uint32_t edges[] = { conn->una, conn->una - 1, conn->una + 1,
				   conn->nxt, conn->nxt - 1, conn->nxt + 1,
				   conn->irs, conn->irs + 1, conn->una + HALF,
				   conn->nxt + HALF, conn->una - HALF - 1,
				   conn->una - below(100000),
				   conn->nxt + below(100000), rng_u32() };
	uint32_t sn;

	if (!k || percent(25))
		return ANY_OF(edges);
	sn = k->seq + below((k->bytes - 1) / k->mss + 1) * k->mss;
	if (percent(15))
		sn += percent(50) ? 1 : -1;
	return percent(5) ? sn + between(1, k->mss) : sn;
}

static uint8_t any_copy(const struct conn *conn)
{
	const struct known *k = conn_known(conn);

	if (percent(30))
		return below(16);
	return percent(40) || !k ? 1 : k->copy;
}

static uint32_t any_time(const struct conn *conn)
{
	uint32_t clock_us = conn->clock_us + (uint32_t)now_us;
	const uint32_t lies[] = { 0, 1, UINT32_MAX, clock_us + HALF,
				  clock_us - HALF - 1, rng_u32(),
				  clock_us - below(200000000),
				  clock_us + below(200000000),
				  clock_us + 120000000, clock_us - 120000001 };

	return percent(80) ? clock_us - below(100000) : ANY_OF(lies);
}

static uint16_t any_granularity(const struct conn *conn)
{
	const struct known *k = conn_known(conn);
	uint16_t mss = k ? k->mss : conn->mss;
	const uint16_t edges[] = { 0, 1, 2, 49, 50, 51, mss - 1, mss + 1,
				   2 * mss, 3 * mss, 65534, 65535, rng_u32() };

	return percent(60) ? mss : ANY_OF(edges);
}

static void any_window(uint8_t *p, unsigned int bytes)
{
	unsigned int kind = below(8);
	uint8_t density = rng_u32();
	unsigned int i;

	for (i = 0; i < bytes; i++) {
		switch (kind) {
		case 0:
			p[i] = 0xff;
			break;
		case 1:
			p[i] = 0xaa >> (density & 1);
			break;
		case 2:
			p[i] = 0;
			break;
		case 3:
			p[i] = i == density % bytes ? 0x80 >> (density & 7) : 0;
			break;
		case 4:
			p[i] = rng_u32() & density;
			break;
		default:
			p[i] = rng_u32() & rng_u32();
		}
	}
	if (percent(70))
		p[0] &= 0x7f;	/* the first bit is a hole */
}

/* Bits from there on are zero. */
static void cut_window(uint8_t *p, unsigned int bytes, unsigned int bits)
{
	unsigned int i;

	for (i = bits; i < bytes * 8; i++)
		p[i / 8] &= ~(0x80 >> i % 8);
}

/* One of the grammar's lengths that fits */
static unsigned int any_length(unsigned int most)
{
	unsigned int kind = below(30);

	if (most < ECHO_BYTES || !kind)
		return DATA_BYTES;
	if (most <= WINDOW_BYTES || kind < 9)
		return ECHO_BYTES;
	most -= WINDOW_BYTES;
	return WINDOW_BYTES + between(1, most < MAX_WINDOW ? most : MAX_WINDOW);
}

/* Valid but for its values; the kernel's data is not acknowledged by 5 bytes. */
static void add_grammar(struct conn *conn, struct segment *s)
{
	uint8_t p[WINDOW_BYTES + MAX_WINDOW] = { SC_KIND, 0, 0x53, 0x43 };
	unsigned int bytes = any_length(room(s));

	if (bytes > room(s))
		return;
	p[1] = bytes;
	p[4] = any_copy(conn);
	if (s->payload ? below(PARTS) : percent(10))
		p[4] |= (percent(80) ? 1 : between(1, 15)) << 4;
	put32(p + 5, any_sn(conn));
	put32(p + 9, any_time(conn));
	put16(p + 13, any_granularity(conn));
	if (s->payload && below(PARTS) && !get16(p + 13))
		put16(p + 13, 1);	/* 0 would take the option away */
	any_window(p + WINDOW_BYTES, MAX_WINDOW);
	if (get16(p + 13) && percent(75))
		cut_window(p + WINDOW_BYTES, MAX_WINDOW,
			   (conn->nxt - s->ack) / get16(p + 13));
	memcpy(conn->last, p, bytes);
	conn->last_bytes = bytes;
	add(s, p, bytes);
	option_totals.options++;
}

static void add_junk(struct conn *conn, struct segment *s)
{
	(void)conn;
	add_random(s, between(1, MAX_OPTIONS));
}

/* Ours by kind and ExID, of whatever length */
static void add_bad_length(struct conn *conn, struct segment *s)
{
	uint8_t p[4] = { SC_KIND, percent(80) ? below(41) : rng_u32(), 0x53, 0x43 };

	(void)conn;
	add(s, p, sizeof(p));
	if (percent(50))
		add_random(s, p[1] > 4 ? p[1] - 4 : 0);
	else
		add_random(s, MAX_OPTIONS);
	option_totals.options++;
}

static void add_mutation(struct conn *conn, struct segment *s)
{
	unsigned int flips = between(1, 4);
	uint8_t p[MAX_OPTIONS];

	memcpy(p, conn->last, sizeof(p));
	while (conn->last_bytes && flips--) {
		uint8_t *byte = &p[below(conn->last_bytes)];

		if (percent(50))
			*byte ^= 1 << below(8);
		else
			*byte = percent(50) ? *byte + below(3) - 1 : rng_u32();
	}
	add(s, p, conn->last_bytes);
	option_totals.options++;
}

static void add_repeated(struct conn *conn, struct segment *s)
{
	add_grammar(conn, s);
	do {
		add_grammar(conn, s);
	} while (percent(50) && room(s) >= ECHO_BYTES);
}

static void add_sack(struct conn *conn, struct segment *s)
{
	unsigned int blocks = between(1, 4);
	uint8_t p[MAX_OPTIONS] = { KIND_SACK, 2 + 8 * blocks };
	unsigned int i;

	for (i = 0; i < blocks; i++) {
		uint32_t from = any_sn(conn);

		put32(p + 2 + 8 * i, from);
		put32(p + 6 + 8 * i, percent(50) ? from + below(5000) : any_sn(conn));
	}
	if (room(s) >= 10)
		add(s, p, p[1] < room(s) ? p[1] : (room(s) - 2) / 8 * 8 + 2);
}

/* One SACK block in the place that belongs to it: a duplicate or a run, or a lie */
static void add_block_before(struct conn *conn, struct segment *s)
{
	uint8_t p[BLOCK_BYTES + 3 + ECHO_BYTES] = { KIND_NOP, KIND_NOP, KIND_SACK, 10 };
	uint8_t *echo = p + BLOCK_BYTES + 3;
	uint32_t sn = any_sn(conn), from = percent(50) ? sn : any_sn(conn);

	if (room(s) < sizeof(p)) {
		add_grammar(conn, s);
		return;
	}
	put32(p + 4, from - (percent(30) ? below(20000) : 0));
	put32(p + 8, percent(70) ? from + below(5000) : any_sn(conn));
	memset(p + BLOCK_BYTES, KIND_NOP, 3);
	echo[0] = SC_KIND;
	echo[1] = ECHO_BYTES;
	put16(echo + 2, SC_EXID);
	echo[4] = any_copy(conn) | (s->payload ? 0x10 : 0);
	put32(echo + 5, sn);
	put32(echo + 9, any_time(conn));
	add(s, p, sizeof(p));
	option_totals.options++;
}

static void add_with_sack(struct conn *conn, struct segment *s)
{
	if (percent(50))
		add_sack(conn, s);
	add_grammar(conn, s);
	if (percent(50))
		add_sack(conn, s);
}

/* The header ends within the option, or goes on behind the segment */
static void add_cut(struct conn *conn, struct segment *s)
{
	add_grammar(conn, s);
	pad(s);
	s->words = 5 + s->option_bytes / 4 - below(s->option_bytes / 4 + 1);
	if (permille(30))
		s->words = below(16);
}

static void add_permitted(struct conn *conn, struct segment *s)
{
	const uint8_t p[] = { SC_KIND, 4, 0x53, 0x43 };

	add(s, p, sizeof(p));
	if (percent(50))
		add_grammar(conn, s);
	option_totals.options++;
}

static void add_nothing(struct conn *conn, struct segment *s)
{
	(void)conn;
	(void)s;
}

struct recipe {
	unsigned int weight;	/* out of PARTS */
	void (*add)(struct conn *conn, struct segment *s);
};

static void follow(const struct recipe *recipe, struct conn *conn,
		   struct segment *s)
{
	unsigned int at = below(PARTS);

	while (at >= recipe->weight)
		at -= (recipe++)->weight;
	recipe->add(conn, s);
}

/* A SACK option or a few ACKs without an echo take the option away. */
static const struct recipe ack_recipes[] = {
	{ 6000, add_grammar }, { 1000, add_block_before }, { 680, add_junk }, { 800, add_bad_length },
	{ 900, add_mutation }, { 400, add_repeated }, { 5, add_with_sack },
	{ 5, add_sack }, { 10, add_cut }, { 100, add_permitted },
	{ 100, add_nothing },
};

/* So does a data segment without it. */
static const struct recipe data_recipes[] = {
	{ 8688, add_grammar }, { 1000, add_block_before }, { 1, add_junk }, { 1, add_bad_length },
	{ 6, add_mutation }, { 1, add_with_sack }, { 1, add_sack },
	{ 1, add_cut }, { 300, add_repeated }, { 1, add_nothing },
};

/* What comes behind or before a valid option and leaves it in force */
static const struct recipe extra_recipes[] = {
	{ 2000, add_junk }, { 3000, add_bad_length }, { 3000, add_mutation },
	{ 2000, add_permitted },
};

static void add_data_options(struct conn *conn, struct segment *s)
{
	const uint8_t bad[] = { SC_KIND, 6, 0x53, 0x43, rng_u32(), rng_u32() };

	if (percent(10))
		add(s, bad, sizeof(bad));
	follow(data_recipes, conn, s);
	if (percent(25) && room(s) >= 4)
		follow(extra_recipes, conn, s);
}

void option_hostile(struct conn *conn, struct segment *s)
{
	if (conn->ts && percent(80))
		add_ts(conn, s);
	if (s->payload)
		add_data_options(conn, s);
	else
		follow(ack_recipes, conn, s);
	pad(s);
	option_totals.packets++;
	option_totals.lively += conn->una != conn->nxt;
}

void option_first_ack(struct conn *conn)
{
	struct segment s = { .seq = conn->next, .ack = conn->nxt,
			     .flags = FLAG_ACK, .window = 65535 };

	if (conn->ts)
		add_ts(conn, &s);
	pad(&s);
	conn_send(conn, &s);
}

void option_valid(struct segment *s, uint8_t copy, uint32_t sn)
{
	uint8_t p[ECHO_BYTES] = { SC_KIND, DATA_BYTES, 0x53, 0x43 };

	p[4] = (s->payload ? 0x10 : 0) | copy;
	if (copy) {
		p[1] = ECHO_BYTES;
		put32(p + 5, sn);
		put32(p + 9, now_us);
	}
	add(s, p, p[1]);
	while (s->option_bytes % 4)
		s->options[s->option_bytes++] = KIND_NOP;
}
