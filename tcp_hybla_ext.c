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
 * Departures from the paper, by the parameter that restores its rule. What each
 * gains is measured in docs/hybla_ext.md.
 *   response=0  loss events as the reference connection's, small steps (hybla_share.h)
 *   response=0  a loss where nothing waits is the link's: no cut, faster growth
 *   response=0  a path that gets longer is probed (minrtt_probe.h)
 *   response=0  after a timeout slow start doubles the window
 *   settle=0    above the estimated threshold Reno's growth until the first loss
 *   hoe=0       ssthresh from the ACK spacing (ack_train.h), up or down, once; until
 *               then slow start is Reno's, without an estimate the kernel's
 *   pacing=2    a path of less than 1 ms is not spaced
 * response=1 is section 5.2's proposal: FR-TCP's bandwidth estimate, no halving.
 * Without a parameter:
 *  - increments are per acknowledged segment, not per ACK;
 *  - the initial window is at least the kernel's, and larger only if paced;
 *  - 2^rho - 1 stops at 2^15 segments.
 *
 * tcpvegas_info: enabled = rho is above 1, rttcnt = rho in hundredths, rtt and
 * minrtt in microseconds.
 *
 * Reference
 *   Caini, Firrincieli: TCP Hybla: a TCP enhancement for heterogeneous
 *   networks. Int. J. Satell. Commun. Network. 2004; 22:547-566.
 */
#include <linux/module.h>
#include <net/tcp.h>

#include "hetcc/ack_train.h"
#include "hetcc/bdp.h"
#include "hetcc/cc_busy.h"
#include "hetcc/cc_compat.h"
#include "hetcc/cc_info.h"
#include "hetcc/cc_param.h"
#include "hetcc/cc_window.h"
#include "hetcc/hybla_law.h"
#include "hetcc/hybla_share.h"
#include "hetcc/minrtt_probe.h"
#include "hetcc/version.h"

/* A shorter path than any reference connection's: rho is 1, and nothing is spaced */
#define HYBLA_SPACE_US		1000U
/* Below a rho, Q12, the paper's steps are Reno's or nearly: (B) from one, to the other */
#define HYBLA_RHO_SHARE		(5 * HYBLA_LAW_RHO_ONE / 4)
#define HYBLA_RHO_PAPER		(9 * HYBLA_LAW_RHO_ONE / 8)
/* A window of more times what is in flight is cut to that first */
#define HYBLA_UNUSED		2
/* An ECN mark stands for those of a whole round trip: it takes this part */
#define HYBLA_MARK		8
/* A probe holds the window down by this part, and by the queue */
#define HYBLA_PROBE		8
/* Bandwidth estimate: weight of the old one, shortest busy stretch (part of RTTmin) */
#define HYBLA_ALPHA_PERMILLE	800U
#define HYBLA_TRAIN		16
/* It leaves at most this of the window beside a queue that stands */
#define HYBLA_BETA_MILLI	700U
/* The kernel paces from the eleventh segment on: what follows these is its own spacing */
#define HYBLA_TRAIN_MAX_PKTS	9U

enum { HYBLA_RENO, HYBLA_BANDWIDTH, HYBLA_SHARE };

CC_PARAM_UINT(rtt0_ms, 25, 1, 500,
	      "round trip of the reference connection (ms, 1..500, paper 25); default 25");
CC_PARAM_UINT(init_cwnd, 1, 1, 100,
	      "initial window of the reference connection (segments, 1..100, paper 1); default 1");
CC_PARAM_UINT(init_ssthresh, 32, 2, 65536,
	      "initial ssthresh of the reference connection (segments, 2..65536); default 32");
CC_PARAM_UINT(hoe, 1, 0, 1,
	      "initial ssthresh from the spacing of the first ACKs (0, 1); default 1");
CC_PARAM_UINT(settle, 1, 0, 1,
	      "response 0, 1: above that threshold 1: grow as Reno until the first loss, 0: by rho^2 at once (paper); default 1");
CC_PARAM_UINT(response, HYBLA_SHARE, HYBLA_RENO, HYBLA_SHARE,
	      "to a loss 0: halve (paper), 1: bandwidth estimate, 2: as the reference connection, unless nothing waits; default 2");
