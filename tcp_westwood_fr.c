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
 * Differences from the paper
 *  - A loss never raises the window at once (jump=1 restores it). Where
 *    BWE * RTTmin / a exceeds cwnd, ssthresh takes it after recovery and slow
 *    start carries the window there; a jump sends the difference as one burst
 *    (10 Mbit/s, 600 ms, 0.5 % loss: +12 % goodput, 2500 drops instead of 60).
 *  - Delivered data is counted from the stack's delivery counter, selective and
 *    duplicate ACKs included, so no average segment size is guessed.
 *  - A sample during which the application limited the sender can raise BWE
 *    but not lower it; idle time does not count.
 *  - ECN-Echo is answered like three duplicate ACKs.
 *
 * ss -ti: vegas enabled = an estimate exists, rttcnt = BWE in kbyte/s, rtt and
 * minrtt in microseconds.
 *
 * Reference
 *   Casetti, Gerla, Lee, Mascolo, Sanadidi: TCP with Faster Recovery. MILCOM 2000.
 */
#include <linux/module.h>
#include <net/tcp.h>

#include "hetcc/cc_info.h"
#include "hetcc/cc_param.h"
#include "hetcc/est_bwe.h"

#define WESTWOOD_MIN_CWND	2U

HETCC_PARAM_MILLI(alpha, 800, 0, 999,
		  "weight of the old bandwidth estimate (0..0.999, paper 0.8)");
HETCC_PARAM_MILLI(a, 1000, 1000, 16000,
		  "reduction factor of the window after a loss (1..16; the paper: 1 for few, 2 for many connections)");
HETCC_PARAM_MILLI(span, 0, 0, 4000,
		  "shortest bandwidth sample in minimum round trips (0..4, paper 0: every ACK)");
HETCC_PARAM_UINT(min_rtt_ms, 0, 0, 10000,
		 "below this minimum round trip halve as Reno does (ms, 0..10000, 0: never)");
HETCC_PARAM_UINT(gfr_ms, 500, 1, 60000,
		 "GFR: interval between looks at ssthresh (ms, 1..60000, paper 500)");
HETCC_PARAM_UINT(jump, 0, 0, 1,
		 "1: a loss may raise the window at once (paper), 0: by slow start");

/**
 * struct westwood - state of a connection
 * @bwe: bandwidth estimator
 * @delivered: tp->delivered at the previous ACK
 * @rtt_min_us: smallest round trip of the connection, U32_MAX before the first
 * @rtt_us: latest round trip
 * @target: window that the last loss asked for, segments
 * @gfr_stamp_us: time of GFR's last look, lower 32 bits of tcp_mstamp
 */
struct westwood {
	struct hetcc_bwe bwe;
	u32 delivered;
	u32 rtt_min_us;
	u32 rtt_us;
	u32 target;
	u32 gfr_stamp_us;
};

static void westwood_init(struct sock *sk)
{
	struct westwood *w = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	memset(w, 0, sizeof(*w));
	w->delivered = tp->delivered;
	w->rtt_min_us = U32_MAX;
	w->gfr_stamp_us = (u32)tp->tcp_mstamp;
}

static u32 westwood_bdp(const struct sock *sk, u32 a_milli)
{
	const struct westwood *w = inet_csk_ca(sk);

	return hetcc_bdp_pkts(hetcc_bwe_get(&w->bwe), w->rtt_min_us,
			      tcp_sk(sk)->mss_cache, a_milli);
}

static bool westwood_has_estimate(const struct westwood *w)
{
	return hetcc_bwe_get(&w->bwe) && w->rtt_min_us != U32_MAX;
}

/* The paper's own remedy for short paths: "turning off" faster recovery */
static bool westwood_is_short(const struct westwood *w)
{
	return w->rtt_min_us < READ_ONCE(min_rtt_ms) * USEC_PER_MSEC;
}

