/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Window of a connection: the least one, pacing, rate reduction (RFC 6937).
 */
#ifndef HETCC_CC_WINDOW_H
#define HETCC_CC_WINDOW_H

#include <net/tcp.h>

/* Segments */
#define CC_WINDOW_MIN	2U

/**
 * cc_window_want_pacing() - let the stack space the segments of this connection
 * @sk: socket
 *
 * Stays on when the congestion control is changed later, as with BBR: the
 * stack has no way to tell who else asked for it.
 */
static inline void cc_window_want_pacing(struct sock *sk)
{
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

/* A connection that has sent nothing yet, not one that changes over to us */
static inline bool cc_window_is_fresh(const struct tcp_sock *tp)
{
	return !tp->data_segs_out;
}

/**
 * cc_window_pace() - pacing rate of a module that has the whole window
 * @sk: socket
 *
 * The stack's rule (sysctls tcp_pacing_ss_ratio and tcp_pacing_ca_ratio), but from
 * the window alone: in a recovery there are more segments out than that, and the
 * rate would be too high. 2^16 * 2^24 * 2^23 < 2^63.
 */
static inline void cc_window_pace(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct netns_ipv4 *net = &sock_net(sk)->ipv4;
	u32 percent = tcp_snd_cwnd(tp) < tp->snd_ssthresh / 2 ?
		      READ_ONCE(net->sysctl_tcp_pacing_ss_ratio) :
		      READ_ONCE(net->sysctl_tcp_pacing_ca_ratio);
	u64 rate = (u64)tp->mss_cache * tcp_snd_cwnd(tp);

	if (!tp->srtt_us)
		return;
	rate = div_u64(rate * (USEC_PER_SEC << 3), tp->srtt_us);
	rate = div_u64(rate, 100) * percent;
	WRITE_ONCE(sk->sk_pacing_rate,
		   min_t(u64, rate, READ_ONCE(sk->sk_max_pacing_rate)));
}

/**
 * cc_window_fill_recovery() - let the window grow by slow start during a recovery
 * @sk: socket
 * @pkts: segments that the current ACK says have left the path
 *
 * Where losses are sporadic one recovery follows another, and PRR lets the window
 * shrink by what is lost in each. While less is in flight than ssthresh allows,
 * its count of what may be sent is kept where it sends what was delivered, and as
 * much again.
 */
static inline void cc_window_fill_recovery(struct sock *sk, u32 pkts)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 flight = tcp_packets_in_flight(tp);

	if (inet_csk(sk)->icsk_ca_state == TCP_CA_Recovery &&
	    flight < tp->snd_ssthresh)
		tp->prr_delivered = tp->prr_out +
				    min(pkts, tp->snd_ssthresh - flight);
}

#endif /* HETCC_CC_WINDOW_H */
