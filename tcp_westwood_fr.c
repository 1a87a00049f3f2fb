// SPDX-License-Identifier: GPL-2.0
/*
 * TCP with faster recovery: FR-TCP ("westwood_fr") and GFR-TCP ("westwood_gfr").
 *
 * Reno, but a loss sets the window from the bandwidth that the ACKs show
 * instead of halving it:
 *
 *   sample_BWE = delivered / (now - lastacktime)          on every ACK
 *   BWE        = alpha * BWE + (1 - alpha) * sample_BWE
 *
 *   three duplicate ACKs:  ssthresh = (BWE * RTTmin) / a,  cwnd = ssthresh
 *   timeout:               ssthresh = (BWE * RTTmin) / a,  cwnd = 1
 *
 * GFR-TCP adds, every 500 ms (checked when an ACK arrives, no timer):
 *
 *   if ssthresh < cwnd < BWE * RTTmin:
 *           ssthresh += (BWE * RTTmin - ssthresh) / 2
 *
 * which takes the connection back into slow start while the pipe is not full.
 *
 * Departures from the paper, by the parameter that restores its rule. What each
 * gains is measured in docs/westwood_fr.md.
 *   estimator=0  samples where the bottleneck was busy with us (bw_busy.h)
 *   queue_ms=0   a loss beside a standing queue leaves beta of the window at most
 *   queue_ms=0   no queue: BWE is a lower bound, GFR takes twice the window
 *   jump=1       a loss never raises the window at once, but by slow start
 *   reroute=0    RTTmin follows a path that gets longer (minrtt.h)
 * Without a parameter:
 *  - ECN-Echo halves the window, as it says congestion;
 *  - delivered data is the stack's count, selective and duplicate ACKs included;
 *  - a sample while the application limits the sender cannot lower BWE;
 *  - idle time does not count.
 *
 * tcpvegas_info: enabled = an estimate exists, rttcnt = BWE in bytes/s, rtt
 * (smoothed) and minrtt in microseconds.
 *
 * Reference
 *   Casetti, Gerla, Lee, Mascolo, Sanadidi: TCP with Faster Recovery. MILCOM 2000.
 */
#include <linux/module.h>
#include <net/tcp.h>

#include "hetcc/bdp.h"
#include "hetcc/bw_ack.h"
#include "hetcc/cc_busy.h"
#include "hetcc/cc_info.h"
#include "hetcc/cc_param.h"
#include "hetcc/cc_window.h"
#include "hetcc/minrtt.h"
#include "hetcc/version.h"

CC_PARAM_MILLI(alpha, 800, 0, 999,
	       "weight of the old bandwidth estimate (0..0.999, paper 0.8); default 0.8");
CC_PARAM_MILLI(a, 1000, 1000, 16000,
	       "reduction factor of the window after a loss (1..16; the paper: 1 for few, 2 for many connections); default 1");
CC_PARAM_UINT(estimator, 1, 0, 1,
	      "bandwidth from 0: every ACK (paper), 1: times in which the bottleneck was busy; default 1");
CC_PARAM_MILLI(span, 0, 0, 4000,
	       "estimator 0: shortest sample in minimum round trips (0..4, paper 0: every ACK); default 0");
CC_PARAM_MILLI(train, 62, 0, 1000,
	       "estimator 1: shortest busy stretch in minimum round trips (0..1); default 0.062");
CC_PARAM_UINT(reroute, 1, 0, 1,
	      "RTTmin 1: follows the path, 0: of the whole connection (paper); default 1");
CC_PARAM_UINT(queue_ms, 4, 0, 1000,
	      "a loss beside a queue that stands longer is congestion (ms, 0..1000, paper 0: does not matter); default 4");
CC_PARAM_MILLI(beta, 700, 500, 1000,
	       "most of the window that congestion leaves (0.5..1, paper 1); default 0.7");
CC_PARAM_UINT(min_rtt_ms, 0, 0, 10000,
	      "below this minimum round trip halve as Reno does (ms, 0..10000, 0: never); default 0");
CC_PARAM_UINT(gfr_ms, 500, 1, 60000,
	      "GFR: interval between looks at ssthresh (ms, 1..60000, paper 500); default 500");
CC_PARAM_UINT(jump, 0, 0, 1,
	      "1: a loss may raise the window at once (paper), 0: by slow start; default 0");

/**
 * struct westwood - state of a connection
 * @bwe: the paper's bandwidth estimator
 * @busy: the other one
 * @minrtt: minimum round trip
 * @delivered: tp->delivered at the previous ACK
 * @lost: tp->lost at the previous ACK
 * @gfr_stamp_us: time of GFR's last look, lower 32 bits of tcp_mstamp
 * @paper: @bwe is in use, not @busy
 * @marked: the current ACK carries ECN-Echo
 */
struct westwood {
	union {
		struct bw_ack bwe;
		struct bw_busy busy;
	};
	struct minrtt minrtt;
	u32 delivered;
	u32 lost;
	u32 gfr_stamp_us;
	bool paper;
	bool marked;
};

