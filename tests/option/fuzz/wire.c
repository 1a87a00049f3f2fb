// SPDX-License-Identifier: GPL-2.0
/*
 * Making and reading Ethernet frames.
 */
#include <arpa/inet.h>
#include <string.h>

#include "wire.h"

#define ETHER_BYTES	14
#define IPV4_BYTES	20
#define IPV6_BYTES	40
#define TCP_BYTES	20
#define ICMP_BYTES	8
#define QUOTED_BYTES	8	/* of TCP, in an ICMP error */
#define QUOTED_LENGTH	1400
#define HOP_LIMIT	64
#define ICMP4_UNREACH	3
#define ICMP4_TOO_BIG	4
#define ICMP6_TOO_BIG	2

/* The kernel's address, and the first of the peer's: tests/option/fuzz/hostile.sh */
#define LOCAL4		0xc0000201u	/* 192.0.2.1 */
#define PEER4		0xc6120000u	/* 198.18.0.0 */
#define PEER_MASK	0x0fff

static const uint8_t local6[16] = { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 };
static const uint8_t peer6[16] = { 0x20, 0x01, 0x0d, 0xb8, 0, 1, [15] = 1 };
static const uint8_t macs[12] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9 };

int wire_ip = 4;

static void put_peer4(uint8_t *p, uint16_t port)
{
	put32(p, PEER4 + 1 + (port & PEER_MASK));
}

static void put_peer6(uint8_t *p, uint16_t port)
{
	memcpy(p, peer6, sizeof(peer6));
	put16(p + 12, port & PEER_MASK);
}

static socklen_t address(uint16_t port, struct sockaddr_storage *to, bool peer)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)to;
	struct sockaddr_in *in = (struct sockaddr_in *)to;

	memset(to, 0, sizeof(*to));
	to->ss_family = wire_ip == 4 ? AF_INET : AF_INET6;
	in->sin_port = htons(port);
	if (wire_ip == 4) {
		in->sin_addr.s_addr = htonl(LOCAL4);
		if (peer)
			put_peer4((uint8_t *)&in->sin_addr, port);
		return sizeof(*in);
	}
	memcpy(&in6->sin6_addr, local6, sizeof(local6));
	if (peer)
		put_peer6((uint8_t *)&in6->sin6_addr, port);
	return sizeof(*in6);
}

socklen_t wire_peer(uint16_t port, struct sockaddr_storage *to)
{
	return address(port, to, true);
}

socklen_t wire_local(uint16_t port, struct sockaddr_storage *to)
{
	return address(port, to, false);
}

static uint64_t sum(const uint8_t *p, size_t bytes, uint64_t total)
{
	for (; bytes > 1; p += 2, bytes -= 2)
		total += get16(p);
	return bytes ? total + (p[0] << 8) : total;
}

static uint16_t fold(uint64_t total)
{
	while (total >> 16)
		total = (total & 0xffff) + (total >> 16);
	return ~total;
}

/* IP header from the peer (or, in a quotation, to it); returns its length. */
static size_t put_ip(uint8_t *p, uint16_t port, uint8_t proto, size_t bytes,
		     bool to_peer)
{
	memset(p, 0, IPV6_BYTES);
	if (wire_ip == 4) {
		p[0] = 0x45;
		put16(p + 2, IPV4_BYTES + bytes);
		p[8] = HOP_LIMIT;
		p[9] = proto;
		put_peer4(p + (to_peer ? 16 : 12), port);
		put32(p + (to_peer ? 12 : 16), LOCAL4);
		put16(p + 10, fold(sum(p, IPV4_BYTES, 0)));
		return IPV4_BYTES;
	}
	p[0] = 0x60;
	put16(p + 4, bytes);
	p[6] = proto;
	p[7] = HOP_LIMIT;
	put_peer6(p + (to_peer ? 24 : 8), port);
	memcpy(p + (to_peer ? 8 : 24), local6, sizeof(local6));
	return IPV6_BYTES;
}

/* Checksum with the pseudo header; p is what follows the IP header. */
static uint16_t checksum(const uint8_t *ip, const uint8_t *p, uint8_t proto,
			 size_t bytes)
{
	uint64_t total = proto + bytes;

	if (wire_ip == 4)
		total = sum(ip + 12, 8, total);
	else
		total = sum(ip + 8, 32, total);
	return fold(sum(p, bytes, total));
}

