/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What flowgen puts at the start of the payload of every UDP packet, and what
 * hetprobe looks for there.  Both fields are in network byte order.
 */
#ifndef FLOWGEN_PROTO_H
#define FLOWGEN_PROTO_H

#include <stdint.h>

#define FLOWGEN_MAGIC	0x48544347u	/* "HTCG" */

struct flowgen_header {
	uint32_t magic;
	uint32_t counter;	/* 0 for the first packet of a flow */
};

/* Header lengths, without IP options or extension headers. */
#define IPV4_UDP_BYTES	(20 + 8)
#define IPV6_UDP_BYTES	(40 + 8)

#endif /* FLOWGEN_PROTO_H */
