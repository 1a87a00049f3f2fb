/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's ends of the connections: sockets that listen, connect, write,
 * read, change their options and close.
 */
#ifndef SCFUZZ_APP_H
#define SCFUZZ_APP_H

#include <stddef.h>

#include "conn.h"

void app_open(void);
void app_close(void);

/* A port that is listened to */
uint16_t app_port(void);

/* Have the kernel connect to the port of a connection. */
void app_connect(struct conn *conn);

/* A handshake is over on the peer's side; app_accept() is to take it. */
void app_expect(const struct conn *conn);
void app_accept(void);

/* One thing that a program does with its socket */
void app_work(struct conn *conn);

/* The program's way to end a connection */
void app_end(struct conn *conn);

/* A listening socket, non-blocking */
int app_listen(uint16_t port);

/* What programs write, and where they read to */
#define APP_BUFFER	(256 << 10)
extern char app_buffer[APP_BUFFER];

#endif /* SCFUZZ_APP_H */
