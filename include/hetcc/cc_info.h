/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the three modules share towards the stack: inet_diag and pacing.
 */
#ifndef HETCC_CC_INFO_H
#define HETCC_CC_INFO_H

#include <linux/inet_diag.h>
#include <net/tcp.h>

/**
 * hetcc_fill_vegas() - answer inet_diag (ss -ti) with tcpvegas_info
 * @ext: extensions that were asked for
 * @attr: attribute to be set
 * @info: to be filled
 * @enabled: not 0: the module's estimator is in use on this connection
 * @count: what the module counts (its header says)
 * @rtt_us: latest round trip time
 * @minrtt_us: minimum round trip time
 *
 * Return: bytes of @info that are valid, 0 if this was not asked for.
 */
static inline size_t hetcc_fill_vegas(u32 ext, int *attr,
				      union tcp_cc_info *info, u32 enabled,
				      u32 count, u32 rtt_us, u32 minrtt_us)
{
	if (!(ext & (1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	info->vegas = (struct tcpvegas_info){
		.tcpv_enabled = enabled,
		.tcpv_rttcnt = count,
		.tcpv_rtt = rtt_us,
		.tcpv_minrtt = minrtt_us,
	};
	*attr = INET_DIAG_VEGASINFO;
	return sizeof(struct tcpvegas_info);
}

/**
 * hetcc_want_pacing() - let the stack space the segments of this connection
 * @sk: socket
 *
 * Stays on when the congestion control is changed later, as with BBR: the
 * stack has no way to tell who else asked for it.
 */
static inline void hetcc_want_pacing(struct sock *sk)
{
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

/* A connection that has sent nothing yet, not one that changes over to us */
static inline bool hetcc_is_fresh(const struct tcp_sock *tp)
{
	return !tp->data_segs_out;
}

/**
 * hetcc_pace() - pacing rate of a module that has the whole window
 * @sk: socket
 *
 * The stack's rule (sysctls tcp_pacing_ss_ratio and tcp_pacing_ca_ratio), but from
 * the window alone: in a recovery there are more segments out than that, and the
 * rate would be too high. 2^16 * 2^24 * 2^23 < 2^63.
 */
static inline void hetcc_pace(struct sock *sk)
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

#endif /* HETCC_CC_INFO_H */