CC_PARAM_MILLI(cut, 700, 100, 1000,
	       "response 2: what the reference connection loses of its window (0.1..1); default 0.7");
CC_PARAM_UINT(queue_ms, 4, 1, 1000,
	      "response 1, 2: waits up to this long count as no queue (ms, 1..1000); default 4");
CC_PARAM_UINT(srtt, 0, 0, 1,
	      "rho from 0: the minimum round trip (paper, 7.2), 1: the smoothed one; default 0");
CC_PARAM_UINT(pacing, 1, 0, 2,
	      "packet spacing 0: none, 1: on paths of 1 ms and more, 2: always (paper); default 1");

/**
 * struct hybla - state of a connection
 * @rho: normalised round trip time and carried increments
 * @train: ACK train, while @first
 * @busy: bandwidth estimate, after that, with HYBLA_BANDWIDTH
 * @share: law (B), with HYBLA_SHARE
 * @path: minimum round trip, with HYBLA_SHARE
 * @wnd: window that comes back after a probe at the path
 * @delivered: tp->delivered at the previous ACK
 * @lost: tp->lost at the latest probe
 * @rtt_min_us: smallest round trip of the connection, U32_MAX before the first
 * @rtt_us: latest round trip
 * @response: what a loss leads to
 * @first: in the first slow start, initial ssthresh still to be estimated
 * @settled: ssthresh is the estimated bandwidth-delay product, nothing lost yet
 * @marked: the current ACK carries ECN-Echo
 */
struct hybla {
	struct hybla_law rho;
	union {
		struct ack_train train;
		struct bw_busy busy;
		struct {
			struct hybla_share share;
			struct minrtt_probe path;
			u32 wnd;
		};
	};
	u32 delivered;
	u32 lost;
	u32 rtt_min_us;
	u32 rtt_us;
	u8 response;
	bool first;
	bool settled;
	bool marked;
};

static struct tcp_congestion_ops hybla_ext_ops;
static struct tcp_congestion_ops hybla_ext_share_ops;

static void hybla_update_rho(struct sock *sk)
{
	struct hybla *h = inet_csk_ca(sk);
	u32 rtt_us = READ_ONCE(srtt) ? tcp_sk(sk)->srtt_us >> 3 : h->rtt_min_us;

	if (rtt_us && rtt_us != U32_MAX)
		hybla_law_set_rho(&h->rho, rtt_us,
				  READ_ONCE(rtt0_ms) * USEC_PER_MSEC);
}

/* Initial window of a connection that has sent nothing yet */
static void hybla_scale_cwnd(struct sock *sk)
{
	struct hybla *h = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = hybla_law_scale(&h->rho, READ_ONCE(init_cwnd));

	tcp_snd_cwnd_set(tp, min(max(cwnd, tcp_snd_cwnd(tp)),
				 tp->snd_cwnd_clamp));
}

/* Section 3.3.2 */
static void hybla_space(struct sock *sk)
{
	const struct hybla *h = inet_csk_ca(sk);
	unsigned int which = READ_ONCE(pacing);

	if (which > 1 || (which && (h->rtt_min_us >= HYBLA_SPACE_US ||
				    h->rho.rho > HYBLA_LAW_RHO_ONE)))
		cc_window_want_pacing(sk);
}

static void hybla_init(struct sock *sk)
{
	struct hybla *h = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	memset(h, 0, sizeof(*h));
	/* A socket that was disconnected may still have the others */
	WRITE_ONCE(inet_csk(sk)->icsk_ca_ops, &hybla_ext_ops);
	h->delivered = tp->delivered;
	h->lost = tp->lost;
	h->response = READ_ONCE(response);
	/* The handshake has measured the round trip; ~0 if it could not */
	h->rtt_min_us = tcp_min_rtt(tp) ? : U32_MAX;
	hybla_law_set_rho(&h->rho, 0, 1);
	hybla_update_rho(sk);
	hybla_space(sk);
	/* Lost SYNs have set the window to one segment */
	if (cc_window_is_fresh(tp) && READ_ONCE(pacing) && !tp->total_retrans)
		hybla_scale_cwnd(sk);
	if (!tcp_in_initial_slowstart(tp))
		return;
	h->first = READ_ONCE(hoe);
	if (h->rtt_min_us != U32_MAX)
		WRITE_ONCE(tp->snd_ssthresh,
			   hybla_law_scale(&h->rho, READ_ONCE(init_ssthresh)));
}

