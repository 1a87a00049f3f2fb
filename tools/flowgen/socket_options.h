/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Keys of a FLOW that are socket options with an integer.
 *
 * A line makes a member of struct flow (flow.h), a key of the command line
 * (flow_args.c) and, where it is given, a setsockopt() of TCP sockets before
 * connect() or listen(), in this order (tcp_socket.c); what it does to UDP
 * sockets stands in udp.c:
 *	X(key and member, to which flows it applies, level, option, min, max)
 */
#ifndef FLOWGEN_SOCKET_OPTIONS_H
#define FLOWGEN_SOCKET_OPTIONS_H

#define SENDER_OPTIONS(X)						\
	X(sndbuf, SEND, SOL_SOCKET, SO_SNDBUF, 1, 1 << 30)		\
	X(notsent_lowat, SEND_TCP, IPPROTO_TCP, TCP_NOTSENT_LOWAT, 1,	\
	  INT32_MAX)

#define RECEIVER_OPTIONS(X)						\
	X(rcvbuf, RECV, SOL_SOCKET, SO_RCVBUF, 1, 1 << 30)		\
	X(clamp, RECV_TCP, IPPROTO_TCP, TCP_WINDOW_CLAMP, 1, 1 << 30)

#endif /* FLOWGEN_SOCKET_OPTIONS_H */
