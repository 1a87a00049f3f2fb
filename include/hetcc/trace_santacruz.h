/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What tcp_santacruz sees and decides: events/santacruz in tracefs, or
 * "hetlab run --trace".
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM santacruz

#if !defined(HETCC_TRACE_SANTACRUZ_H) || defined(TRACE_HEADER_MULTI_READ)
#define HETCC_TRACE_SANTACRUZ_H

#include <linux/tracepoint.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>

/**
 * interval - a window of data is over, and says how long the queue is
 * @sk: socket
 * @n: packets in the bottleneck queue, Q8
 * @d_us: D, mean relative delay of the interval above the smallest ever seen
 * @pkts_ns: pktS, service time of a packet at the bottleneck; 0: not known yet
 * @grew: consecutive intervals in which the queue grew, 0..2
 * @source: enum santacruz_source, where the receive times come from
 * @mode: enum santacruz_mode, what the window does over the next interval
 */
TRACE_EVENT(interval,
	    TP_PROTO(const struct sock *sk, s32 n, s32 d_us, u32 pkts_ns,
		     u8 grew, u8 source, u8 mode),
	    TP_ARGS(sk, n, d_us, pkts_ns, grew, source, mode),
	    TP_STRUCT__entry(__field(u16, family)
			     __field(u16, sport)
			     __field(u16, dport)
			     __field(u8, grew)
			     __field(u8, source)
			     __field(u8, mode)
			     __field(s32, n_q8_pkts)
			     __field(s32, d_us)
			     __field(u32, pkts_ns)
			     __field(u32, cwnd_pkts)),
	    TP_fast_assign(__entry->family = sk->sk_family;
			   __entry->sport = ntohs(inet_sk(sk)->inet_sport);
			   __entry->dport = ntohs(inet_sk(sk)->inet_dport);
			   __entry->grew = grew;
			   __entry->source = source;
			   __entry->mode = mode;
			   __entry->n_q8_pkts = n;
			   __entry->d_us = d_us;
			   __entry->pkts_ns = pkts_ns;
			   __entry->cwnd_pkts = tcp_snd_cwnd(tcp_sk(sk));),
	    TP_printk("family=%s sport=%u dport=%u n_q8_pkts=%d d_us=%d pkts_ns=%u cwnd_pkts=%u grew=%u source=%s mode=%s",
		      __print_symbolic(__entry->family,
				       { AF_INET, "ipv4" },
				       { AF_INET6, "ipv6" }),
		      __entry->sport, __entry->dport, __entry->n_q8_pkts,
		      __entry->d_us, __entry->pkts_ns, __entry->cwnd_pkts,
		      __entry->grew,
		      __print_symbolic(__entry->source,
				       { 0, "rtt" },
				       { 1, "timestamps" },
				       { 2, "option" }),
		      __print_symbolic(__entry->mode,
				       { 0, "hold" },
				       { 1, "raise" },
				       { 2, "lower" }))
);

/**
 * loss - the stack asks what a loss or an ECN mark means for the window
 * @sk: socket
 * @n: packets in the bottleneck queue at the end of the last interval, Q8
 * @grew: consecutive intervals in which the queue grew, 0..2
 * @congestive: true: congestion, the window is halved; false: random, it stays
 *
 * Of all that asks, the retransmission timer alone has taken itself off
 * icsk_pending by then: that is a timeout. One during recovery does not ask.
 */
TRACE_EVENT(loss,
	    TP_PROTO(const struct sock *sk, s32 n, u8 grew, bool congestive),
	    TP_ARGS(sk, n, grew, congestive),
	    TP_STRUCT__entry(__field(u16, family)
			     __field(u16, sport)
			     __field(u16, dport)
			     __field(u8, grew)
			     __field(u8, congestive)
			     __field(u8, timeout)
			     __field(s32, n_q8_pkts)
			     __field(u32, cwnd_pkts)),
	    TP_fast_assign(__entry->family = sk->sk_family;
			   __entry->sport = ntohs(inet_sk(sk)->inet_sport);
			   __entry->dport = ntohs(inet_sk(sk)->inet_dport);
			   __entry->grew = grew;
			   __entry->congestive = congestive;
			   __entry->timeout = !inet_csk(sk)->icsk_pending;
			   __entry->n_q8_pkts = n;
			   __entry->cwnd_pkts = tcp_snd_cwnd(tcp_sk(sk));),
	    TP_printk("family=%s sport=%u dport=%u n_q8_pkts=%d cwnd_pkts=%u grew=%u congestive=%u timeout=%u",
		      __print_symbolic(__entry->family,
				       { AF_INET, "ipv4" },
				       { AF_INET6, "ipv6" }),
		      __entry->sport, __entry->dport, __entry->n_q8_pkts,
		      __entry->cwnd_pkts, __entry->grew, __entry->congestive,
		      __entry->timeout)
);

#endif /* HETCC_TRACE_SANTACRUZ_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH hetcc
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace_santacruz
#include <trace/define_trace.h>