/* The train is over: what comes next takes its place */
static void hybla_end_first(struct hybla *h)
{
	if (!h->first)
		return;
	h->first = false;
	memset(&h->busy, 0, sizeof(h->busy));
}

/* Section 3.3.1: threshold from the spacing of the first ACKs */
static void hybla_estimate_ssthresh(struct sock *sk, u32 pkts)
{
	struct hybla *h = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 bdp;

	if (!tcp_in_slow_start(tp)) {
		hybla_end_first(h);
		return;
	}
	bdp = ack_train_add(&h->train, (u32)tp->tcp_mstamp, pkts,
			    h->rtt_min_us);
	if (!bdp && h->train.pkts < HYBLA_TRAIN_MAX_PKTS)
		return;
	h->settled = !!bdp;
	hybla_end_first(h);
	WRITE_ONCE(tp->snd_ssthresh,
		   bdp ? clamp(bdp, CC_WINDOW_MIN, tp->snd_cwnd_clamp) :
			 TCP_INFINITE_SSTHRESH);
}

/* Waits up to this long count as no queue */
static u32 hybla_wait_us(const struct hybla *h)
{
	return cc_busy_wait_us(READ_ONCE(queue_ms), h->rtt_min_us);
}

static void hybla_estimate_rate(struct sock *sk, u32 pkts, u32 lost,
				u32 rtt_us)
{
	struct hybla *h = inet_csk_ca(sk);
	struct bw_busy_ack ack = {
		.rtt_us = rtt_us,
		.rtt_min_us = h->rtt_min_us,
		.wait_us = hybla_wait_us(h),
		.train_us = h->rtt_min_us / HYBLA_TRAIN,
		.alpha_permille = HYBLA_ALPHA_PERMILLE,
	};

	cc_busy_add(tcp_sk(sk), &h->busy, &ack, pkts, lost);
}

/*
 * The reference connection's round trip has the queue in it, too, and so rho is
 * smaller beside one.
 */
static u32 hybla_rho_queued(const struct sock *sk)
{
	const struct hybla *h = inet_csk_ca(sk);
	u32 rtt_us = tcp_sk(sk)->srtt_us >> 3;
	u32 queue_us = rtt_us - min(rtt_us, h->rtt_min_us);
	u32 rtt0_us = READ_ONCE(rtt0_ms) * USEC_PER_MSEC;

	return clamp(fixed_mul_div(rtt_us, HYBLA_LAW_RHO_ONE, rtt0_us + queue_us),
		     HYBLA_LAW_RHO_ONE, HYBLA_LAW_RHO_MAX);
}

/* Is a loss of now one of congestion? */
static bool hybla_is_congested(const struct sock *sk)
{
	const struct hybla *h = inet_csk_ca(sk);
	u32 rtt_us = tcp_sk(sk)->srtt_us >> 3;

	if (hybla_share_is_heavy(&h->share))
		return true;
	return rtt_us > h->rtt_min_us + hybla_wait_us(h) &&
	       !hybla_share_no_queue(&h->share);
}

static void hybla_measure(struct sock *sk, long rtt_us)
{
	struct hybla *h = inet_csk_ca(sk);

	if (rtt_us > 0) {
		h->rtt_us = fixed_sat_u32(rtt_us);
		h->rtt_min_us = min(h->rtt_min_us, h->rtt_us);
	}
	hybla_update_rho(sk);
}

/* Return: segments that slow start did not use up */
static u32 hybla_slow_start(struct sock *sk, u32 acked)
{
	struct hybla *h = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	if ((h->response != HYBLA_RENO && !h->settled) ||
	    tcp_in_initial_slowstart(tp))
		return tcp_slow_start(tp, acked);
	cwnd += hybla_law_ss(&h->rho, tp->snd_ssthresh - cwnd, &acked);
	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
	return acked;
}

