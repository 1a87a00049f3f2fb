/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Steering the stack's proportional rate reduction (RFC 6937).
 */
#ifndef HETCC_CC_PRR_H
#define HETCC_CC_PRR_H

#include <net/tcp.h>

/**
 * hetcc_fill_recovery() - let the window grow by slow start during a recovery
 * @sk: socket
 * @pkts: segments that the current ACK says have left the path
 *
 * Where losses are sporadic one recovery follows another, and PRR lets the window
 * shrink by what is lost in each. While less is in flight than ssthresh allows,
 * its count of what may be sent is kept where it sends what was delivered, and as
 * much again.
 */
static inline void hetcc_fill_recovery(struct sock *sk, u32 pkts)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 flight = tcp_packets_in_flight(tp);

	if (inet_csk(sk)->icsk_ca_state == TCP_CA_Recovery &&
	    flight < tp->snd_ssthresh)
		tp->prr_delivered = tp->prr_out +
				    min(pkts, tp->snd_ssthresh - flight);
}

#endif /* HETCC_CC_PRR_H */
