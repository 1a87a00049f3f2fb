/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connections between the hostile peer and sockets of the kernel, as the peer
 * knows them from what the kernel sends.
 */
#ifndef SCFUZZ_CONN_H
#define SCFUZZ_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "wire.h"

#define CONNS		16
#define KNOWN_SEGMENTS	64
#define NO_FD		(-1)

/* Ports of the peer: below, those of the healthy connections */
#define FIRST_PORT	1024

enum conn_state {
	CONN_FREE,
	CONN_CALLED,		/* our SYN is out */
	CONN_AWAITED,		/* the kernel's SYN is to come */
	CONN_OPEN,
};

/* What the kernel has sent; mss is the size of its segments. */
struct known {
	uint32_t seq;
	uint32_t bytes;
	uint16_t mss;
	uint8_t copy;
};

struct conn {
	enum conn_state state;
	struct wire_ports ports;
	int fd;			/* the kernel's end */
	unsigned int moves;	/* left before the connection is ended */
	uint8_t data_percent;	/* of moves that are data for the kernel */
	bool offer_ts, offer_sack, offer_sc;
	bool ts, sc;		/* agreed upon */
	bool ending;
	uint8_t scale;
	uint16_t mss;		/* what we tell the kernel to send */
	uint32_t iss;		/* ours: first, in the SYN */
	uint32_t next;		/* ours: what the kernel expects */
	uint32_t top;		/* ours: end of all that was sent */
	uint32_t una, nxt;	/* the kernel's: acknowledged, sent */
	uint32_t irs;
	uint32_t tsecr;		/* last timestamp of the kernel */
	uint32_t clock_us;	/* our clock minus virtual time */
	unsigned int known_count;
	struct known known[KNOWN_SEGMENTS];
	uint8_t last_bytes;
	uint8_t last[MAX_OPTIONS];	/* last valid option */
};

struct conn_totals {
	uint64_t opened;	/* tried */
	uint64_t established;
	uint64_t with_option;
	uint64_t reset;		/* by the kernel */
	uint64_t strays;	/* segments of connections that are forgotten */
	uint64_t kernel_segments;
	uint64_t kernel_options;
};

extern struct conn conns[CONNS];
extern struct conn_totals conn_totals;

/* Microseconds of virtual time, as of the last conn_clock() */
extern uint64_t now_us;
void conn_clock(void);

/* Which end sends data, in percent of connections: 0, 50 or 100 */
extern unsigned int conn_send_percent;

/* Begin a connection in a free slot. */
void conn_open(struct conn *conn);

/* Forget a connection and close its socket; the kernel is not told more. */
void conn_drop(struct conn *conn);

/* The connection of a port of the peer, NULL if it is forgotten */
struct conn *conn_of(uint16_t port);

/* Give a connection a new port. */
void conn_renew(struct conn *conn, int fd);

/* Take in all that the kernel has sent. */
void conn_receive(void);

/* Queue a segment. */
void conn_send(const struct conn *conn, const struct segment *segment);

/* A segment that the kernel has sent, most likely one that is outstanding */
const struct known *conn_known(const struct conn *conn);

/* What the kernel sent is wrong; counts, and prints the first few. */
void complain(struct wire_ports ports, const char *what, uint32_t value);
extern uint64_t complaints;

#endif /* SCFUZZ_CONN_H */
