/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connections of a workload's sender.
 */
#ifndef FLOWGEN_CONNECTION_H
#define FLOWGEN_CONNECTION_H

#include <stdint.h>

#include "sender.h"

/* What epoll reported of a connection. */
void connection_event(struct connection *conn, uint32_t events);

/* Free those that are closed. */
void connections_sweep(struct sender *sender);

/* Reset and close all. */
void connections_abort(struct sender *sender);

/* Add what the kernel counted of a connection. */
void totals_add(struct totals *totals, int fd);

#endif /* FLOWGEN_CONNECTION_H */