size_t wire_tcp(uint8_t *frame, struct wire_ports ports,
		const struct segment *s)
{
	size_t header = TCP_BYTES + s->option_bytes;
	uint8_t *ip = frame + ETHER_BYTES;
	uint8_t *tcp;

	memcpy(frame, macs, sizeof(macs));
	put16(frame + 12, wire_ip == 4 ? 0x0800 : 0x86dd);
	tcp = ip + put_ip(ip, ports.peer, IPPROTO_TCP, header + s->payload,
			  false);
	put16(tcp, ports.peer);
	put16(tcp + 2, ports.local);
	put32(tcp + 4, s->seq);
	put32(tcp + 8, s->ack);
	tcp[12] = (s->words ? s->words : header / 4) << 4;
	tcp[13] = s->flags;
	put16(tcp + 14, s->window);
	put16(tcp + 16, 0);
	put16(tcp + 18, s->urgent);
	memcpy(tcp + TCP_BYTES, s->options, s->option_bytes);
	put16(tcp + 16, checksum(ip, tcp, IPPROTO_TCP, header + s->payload));
	return tcp + header + s->payload - frame;
}

size_t wire_too_big(uint8_t *frame, struct wire_ports ports, uint32_t seq,
		    uint32_t mtu)
{
	size_t ip_bytes = wire_ip == 4 ? IPV4_BYTES : IPV6_BYTES;
	size_t bytes = ICMP_BYTES + ip_bytes + QUOTED_BYTES;
	uint8_t proto = wire_ip == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6;
	uint8_t *ip = frame + ETHER_BYTES;
	uint8_t *icmp = ip + ip_bytes;
	uint8_t *quoted = icmp + ICMP_BYTES;

	memcpy(frame, macs, sizeof(macs));
	put16(frame + 12, wire_ip == 4 ? 0x0800 : 0x86dd);
	quoted += put_ip(quoted, ports.peer, IPPROTO_TCP, QUOTED_LENGTH, true);
	put16(quoted, ports.local);
	put16(quoted + 2, ports.peer);
	put32(quoted + 4, seq);
	put_ip(ip, ports.peer, proto, bytes, false);
	memcpy(icmp + ICMP_BYTES, quoted - ip_bytes, ip_bytes);
	icmp[0] = wire_ip == 4 ? ICMP4_UNREACH : ICMP6_TOO_BIG;
	icmp[1] = wire_ip == 4 ? ICMP4_TOO_BIG : 0;
	put16(icmp + 2, 0);
	put32(icmp + 4, wire_ip == 4 ? mtu & 0xffff : mtu);
	put16(icmp + 2, wire_ip == 4 ? fold(sum(icmp, bytes, 0)) :
				       checksum(ip, icmp, proto, bytes));
	return icmp + bytes - frame;
}

/* Where TCP begins, 0 if it is something else */
static size_t transport(const uint8_t *frame, size_t captured)
{
	const uint8_t *ip = frame + ETHER_BYTES;

	if (captured < ETHER_BYTES + IPV6_BYTES)
		return 0;
	if (get16(frame + 12) == 0x0800 && ip[0] == 0x45 && ip[9] == IPPROTO_TCP)
		return ETHER_BYTES + IPV4_BYTES;
	if (get16(frame + 12) == 0x86dd && ip[6] == IPPROTO_TCP)
		return ETHER_BYTES + IPV6_BYTES;
	return 0;
}

/* Short frames are padded by nobody here: the length is that of the frame. */
bool wire_read(const uint8_t *frame, size_t captured, size_t bytes,
	       struct arrival *a)
{
	size_t at = transport(frame, captured);
	const uint8_t *tcp = frame + at;
	size_t header;

	if (!at || captured < at + TCP_BYTES)
		return false;
	header = (tcp[12] >> 4) * 4;
	if (header < TCP_BYTES || captured < at + header)
		return false;
	a->ports.local = get16(tcp);
	a->ports.peer = get16(tcp + 2);
	a->seq = get32(tcp + 4);
	a->ack = get32(tcp + 8);
	a->flags = tcp[13];
	a->window = get16(tcp + 14);
	a->options = tcp + TCP_BYTES;
	a->option_bytes = header - TCP_BYTES;
	a->headers = at + header - ETHER_BYTES;
	a->payload = bytes - at - header;
	return true;
}
