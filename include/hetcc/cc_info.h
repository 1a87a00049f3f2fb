/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the modules report to inet_diag (ss -ti).
 */
#ifndef HETCC_CC_INFO_H
#define HETCC_CC_INFO_H

#include <linux/inet_diag.h>
#include <net/tcp.h>

/**
 * cc_info_vegas() - fill in tcpvegas_info
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
static inline size_t cc_info_vegas(u32 ext, int *attr,
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

/* Gains are Q8; windows count as less than 2^24 segments */
#define CC_INFO_GAIN_SHIFT	8
#define CC_INFO_WINDOW_MAX	(((u32)1 << 24) - 1)

/* Pacing rate divided by a window a smoothed round trip; 0: nothing is paced */
static inline u32 cc_info_pacing_gain(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 rate = READ_ONCE(sk->sk_pacing_rate), base;
	/* A reader has no lock, and a disconnect makes it 0 */
	u32 srtt_us = READ_ONCE(tp->srtt_us);

	if (READ_ONCE(sk->sk_pacing_status) == SK_PACING_NONE || !srtt_us)
		return 0;
	/* 2^16 * 2^24 * 2^23 < 2^63; srtt_us has 3 more bits */
	base = div_u64((u64)tp->mss_cache *
		       min_t(u32, tcp_snd_cwnd(tp), CC_INFO_WINDOW_MAX) *
		       (USEC_PER_SEC << 3), srtt_us);
	rate = min_t(u64, rate, U64_MAX >> CC_INFO_GAIN_SHIFT);
	return min_t(u64, div64_u64(rate << CC_INFO_GAIN_SHIFT, max_t(u64, base, 1)),
		     U32_MAX);
}

/* Window divided by what the pipe holds, at least 1/256; 0: not known */
static inline u32 cc_info_cwnd_gain(const struct tcp_sock *tp, u32 pkts_ns,
				    u32 minrtt_us)
{
	u64 window = min_t(u32, tcp_snd_cwnd(tp), CC_INFO_WINDOW_MAX);
	u64 gain;

	if (!pkts_ns || !minrtt_us)
		return 0;
	/* 2^24 * 2^8 * 2^32 */
	gain = div_u64((window << CC_INFO_GAIN_SHIFT) * pkts_ns, NSEC_PER_USEC);
	return clamp_t(u64, div_u64(gain, minrtt_us), 1, U32_MAX);
}

/**
 * cc_info_bbr() - fill in tcp_bbr_info
 * @sk: socket
 * @ext: extensions that were asked for; eight bits of netlink have no room for
 *	INET_DIAG_BBRINFO, so who asks for Vegas's gets it as well, as from tcp_bbr
 * @attr: attribute to be set
 * @info: to be filled
 * @pkts_ns: service time of a packet at the bottleneck, ns, 0: not known
 * @minrtt_us: round trip of the empty path, us, U32_MAX: not known
 * @pipe: the window is meant to be a multiple of what the pipe holds
 *
 * bw: the rate of the bottleneck, bytes/s of payload, 0: not known; min_rtt: us;
 * pacing_gain and cwnd_gain as they are now, measured, not aimed at; cwnd_gain is 0
 * where @pipe is false.
 *
 * Return: bytes of @info that are valid, 0 if this was not asked for.
 */
static inline size_t cc_info_bbr(const struct sock *sk, u32 ext, int *attr,
				 union tcp_cc_info *info, u32 pkts_ns,
				 u32 minrtt_us, bool pipe)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 bw;

	if (!(ext & (1 << (INET_DIAG_BBRINFO - 1) |
		     1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	if (minrtt_us == U32_MAX)
		minrtt_us = 0;
	/* 2^16 * 10^9 < 2^46 */
	bw = pkts_ns ? div_u64((u64)tp->mss_cache * NSEC_PER_SEC, pkts_ns) : 0;
	info->bbr = (struct tcp_bbr_info){
		.bbr_bw_lo = (u32)bw,
		.bbr_bw_hi = (u32)(bw >> 32),
		.bbr_min_rtt = minrtt_us,
		.bbr_pacing_gain = cc_info_pacing_gain(sk),
		.bbr_cwnd_gain = pipe ? cc_info_cwnd_gain(tp, pkts_ns, minrtt_us) : 0,
	};
	*attr = INET_DIAG_BBRINFO;
	return sizeof(struct tcp_bbr_info);
}

#endif /* HETCC_CC_INFO_H */