/* Return: the window after losses */
static u32 hybla_cut(struct sock *sk, u32 wnd, u32 pkts, u32 lost)
{
	struct hybla *h = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 flight = tcp_packets_in_flight(tp) + pkts + lost;
	u32 rtt_us = tp->srtt_us >> 3;

	if (!lost || !hybla_is_congested(sk)) {
		hybla_share_pass(&h->share, pkts + lost);
		return wnd;
	}
	wnd = min(wnd, flight * HYBLA_UNUSED);
	hybla_share_full(&h->share, fixed_mul_div(wnd, h->rtt_min_us, rtt_us));
	return wnd - hybla_share_cut(&h->share, wnd, pkts, lost,
				     hybla_rho_queued(sk), READ_ONCE(cut));
}

/* Return: the window after an ACK, growth only where it was all used */
static u32 hybla_window(struct sock *sk, u32 wnd, u32 pkts, u32 lost)
{
	struct hybla *h = inet_csk_ca(sk);

	wnd = hybla_cut(sk, wnd, pkts, lost);
	if (tcp_is_cwnd_limited(sk))
		wnd = fixed_sat_u32((u64)wnd +
				    hybla_share_grow(&h->share, wnd, pkts,
						     hybla_rho_queued(sk)));
	return clamp(wnd, CC_WINDOW_MIN, tcp_sk(sk)->snd_cwnd_clamp);
}

/* Hold the window below what the path takes without a queue */
static void hybla_probe(struct sock *sk)
{
	struct hybla *h = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	h->wnd = cwnd;
	cwnd = fixed_mul_div(cwnd, h->path.min_us,
			     max(tp->srtt_us >> 3, h->path.min_us));
	tcp_snd_cwnd_set(tp, max(cwnd - cwnd / HYBLA_PROBE, CC_WINDOW_MIN));
}

/* The window after a probe; a queue of its own does not come back */
static void hybla_end_probe(struct sock *sk, enum minrtt_probe_event event)
{
	struct hybla *h = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	if (event == MINRTT_PROBE_EMPTY)
		cwnd = min(h->wnd, cwnd + cwnd / (HYBLA_PROBE - 1));
	else
		cwnd = h->wnd;
	tcp_snd_cwnd_set(tp, cwnd);
	if (inet_csk(sk)->icsk_ca_state > TCP_CA_Disorder)
		WRITE_ONCE(tp->snd_ssthresh, cwnd);
}

static void hybla_abort_probe(struct sock *sk)
{
	struct hybla *h = inet_csk_ca(sk);

	if (!h->path.probing)
		return;
	minrtt_probe_abort(&h->path);
	hybla_end_probe(sk, MINRTT_PROBE_OTHERS);
}

static void hybla_end_round(struct sock *sk)
{
	struct hybla *h = inet_csk_ca(sk);
	bool probed = h->path.probing;
	enum minrtt_probe_event event;

	event = minrtt_probe_round(&h->path, hybla_wait_us(h));
	if (event == MINRTT_PROBE_BEGIN &&
	    inet_csk(sk)->icsk_ca_state == TCP_CA_Loss)
		minrtt_probe_abort(&h->path);
	else if (event == MINRTT_PROBE_BEGIN)
		hybla_probe(sk);
	else if (probed && !h->path.probing)
		hybla_end_probe(sk, event);
}

/* What an ACK says of queues, losses and the path */
static void hybla_measure_queue(struct sock *sk, u32 pkts, u32 lost,
				long rtt_us)
{
	struct hybla *h = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	bool waited;

	if (rtt_us > 0)
		minrtt_probe_add(&h->path, fixed_sat_u32(rtt_us));
	h->rtt_min_us = h->path.min_us;
	hybla_measure(sk, rtt_us);
	waited = rtt_us > 0 &&
		 (u32)rtt_us - h->rtt_min_us > hybla_wait_us(h);
	if (hybla_share_ack(&h->share, tp->delivered,
			    tcp_packets_in_flight(tp), lost, waited ? pkts : 0))
		hybla_end_round(sk);
	if (hybla_share_is_heavy(&h->share))
		hybla_abort_probe(sk);
}

