/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ethernet frames that the hostile peer sends and gets.
 *
 * The peer has many addresses behind one router, chosen by its port, so that a
 * path MTU that the kernel has learnt concerns few connections.
 */
#ifndef SCFUZZ_WIRE_H
#define SCFUZZ_WIRE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define WIRE_MTU	1500
#define MAX_OPTIONS	40

#define FLAG_FIN	0x01
#define FLAG_SYN	0x02
#define FLAG_RST	0x04
#define FLAG_PSH	0x08
#define FLAG_ACK	0x10
#define FLAG_URG	0x20

/* IP version of the run: 4 or 6 */
extern int wire_ip;

/* A connection: port of the peer and of the kernel's socket */
struct wire_ports {
	uint16_t peer;
	uint16_t local;
};

/* A TCP segment to be sent; words is the header length in its header. */
struct segment {
	uint32_t seq;
	uint32_t ack;
	uint16_t window;
	uint16_t urgent;
	uint16_t payload;	/* bytes, of whatever content */
	uint8_t flags;
	uint8_t words;		/* 0: what it takes */
	uint8_t option_bytes;	/* a multiple of 4 */
	uint8_t options[MAX_OPTIONS];
};

/* A TCP segment that the kernel has sent */
struct arrival {
	struct wire_ports ports;
	uint32_t seq;
	uint32_t ack;
	uint32_t payload;
	uint16_t window;
	uint16_t gso;		/* bytes of its segments, 0: it is one */
	uint16_t headers;	/* of IP and TCP */
	uint8_t flags;
	uint8_t option_bytes;
	const uint8_t *options;
};

static inline uint16_t get16(const uint8_t *p)
{
	return p[0] << 8 | p[1];
}

static inline uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

static inline void put16(uint8_t *p, uint16_t value)
{
	p[0] = value >> 8;
	p[1] = value;
}

static inline void put32(uint8_t *p, uint32_t value)
{
	put16(p, value >> 16);
	put16(p + 2, value);
}

/* Sequence numbers: a before b */
static inline bool before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

/* Address and port of the peer, for connect(); returns the length. */
socklen_t wire_peer(uint16_t port, struct sockaddr_storage *to);

/* The kernel's own address */
socklen_t wire_local(uint16_t port, struct sockaddr_storage *to);

/* Write a frame of at most 1600 bytes; returns its length. */
size_t wire_tcp(uint8_t *frame, struct wire_ports ports,
		const struct segment *segment);

/* The same, an ICMP error that says the packet with seq was too big. */
size_t wire_too_big(uint8_t *frame, struct wire_ports ports, uint32_t seq,
		    uint32_t mtu);

/* Read a frame of bytes, of which captured are there. */
bool wire_read(const uint8_t *frame, size_t captured, size_t bytes,
	       struct arrival *arrival);

#endif /* SCFUZZ_WIRE_H */
