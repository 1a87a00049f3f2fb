/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sending side of a workload over TCP: connections, the items that go over
 * them, one timer.  One thread for each flow does it all, by epoll.
 */
#ifndef FLOWGEN_SENDER_H
#define FLOWGEN_SENDER_H

#include <stdbool.h>
#include <stdint.h>

#include "flow.h"
#include "rng.h"

/* Flags in an item's header. */
#define ITEM_MORE	1u	/* another part of the same item follows */
#define ITEM_REPLY	2u	/* answer with a request when it is whole */

/* What the receiver answers with: a request of the size that tcpeval assumes. */
#define REQUEST_BYTES	350

/* At the start of each part of an item, in network byte order. */
struct item_header {
	uint32_t magic;		/* FLOWGEN_MAGIC */
	uint32_t conn;		/* number of the connection in its flow */
	uint32_t item;		/* number of the item in its connection */
	uint32_t flags;
	uint64_t bytes;		/* of this part, header included */
} __attribute__((packed));

_Static_assert(sizeof(struct item_header) == ITEM_HEADER_BYTES,
	       "the least size of an item");

/* What waits to be sent. */
struct part {
	struct part *next;
	struct item_header header;
	int64_t size;
	int64_t sent;
};

struct sender;

struct connection {
	struct connection *next;
	struct sender *sender;
	int fd;
	int64_t number;
	int64_t items;		/* begun */
	bool connected;
	bool finished;		/* the FIN is sent, or will be */
	bool closed;		/* to be freed */
	uint32_t events;	/* that epoll waits for */
	struct part *first, **last;
	int64_t reply_bytes;
};

/* What the workloads do differently.  Only begin is needed. */
struct workload {
	const char *name;
	const char *item;	/* kind of its items in the output */
	/* Many connections: nobody samples one of them. */
	bool many;
	void (*begin)(struct sender *sender);
	/* The time that sender_wake_at() gave has come. */
	void (*timer)(struct sender *sender);
	void (*connected)(struct connection *conn);
	/* The receiver has an item with ITEM_REPLY. */
	void (*replied)(struct connection *conn);
	/* All that was to be sent is in the kernel's hands. */
	void (*drained)(struct connection *conn);
	/* The receiver has all, and has closed. */
	void (*closed)(struct connection *conn);
};

/* Counters over connections that are closed. */
struct totals {
	uint64_t retrans, rto, bytes_sent, bytes_acked, bytes_retrans;
	uint64_t delivered, delivered_ce;
	uint32_t min_rtt_us;
	int64_t failed;
};

/* State of a video player as the server follows it; times in s. */
struct player {
	int rung;
	double level;		/* video in the buffer */
	bool playing;
	int64_t updated;	/* when level was that */
	int64_t asked;		/* when the segment was begun */
	int64_t bytes;		/* of the segment */
	double rates[20];	/* throughput of the newest segments, bit/s */
	int64_t segments;
};

struct sender {
	struct flow *flow;
	const struct workload *kind;
	struct workload_args *args;
	int epoll, wake, timerfd;
	int spare;		/* first socket, not yet used; -1: none */
	int64_t timer;
	struct connection *connections;	/* guarded by run.lock */
	int64_t opened, live;
	int64_t begun, done;	/* items or, of web, pages */
	bool ending;		/* no more items; over when nothing is live */
	bool over;
	int64_t due;		/* of the next message or write */
	size_t place;		/* in the list of writes */
	int64_t left, flying;	/* objects of a page: not begun; on their way */
	int64_t on_until;
	struct player player;
	struct totals totals;
};

extern const struct workload requests_workload;
extern const struct workload web_workload;
extern const struct workload onoff_workload;
extern const struct workload video_workload;
extern const struct workload messages_workload;
extern const struct workload replay_workload;
extern const struct workload connections_workload;

/* Bytes of the next item, 24 at least, which its header needs. */
int64_t sender_draw_bytes(struct sender *sender);

/* A time drawn, in ns. */
int64_t sender_draw_time(struct dist *dist);

/* Call timer() at a time of the run; one that is past: at once. */
void sender_wake_at(struct sender *sender, int64_t t);

/* Begin a connection; NULL when that failed. */
struct connection *sender_connect(struct sender *sender);

/*
 * Send an item of so many bytes, which counts from time t; rate in Mbit/s or 0
 * and page, -1: none, go to its record.
 */
struct sent_item {
	int64_t t;
	int64_t bytes;
	uint32_t flags;
	double rate_mbit;
	int64_t page;
};
void sender_item(struct connection *conn, const struct sent_item *item);

/* Another part of the newest item. */
void sender_part(struct connection *conn, int64_t bytes, uint32_t flags);

/* Send the FIN after all that waits. */
void sender_finish(struct connection *conn);

/* No more items; true if the limit of items is reached. */
bool sender_at_limit(const struct sender *sender);
void sender_end(struct sender *sender);

/* Send what the kernel takes. */
void sender_flush(struct connection *conn);

/* An error that ends the flow. */
void sender_fail(struct sender *sender, const char *what, int error);

#endif /* FLOWGEN_SENDER_H */