/* Return: (B) has the window from now on. Not during a recovery, nor its undo */
static bool hybla_choose(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct hybla *h = inet_csk_ca(sk);
	bool shares = icsk->icsk_ca_ops == &hybla_ext_share_ops;

	if (h->response != HYBLA_SHARE || h->first ||
	    icsk->icsk_ca_state > TCP_CA_Disorder)
		return false;
	if (!shares && h->rho.rho > HYBLA_RHO_SHARE) {
		hybla_share_begin(&h->share, tcp_sk(sk)->delivered);
		minrtt_probe_init(&h->path, h->rtt_min_us);
		WRITE_ONCE(icsk->icsk_ca_ops, &hybla_ext_share_ops);
		hybla_space(sk);
		return true;
	}
	if (shares && h->rho.rho < HYBLA_RHO_PAPER && !h->path.probing)
		WRITE_ONCE(icsk->icsk_ca_ops, &hybla_ext_ops);
	return false;
}

/*
 * The whole window, with HYBLA_SHARE once rho is above 1 and the first slow start
 * knows its threshold. Small steps both ways need no rate reduction (RFC 6937):
 * the window is the same in a recovery and after it, and pacing spreads what it
 * lets out.
 */
static void hybla_cong_control(struct sock *sk, const struct rate_sample *rs)
{
	struct hybla *h = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 pkts = tp->delivered - h->delivered, lost = tp->lost - h->lost;
	u8 state = inet_csk(sk)->icsk_ca_state;
	u32 cwnd;

	/* Disconnected, and not initialised again yet */
	if (h->response != HYBLA_SHARE)
		return;
	h->delivered = tp->delivered;
	h->lost = tp->lost;
	hybla_measure_queue(sk, pkts, lost, rs->rtt_us);
	cwnd = tcp_snd_cwnd(tp);
	if (h->path.probing) {
		h->wnd = hybla_cut(sk, h->wnd, pkts, lost);
	} else if (state == TCP_CA_Recovery || state == TCP_CA_CWR) {
		cwnd = hybla_window(sk, min(cwnd, tp->snd_ssthresh),
				    pkts, lost);
		WRITE_ONCE(tp->snd_ssthresh, cwnd);
		tcp_snd_cwnd_set(tp, cwnd);
	} else if (!tcp_in_slow_start(tp)) {
		tcp_snd_cwnd_set(tp, hybla_window(sk, cwnd, pkts, lost));
	} else {
		hybla_share_pass(&h->share, pkts);
		if (tcp_is_cwnd_limited(sk))
			hybla_slow_start(sk, pkts);
	}
	cc_window_pace(sk);
	hybla_choose(sk);
}

static void hybla_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct hybla *h = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 pkts = tp->delivered - h->delivered, lost = tp->lost - h->lost;

	if (hybla_choose(sk))
		return;
	h->delivered = tp->delivered;
	h->lost = tp->lost;
	hybla_measure(sk, sample->rtt_us);
	if (h->first && pkts)
		hybla_estimate_ssthresh(sk, pkts);
	else if (!h->first && h->response == HYBLA_BANDWIDTH)
		hybla_estimate_rate(sk, pkts, lost, max(sample->rtt_us, 0));
	if (h->response == HYBLA_BANDWIDTH)
		cc_window_fill_recovery(sk, pkts + lost);
}

static void hybla_in_ack_event(struct sock *sk, u32 flags)
{
	struct hybla *h = inet_csk_ca(sk);

	h->marked = !!(flags & CA_ACK_ECE);
}

static void hybla_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct hybla *h = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u64 cwnd;

	/* 2^rho - 1 reaches any threshold with one ACK: first know the threshold */
	if (h->rho.rho == HYBLA_LAW_RHO_ONE || h->first ||
	    tcp_in_initial_slowstart(tp)) {
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
	if (h->settled && READ_ONCE(settle)) {
		tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp), acked);
		return;
	}
	cwnd = (u64)tcp_snd_cwnd(tp) +
	       hybla_law_ca(&h->rho, tcp_snd_cwnd(tp), acked);
	tcp_snd_cwnd_set(tp, min_t(u64, cwnd, tp->snd_cwnd_clamp));
}

/*
 * The stack keeps the window for an undo, and then asks. Nothing is missing where a
 * mark, a packet dropped on this host or a loss that a probe repaired is the reason;
 * losses that the recovery before has seen are no new ones.
 */
