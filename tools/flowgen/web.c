// SPDX-License-Identifier: GPL-2.0
/*
 * Web pages as HTTP/1.1 fetches them: some objects over some new connections,
 * on each one object after the other.
 */
#include "clock.h"
#include "report.h"
#include "json.h"
#include "sender.h"

static void record_page(struct sender *sender, int64_t objects)
{
	pthread_mutex_lock(&run.lock);
	if (sender->flow->state != FLOW_OVER) {
		record_begin("page", sender->flow, run_time());
		json_integer("n", sender->begun);
		json_integer("objects", objects);
		record_finish();
	}
	pthread_mutex_unlock(&run.lock);
}

static void begin_page(struct sender *sender)
{
	int64_t objects = dist_draw(&sender->args->objects);
	int64_t i;

	if (objects < 1)
		objects = 1;
	record_page(sender, objects);
	sender->begun++;
	sender->left = objects;
	sender->flying = objects;
	for (i = 0; i < objects && i < sender->args->parallel; i++)
		if (!sender_connect(sender))
			return;
}

static void next_object(struct connection *conn)
{
	struct sender *sender = conn->sender;
	struct sent_item item = {
		.t = run_time(),
		.flags = ITEM_REPLY,
		.page = sender->begun - 1,
	};

	if (!sender->left) {
		sender_finish(conn);
		return;
	}
	sender->left--;
	item.bytes = sender_draw_bytes(sender);
	sender_item(conn, &item);
}

static void end_page(struct sender *sender)
{
	sender->done++;
	if (sender_at_limit(sender))
		sender_end(sender);
	else
		sender_wake_at(sender, run_time() +
			       sender_draw_time(&sender->args->think));
}

static void object_came(struct connection *conn)
{
	struct sender *sender = conn->sender;

	next_object(conn);
	if (!--sender->flying)
		end_page(sender);
}

const struct workload web_workload = {
	.name = "web",
	.item = "object",
	.many = true,
	.begin = begin_page,
	.timer = begin_page,
	.connected = next_object,
	.replied = object_came,
};
