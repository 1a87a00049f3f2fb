/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The binary records that hetprobe writes.  The format strings are those of
 * Python's struct module.  All times count from --t0.
 */
#ifndef FLOWGEN_RECORD_H
#define FLOWGEN_RECORD_H

#include <assert.h>
#include <stdint.h>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	      "the records are little-endian and written as they lie in memory");

#define QUEUE_RECORD_FORMAT	"<QHHIIIIIQ"
#define QUEUE_RECORD_FIELDS						\
	"\"t_ns\",\"label\",\"pad\",\"qlen\",\"backlog\",\"drops\","	\
	"\"overlimits\",\"packets\",\"bytes\""

struct queue_record {
	uint64_t t_ns;
	uint16_t label;		/* index into the labels of queue.json */
	uint16_t pad;
	uint32_t qlen;		/* packets, those of child qdiscs included */
	uint32_t backlog;	/* bytes */
	uint32_t drops;		/* this and the rest since the qdisc was made */
	uint32_t overlimits;
	uint32_t packets;
	uint64_t bytes;
} __attribute__((packed));

static_assert(sizeof(struct queue_record) == 40, "see QUEUE_RECORD_FORMAT");

#define CAPTURE_RECORD_FORMAT	"<qIIIIIHHHHBBBBHHHH"
#define CAPTURE_RECORD_FIELDS						\
	"\"t_ns\",\"seq\",\"ack\",\"tsval\",\"tsecr\",\"ipid\","	\
	"\"sport\",\"dport\",\"payload\",\"wire\",\"flags\",\"proto\","	\
	"\"ecn\",\"ipver\",\"window\",\"src16\",\"dst16\",\"pad\""

/* seq of a UDP packet that does not carry flowgen's counter */
#define CAPTURE_NO_COUNTER	UINT32_MAX

struct capture_record {
	int64_t t_ns;
	uint32_t seq;		/* UDP: flowgen's counter */
	uint32_t ack;		/* UDP: 0, as all that TCP alone has */
	uint32_t tsval;		/* 0 without the timestamp option */
	uint32_t tsecr;
	uint32_t ipid;		/* IPv6: 0 */
	uint16_t sport;
	uint16_t dport;
	uint16_t payload;	/* bytes after the TCP or UDP header */
	uint16_t wire;		/* bytes of the IP packet */
	uint8_t flags;		/* the flags byte of the TCP header */
	uint8_t proto;		/* IPPROTO_TCP or IPPROTO_UDP */
	uint8_t ecn;		/* the two ECN bits of the IP header */
	uint8_t ipver;		/* 4 or 6 */
	uint16_t window;	/* as in the header, not scaled */
	uint16_t src16;		/* last 16 bits of the addresses */
	uint16_t dst16;
	uint16_t pad;
} __attribute__((packed));

static_assert(sizeof(struct capture_record) == 48, "see CAPTURE_RECORD_FORMAT");

#endif /* FLOWGEN_RECORD_H */
