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
 * interval - a round trip is over, and says how long the queue is
 * @sk: socket
 * @n: packets in the bottleneck queue, Q8
 * @level_us: least delay of the round above the empty path; paper=1: sum of D since
 *	the connection began
 * @pkts_ns: pktS, service time of a packet at the bottleneck; 0: not known yet
 * @grew: paper=1: consecutive intervals in which the queue grew, 0..2; else 0
 * @competing: true: others fill the queue, the window is CUBIC's
 * @source: enum santacruz_source, where the receive times come from
 * @phase: enum santacruz_phase; paper=1: what the window does over the next interval
 */
TRACE_EVENT(interval,
	    TP_PROTO(const struct sock *sk, s32 n, s32 level_us, u32 pkts_ns,
		     u8 grew, bool competing, u8 source, u8 phase),
	    TP_ARGS(sk, n, level_us, pkts_ns, grew, competing, source, phase),
	    TP_STRUCT__entry(__field(u16, family)
			     __field(u16, sport)
			     __field(u16, dport)
			     __field(u8, grew)
			     __field(u8, competing)
			     __field(u8, source)
			     __field(u8, phase)
			     __field(s32, n_q8_pkts)
			     __field(s32, level_us)
			     __field(u32, pkts_ns)
			     __field(u32, cwnd_pkts)),
	    TP_fast_assign(__entry->family = sk->sk_family;
			   __entry->sport = ntohs(inet_sk(sk)->inet_sport);
			   __entry->dport = ntohs(inet_sk(sk)->inet_dport);
			   __entry->grew = grew;
			   __entry->competing = competing;
			   __entry->source = source;
			   __entry->phase = phase;
			   __entry->n_q8_pkts = n;
			   __entry->level_us = level_us;
			   __entry->pkts_ns = pkts_ns;
			   __entry->cwnd_pkts = tcp_snd_cwnd(tcp_sk(sk));),
	    TP_printk("family=%s sport=%u dport=%u n_q8_pkts=%d level_us=%d pkts_ns=%u cwnd_pkts=%u grew=%u competing=%u source=%s phase=%s",
		      __print_symbolic(__entry->family,
				       { AF_INET, "ipv4" },
				       { AF_INET6, "ipv6" }),
		      __entry->sport, __entry->dport, __entry->n_q8_pkts,
		      __entry->level_us, __entry->pkts_ns, __entry->cwnd_pkts,
		      __entry->grew, __entry->competing,
		      __print_symbolic(__entry->source,
				       { 0, "rtt" },
				       { 1, "timestamps" },
				       { 2, "option" }),
		      __print_symbolic(__entry->phase,
				       { 0, "startup" },
				       { 1, "steady" },
				       { 2, "drain" },
				       { 3, "hold" },
				       { 4, "raise" },
				       { 5, "lower" }))
);

/**
 * loss - packets were found lost: what that means for the window
 * @sk: socket
 * @n: packets in the bottleneck queue at the end of the last interval, Q8
 * @grew: as in interval
 * @competing: as in interval
 * @congestive: true: congestion, the window is reduced; false: random, it stays
 *
 * The retransmission timer alone has taken itself off icsk_pending by then: that is a
 * timeout.
 */
TRACE_EVENT(loss,
	    TP_PROTO(const struct sock *sk, s32 n, u8 grew, bool competing,
		     bool congestive),
	    TP_ARGS(sk, n, grew, competing, congestive),
	    TP_STRUCT__entry(__field(u16, family)
			     __field(u16, sport)
			     __field(u16, dport)
			     __field(u8, grew)
			     __field(u8, competing)
			     __field(u8, congestive)
			     __field(u8, timeout)
			     __field(s32, n_q8_pkts)
			     __field(u32, cwnd_pkts)),
	    TP_fast_assign(__entry->family = sk->sk_family;
			   __entry->sport = ntohs(inet_sk(sk)->inet_sport);
			   __entry->dport = ntohs(inet_sk(sk)->inet_dport);
			   __entry->grew = grew;
			   __entry->competing = competing;
			   __entry->congestive = congestive;
			   __entry->timeout = !inet_csk(sk)->icsk_pending;
			   __entry->n_q8_pkts = n;
			   __entry->cwnd_pkts = tcp_snd_cwnd(tcp_sk(sk));),
	    TP_printk("family=%s sport=%u dport=%u n_q8_pkts=%d cwnd_pkts=%u grew=%u competing=%u congestive=%u timeout=%u",
		      __print_symbolic(__entry->family,
				       { AF_INET, "ipv4" },
				       { AF_INET6, "ipv6" }),
		      __entry->sport, __entry->dport, __entry->n_q8_pkts,
		      __entry->cwnd_pkts, __entry->grew, __entry->competing,
		      __entry->congestive, __entry->timeout)
);

#endif /* HETCC_TRACE_SANTACRUZ_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH hetcc
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace_santacruz
#include <trace/define_trace.h>
