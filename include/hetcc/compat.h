/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One spelling for what differs between the kernels the modules build on
 * (6.1, 6.12, 7.2). Probes come from Kbuild as HETCC_HAVE_*.
 */
#ifndef HETCC_COMPAT_H
#define HETCC_COMPAT_H

#include <net/tcp.h>

/* Microsecond timestamps, since 6.7: both directions of a Linux path use them
 * where the route says so.
 */
static inline bool hetcc_usec_ts(const struct tcp_sock *tp)
{
#ifdef HETCC_HAVE_TCP_USEC_TS
	return tp->tcp_usec_ts;
#else
	return false;
#endif
}

#endif /* HETCC_COMPAT_H */