static void westwood_pkts_acked(struct sock *sk,
				const struct ack_sample *sample)
{
	struct westwood *w = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 pkts = tp->delivered - w->delivered;
	u32 interval_us = 0;

	w->delivered = tp->delivered;
	if (sample->rtt_us > 0) {
		w->rtt_us = sample->rtt_us;
		w->rtt_min_us = min(w->rtt_min_us, w->rtt_us);
	}
	if (w->rtt_min_us != U32_MAX)
		interval_us = hetcc_mul_div(w->rtt_min_us, READ_ONCE(span),
					    HETCC_MILLI);
	hetcc_bwe_ack(&w->bwe, (u32)tp->tcp_mstamp,
		      hetcc_sat_u32((u64)pkts * tp->mss_cache), interval_us,
		      READ_ONCE(alpha), !!tp->app_limited);
	if (!tp->packets_out)
		hetcc_bwe_pause(&w->bwe);
}

static u32 westwood_ssthresh(struct sock *sk)
{
	struct westwood *w = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	w->target = 0;
	if (!westwood_has_estimate(w) || westwood_is_short(w))
		return max(cwnd >> 1, WESTWOOD_MIN_CWND);
	w->target = max(westwood_bdp(sk, READ_ONCE(a)), WESTWOOD_MIN_CWND);
	return min(w->target, max(cwnd, WESTWOOD_MIN_CWND));
}

/* ssthresh above cwnd: slow start follows */
static void westwood_raise_ssthresh(struct sock *sk, u32 ssthresh)
{
	struct tcp_sock *tp = tcp_sk(sk);

	ssthresh = min(ssthresh, tp->snd_cwnd_clamp);
	if (ssthresh > tp->snd_ssthresh)
		WRITE_ONCE(tp->snd_ssthresh, ssthresh);
}

static void westwood_set_state(struct sock *sk, u8 new_state)
{
	const struct westwood *w = inet_csk_ca(sk);

	if (new_state == TCP_CA_Loss && w->target)
		westwood_raise_ssthresh(sk, w->target);
}

static void westwood_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct westwood *w = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (event != CA_EVENT_COMPLETE_CWR || !w->target)
		return;
	westwood_raise_ssthresh(sk, w->target);
	if (READ_ONCE(jump))
		tcp_snd_cwnd_set(tp, max(tcp_snd_cwnd(tp), tp->snd_ssthresh));
	w->target = 0;
}

static u32 westwood_undo_cwnd(struct sock *sk)
{
	struct westwood *w = inet_csk_ca(sk);

	w->target = 0;
	return tcp_reno_undo_cwnd(sk);
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
	if (!westwood_has_estimate(w) || westwood_is_short(w))
		return;
	bdp = westwood_bdp(sk, HETCC_MILLI);
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
	u32 kbyte_s = hetcc_sat_u32(div_u64(hetcc_bwe_get(&w->bwe), 1000));

	return hetcc_fill_vegas(ext, attr, info, westwood_has_estimate(w),
				kbyte_s, w->rtt_us, w->rtt_min_us);
}

static struct tcp_congestion_ops westwood_fr_ops __read_mostly = {
	.name		= "westwood_fr",
	.owner		= THIS_MODULE,
	.init		= westwood_init,
	.ssthresh	= westwood_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.set_state	= westwood_set_state,
	.cwnd_event	= westwood_cwnd_event,
	.pkts_acked	= westwood_pkts_acked,
	.undo_cwnd	= westwood_undo_cwnd,
	.get_info	= westwood_get_info,
};

static struct tcp_congestion_ops westwood_gfr_ops __read_mostly = {
	.name		= "westwood_gfr",
	.owner		= THIS_MODULE,
	.init		= westwood_init,
	.ssthresh	= westwood_ssthresh,
	.cong_avoid	= westwood_gfr_cong_avoid,
	.set_state	= westwood_set_state,
	.cwnd_event	= westwood_cwnd_event,
	.pkts_acked	= westwood_pkts_acked,
	.undo_cwnd	= westwood_undo_cwnd,
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
MODULE_DESCRIPTION("TCP with faster recovery: FR-TCP and GFR-TCP");
MODULE_VERSION("0.1");
