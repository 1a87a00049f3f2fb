// SPDX-License-Identifier: GPL-2.0
/*
 * Video in segments.  The rate of the next segment is chosen by one of two
 * published rules:
 *
 * buffer: BBA-0 of Huang et al., "A buffer-based approach to rate adaptation"
 *	(SIGCOMM 2014), algorithm 1.  The rate follows the buffer along a line from
 *	the lowest at a reservoir of 90 s to the highest at 216 s, of 240 s; here in
 *	the same proportions of the fullest buffer with room for a segment.  It
 *	changes only when the line has passed the next rate of the ladder.
 * throughput: target of FESTIVE (Jiang et al., CoNEXT 2012): the highest rate
 *	below 0.85 of the harmonic mean of the throughput of the last 20 segments,
 *	without its gradual and random switching.
 *
 * A segment is asked for as soon as the buffer has room for it.
 */
#include "clock.h"
#include "sender.h"

#define RESERVOIR	(90.0 / 240)
#define CUSHION_END	(216.0 / 240)
#define SAFETY		0.85

#define HISTORY	((int64_t)(sizeof(((struct player *)0)->rates) / sizeof(double)))

/* The fullest buffer, in s, that has room for one more segment. */
static double fullest(const struct sender *sender)
{
	return ns_to_sec(sender->args->buffer - sender->args->segment);
}

/* The highest rung whose rate is no more (below: less) than that, or 0. */
static int highest_rung(const struct workload_args *args, double mbit)
{
	int rung = 0;

	while (rung + 1 < args->rungs && args->ladder[rung + 1] <= mbit)
		rung++;
	return rung;
}

static int lowest_above(const struct workload_args *args, double mbit)
{
	int rung = 0;

	while (rung + 1 < args->rungs && args->ladder[rung] <= mbit)
		rung++;
	return rung;
}

static int rung_of_buffer(const struct sender *sender)
{
	const struct workload_args *args = sender->args;
	const struct player *player = &sender->player;
	double share = player->level / fullest(sender);
	double least = args->ladder[0], most = args->ladder[args->rungs - 1];
	double line = least + (most - least) * (share - RESERVOIR) /
			      (CUSHION_END - RESERVOIR);
	int up = player->rung + 1 < args->rungs ? player->rung + 1 : player->rung;
	int down = player->rung ? player->rung - 1 : 0;

	if (share <= RESERVOIR)
		return 0;
	if (share >= CUSHION_END)
		return args->rungs - 1;
	if (line >= args->ladder[up])
		return highest_rung(args, line);
	if (line <= args->ladder[down])
		return lowest_above(args, line);
	return player->rung;
}

static int rung_of_throughput(const struct sender *sender)
{
	const struct player *player = &sender->player;
	int64_t count = player->segments < HISTORY ? player->segments : HISTORY;
	double inverse = 0;
	int64_t i;

	for (i = 0; i < count; i++)
		inverse += 1 / player->rates[i];
	if (!count)
		return 0;
	return highest_rung(sender->args,
			    SAFETY * count / inverse / BITS_PER_MBIT);
}

/* The buffer now: what was there, without what has been played since. */
static void update_level(struct player *player, int64_t now)
{
	if (player->playing)
		player->level -= ns_to_sec(now - player->updated);
	if (player->level < 0)
		player->level = 0;
	player->updated = now;
}

static void send_segment(struct sender *sender)
{
	struct player *player = &sender->player;
	struct sent_item item = {
		.t = run_time(),
		.flags = ITEM_REPLY,
		.page = -1,
	};

	update_level(player, item.t);
	player->rung = sender->args->abr == ABR_BUFFER ?
		       rung_of_buffer(sender) : rung_of_throughput(sender);
	item.rate_mbit = sender->args->ladder[player->rung];
	item.bytes = item.rate_mbit * BITS_PER_MBIT / BITS_PER_BYTE *
		     ns_to_sec(sender->args->segment);
	player->asked = item.t;
	player->bytes = item.bytes;
	sender->begun++;
	sender_item(sender->connections, &item);
}

static void first_segment(struct connection *conn)
{
	send_segment(conn->sender);
}

static void note_segment(struct sender *sender, int64_t now)
{
	struct player *player = &sender->player;
	double seconds = ns_to_sec(now - player->asked);

	update_level(player, now);
	player->rates[player->segments++ % HISTORY] =
		player->bytes * BITS_PER_BYTE / seconds;
	player->level += ns_to_sec(sender->args->segment);
	player->playing = true;
	sender->done++;
}

static void segment_came(struct connection *conn)
{
	struct sender *sender = conn->sender;
	int64_t now = run_time();
	double room;

	note_segment(sender, now);
	if (sender_at_limit(sender)) {
		sender_end(sender);
		sender_finish(conn);
		return;
	}
	room = fullest(sender);
	if (sender->player.level > room)
		sender_wake_at(sender, now + (sender->player.level - room) *
				       NSEC_PER_SEC);
	else
		send_segment(sender);
}

static void begin_video(struct sender *sender)
{
	sender_connect(sender);
}

const struct workload video_workload = {
	.name = "video",
	.item = "segment",
	.begin = begin_video,
	.timer = send_segment,
	.connected = first_segment,
	.replied = segment_came,
};
