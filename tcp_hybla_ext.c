// SPDX-License-Identifier: GPL-2.0
/*
 * TCP Hybla: congestion control whose sending rate does not depend on the
 * round trip time.
 *
 *   rho = RTT / RTT0, at least 1                              (5)
 *   W += 2^rho - 1     per segment, slow start                (9)
 *   W += rho^2 / W     per segment, congestion avoidance      (9)
 *
 * Initial window and initial slow start threshold are rho times those of the
 * reference connection with round trip RTT0. The bandwidth that the spacing of
 * the first ACKs shows sets the initial threshold (section 3.3.1); packet
 * spacing (section 3.3.2) is left to the stack's pacing. With rho = 1 the
 * window is Reno's.
 *
 * Differences from the paper
 *  - The increments are per acknowledged segment, not per ACK: delayed or
 *    thinned ACKs do not slow the window.
 *  - The initial window is at least the kernel's; rho times init_cwnd segments
 *    only while the segments are paced.
 *  - 2^rho - 1 stops at 2^15 segments; ssthresh bounds the window long before.
 *  - ssthresh from the ACK spacing replaces rho * init_ssthresh in both
 *    directions, once, in the first slow start. Until it is known (some six
 *    segments) slow start is Reno's: by 2^rho - 1 a single ACK would pass it.
 *  - Above that threshold the window grows as Reno's until the first loss
 *    (settle=0 restores the paper). By rho^2 = 576 segments per round trip of
 *    600 ms it fills a buffer within a round once the pipe is full: 10 Mbit/s
 *    with half a bandwidth-delay product of buffer lost 20 % of all packets.
 *
 * ss -ti: vegas enabled = rho is above 1, rttcnt = rho in hundredths, rtt and
 * minrtt in microseconds.
 *
 * Reference
 *   Caini, Firrincieli: TCP Hybla: a TCP enhancement for heterogeneous
 *   networks. Int. J. Satell. Commun. Network. 2004; 22:547-566.
 */
#include <linux/module.h>
#include <net/tcp.h>

#include "hetcc/cc_info.h"
#include "hetcc/cc_param.h"
#include "hetcc/est_rho.h"
#include "hetcc/est_ssthresh.h"

#define HYBLA_MIN_CWND	2U
/* A train this long without an estimate (all ACKs at once) never gives one */
#define HYBLA_TRAIN_MAX_PKTS	64U

HETCC_PARAM_UINT(rtt0_ms, 25, 1, 500,
		 "round trip of the reference connection (ms, 1..500, paper 25)");
HETCC_PARAM_UINT(init_cwnd, 1, 1, 100,
		 "initial window of the reference connection (segments, 1..100, paper 1)");
HETCC_PARAM_UINT(init_ssthresh, 32, 2, 65536,
		 "initial ssthresh of the reference connection (segments, 2..65536, default 32)");
HETCC_PARAM_UINT(hoe, 1, 0, 1,
		 "initial ssthresh from the spacing of the first ACKs (0, 1)");
HETCC_PARAM_UINT(settle, 1, 0, 1,
		 "1: above that threshold grow as Reno until the first loss, 0: by rho^2 at once (paper)");
HETCC_PARAM_UINT(srtt, 0, 0, 1,
		 "rho from 0: the minimum round trip (paper, 7.2), 1: the smoothed one");
HETCC_PARAM_UINT(pacing, 1, 0, 1, "packet spacing (0, 1)");

/**
 * struct hybla - state of a connection
 * @rho: normalised round trip time and carried increments
 * @train: ACK train of the first slow start
 * @delivered: tp->delivered at the previous ACK
 * @rtt_min_us: smallest round trip of the connection, U32_MAX before the first
 * @rtt_us: latest round trip
 * @first: in the first slow start, initial ssthresh still to be estimated
 * @settled: ssthresh is the estimated bandwidth-delay product, nothing lost yet
 */
struct hybla {
	struct hetcc_rho rho;
	struct hetcc_train train;
	u32 delivered;
	u32 rtt_min_us;
	u32 rtt_us;
	bool first;
	bool settled;
};

static void hybla_update_rho(struct sock *sk)
{
	struct hybla *h = inet_csk_ca(sk);
	u32 rtt_us = READ_ONCE(srtt) ? tcp_sk(sk)->srtt_us >> 3 : h->rtt_min_us;

	if (rtt_us && rtt_us != U32_MAX)
		hetcc_rho_set(&h->rho, rtt_us,
			      READ_ONCE(rtt0_ms) * USEC_PER_MSEC);
}

