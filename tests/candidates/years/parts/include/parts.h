/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PARTS_H
#define PARTS_H
#include <net/tcp.h>

struct parts {
	u32 acked;
};

void parts_main(struct sock *sk, const struct rate_sample *rs);
u32 parts_step(struct parts *ca, u32 acked, u32 cwnd);
#endif
