/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Making capture records of packets.
 */
#ifndef FLOWGEN_PACKET_H
#define FLOWGEN_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"

/* The longest headers that are looked at: Ethernet, IPv6 and a full TCP one. */
#define PACKET_SNAPLEN	128

/* Whether packets of a link type (DLT_*) can be read. */
bool packet_link_known(int link);

/*
 * Fill all but the time of a record from the first bytes of a packet.  False
 * for what is no TCP or UDP packet, and for fragments without its header.
 */
bool packet_read(int link, const uint8_t *data, size_t size,
		 struct capture_record *record);

#endif /* FLOWGEN_PACKET_H */
