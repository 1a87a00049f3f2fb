/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sockets of TCP flows.
 */
#ifndef FLOWGEN_TCP_SOCKET_H
#define FLOWGEN_TCP_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "flow.h"

/*
 * A socket with the options of a sender, bound to its address and port if the
 * command line gives them (own_port).  The descriptor, or -1 after flow_error().
 */
int tcp_sender_socket(struct flow *flow, bool own_port);

/* A socket that listens at the receiver's port; -1 after flow_error(). */
int tcp_listen_socket(struct flow *flow, int backlog);

/* The highest low-water mark that the receive buffer has room for now, or 1. */
int64_t tcp_low_water_mark(const struct flow *flow, int fd);

/* -1 after flow_error(). */
int tcp_set_low_water_mark(struct flow *flow, int fd, int64_t mark);

/* End a connection at once: a RST, the queue dropped, a writer woken. */
void tcp_dissolve(int fd);

/* The error of a socket, 0 if there is none. */
int tcp_socket_error(int fd);

#define MAX_LOWAT	200000	/* enough for few wake-ups at any rate */

#endif /* FLOWGEN_TCP_SOCKET_H */
