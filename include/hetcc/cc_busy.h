/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The bandwidth estimator of bw_busy.h, fed from a socket.
 */
#ifndef HETCC_CC_BUSY_H
#define HETCC_CC_BUSY_H

#include <net/tcp.h>

#include "bw_busy.h"

/**
 * cc_busy_add() - account for one ACK
 * @tp: socket
 * @b: estimator
 * @a: round trips, thresholds and weight; what @tp knows is filled in
 * @pkts: segments newly delivered
 * @lost: segments newly judged lost
 * @back_us: so long the ACK waited on its way back
 */
static inline void cc_busy_add(const struct tcp_sock *tp, struct bw_busy *b,
			       struct bw_busy_ack *a, u32 pkts, u32 lost,
			       u32 back_us)
{
	a->now_us = (u32)tp->tcp_mstamp - back_us;
	/* Never before the ACK before it: a wait is known to a tick or two */
	if (b->running && (s32)(a->now_us - b->ack_us) < 0)
		a->now_us = b->ack_us;
	a->bytes = fixed_sat_u32((u64)pkts * tp->mss_cache);
	a->lost = fixed_sat_u32((u64)lost * tp->mss_cache);
	a->limited = !!tp->app_limited;
	bw_busy_add(b, a);
	if (!tp->packets_out)
		bw_busy_pause(b);
}

#endif /* HETCC_CC_BUSY_H */
