/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages over UDP: frames in packets, each frame at its time.
 */
#ifndef FLOWGEN_MEDIA_H
#define FLOWGEN_MEDIA_H

#include <stdint.h>

#include "proto.h"

struct flow;

/* After struct flowgen_header, in network byte order. */
struct frame_header {
	struct flowgen_header packet;
	uint32_t frame;
	uint16_t part;
	uint16_t parts;
};

/* Note a packet of a frame that has come; run.lock is held. */
void frame_note(struct flow *flow, const struct frame_header *header);

#endif /* FLOWGEN_MEDIA_H */