static void westwood_init(struct sock *sk)
{
	struct westwood *w = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	memset(w, 0, sizeof(*w));
	minrtt_init(&w->minrtt);
	w->paper = !READ_ONCE(estimator);
	w->delivered = tp->delivered;
	w->lost = tp->lost;
	w->gfr_stamp_us = (u32)tp->tcp_mstamp;
}

/* Bytes per second, 0 while there is no estimate */
static u64 westwood_bwe(const struct westwood *w)
{
	return w->paper ? bw_ack_get(&w->bwe) : bw_busy_get(&w->busy);
}

static u32 westwood_bdp(const struct sock *sk, u32 a_milli)
{
	const struct westwood *w = inet_csk_ca(sk);

	return bdp_pkts(westwood_bwe(w), w->minrtt.min_us,
			tcp_sk(sk)->mss_cache, a_milli);
}

static bool westwood_has_estimate(const struct westwood *w)
{
	return westwood_bwe(w) && w->minrtt.min_us != MINRTT_NONE;
}

/* The paper's own remedy for short paths: "turning off" faster recovery */
static bool westwood_is_short(const struct westwood *w)
{
	return w->minrtt.min_us < READ_ONCE(min_rtt_ms) * USEC_PER_MSEC;
}

/* Part of the minimum round trip, from a parameter; 0 before the first */
static u32 westwood_part_us(const struct westwood *w, u32 part_milli)
{
	if (w->minrtt.min_us == MINRTT_NONE)
		return 0;
	return fixed_mul_div(w->minrtt.min_us, part_milli, FIXED_MILLI);
}

/* Waits up to this long count as no queue */
static u32 westwood_wait_us(const struct westwood *w)
{
	return cc_busy_wait_us(READ_ONCE(queue_ms), w->minrtt.min_us);
}

static void westwood_estimate_paper(struct sock *sk, u32 pkts)
{
	struct westwood *w = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 bytes = fixed_sat_u32((u64)pkts * tp->mss_cache);

	bw_ack_add(&w->bwe, (u32)tp->tcp_mstamp, bytes,
		   westwood_part_us(w, READ_ONCE(span)), READ_ONCE(alpha),
		   !!tp->app_limited);
	if (!tp->packets_out)
		bw_ack_pause(&w->bwe);
}

static void westwood_estimate_busy(struct sock *sk, u32 pkts, u32 lost,
				   u32 rtt_us)
{
	struct westwood *w = inet_csk_ca(sk);
	struct bw_busy_ack ack = {
		.rtt_us = rtt_us,
		.rtt_min_us = w->minrtt.min_us,
		.wait_us = westwood_wait_us(w),
		.train_us = westwood_part_us(w, READ_ONCE(train)),
		.alpha_permille = READ_ONCE(alpha),
	};

	cc_busy_add(tcp_sk(sk), &w->busy, &ack, pkts, lost);
}

static void westwood_pkts_acked(struct sock *sk,
				const struct ack_sample *sample)
{
	struct westwood *w = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 pkts = tp->delivered - w->delivered;
	u32 lost = tp->lost - w->lost;

	w->delivered = tp->delivered;
	w->lost = tp->lost;
	if (sample->rtt_us > 0)
		minrtt_add(&w->minrtt, (u32)tp->tcp_mstamp, sample->rtt_us);
	/* A timeout gives all up for lost, whatever became of it */
	if (inet_csk(sk)->icsk_ca_state == TCP_CA_Loss)
		lost = 0;
	if (!READ_ONCE(jump))
		cc_window_fill_recovery(sk, pkts + lost);
	if (w->paper)
		westwood_estimate_paper(sk, pkts);
	else
		westwood_estimate_busy(sk, pkts, lost, max(sample->rtt_us, 0));
}

static void westwood_in_ack_event(struct sock *sk, u32 flags)
{
	struct westwood *w = inet_csk_ca(sk);

	w->marked = !!(flags & CA_ACK_ECE);
}

static bool westwood_has_standing_queue(const struct westwood *w)
{
	return !w->paper && READ_ONCE(queue_ms) &&
	       bw_busy_standing_us(&w->busy) > westwood_wait_us(w);
}

/*
 * Above cwnd after a sporadic loss: the stack then lets the window grow by slow
 * start, in recovery (RFC 6937) and after it.
 */
static u32 westwood_ssthresh(struct sock *sk)
{
	struct westwood *w = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp), most = tp->snd_cwnd_clamp;

	if (westwood_has_standing_queue(w)) {
		most = fixed_mul_div(cwnd, READ_ONCE(beta), FIXED_MILLI);
		bw_busy_congested(&w->busy);
	}
	if (w->marked || !westwood_has_estimate(w) || westwood_is_short(w))
		return max(cwnd >> 1, CC_WINDOW_MIN);
	return clamp(westwood_bdp(sk, READ_ONCE(a)), CC_WINDOW_MIN,
		     max(most, CC_WINDOW_MIN));
}

