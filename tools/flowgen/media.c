// SPDX-License-Identifier: GPL-2.0
/*
 * Messages over UDP: each message (a frame of video) is a burst of packets at
 * its time; it is lost with any of them.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>

#include "args.h"
#include "clock.h"
#include "flow.h"
#include "json.h"
#include "media.h"
#include "report.h"
#include "sender.h"
#include "udp.h"

/* Frames that may be on their way at one time. */
#define FRAMES		4096

/* Enough that every frame fits into 16 bits of parts at 64 bytes a packet. */
#define MAX_PARTS	65535

struct frames {
	struct {
		uint32_t frame;
		uint32_t got;
	} slots[FRAMES];
};

static int64_t frame_bytes(const struct flow *flow, struct dist *size,
			   int64_t frame)
{
	const struct workload_args *args = &flow->work;
	double bytes = dist_draw(size);

	if (args->key_every && frame % args->key_every == 0)
		bytes *= args->key_factor;
	return bytes < 1 ? 1 : bytes;
}

static void record_frame(const struct flow *flow, int64_t t, int64_t frame,
			 int64_t bytes)
{
	pthread_mutex_lock(&run.lock);
	if (flow->state != FLOW_OVER) {
		record_begin("item", flow, t);
		json_string("kind", "message");
		json_integer("conn", 0);
		json_integer("n", frame);
		json_integer("bytes", bytes);
		record_finish();
	}
	pthread_mutex_unlock(&run.lock);
}

/* All packets of a frame at once; the last has what is left. */
static int send_frame(struct flow *flow, struct frame_header *packet,
		      int64_t frame, int64_t bytes)
{
	int64_t head = udp_header_bytes(&flow->addr);
	int64_t room = flow->packet_bytes - head;
	int64_t parts = (bytes + room - 1) / room;
	int64_t part, size;

	if (parts > MAX_PARTS)
		parts = MAX_PARTS;
	packet->frame = htonl(frame);
	packet->parts = htons(parts);
	for (part = 0; part < parts; part++) {
		size = part == parts - 1 ? bytes - part * room : room;
		if (size < (int64_t)sizeof(*packet))
			size = sizeof(*packet);
		packet->part = htons(part);
		if (udp_send_packet(flow, &packet->packet, size + head))
			return -1;
	}
	return 0;
}

static bool is_over(const struct flow *flow)
{
	bool over;

	pthread_mutex_lock(&run.lock);
	over = flow->state == FLOW_OVER;
	pthread_mutex_unlock(&run.lock);
	return over;
}

static void send_frames(struct flow *flow, struct frame_header *packet)
{
	const struct workload_args *args = &flow->work;
	struct dist size = args->size;
	int64_t frame, due, bytes;

	for (frame = 0; !args->limit || frame < args->limit; frame++) {
		due = flow->start + frame * args->period;
		if (due >= flow->stop_at)
			return;
		sleep_until(run.t0 + due);
		if (is_over(flow))
			return;
		bytes = frame_bytes(flow, &size, frame);
		record_frame(flow, due, frame, bytes);
		if (send_frame(flow, packet, frame, bytes)) {
			flow_error(flow, "send", errno);
			return;
		}
	}
	flow_end(flow, "items", true);
}

static void *sender_thread(void *argument)
{
	struct flow *flow = argument;
	struct frame_header *packet = allocate(1, flow->packet_bytes);

	packet->packet.magic = htonl(FLOWGEN_MAGIC);
	sleep_until(run.t0 + flow->start);
	if (flow_advance(flow, FLOW_CONNECTING) &&
	    flow_advance(flow, FLOW_RUNNING))
		send_frames(flow, packet);
	free(packet);
	return NULL;
}

static int open_sender(struct flow *flow)
{
	return udp_send_ops.open(flow);
}

static void sample_sender(struct flow *flow, int64_t t)
{
	udp_send_ops.sample(flow, t);
}

static void end_sender(struct flow *flow, int64_t t, const char *reason,
		       bool complete)
{
	udp_send_ops.end(flow, t, reason, complete);
}

const struct flow_ops media_send_ops = {
	.open = open_sender,
	.thread = sender_thread,
	.sample = sample_sender,
	.end = end_sender,
};

void frame_note(struct flow *flow, const struct frame_header *header)
{
	uint32_t frame = ntohl(header->frame);
	uint32_t slot = frame % FRAMES;

	if (!flow->frames)
		flow->frames = allocate(1, sizeof(*flow->frames));
	if (flow->frames->slots[slot].frame != frame)
		flow->frames->slots[slot].got = 0;
	flow->frames->slots[slot].frame = frame;
	if (++flow->frames->slots[slot].got != ntohs(header->parts) ||
	    flow->state == FLOW_OVER)
		return;
	record_begin("done", flow, run_time());
	json_integer("conn", 0);
	json_integer("n", frame);
	record_finish();
}
