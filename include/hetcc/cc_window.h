/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Window of a connection: the least one, pacing, losses, marks, idle time.
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

/**
 * cc_window_end_pacing() - segments may leave as their ACKs arrive
 * @sk: socket
 *
 * But where the user has set a rate, which only pacing holds.
 */
static inline void cc_window_end_pacing(struct sock *sk)
{
	if (READ_ONCE(sk->sk_max_pacing_rate) == ~0UL)
		cmpxchg(&sk->sk_pacing_status, SK_PACING_NEEDED,
			SK_PACING_NONE);
}

/* A connection that has sent nothing yet, not one that changes over to us */
static inline bool cc_window_is_fresh(const struct tcp_sock *tp)
{
	return !tp->data_segs_out;
}

/**
 * cc_window_pace_at() - pacing rate from the window alone
 * @sk: socket
 * @percent: of a window a round trip
 *
 * In a recovery there are more segments out than the window, and the stack's own rate
 * would be too high. 2^16 * 2^24 * 2^23 < 2^63.
 */
static inline void cc_window_pace_at(struct sock *sk, u32 percent)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 rate = (u64)tp->mss_cache * tcp_snd_cwnd(tp);

	if (!tp->srtt_us)
		return;
	rate = div_u64(rate * (USEC_PER_SEC << 3), tp->srtt_us);
	rate = div_u64(rate, 100) * percent;
	WRITE_ONCE(sk->sk_pacing_rate,
		   min_t(u64, rate, READ_ONCE(sk->sk_max_pacing_rate)));
}

/**
 * cc_window_pace() - pacing rate of a module that has the whole window
 * @sk: socket
 *
 * The stack's rule: sysctls tcp_pacing_ss_ratio and tcp_pacing_ca_ratio.
 */
static inline void cc_window_pace(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct netns_ipv4 *net = &sock_net(sk)->ipv4;

	cc_window_pace_at(sk, tcp_snd_cwnd(tp) < tp->snd_ssthresh / 2 ?
			  READ_ONCE(net->sysctl_tcp_pacing_ss_ratio) :
			  READ_ONCE(net->sysctl_tcp_pacing_ca_ratio));
}

/**
 * cc_window_has_room() - is there more in the window than is out?
 * @tp: socket
 * @pkts: segments that the ACK of now has delivered
 *
 * Return: the window has grown faster than segments may leave.
 */
static inline bool cc_window_has_room(const struct tcp_sock *tp, u32 pkts)
{
	return tcp_packets_in_flight(tp) + pkts < tcp_snd_cwnd(tp);
}

/**
 * cc_window_lost() - segments lost since the latest look
 * @tp: socket
 * @seen: lower 8 bits of tp->lost at that look
 * @reported: those that the ACK of now has found (rate_sample.losses), 0 or more
 *
 * What RACK's timer finds between two ACKs is in no rate sample. More than 127 of these
 * count as none, as does what an MTU probe has lost and forgets.
 *
 * Return: segments.
 */
static inline u32 cc_window_lost(const struct tcp_sock *tp, u8 seen, u32 reported)
{
	s8 found = tp->lost - seen - reported;

	return reported + max_t(s32, found, 0);
}

/**
 * cc_window_marked() - window after an ECN mark
 * @cwnd: window, segments
 *
 * A mark comes before the queue is full: RFC 8511 lets it take a fifth.
 *
 * Return: segments, at least CC_WINDOW_MIN.
 */
static inline u32 cc_window_marked(u32 cwnd)
{
	return max(cwnd - cwnd / 5, CC_WINDOW_MIN);
}

/**
 * cc_window_is_marked() - does the stack reduce the window whatever is missing?
 * @tp: socket, asked in .ssthresh or when a state begins
 *
 * The receiver is told that the mark was answered, with a loss at the same time, too. The
 * stack keeps no threshold for an undo then (RFC 3168, section 6.1.2). Nor is anything missing
 * after a loss that a probe has repaired (RFC 8985, section 7.4.2).
 *
 * Return: for a mark, a packet dropped on this host, or such a loss.
 */
static inline bool cc_window_is_marked(const struct tcp_sock *tp)
{
	return !tp->prior_ssthresh ||
	       !(tp->lost_out || tp->retrans_out || tp->sacked_out);
}

/**
 * cc_window_after_idle() - halve the window for each timeout without data (RFC 2861)
 * @sk: socket
 * @cwnd: window before it was silent, segments
 *
 * The stack leaves that to a module that has the whole window.
 *
 * Return: the window has changed.
 */
static inline bool cc_window_after_idle(struct sock *sk, u32 cwnd)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 idle = tcp_jiffies32 - tp->lsndtime, rto = inet_csk(sk)->icsk_rto;

	if (idle <= rto ||
	    !READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_slow_start_after_idle))
		return false;
	tcp_snd_cwnd_set(tp, cwnd);
	WRITE_ONCE(tp->snd_ssthresh, tcp_current_ssthresh(sk));
	for (; idle > rto && cwnd > TCP_INIT_CWND; idle -= rto)
		cwnd = max(cwnd / 2, TCP_INIT_CWND);
	tcp_snd_cwnd_set(tp, cwnd);
	return true;
}

/**
 * cc_window_repair() - let the retransmission of a new loss leave at once
 * @sk: socket
 * @lost: segments newly lost
 *
 * A window that was cut may be smaller than what is out, for up to half a round trip.
 */
static inline void cc_window_repair(struct sock *sk, u32 lost)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 flight = tcp_packets_in_flight(tp);

	if (lost && tcp_snd_cwnd(tp) <= flight)
		tcp_snd_cwnd_set(tp, flight + 1);
}

#endif /* HETCC_CC_WINDOW_H */
