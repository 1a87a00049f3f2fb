// SPDX-License-Identifier: GPL-2.0
/*
 * Making capture records of packets.
 */
#include <arpa/inet.h>
#include <net/ethernet.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <pcap/dlt.h>
#include <string.h>

#include "packet.h"
#include "proto.h"

#define VLAN_TAG_BYTES		4
#define OPTION_KIND_LENGTH	2	/* bytes of an option before its data */

/* What is left of a packet. */
struct cursor {
	const uint8_t *data;
	size_t size;
};

bool packet_link_known(int link)
{
	return link == DLT_EN10MB || link == DLT_RAW;
}

static bool skip(struct cursor *at, size_t size)
{
	if (size > at->size)
		return false;
	at->data += size;
	at->size -= size;
	return true;
}

/* Copy a header, which may lie at any address, and stay in front of it. */
static bool peek(const struct cursor *at, void *header, size_t size)
{
	if (size > at->size)
		return false;
	memcpy(header, at->data, size);
	return true;
}

static uint32_t get_be32(const uint8_t *data)
{
	uint32_t value;

	memcpy(&value, data, sizeof(value));
	return ntohl(value);
}

static uint16_t get_be16(const void *data)
{
	uint16_t value;

	memcpy(&value, data, sizeof(value));
	return ntohs(value);
}

/* Go to the IP header. */
static bool skip_ethernet(struct cursor *at)
{
	struct ether_header ethernet;

	if (!peek(at, &ethernet, sizeof(ethernet)))
		return false;
	skip(at, sizeof(ethernet));
	if (ethernet.ether_type == htons(ETHERTYPE_VLAN))
		return skip(at, VLAN_TAG_BYTES);
	return true;
}

static bool read_ipv4(struct cursor *at, struct capture_record *record)
{
	struct iphdr ip;

	if (!peek(at, &ip, sizeof(ip)) || ntohs(ip.frag_off) & IP_OFFMASK)
		return false;
	record->ipver = ip.version;
	record->proto = ip.protocol;
	record->ecn = ip.tos & IPTOS_ECN_MASK;
	record->ipid = ntohs(ip.id);
	record->wire = ntohs(ip.tot_len);
	record->src16 = get_be16((char *)&ip.saddr + 2);
	record->dst16 = get_be16((char *)&ip.daddr + 2);
	record->payload = record->wire - ip.ihl * 4;
	return skip(at, ip.ihl * 4);
}

static bool read_ipv6(struct cursor *at, struct capture_record *record)
{
	struct ip6_hdr ip;

	if (!peek(at, &ip, sizeof(ip)))
		return false;
	record->ipver = 6;
	record->proto = ip.ip6_nxt;
	record->ecn = ntohl(ip.ip6_flow) >> 20 & IPTOS_ECN_MASK;
	record->payload = ntohs(ip.ip6_plen);
	record->wire = record->payload + sizeof(ip);
	record->src16 = get_be16(&ip.ip6_src.s6_addr[14]);
	record->dst16 = get_be16(&ip.ip6_dst.s6_addr[14]);
	return skip(at, sizeof(ip));
}

/* Find the timestamps among the options of a TCP header. */
static void read_options(struct cursor options, struct capture_record *record)
{
	while (options.size >= OPTION_KIND_LENGTH &&
	       options.data[0] != TCPOPT_EOL) {
		size_t length = options.data[1];

		if (options.data[0] == TCPOPT_NOP) {
			skip(&options, 1);
			continue;
		}
		if (options.data[0] == TCPOPT_TIMESTAMP &&
		    length == TCPOLEN_TIMESTAMP && options.size >= length) {
			record->tsval = get_be32(options.data + 2);
			record->tsecr = get_be32(options.data + 6);
			return;
		}
		if (length < OPTION_KIND_LENGTH || !skip(&options, length))
			return;
	}
}

static bool read_tcp(struct cursor *at, struct capture_record *record)
{
	struct cursor options = *at;
	struct tcphdr tcp;
	size_t header;

	if (!peek(at, &tcp, sizeof(tcp)))
		return false;
	header = tcp.doff * 4;
	record->sport = ntohs(tcp.source);
	record->dport = ntohs(tcp.dest);
	record->seq = ntohl(tcp.seq);
	record->ack = ntohl(tcp.ack_seq);
	record->flags = tcp.th_flags;
	record->window = ntohs(tcp.window);
	record->payload -= header;
	if (options.size > header)
		options.size = header;
	if (skip(&options, sizeof(tcp)))
		read_options(options, record);
	return true;
}

/*
 * What tells a packet of others from the next: of QUIC these bytes lie behind
 * the longest header, so they are encrypted, and no two packets have the same.
 */
#define OTHERS_AT	24

static uint32_t read_others(struct cursor at)
{
	uint32_t value;

	if (!skip(&at, OTHERS_AT) || !peek(&at, &value, sizeof(value)))
		return CAPTURE_NO_COUNTER;
	return ntohl(value);
}

static bool read_udp(struct cursor *at, struct capture_record *record)
{
	struct flowgen_header header;
	struct udphdr udp;

	if (!peek(at, &udp, sizeof(udp)))
		return false;
	skip(at, sizeof(udp));
	record->sport = ntohs(udp.source);
	record->dport = ntohs(udp.dest);
	record->payload -= sizeof(udp);
	record->seq = read_others(*at);
	if (record->payload >= sizeof(header) &&
	    peek(at, &header, sizeof(header)) &&
	    ntohl(header.magic) == FLOWGEN_MAGIC)
		record->seq = ntohl(header.counter);
	return true;
}

bool packet_read(int link, const uint8_t *data, size_t size,
		 struct capture_record *record)
{
	struct cursor at = { .data = data, .size = size };
	bool good;

	memset(record, 0, sizeof(*record));
	if (link == DLT_EN10MB && !skip_ethernet(&at))
		return false;
	if (!at.size)
		return false;
	if (at.data[0] >> 4 == 6)
		good = read_ipv6(&at, record);
	else
		good = read_ipv4(&at, record);
	if (good && record->proto == IPPROTO_TCP)
		return read_tcp(&at, record);
	if (good && record->proto == IPPROTO_UDP)
		return read_udp(&at, record);
	return false;
}
