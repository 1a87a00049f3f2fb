// SPDX-License-Identifier: GPL-2.0
/*
 * The sending side of a workload over TCP: the flow and its events.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "args.h"
#include "clock.h"
#include "connection.h"
#include "json.h"
#include "netns.h"
#include "report.h"
#include "sender.h"
#include "tcp_socket.h"
#include "tcp_stats.h"

#define EVENTS		64
#define MAX_NAME	32

int64_t sender_draw_bytes(struct sender *sender)
{
	int64_t bytes = dist_draw(&sender->args->size);

	return bytes < ITEM_HEADER_BYTES ? ITEM_HEADER_BYTES : bytes;
}

int64_t sender_draw_time(struct dist *dist)
{
	return dist_draw(dist) * NSEC_PER_SEC;
}

void sender_wake_at(struct sender *sender, int64_t t)
{
	struct itimerspec when = { 0 };

	/* A time of 0 would disarm the timer. */
	when.it_value = ns_to_timespec(run.t0 + t > 0 ? run.t0 + t : 1);
	sender->timer = t;
	timerfd_settime(sender->timerfd, TFD_TIMER_ABSTIME, &when, NULL);
}

bool sender_at_limit(const struct sender *sender)
{
	return sender->args->limit && sender->begun >= sender->args->limit;
}

void sender_end(struct sender *sender)
{
	sender->ending = true;
}

void sender_fail(struct sender *sender, const char *what, int error)
{
	flow_error(sender->flow, what, error);
	sender->over = true;
}

static int watch(struct sender *sender, int fd, void *data)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = data };

	return epoll_ctl(sender->epoll, EPOLL_CTL_ADD, fd, &event);
}

static int open_sender(struct flow *flow)
{
	struct sender *sender = allocate(1, sizeof(*sender));

	sender->flow = flow;
	sender->args = &flow->work;
	sender->kind = flow->work.kind;
	sender->totals.min_rtt_us = UINT32_MAX;
	sender->epoll = epoll_create1(EPOLL_CLOEXEC);
	sender->wake = eventfd(0, EFD_CLOEXEC);
	sender->timerfd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	flow->sender = sender;
	if (sender->epoll < 0 || sender->wake < 0 || sender->timerfd < 0 ||
	    watch(sender, sender->wake, &sender->wake) ||
	    watch(sender, sender->timerfd, &sender->timerfd)) {
		flow_error(flow, "epoll", errno);
		return -1;
	}
	sender->spare = tcp_sender_socket(flow, true);
	flow->fd = sender->spare;
	return sender->spare < 0 ? -1 : 0;
}

/* The main thread has ended the flow. */
static void on_wake(struct sender *sender)
{
	sender->over = true;
}

static void on_timer(struct sender *sender)
{
	uint64_t times;

	if (read(sender->timerfd, &times, sizeof(times)) < 0 || !sender->kind->timer)
		return;
	sender->timer = TIME_NEVER;
	sender->kind->timer(sender);
}

static void one_event(struct sender *sender, const struct epoll_event *event)
{
	if (event->data.ptr == &sender->wake)
		on_wake(sender);
	else if (event->data.ptr == &sender->timerfd)
		on_timer(sender);
	else
		connection_event(event->data.ptr, event->events);
}

static void run_events(struct sender *sender)
{
	struct epoll_event events[EVENTS];
	int count, i;

	while (!sender->over) {
		if (sender->ending && !sender->live) {
			flow_end(sender->flow, "items", true);
			break;
		}
		count = epoll_wait(sender->epoll, events, EVENTS, -1);
		for (i = 0; i < count && !sender->over; i++)
			one_event(sender, &events[i]);
		connections_sweep(sender);
	}
}

/* The namespace of sockets is that of the thread which makes them. */
static void enter_netns(struct flow *flow)
{
	char name[MAX_NAME];

	if (!flow->netns)
		return;
	snprintf(name, sizeof(name), "flow %d: netns", (int)flow->id);
	pthread_mutex_lock(&run.lock);
	netns_enter(flow->netns, name);
	pthread_mutex_unlock(&run.lock);
}

static void *sender_thread(void *argument)
{
	struct flow *flow = argument;
	struct sender *sender = flow->sender;

	enter_netns(flow);
	sleep_until(run.t0 + flow->start);
	if (!flow_advance(flow, FLOW_CONNECTING))
		return NULL;
	if (!sender->kind->many || flow_advance(flow, FLOW_RUNNING)) {
		sender->kind->begin(sender);
		run_events(sender);
	}
	connections_abort(sender);
	return NULL;
}

static void abort_sender(struct flow *flow)
{
	static const uint64_t one = 1;

	if (flow->sender && write(flow->sender->wake, &one, sizeof(one)) < 0)
		warn("flow %d: cannot wake its thread", (int)flow->id);
}

/* A flow of many connections has no window of its own to tell. */
static void sample_sender(struct flow *flow, int64_t t)
{
	if (!flow->work.kind->many && flow->fd >= 0)
		tcp_send_ops.sample(flow, t);
}

static void record_totals(struct sender *sender)
{
	struct totals sum = sender->totals;
	struct connection *conn;

	for (conn = sender->connections; conn; conn = conn->next)
		if (conn->connected && !conn->closed)
			totals_add(&sum, conn->fd);
	json_integer_if(sum.min_rtt_us != UINT32_MAX, "min_rtt_us",
			sum.min_rtt_us);
	json_integer("total_retrans", sum.retrans);
	json_integer("total_rto", sum.rto);
	json_integer("bytes_sent", sum.bytes_sent);
	json_integer("bytes_acked", sum.bytes_acked);
	json_integer("bytes_retrans", sum.bytes_retrans);
	json_integer("delivered", sum.delivered);
	json_integer("delivered_ce", sum.delivered_ce);
}

static void end_sender(struct flow *flow, int64_t t, const char *reason,
		       bool complete)
{
	struct sender *sender = flow->sender;
	struct tcp_stats stats;

	record_begin_end(flow, t, reason, complete);
	if (flow->work.kind->many) {
		record_totals(sender);
	} else {
		tcp_stats_read(flow->fd, &stats);
		record_sender_stats(&stats);
	}
	json_integer("connections", sender->opened);
	json_integer("failed", sender->totals.failed);
	record_finish();
}

const struct flow_ops work_send_ops = {
	.open = open_sender,
	.thread = sender_thread,
	.sample = sample_sender,
	.end = end_sender,
	.abort = abort_sender,
};
