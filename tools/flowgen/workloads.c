// SPDX-License-Identifier: GPL-2.0
/*
 * Workloads of items that follow a rule: requests, on and off, messages, a
 * replayed list, many connections.
 */
#include "clock.h"
#include "sender.h"

/* A part of an on period; small, so that its end is soon sent. */
#define ON_PART_BYTES	16384

static void send_item(struct connection *conn, int64_t t, int64_t bytes,
		      uint32_t flags)
{
	struct sent_item item = {
		.t = t,
		.bytes = bytes,
		.flags = flags,
		.page = -1,
	};

	conn->sender->begun++;
	sender_item(conn, &item);
}

static void connect_once(struct sender *sender)
{
	sender_connect(sender);
}

/* After the newest item: the connection ends. */
static void end_connection(struct connection *conn)
{
	sender_end(conn->sender);
	sender_finish(conn);
}

/*
 * Requests: the receiver answers each response with the next request, which
 * the sender serves after the time to think.
 */
static void respond(struct connection *conn)
{
	send_item(conn, run_time(), sender_draw_bytes(conn->sender), ITEM_REPLY);
}

static void respond_next(struct sender *sender)
{
	respond(sender->connections);
}

static void request_came(struct connection *conn)
{
	struct sender *sender = conn->sender;

	sender->done++;
	if (sender_at_limit(sender))
		end_connection(conn);
	else
		sender_wake_at(sender, run_time() +
			       sender_draw_time(&sender->args->think));
}

const struct workload requests_workload = {
	.name = "requests",
	.item = "response",
	.begin = connect_once,
	.timer = respond_next,
	.connected = respond,
	.replied = request_came,
};

/*
 * On and off: as fast as TCP allows while it is on.  An on period is one item of
 * many parts; the last one is its header alone.
 */
static bool is_on(const struct sender *sender)
{
	return sender->on_until != TIME_NEVER;
}

static void begin_period(struct connection *conn)
{
	struct sender *sender = conn->sender;
	int64_t now = run_time();

	sender->on_until = now + sender_draw_time(&sender->args->on);
	sender_wake_at(sender, sender->on_until);
	send_item(conn, now, ON_PART_BYTES, ITEM_MORE);
}

static void more_of_period(struct connection *conn)
{
	if (is_on(conn->sender) && conn->sender->on_until > run_time())
		sender_part(conn, ON_PART_BYTES, ITEM_MORE);
}

static void end_period(struct connection *conn)
{
	struct sender *sender = conn->sender;

	sender->on_until = TIME_NEVER;
	sender_part(conn, ITEM_HEADER_BYTES, 0);
	if (sender_at_limit(sender))
		end_connection(conn);
	else
		sender_wake_at(sender, run_time() +
			       sender_draw_time(&sender->args->off));
	sender_flush(conn);
}

static void switch_period(struct sender *sender)
{
	if (is_on(sender))
		end_period(sender->connections);
	else
		begin_period(sender->connections);
}

const struct workload onoff_workload = {
	.name = "onoff",
	.item = "on",
	.begin = connect_once,
	.timer = switch_period,
	.connected = begin_period,
	.drained = more_of_period,
};

/*
 * Messages: one each period, at times that nothing moves; they wait in the
 * program when the connection is behind.
 */
static void next_message(struct sender *sender)
{
	struct connection *conn = sender->connections;

	sender->due += sender->args->period;
	if (sender_at_limit(sender))
		end_connection(conn);
	else if (sender->due < sender->flow->stop_at)
		sender_wake_at(sender, sender->due);
}

static double frame_factor(const struct sender *sender)
{
	int64_t every = sender->args->key_every;

	return every && sender->begun % every == 0 ? sender->args->key_factor : 1;
}

static void send_message(struct sender *sender)
{
	int64_t bytes = sender_draw_bytes(sender) * frame_factor(sender);

	send_item(sender->connections, sender->due, bytes, 0);
	next_message(sender);
}

static void begin_messages(struct sender *sender)
{
	sender->due = sender->flow->start;
	if (sender_connect(sender))
		sender_wake_at(sender, sender->due);
}

const struct workload messages_workload = {
	.name = "messages",
	.item = "message",
	.begin = begin_messages,
	.timer = send_message,
};

/* Replay: writes at given times. */
static int64_t write_due(const struct sender *sender)
{
	return sender->flow->start + sender->args->writes[sender->place].t;
}

static void send_write(struct sender *sender)
{
	int64_t bytes = sender->args->writes[sender->place].bytes;

	send_item(sender->connections, write_due(sender), bytes, 0);
	if (++sender->place == sender->args->write_count)
		end_connection(sender->connections);
	else
		sender_wake_at(sender, write_due(sender));
}

static void begin_replay(struct sender *sender)
{
	if (sender_connect(sender))
		sender_wake_at(sender, write_due(sender));
}

const struct workload replay_workload = {
	.name = "replay",
	.item = "write",
	.begin = begin_replay,
	.timer = send_write,
};

/* Connections: each carries one item, and nobody waits for the one before. */
static void next_arrival(struct sender *sender)
{
	sender->due += sender_draw_time(&sender->args->arrivals);
	if (sender_at_limit(sender))
		sender_end(sender);
	else
		sender_wake_at(sender, sender->due);
}

static void arrive(struct sender *sender)
{
	struct connection *conn = sender_connect(sender);

	if (conn) {
		send_item(conn, run_time(), sender_draw_bytes(sender), 0);
		sender_finish(conn);
	}
	if (!sender->over)
		next_arrival(sender);
}

static void begin_arrivals(struct sender *sender)
{
	sender->due = sender->flow->start;
	next_arrival(sender);
}

const struct workload connections_workload = {
	.name = "connections",
	.item = "connection",
	.many = true,
	.begin = begin_arrivals,
	.timer = arrive,
};