static u32 hybla_ssthresh_share(struct sock *sk)
{
	struct hybla *h = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 lost = tp->lost - h->lost, cwnd;

	h->lost = tp->lost;
	h->settled = false;
	hybla_share_lost(&h->share, lost);
	if (hybla_share_is_heavy(&h->share))
		hybla_abort_probe(sk);
	cwnd = tcp_snd_cwnd(tp);
	if (h->path.probing) {
		h->wnd = hybla_cut(sk, h->wnd, 0, lost);
		return cwnd;
	}
	if (!lost && !tp->lost_out && !tp->retrans_out) {
		hybla_share_marked(&h->share);
		cwnd -= cwnd / HYBLA_MARK;
	}
	cwnd = max(hybla_cut(sk, cwnd, 0, lost), CC_WINDOW_MIN);
	tcp_snd_cwnd_set(tp, cwnd);
	return cwnd;
}

/* After idle time the stack leaves the window to a module that has all of it */
static void hybla_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct hybla *h = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 idle = tcp_jiffies32 - tp->lsndtime, rto = inet_csk(sk)->icsk_rto;
	u32 cwnd = tcp_snd_cwnd(tp);

	if (event != CA_EVENT_TX_START || h->response != HYBLA_SHARE ||
	    idle <= rto ||
	    !READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_slow_start_after_idle))
		return;
	hybla_abort_probe(sk);
	WRITE_ONCE(tp->snd_ssthresh, tcp_current_ssthresh(sk));
	for (; idle > rto && cwnd > TCP_INIT_CWND; idle -= rto)
		cwnd = max(cwnd / 2, TCP_INIT_CWND);
	tcp_snd_cwnd_set(tp, cwnd);
	cc_window_pace(sk);
}

static void hybla_release(struct sock *sk)
{
	WRITE_ONCE(inet_csk(sk)->icsk_ca_ops, &hybla_ext_ops);
}

static u32 hybla_ssthresh_bandwidth(struct sock *sk)
{
	struct hybla *h = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk)), most = cwnd;

	if (h->marked || !bw_busy_get(&h->busy))
		return tcp_reno_ssthresh(sk);
	if (bw_busy_standing_us(&h->busy) > hybla_wait_us(h)) {
		most = fixed_mul_div(cwnd, HYBLA_BETA_MILLI, FIXED_MILLI);
		bw_busy_congested(&h->busy);
	}
	return clamp(bdp_pkts(bw_busy_get(&h->busy), h->rtt_min_us,
			      tcp_sk(sk)->mss_cache, FIXED_MILLI),
		     CC_WINDOW_MIN, max(most, CC_WINDOW_MIN));
}

static u32 hybla_ssthresh(struct sock *sk)
{
	struct hybla *h = inet_csk_ca(sk);
	bool known = !h->first;

	hybla_end_first(h);
	h->settled = false;
	h->rho.frac = 0;
	h->rho.rem = 0;
	if (h->response == HYBLA_BANDWIDTH && known)
		return hybla_ssthresh_bandwidth(sk);
	return tcp_reno_ssthresh(sk);
}

static size_t hybla_get_info(struct sock *sk, u32 ext, int *attr,
			     union tcp_cc_info *info)
{
	const struct hybla *h = inet_csk_ca(sk);

	return cc_info_vegas(ext, attr, info, h->rho.rho > HYBLA_LAW_RHO_ONE,
			     fixed_mul_div(h->rho.rho, 100, HYBLA_LAW_RHO_ONE),
			     h->rtt_us, h->rtt_min_us);
}

static struct tcp_congestion_ops hybla_ext_ops __read_mostly = {
	.name		= "hybla_ext",
	.owner		= THIS_MODULE,
	.init		= hybla_init,
	.ssthresh	= hybla_ssthresh,
	.cong_avoid	= hybla_cong_avoid,
	.in_ack_event	= hybla_in_ack_event,
	.pkts_acked	= hybla_pkts_acked,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.get_info	= hybla_get_info,
};

CC_COMPAT_CONG_CONTROL(hybla_cong_control);

static struct tcp_congestion_ops hybla_ext_share_ops __read_mostly = {
	.name		= "hybla_ext",
	.owner		= THIS_MODULE,
	.init		= hybla_init,
	.ssthresh	= hybla_ssthresh_share,
	.release	= hybla_release,
	.cong_control	= hybla_cong_control_op,
	.cwnd_event	= hybla_cwnd_event,
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
MODULE_VERSION(HETCC_VERSION);
