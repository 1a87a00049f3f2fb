// SPDX-License-Identifier: GPL-2.0
/*
 * Connections of a workload's sender.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#include "args.h"
#include "clock.h"
#include "connection.h"
#include "json.h"
#include "proto.h"
#include "report.h"
#include "tcp_socket.h"
#include "tcp_stats.h"

#define ZEROS_BYTES	65536
#define REPLY_BUFFER	4096

static const char zeros[ZEROS_BYTES];

void totals_add(struct totals *totals, int fd)
{
	struct tcp_stats stats;

	tcp_info_read(fd, &stats);
	totals->retrans += stats.info.total_retrans;
	totals->rto += stats.info.total_rto;
	totals->bytes_sent += stats.info.bytes_sent;
	totals->bytes_acked += stats.info.bytes_acked;
	totals->bytes_retrans += stats.info.bytes_retrans;
	totals->delivered += stats.info.delivered;
	totals->delivered_ce += stats.info.delivered_ce;
	if (stats.info.min_rtt && stats.info.min_rtt < totals->min_rtt_us)
		totals->min_rtt_us = stats.info.min_rtt;
}

static void wait_for(struct connection *conn, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = conn };

	if (conn->events == events)
		return;
	epoll_ctl(conn->sender->epoll,
		  conn->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, conn->fd,
		  &event);
	conn->events = events;
}

/* With its statistics kept; connections_sweep() frees it. */
static void close_connection(struct connection *conn)
{
	struct sender *sender = conn->sender;

	pthread_mutex_lock(&run.lock);
	if (conn->connected && sender->kind->many)
		totals_add(&sender->totals, conn->fd);
	conn->closed = true;
	sender->live--;
	if (sender->kind->many || sender->flow->state == FLOW_OVER) {
		if (sender->flow->fd == conn->fd)
			sender->flow->fd = -1;
		close(conn->fd);
	} else {
		/* Its end record reads the socket. */
		epoll_ctl(sender->epoll, EPOLL_CTL_DEL, conn->fd, NULL);
	}
	pthread_mutex_unlock(&run.lock);
}

static void record_failed(struct connection *conn, int error)
{
	const char *name = strerrorname_np(error);

	pthread_mutex_lock(&run.lock);
	conn->sender->totals.failed++;
	record_begin("failed", conn->sender->flow, run_time());
	json_integer("conn", conn->number);
	json_string("errno", name ? name : "unknown");
	record_finish();
	pthread_mutex_unlock(&run.lock);
}

/* One of many connections may fail; the only one may not. */
static void fail_connection(struct connection *conn, const char *what,
			    int error)
{
	struct sender *sender = conn->sender;

	if (sender->kind != &connections_workload) {
		sender_fail(sender, what, error);
		return;
	}
	record_failed(conn, error);
	close_connection(conn);
	if (sender->kind->closed)
		sender->kind->closed(conn);
}