/* The stack has set cwnd to ssthresh */
static void westwood_recovered(struct sock *sk)
{
	struct westwood *w = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 most = max3(tp->prior_cwnd, tcp_packets_in_flight(tp),
			CC_WINDOW_MIN);

	if (!READ_ONCE(jump))
		tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp), most));
	if (READ_ONCE(reroute) && tcp_snd_cwnd(tp) <= westwood_bdp(sk, FIXED_MILLI))
		minrtt_look(&w->minrtt, (u32)tp->tcp_mstamp, tp->srtt_us >> 3);
}

static void westwood_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_COMPLETE_CWR)
		westwood_recovered(sk);
}

/* ssthresh above cwnd: slow start follows */
static void westwood_raise_ssthresh(struct sock *sk, u32 ssthresh)
{
	struct tcp_sock *tp = tcp_sk(sk);

	ssthresh = min(ssthresh, tp->snd_cwnd_clamp);
	if (ssthresh > tp->snd_ssthresh)
		WRITE_ONCE(tp->snd_ssthresh, ssthresh);
}

static bool westwood_no_queue(const struct sock *sk)
{
	const struct westwood *w = inet_csk_ca(sk);

	return !w->paper && READ_ONCE(queue_ms) && tcp_is_cwnd_limited(sk) &&
	       bw_busy_no_queue(&w->busy);
}

static void westwood_gradual(struct sock *sk)
{
	struct westwood *w = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 now_us = (u32)tp->tcp_mstamp;
	u32 bdp;

	if (now_us - w->gfr_stamp_us < READ_ONCE(gfr_ms) * USEC_PER_MSEC)
		return;
	w->gfr_stamp_us = now_us;
	if (!westwood_has_estimate(w) || westwood_is_short(w) ||
	    westwood_has_standing_queue(w))
		return;
	bdp = westwood_bdp(sk, FIXED_MILLI);
	/* The estimate is then a lower bound */
	if (westwood_no_queue(sk))
		bdp = max(bdp, 2 * tcp_snd_cwnd(tp));
	if (tcp_snd_cwnd(tp) > tp->snd_ssthresh && tcp_snd_cwnd(tp) < bdp)
		westwood_raise_ssthresh(sk, tp->snd_ssthresh +
					    (bdp - tp->snd_ssthresh) / 2);
}

static void westwood_gfr_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	westwood_gradual(sk);
	tcp_reno_cong_avoid(sk, ack, acked);
}

static size_t westwood_get_info(struct sock *sk, u32 ext, int *attr,
				union tcp_cc_info *info)
{
	const struct westwood *w = inet_csk_ca(sk);

	return cc_info_vegas(ext, attr, info, westwood_has_estimate(w),
			     fixed_sat_u32(westwood_bwe(w)),
			     tcp_sk(sk)->srtt_us >> 3, w->minrtt.min_us);
}

static struct tcp_congestion_ops westwood_fr_ops __read_mostly = {
	.name		= "westwood_fr",
	.owner		= THIS_MODULE,
	.init		= westwood_init,
	.ssthresh	= westwood_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.in_ack_event	= westwood_in_ack_event,
	.cwnd_event	= westwood_cwnd_event,
	.pkts_acked	= westwood_pkts_acked,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.get_info	= westwood_get_info,
};

static struct tcp_congestion_ops westwood_gfr_ops __read_mostly = {
	.name		= "westwood_gfr",
	.owner		= THIS_MODULE,
	.init		= westwood_init,
	.ssthresh	= westwood_ssthresh,
	.cong_avoid	= westwood_gfr_cong_avoid,
	.in_ack_event	= westwood_in_ack_event,
	.cwnd_event	= westwood_cwnd_event,
	.pkts_acked	= westwood_pkts_acked,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.get_info	= westwood_get_info,
};

static int __init westwood_register(void)
{
	int err;

	BUILD_BUG_ON(sizeof(struct westwood) > ICSK_CA_PRIV_SIZE);
	err = tcp_register_congestion_control(&westwood_fr_ops);
	if (err)
		return err;
	err = tcp_register_congestion_control(&westwood_gfr_ops);
	if (err)
		tcp_unregister_congestion_control(&westwood_fr_ops);
	return err;
}

static void __exit westwood_unregister(void)
{
	tcp_unregister_congestion_control(&westwood_gfr_ops);
	tcp_unregister_congestion_control(&westwood_fr_ops);
}

module_init(westwood_register);
module_exit(westwood_unregister);

MODULE_AUTHOR("The hetcc authors");
MODULE_LICENSE("GPL");
MODULE_ALIAS("tcp_westwood_gfr");
MODULE_DESCRIPTION("TCP with faster recovery: FR-TCP and GFR-TCP");
MODULE_VERSION(HETCC_VERSION);