/* Initial window and threshold of a connection that has sent nothing yet */
static void hybla_scale_start(struct sock *sk)
{
	struct hybla *h = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	if (READ_ONCE(pacing))
		cwnd = max(cwnd, hetcc_rho_scale(&h->rho,
						 READ_ONCE(init_cwnd)));
	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
	if (tcp_in_initial_slowstart(tp))
		WRITE_ONCE(tp->snd_ssthresh,
			   hetcc_rho_scale(&h->rho, READ_ONCE(init_ssthresh)));
	h->first = READ_ONCE(hoe);
}

static void hybla_init(struct sock *sk)
{
	struct hybla *h = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	memset(h, 0, sizeof(*h));
	h->delivered = tp->delivered;
	/* The handshake has measured the round trip; ~0 if it could not */
	h->rtt_min_us = tcp_min_rtt(tp) ? : U32_MAX;
	hetcc_rho_set(&h->rho, 0, 1);
	hybla_update_rho(sk);
	if (READ_ONCE(pacing))
		hetcc_want_pacing(sk);
	if (hetcc_is_fresh(tp))
		hybla_scale_start(sk);
}

/* Section 3.3.1: threshold from the spacing of the first ACKs */
static void hybla_estimate_ssthresh(struct sock *sk, u32 pkts)
{
	struct hybla *h = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 bdp;

	if (!tcp_in_slow_start(tp)) {
		h->first = false;
		return;
	}
	bdp = hetcc_train_ack(&h->train, (u32)tp->tcp_mstamp, pkts,
			      h->rtt_min_us);
	if (!bdp) {
		h->first = h->train.pkts < HYBLA_TRAIN_MAX_PKTS;
		return;
	}
	WRITE_ONCE(tp->snd_ssthresh,
		   clamp(bdp, HYBLA_MIN_CWND, tp->snd_cwnd_clamp));
	h->first = false;
	h->settled = READ_ONCE(settle);
}

static void hybla_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct hybla *h = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 pkts = tp->delivered - h->delivered;

	h->delivered = tp->delivered;
	if (sample->rtt_us > 0) {
		h->rtt_us = sample->rtt_us;
		h->rtt_min_us = min(h->rtt_min_us, h->rtt_us);
	}
	hybla_update_rho(sk);
	if (h->first && pkts)
		hybla_estimate_ssthresh(sk, pkts);
}

/* Return: segments that slow start did not use up */
static u32 hybla_slow_start(struct sock *sk, u32 acked)
{
	struct hybla *h = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	cwnd += hetcc_rho_ss(&h->rho, tp->snd_ssthresh - cwnd, &acked);
	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
	return acked;
}

static void hybla_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct hybla *h = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u64 cwnd;

	/* 2^rho - 1 reaches any threshold with one ACK: first know the threshold */
	if (h->rho.rho == HETCC_RHO_ONE || h->first) {
		tcp_reno_cong_avoid(sk, ack, acked);
		return;
	}
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = hybla_slow_start(sk, acked);
		if (!acked)
			return;
	}
	if (h->settled) {
		tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp), acked);
		return;
	}
	cwnd = (u64)tcp_snd_cwnd(tp) +
	       hetcc_rho_ca(&h->rho, tcp_snd_cwnd(tp), acked);
	tcp_snd_cwnd_set(tp, min_t(u64, cwnd, tp->snd_cwnd_clamp));
}

static u32 hybla_ssthresh(struct sock *sk)
{
	struct hybla *h = inet_csk_ca(sk);

	h->first = false;
	h->settled = false;
	h->rho.frac = 0;
	h->rho.rem = 0;
	return tcp_reno_ssthresh(sk);
}

static size_t hybla_get_info(struct sock *sk, u32 ext, int *attr,
			     union tcp_cc_info *info)
{
	const struct hybla *h = inet_csk_ca(sk);

	return hetcc_fill_vegas(ext, attr, info, h->rho.rho > HETCC_RHO_ONE,
				hetcc_mul_div(h->rho.rho, 100, HETCC_RHO_ONE),
				h->rtt_us, h->rtt_min_us);
}

static struct tcp_congestion_ops hybla_ext_ops __read_mostly = {
	.name		= "hybla_ext",
	.owner		= THIS_MODULE,
	.init		= hybla_init,
	.ssthresh	= hybla_ssthresh,
	.cong_avoid	= hybla_cong_avoid,
	.pkts_acked	= hybla_pkts_acked,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.get_info	= hybla_get_info,
};

static int __init hybla_register(void)
{
	BUILD_BUG_ON(sizeof(struct hybla) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&hybla_ext_ops);
}

static void __exit hybla_unregister(void)
{
	tcp_unregister_congestion_control(&hybla_ext_ops);
}

module_init(hybla_register);
module_exit(hybla_unregister);

MODULE_AUTHOR("The hetcc authors");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP Hybla: round trip time independent congestion control");
MODULE_VERSION("0.1");