static int take_socket(struct sender *sender)
{
	static const int on = 1;
	int fd = sender->spare;

	sender->spare = -1;
	if (fd < 0)
		fd = tcp_sender_socket(sender->flow, false);
	if (fd < 0)
		return -1;
	/* As servers do: the end of an item does not wait for anything. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

static struct connection *add_connection(struct sender *sender, int fd)
{
	struct connection *conn = allocate(1, sizeof(*conn));

	conn->sender = sender;
	conn->fd = fd;
	conn->number = sender->opened++;
	conn->last = &conn->first;
	sender->live++;
	pthread_mutex_lock(&run.lock);
	conn->next = sender->connections;
	sender->connections = conn;
	pthread_mutex_unlock(&run.lock);
	return conn;
}

struct connection *sender_connect(struct sender *sender)
{
	const union address *to = &sender->flow->addr;
	struct connection *conn;
	int fd = take_socket(sender);

	if (fd < 0) {
		sender->over = true;
		return NULL;
	}
	conn = add_connection(sender, fd);
	if (connect(fd, &to->sa, address_length(to)) && errno != EINPROGRESS) {
		fail_connection(conn, "connect", errno);
		return NULL;
	}
	wait_for(conn, EPOLLOUT);
	return conn;
}

static void add_part(struct connection *conn, int64_t item, int64_t bytes,
		     uint32_t flags)
{
	struct part *part = allocate(1, sizeof(*part));

	part->header.magic = htonl(FLOWGEN_MAGIC);
	part->header.conn = htonl(conn->number);
	part->header.item = htonl(item);
	part->header.flags = htonl(flags);
	part->header.bytes = htobe64(bytes);
	part->size = bytes;
	*conn->last = part;
	conn->last = &part->next;
}

void sender_item(struct connection *conn, const struct sent_item *item)
{
	struct sender *sender = conn->sender;

	pthread_mutex_lock(&run.lock);
	if (sender->flow->state != FLOW_OVER) {
		record_begin("item", sender->flow, item->t);
		json_string("kind", sender->kind->item);
		json_integer("conn", conn->number);
		json_integer("n", conn->items);
		json_integer("bytes", item->bytes);
		if (item->page >= 0)
			json_integer("page", item->page);
		if (item->rate_mbit > 0)
			fprintf(run.out, ",\"rate_mbit\":%g", item->rate_mbit);
		record_finish();
	}
	pthread_mutex_unlock(&run.lock);
	add_part(conn, conn->items++, item->bytes, item->flags);
	sender_flush(conn);
}

void sender_part(struct connection *conn, int64_t bytes, uint32_t flags)
{
	add_part(conn, conn->items - 1, bytes, flags);
}

/* As much of a part as one call takes; its header, then zeros. */
static ssize_t send_part(struct connection *conn, const struct part *part)
{
	int64_t head = ITEM_HEADER_BYTES - part->sent;
	int64_t left = part->size - part->sent;
	struct iovec vectors[2] = { 0 };
	struct msghdr message = { .msg_iov = vectors };

	if (head > 0) {
		vectors[0].iov_base = (char *)&part->header + part->sent;
		vectors[0].iov_len = head;
		left -= head;
		message.msg_iovlen++;
	}
	if (left > 0) {
		vectors[message.msg_iovlen].iov_base = (char *)zeros;
		vectors[message.msg_iovlen].iov_len =
			left < ZEROS_BYTES ? left : ZEROS_BYTES;
		message.msg_iovlen++;
	}
	return sendmsg(conn->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void drop_first(struct connection *conn)
{
	struct part *part = conn->first;

	conn->first = part->next;
	if (!conn->first)
		conn->last = &conn->first;
	free(part);
}

static void on_drained(struct connection *conn)
{
	wait_for(conn, EPOLLIN);
	if (conn->finished)
		shutdown(conn->fd, SHUT_WR);
	else if (conn->sender->kind->drained)
		conn->sender->kind->drained(conn);
}

/* Returns false when the kernel takes no more now, or after an error. */
static bool send_parts(struct connection *conn)
{
	ssize_t done;

	while (conn->first) {
		done = send_part(conn, conn->first);
		if (done < 0 && errno == EAGAIN) {
			wait_for(conn, EPOLLIN | EPOLLOUT);
			return false;
		}
		if (done < 0) {
			fail_connection(conn, "send", errno);
			return false;
		}
		conn->first->sent += done;
		if (conn->first->sent == conn->first->size)
			drop_first(conn);
	}
	return true;
}

void sender_flush(struct connection *conn)
{
	if (!conn->connected)
		return;
	do {
		if (!send_parts(conn))
			return;
		on_drained(conn);
	} while (conn->first);
}

void sender_finish(struct connection *conn)
{
	if (conn->finished)
		return;
	conn->finished = true;
	if (conn->connected && !conn->first)
		shutdown(conn->fd, SHUT_WR);
}

static void on_connected(struct connection *conn)
{
	struct sender *sender = conn->sender;
	int error = tcp_socket_error(conn->fd);

	if (error) {
		fail_connection(conn, "connect", error);
		return;
	}
	conn->connected = true;
	if (!sender->kind->many && !flow_advance(sender->flow, FLOW_RUNNING)) {
		sender->over = true;
		return;
	}
	wait_for(conn, EPOLLIN);
	if (sender->kind->connected)
		sender->kind->connected(conn);
	if (conn->first || conn->finished)
		sender_flush(conn);
}

static void on_readable(struct connection *conn)
{
	struct sender *sender = conn->sender;
	char buffer[REPLY_BUFFER];
	ssize_t got = recv(conn->fd, buffer, sizeof(buffer), MSG_DONTWAIT);

	if (got < 0 && errno == EAGAIN)
		return;
	if (got < 0 || (!got && !conn->finished)) {
		fail_connection(conn, "recv", got ? errno : ECONNRESET);
		return;
	}
	if (!got) {
		close_connection(conn);
		if (sender->kind->closed)
			sender->kind->closed(conn);
		return;
	}
	conn->reply_bytes += got;
	while (conn->reply_bytes >= REQUEST_BYTES && !sender->over) {
		conn->reply_bytes -= REQUEST_BYTES;
		if (sender->kind->replied)
			sender->kind->replied(conn);
	}
}

void connection_event(struct connection *conn, uint32_t events)
{
	if (conn->closed)
		return;
	if (!conn->connected) {
		on_connected(conn);
		return;
	}
	if (events & (EPOLLIN | EPOLLERR | EPOLLHUP))
		on_readable(conn);
	if (!conn->closed && !conn->sender->over && (events & EPOLLOUT))
		sender_flush(conn);
}

static void free_connection(struct connection *conn)
{
	while (conn->first)
		drop_first(conn);
	free(conn);
}

void connections_sweep(struct sender *sender)
{
	struct connection **place = &sender->connections;
	struct connection *conn;

	pthread_mutex_lock(&run.lock);
	while ((conn = *place)) {
		if (conn->closed) {
			*place = conn->next;
			free_connection(conn);
		} else {
			place = &conn->next;
		}
	}
	pthread_mutex_unlock(&run.lock);
}

void connections_abort(struct sender *sender)
{
	struct flow *flow = sender->flow;
	struct connection *conn;

	pthread_mutex_lock(&run.lock);
	for (conn = sender->connections; conn; conn = conn->next) {
		if (conn->closed)
			continue;
		tcp_dissolve(conn->fd);
		close(conn->fd);
		conn->closed = true;
		if (flow->fd == conn->fd)
			flow->fd = -1;
	}
	if (flow->fd >= 0)
		close(flow->fd);
	flow->fd = -1;
	pthread_mutex_unlock(&run.lock);
	connections_sweep(sender);
}
