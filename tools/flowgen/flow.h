/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A flow of flowgen: what the command line asks for, and how far it has come.
 *
 * Every flow has a thread that blocks in system calls; the main thread takes
 * the samples and ends the flows whose time is up.  One lock, run.lock, guards
 * the run-time part of all flows and the output.
 */
#ifndef FLOWGEN_FLOW_H
#define FLOWGEN_FLOW_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>

#include "socket_options.h"
#include "workload_args.h"

#define DEFAULT_WRITE		262144
#define DEFAULT_PACKET_BYTES	1000

#define BITS_PER_MBIT	1e6
#define BITS_PER_BYTE	8

enum flow_role { ROLE_SEND, ROLE_RECV };
enum flow_proto { PROTO_TCP, PROTO_UDP };

enum flow_state {
	FLOW_WAITING,		/* for its start */
	FLOW_CONNECTING,	/* in connect() or accept() */
	FLOW_RUNNING,
	FLOW_OVER,		/* its last record is written */
};

union address {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_storage ss;
};

struct flow;

/* What the four combinations of role and protocol do differently. */
struct flow_ops {
	/* Make the socket, before t0; -1 after flow_error(). */
	int (*open)(struct flow *flow);
	/* The body of the flow's thread. */
	void *(*thread)(void *flow);
	/* The rest is called with run.lock held, for a flow that is running. */
	void (*sample)(struct flow *flow, int64_t t);
	void (*end)(struct flow *flow, int64_t t, const char *reason,
		    bool complete);
	/* Stop sending at once and wake the thread; NULL: nothing to do. */
	void (*abort)(struct flow *flow);
};

#define OPTION_MEMBER(_name, ...)	int64_t _name;

struct flow {
	/* From the command line; times in ns from t0, 0: see flowgen --help */
	char *role_text;
	char *proto_text;
	enum flow_role role;
	enum flow_proto proto;
	int64_t id;
	char *addr_text;
	char *src_text;
	char *netns;		/* path, NULL: that of the program */
	int64_t port;
	int64_t sport;
	int64_t start;
	int64_t duration;
	char *cc;
	int64_t bytes;
	int64_t write;
	double pace_mbit;
	int64_t rcvlowat;
	SENDER_OPTIONS(OPTION_MEMBER)
	RECEIVER_OPTIONS(OPTION_MEMBER)
	double rate_mbit;
	int64_t packet_bytes;
	int64_t on;
	int64_t off;
	struct workload_args work;	/* no name: bulk */

	union address addr;	/* destination, or where a receiver binds */
	union address src;
	const struct flow_ops *ops;
	int64_t stop_at;	/* when the main thread ends it */

	/* At run time */
	enum flow_state state;
	int fd;
	int64_t t_connect;
	int64_t t_start;

	/* UDP */
	int64_t packets;
	int64_t ip_bytes;
	int64_t highest;	/* counter, -1: none yet */
	int64_t refused;	/* sends answered by an ICMP error */
	int64_t foreign;	/* packets that are not flowgen's */

	/* Workloads */
	struct sender *sender;
	struct intake *intake;
	struct frames *frames;
};

struct run {
	pthread_mutex_t lock;
	int changed;		/* eventfd: a flow is over, or a signal came */
	int timer;		/* timerfd of the wait for it */
	FILE *out;
	int64_t t0;		/* absolute; all that follows is relative to it */
	int64_t until;
	int64_t sample_interval;	/* 0: no samples */
	unsigned int live;	/* flows whose end is waited for */
	bool failed;		/* an error record was written */
};

extern struct run run;

extern const struct flow_ops tcp_send_ops;
extern const struct flow_ops tcp_recv_ops;
extern const struct flow_ops udp_send_ops;
extern const struct flow_ops udp_recv_ops;
extern const struct flow_ops work_send_ops;
extern const struct flow_ops work_recv_ops;
extern const struct flow_ops media_send_ops;

/* Read a FLOW argument, the number-th one; exits when it is wrong. */
void flow_parse(struct flow *flow, int number, const char *text);

/* Now, relative to t0. */
int64_t run_time(void);

/*
 * A UDP receiver cannot tell when it is over, nor one that accepts connection
 * after connection, so nobody waits for them.
 */
static inline bool flow_is_passive(const struct flow *flow)
{
	return flow->role == ROLE_RECV &&
	       (flow->proto == PROTO_UDP || flow->work.name);
}

static inline socklen_t address_length(const union address *address)
{
	return address->sa.sa_family == AF_INET6 ? sizeof(address->in6) :
						   sizeof(address->in);
}

/*
 * The steps in the life of a flow.  None does anything when the flow is over,
 * so that a thread which wakes up because the main thread ended its flow need
 * not care.  They take run.lock, those with __ before the name expect it.
 */
bool flow_advance(struct flow *flow, enum flow_state state);
void flow_error(struct flow *flow, const char *what, int error);
void flow_end(struct flow *flow, const char *reason, bool complete);
void __flow_error(struct flow *flow, const char *what, int error);
void __flow_end(struct flow *flow, int64_t t, const char *reason,
		bool complete);

/*
 * setsockopt() with an integer, for a key of the command line that is not
 * given when it is 0; -1 after flow_error().
 */
int flow_set_option(struct flow *flow, int fd, int level, int option,
		    const char *name, int64_t value);

/* Close the socket of a flow that is over. */
void flow_close(struct flow *flow);

/* Bind to an address of this host; -1 after flow_error(). */
int flow_bind(struct flow *flow, int fd, const union address *address);

#endif /* FLOWGEN_FLOW_H */
