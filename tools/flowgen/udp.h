/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sending UDP packets that are counted.
 */
#ifndef FLOWGEN_UDP_H
#define FLOWGEN_UDP_H

#include <stdint.h>

#include "flow.h"
#include "proto.h"

/* Bytes of the IP and UDP headers of a packet to that address. */
int udp_header_bytes(const union address *address);

/*
 * Send a packet of so many bytes of IP.  An ICMP error about an earlier packet
 * is delivered in place of sending this one; it is counted, and tried again.
 * Returns -1 with errno.
 */
int udp_send_packet(struct flow *flow, struct flowgen_header *packet,
		    int64_t ip_bytes);

#endif /* FLOWGEN_UDP_H */
