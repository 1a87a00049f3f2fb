// SPDX-License-Identifier: GPL-2.0
/*
 * TCP Hybla: congestion control whose sending rate does not depend on the
 * round trip time. Two laws, by name.
 *
 * "hybla_paper" has the paper's rules and nothing else:
 *
 *   rho = RTT / RTT0, at least 1                              (5)
 *   W += 2^rho - 1     per segment, slow start                (9)
 *   W += rho^2 / W     per segment, congestion avoidance      (9)
 *
 *   initial window and threshold: rho times those of the reference connection
 *   initial threshold from the spacing of the first ACKs (3.3.1, ack_train.h)
 *   packet spacing by the stack's pacing (3.3.2)
 *   rho from the minimum round trip (7.2)
 *
 * With rho = 1 its window is Reno's. What the kernel asks for beyond the paper:
 *  - increments are per acknowledged segment, not per ACK;
 *  - the initial window is at least the kernel's, and larger only if paced;
 *  - ACKs of what the application sends bit by bit, or pacing spaces, are no train;
 *  - before the first threshold is known slow start is Reno's, since 2^rho - 1
 *    reaches any threshold with one ACK; without an estimate the kernel's;
 *  - 2^rho - 1 stops at 2^15 segments.
 *
 * "hybla_ext" holds the share of the reference connection (hybla_share.h) at every rho:
 *  - loss events as the reference connection's, rho times smaller steps both ways;
 *  - a loss where neither a queue waits nor one is full (full_queue.h) is the link's:
 *    no cut, faster growth; a link's beside our own queue takes only that;
 *  - the minimum round trip is of means (rtt_mean.h), and how long they are above it is
 *    the queue; a path that gets longer is probed (minrtt_probe.h), and begun anew;
 *  - waits of ACKs on their way back are no queue (return_path.h);
 *  - an ECN mark takes a fifth of the window (RFC 8511);
 *  - what the first ACKs claim is bounded until a round trip has confirmed it; where they
 *    say nothing, the first stretch in which the bottleneck is busy does (bw_busy.h);
 *  - after a timeout slow start doubles the window;
 *  - with resume_s what ended connections have learned of the path (RFC 9959).
 * What each gains is measured in docs/hybla_ext.md.
 *
 * tcpvegas_info: enabled = rho is above 1, rttcnt = rho in hundredths, rtt (hybla_ext:
 * the mean of late) and minrtt in microseconds.
 *
 * Reference
 *   Caini, Firrincieli: TCP Hybla: a TCP enhancement for heterogeneous
 *   networks. Int. J. Satell. Commun. Network. 2004; 22:547-566.
 */
#include <linux/module.h>
#include <net/tcp.h>

#include "hetcc/ack_train.h"
#include "hetcc/bdp.h"
#include "hetcc/careful_resume.h"
#include "hetcc/cc_busy.h"
#include "hetcc/cc_compat.h"
#include "hetcc/cc_info.h"
#include "hetcc/cc_param.h"
#include "hetcc/cc_path.h"
#include "hetcc/cc_resume.h"
#include "hetcc/cc_window.h"
#include "hetcc/full_queue.h"
#include "hetcc/hybla_law.h"
#include "hetcc/hybla_share.h"
#include "hetcc/rtt_mean.h"
#include "hetcc/version.h"

/* A shorter path than any reference connection's: rho is 1, and nothing is spaced */
#define HYBLA_SPACE_US		1000U
/* The reference connection loses this of its window: Reno's share (hybla_share.h) */
#define HYBLA_CUT_MILLI		580U
/* A window of more times what is out is cut to that first */
#define HYBLA_UNUSED		2
/* What is above the minimum by this part of what counts as a queue is looked at */
#define HYBLA_NEAR		2
/* ... and a single packet may come sooner than a mean by so many times that */
#define HYBLA_EARLY		2
/* The kernel paces from the eleventh segment on: what follows these is its own spacing */
#define HYBLA_TRAIN_MAX_PKTS	9U
/* Until a round trip has confirmed a train, at most so many times slow start's window */
#define HYBLA_CLAIM		32
/* A minimum that falls by a microsecond at a time is followed by steps of a 16th to a 31st */
#define HYBLA_SHORTER_BITS	5
/* What we had in a queue is gone after two rounds: it leaves, and is seen to have left */
#define HYBLA_STAYS		3
/* A slow start whose end is not known: a window leaves in this part of a round trip */
#define HYBLA_SEEK		16

CC_PARAM_UINT(rtt0_ms, 25, 1, 500,
	      "round trip of the reference connection (ms, 1..500, paper 25); default 25");
CC_PARAM_UINT(init_cwnd, 1, 1, 100,
	      "initial window of the reference connection (segments, 1..100, paper 1); default 1");
CC_PARAM_UINT(init_ssthresh, 32, 2, 65536,
	      "initial ssthresh of the reference connection (segments, 2..65536); default 32");
CC_PARAM_UINT(hoe, 1, 0, 1,
	      "initial ssthresh from the spacing of the first ACKs (0, 1); default 1");
CC_PARAM_UINT(pacing, 1, 0, 1,
	      "packet spacing on paths of 1 ms and more (0, 1); default 1");
CC_PARAM_UINT(resume_s, 0, 0, 86400,
	      "hybla_ext: begin with what a connection to the same address has learned up to so long ago (s, 0: never); default 0");

/* ------------------------------------------------------------ both laws */

static void hybla_set_rho(struct hybla_law *rho, u32 rtt_us)
{
	if (rtt_us && rtt_us != U32_MAX)
		hybla_law_set_rho(rho, rtt_us,
				  READ_ONCE(rtt0_ms) * USEC_PER_MSEC);
	else if (!rho->rho)
		hybla_law_set_rho(rho, 0, 1);
}

/* Section 3.3.2 */
static void hybla_space(struct sock *sk, u32 rtt_us)
{
	if (READ_ONCE(pacing) && rtt_us >= HYBLA_SPACE_US)
		cc_window_want_pacing(sk);
}

/*
 * Window and threshold of a connection that has sent nothing yet, rho times those
 * of the reference connection. Lost SYNs have set the window to one segment.
 *
 * Return: the threshold is still to be estimated.
 */
static bool hybla_begin(struct sock *sk, const struct hybla_law *rho,
			u32 rtt_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = hybla_law_scale(rho, READ_ONCE(init_cwnd));

	hybla_space(sk, rtt_us);
	if (cc_window_is_fresh(tp) && READ_ONCE(pacing) && !tp->total_retrans)
		tcp_snd_cwnd_set(tp, min(max(cwnd, tcp_snd_cwnd(tp)),
					 tp->snd_cwnd_clamp));
	if (!tcp_in_initial_slowstart(tp))
		return false;
	if (rtt_us != U32_MAX)
		WRITE_ONCE(tp->snd_ssthresh,
			   hybla_law_scale(rho, READ_ONCE(init_ssthresh)));
	return READ_ONCE(hoe);
}

/* ACKs of what an application sends bit by bit are as far apart as that: no train */
static bool hybla_is_limited(const struct tcp_sock *tp)
{
	return tp->app_limited && !after(tp->delivered, tp->app_limited);
}

/* These ACKs are of packets behind the first ten, which the kernel spaces: no train either */
static bool hybla_train_is_over(const struct sock *sk, u32 train_pkts, u32 pkts)
{
	return READ_ONCE(sk->sk_pacing_status) != SK_PACING_NONE &&
	       tcp_sk(sk)->delivered - pkts > TCP_INIT_CWND &&
	       train_pkts < HYBLA_TRAIN_MAX_PKTS - 1;
}

/*
 * Section 3.3.1: threshold from the spacing of the first ACKs.
 *
 * Return: the train is still to be continued.
 */
static bool hybla_estimate_ssthresh(struct sock *sk, struct ack_train *train,
				    u32 now_us, u32 pkts, u32 rtt_us,
				    u32 *bdp)
{
	struct tcp_sock *tp = tcp_sk(sk);

	*bdp = 0;
	if (!tcp_in_slow_start(tp))
		return false;
	if (!hybla_train_is_over(sk, train->pkts, pkts)) {
		if (hybla_is_limited(tp))
			train->running = false;
		else
			*bdp = ack_train_add(train, now_us, pkts, rtt_us);
		if (!*bdp && train->pkts < HYBLA_TRAIN_MAX_PKTS)
			return true;
	}
	WRITE_ONCE(tp->snd_ssthresh,
		   *bdp ? clamp(*bdp, CC_WINDOW_MIN, tp->snd_cwnd_clamp) :
			  TCP_INFINITE_SSTHRESH);
	return false;
}

/* Return: segments that slow start by equation 9 did not use up */
static u32 hybla_slow_start(struct sock *sk, struct hybla_law *rho, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	if (tcp_in_initial_slowstart(tp))
		return tcp_slow_start(tp, acked);
	cwnd += hybla_law_ss(rho, tp->snd_ssthresh - cwnd, &acked);
	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
	return acked;
}

static size_t hybla_info(u32 ext, int *attr, union tcp_cc_info *info,
			 const struct hybla_law *rho, u32 rtt_us, u32 min_us)
{
	return cc_info_vegas(ext, attr, info, rho->rho > HYBLA_LAW_RHO_ONE,
			     fixed_mul_div(rho->rho, 100, HYBLA_LAW_RHO_ONE),
			     rtt_us, min_us);
}

/* ------------------------------------------------------------ hybla_paper */

/**
 * struct hybla_paper - state of a connection by the paper's rules
 * @rho: normalised round trip time and carried increments
 * @train: ACK train, while @first
 * @rtt_min_us: smallest round trip of the connection, U32_MAX before the first
 * @rtt_us: latest round trip
 * @delivered: tp->delivered at the previous ACK
 * @first: in the first slow start, initial ssthresh still to be estimated
 */
struct hybla_paper {
	struct hybla_law rho;
	struct ack_train train;
	u32 rtt_min_us;
	u32 rtt_us;
	u32 delivered;
	bool first;
};

static void hybla_paper_init(struct sock *sk)
{
	struct hybla_paper *h = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	memset(h, 0, sizeof(*h));
	h->delivered = tp->delivered;
	/* The handshake has measured the round trip; ~0 if it could not */
	h->rtt_min_us = tcp_min_rtt(tp) ? : U32_MAX;
	hybla_set_rho(&h->rho, h->rtt_min_us);
	h->first = hybla_begin(sk, &h->rho, h->rtt_min_us);
}

static void hybla_paper_pkts_acked(struct sock *sk,
				   const struct ack_sample *sample)
{
	struct hybla_paper *h = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 pkts = tp->delivered - h->delivered, bdp;

	h->delivered = tp->delivered;
	if (sample->rtt_us > 0) {
		h->rtt_us = fixed_sat_u32(sample->rtt_us);
		h->rtt_min_us = min(h->rtt_min_us, h->rtt_us);
	}
	hybla_set_rho(&h->rho, h->rtt_min_us);
	if (h->first && pkts)
		h->first = hybla_estimate_ssthresh(sk, &h->train,
						   (u32)tp->tcp_mstamp, pkts,
						   h->rtt_min_us, &bdp);
}

static void hybla_paper_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct hybla_paper *h = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u64 cwnd;

	if (h->rho.rho == HYBLA_LAW_RHO_ONE || h->first ||
	    tcp_in_initial_slowstart(tp)) {
		tcp_reno_cong_avoid(sk, ack, acked);
		return;
	}
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = hybla_slow_start(sk, &h->rho, acked);
		if (!acked)
			return;
	}
	cwnd = (u64)tcp_snd_cwnd(tp) +
	       hybla_law_ca(&h->rho, tcp_snd_cwnd(tp), acked);
	tcp_snd_cwnd_set(tp, min_t(u64, cwnd, tp->snd_cwnd_clamp));
}

static u32 hybla_paper_ssthresh(struct sock *sk)
{
	struct hybla_paper *h = inet_csk_ca(sk);

	h->first = false;
	h->rho.frac = 0;
	h->rho.rem = 0;
	return tcp_reno_ssthresh(sk);
}

static size_t hybla_paper_get_info(struct sock *sk, u32 ext, int *attr,
				   union tcp_cc_info *info)
{
	const struct hybla_paper *h = inet_csk_ca(sk);

	return hybla_info(ext, attr, info, &h->rho, h->rtt_us, h->rtt_min_us);
}

static struct tcp_congestion_ops hybla_paper_ops __read_mostly = {
	.name		= "hybla_paper",
	.owner		= THIS_MODULE,
	.init		= hybla_paper_init,
	.ssthresh	= hybla_paper_ssthresh,
	.cong_avoid	= hybla_paper_cong_avoid,
	.pkts_acked	= hybla_paper_pkts_acked,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.get_info	= hybla_paper_get_info,
};

/* -------------------------------------------------------------- hybla_ext */

/**
 * struct hybla - state of a connection that holds a share
 * @share: law (B)
 * @train: ACK train, while @first
 * @full: what losses have to do with queues, after that
 * @busy: in place of these: bandwidth, while @seeking
 * @path: minimum round trip
 * @wnd: window that comes back after a probe at the path
 * @claim_wnd: in its place: window at the end of the train, while @claimed
 * @claim_end: tp->delivered when all that was out then has arrived
 * @claim_us: longest wait on a path as fast as the train says
 * @resume: in their place, while @resuming
 * @lost: tp->lost at the latest look
 * @rtt: mean round trip
 * @first: in the first slow start, initial ssthresh still to be estimated
 * @settled: ssthresh is the estimated bandwidth-delay product, nothing lost yet
 * @claimed: and no round trip has confirmed it
 * @resuming: what is remembered of the path is being proved
 * @seeking: in a slow start whose end is not known
 * @taken: rounds since what we had in a queue that stands was taken out, 0: it was not, or
 *	the queue has gone; HYBLA_STAYS: it is others'
 */
struct hybla {
	union {
		struct {
			struct hybla_share share;
			union {
				struct ack_train train;
				struct full_queue full;
			};
		};
		struct bw_busy busy;
	};
	struct minrtt_probe path;
	union {
		u32 wnd;
		struct {
			u32 claim_wnd;
			u32 claim_end;
			u32 claim_us;
		};
		struct careful_resume resume;
	};
	u32 lost;
	struct rtt_mean rtt;
	bool first:1,
	     settled:1,
	     claimed:1,
	     resuming:1,
	     seeking:1;
	u8 taken:2;
};

/* Waits up to this long count as no queue */
static u32 hybla_wait_us(const struct hybla *h)
{
	return max(cc_path_least_us(&h->path),
		   min(RTT_MEAN_DEVIATIONS * h->rtt.dev_us, h->path.min_us));
}

/* How long packets wait */
static u32 hybla_queue_us(const struct hybla *h)
{
	return rtt_mean_wait_us(&h->rtt, h->path.min_us);
}

static struct hybla_law hybla_rho(const struct hybla *h)
{
	struct hybla_law rho = { 0 };

	hybla_set_rho(&rho, h->path.min_us);
	return rho;
}

/* The train is over, or the search: what comes next takes its place */
static void hybla_end_first(struct sock *sk)
{
	struct hybla *h = inet_csk_ca(sk);

	if (h->seeking) {
		hybla_share_begin(&h->share, tcp_sk(sk)->delivered);
		/* It has not shown what fills the path */
		hybla_share_full(&h->share, TCP_INFINITE_SSTHRESH);
	}
	if (h->seeking || h->first)
		full_queue_init(&h->full);
	h->first = false;
	h->seeking = false;
}

/*
 * Nothing is known of what the path carries. Slow start, spaced so that a window leaves in a
 * 16th of a round trip: where the bottleneck spreads it to more, it is busy, and its rate
 * is known while no more than about a 16th of the path is in its queue.
 */
static void hybla_seek(struct sock *sk)
{
	struct hybla *h = inet_csk_ca(sk);

	h->first = false;
	if (READ_ONCE(hoe) && tcp_in_initial_slowstart(tcp_sk(sk))) {
		h->seeking = true;
		memset(&h->busy, 0, sizeof(h->busy));
	} else {
		full_queue_init(&h->full);
	}
}

static void hybla_init(struct sock *sk)
{
	struct hybla *h = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	struct hybla_law rho;

	memset(h, 0, sizeof(*h));
	h->lost = tp->lost;
	hybla_share_begin(&h->share, tp->delivered);
	cc_path_init(tp, &h->path);
	rtt_mean_begin(&h->rtt, cc_path_is_known(&h->path) ?
				h->path.min_us : 0);
	rho = hybla_rho(h);
	h->first = hybla_begin(sk, &rho, h->path.min_us);
	if (!h->first)
		full_queue_init(&h->full);
	/* The stack does so for modules that leave the window to it */
	cc_window_pace(sk);
}

/* Segments that are newly lost */
static u32 hybla_lost(struct sock *sk)
{
	struct hybla *h = inet_csk_ca(sk);
	u32 lost = tcp_sk(sk)->lost - h->lost;

	h->lost += lost;
	return lost;
}

/*
 * The reference connection's round trip has the queue in it, too, and so rho is
 * smaller beside one. No mean may have found the path empty where a packet has: what that was
 * sooner is queue, but for as much as counts as none.
 */
static u32 hybla_rho_queued(const struct sock *sk)
{
	const struct hybla *h = inet_csk_ca(sk);
	u32 rtt_us = tcp_sk(sk)->srtt_us >> 3;
	u32 least_us = h->path.min_us - hybla_wait_us(h);
	u32 queue_us = rtt_mean_wait_us(&h->rtt,
					max(least_us, tcp_min_rtt(tcp_sk(sk))));
	u32 rtt0_us = READ_ONCE(rtt0_ms) * USEC_PER_MSEC;

	return clamp(fixed_mul_div(rtt_us, HYBLA_LAW_RHO_ONE, rtt0_us + queue_us),
		     HYBLA_LAW_RHO_ONE, HYBLA_LAW_RHO_MAX);
}

/* Is a loss of now one of congestion? */
static bool hybla_is_congested(const struct sock *sk)
{
	const struct hybla *h = inet_csk_ca(sk);
	u32 wait_us = hybla_wait_us(h);

	/* One that lies as a link's may be none of those that say that a queue is full */
	if (hybla_share_is_heavy(&h->share) ||
	    (hybla_share_is_full(&h->share) && full_queue_is_here(&h->full)))
		return true;
	if (minrtt_probe_is_open(&h->path))
		return false;
	return minrtt_probe_stands(&h->path, wait_us) ||
	       (full_queue_may_be(&h->full) && hybla_queue_us(h) > wait_us &&
		!hybla_share_no_queue(&h->share));
}

/*
 * Losses lie as a link's, but beside a queue that stands. If it is ours it goes with what we
 * have in it. One that stays is others', and loses where it is not full (an AQM).
 */
static bool hybla_may_be_ours(const struct hybla *h)
{
	return h->taken < HYBLA_STAYS && !hybla_share_is_full(&h->share) &&
	       !full_queue_may_be(&h->full) &&
	       minrtt_probe_stands(&h->path, hybla_wait_us(h));
}

/* It is others' until it was away for as many rounds as lead to a probe where it is not */
static void hybla_whose_queue(struct hybla *h)
{
	if (!minrtt_probe_stands(&h->path, hybla_wait_us(h))) {
		if (h->taken < HYBLA_STAYS || h->share.rounds >= MINRTT_PROBE_ROUNDS)
			h->taken = 0;
	} else if (h->taken) {
		h->taken = min(h->taken + 1, HYBLA_STAYS);
	}
}

/* Return: the window after losses. What has arrived behind a gap is out, too */
static u32 hybla_cut(struct sock *sk, u32 wnd, u32 pkts, u32 lost)
{
	struct hybla *h = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 out = tp->packets_out + pkts, rtt_us = tp->srtt_us >> 3;
	u32 empty_us = rtt_us - min(rtt_us, hybla_queue_us(h));
	bool ours = hybla_may_be_ours(h);

	if (!lost || !hybla_is_congested(sk) || (ours && h->taken)) {
		hybla_share_pass(&h->share, pkts + lost);
		return wnd;
	}
	wnd = min(wnd, out * HYBLA_UNUSED);
	hybla_share_full(&h->share, fixed_mul_div(wnd, empty_us, rtt_us));
	if (ours) {
		hybla_share_pass(&h->share, pkts + lost);
		h->taken = 1;
		return max(h->share.full, wnd / 2);
	}
	return wnd - hybla_share_cut(&h->share, wnd, pkts, lost,
				     hybla_rho_queued(sk), HYBLA_CUT_MILLI);
}

/* Return: the window after an ACK, growth only where it was all used */
static u32 hybla_window(struct sock *sk, u32 wnd, u32 pkts, u32 lost)
{
	struct hybla *h = inet_csk_ca(sk);
	u32 rho = hybla_rho_queued(sk);

	wnd = hybla_cut(sk, wnd, pkts, lost);
	if (tcp_is_cwnd_limited(sk) &&
	    !hybla_share_repairs(&h->share, wnd, rho))
		wnd = fixed_sat_u32((u64)wnd +
				    hybla_share_grow(&h->share, wnd, pkts, rho));
	return clamp(wnd, CC_WINDOW_MIN, tcp_sk(sk)->snd_cwnd_clamp);
}

/* How losses lie among the waits */
static void hybla_measure_losses(struct sock *sk, u32 lost, u32 rtt_us)
{
	struct hybla *h = inet_csk_ca(sk);
	u8 state = inet_csk(sk)->icsk_ca_state;

	if (h->first)
		return;
	if (rtt_us)
		full_queue_add(&h->full, rtt_us, h->path.min_us,
			       !!tcp_sk(sk)->sacked_out,
			       state == TCP_CA_Recovery);
	/* A timeout gives all up for lost, whatever became of it */
	if (lost && state != TCP_CA_Loss) {
		/* Spaced packets do not keep a short queue at its brim */
		full_queue_lost(&h->full, false);
		hybla_share_set_full(&h->share, full_queue_is_it(&h->full));
	}
}

/* Return: slow start begins anew */
static bool hybla_path_round(struct sock *sk)
{
	struct hybla *h = inet_csk_ca(sk);
	u32 near_us = hybla_wait_us(h) / HYBLA_NEAR;
	bool anew = cc_path_round(sk, &h->path, &h->wnd, near_us, near_us);

	/* It holds the window, and what is measured so far is none of an empty path */
	if (h->path.probing)
		hybla_end_first(sk);
	/* What ACKs wait for on their way is part of a longer path, and of its mean */
	rtt_mean_at_least(&h->rtt, h->path.min_us);
	return anew;
}

static void hybla_end_round(struct sock *sk, u32 lost, u32 size)
{
	struct hybla *h = inet_csk_ca(sk);

	if (!h->first) {
		full_queue_catch_up(&h->full);
		full_queue_round(&h->full, lost, size,
				 max(tcp_sk(sk)->mss_cache, 1U));
		full_queue_size(&h->full, size);
		hybla_share_set_full(&h->share, full_queue_is_it(&h->full));
	}
	hybla_whose_queue(h);
	if (h->claimed || h->resuming || !hybla_path_round(sk))
		return;
	/* How losses lay on the path before says nothing of this one, nor what that carried */
	h->settled = false;
	h->taken = 0;
	hybla_share_set_full(&h->share, false);
	hybla_share_full(&h->share, TCP_INFINITE_SSTHRESH);
	hybla_seek(sk);
}

/* Heavy loss may mean another path: no probe holds the window, and the next comes soon */
static void hybla_doubt_path(struct sock *sk)
{
	struct hybla *h = inet_csk_ca(sk);

	if (h->seeking || !hybla_share_is_heavy(&h->share))
		return;
	cc_path_abort(sk, &h->path, h->wnd);
	minrtt_probe_renew(&h->path);
}

/* The first busy stretch knows where slow start has to end */
static void hybla_found(struct sock *sk)
{
	struct hybla *h = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 bdp = bdp_pkts(bw_busy_get(&h->busy), h->path.min_us,
			   tp->mss_cache, FIXED_MILLI);

	WRITE_ONCE(tp->snd_ssthresh,
		   clamp(bdp, CC_WINDOW_MIN, tp->snd_cwnd_clamp));
	h->settled = true;
	hybla_end_first(sk);
	hybla_share_full(&h->share, bdp);
}

/* Slow start goes on until the bandwidth is known, or something is lost */
static void hybla_sought(struct sock *sk, u32 pkts, u32 rtt_us, u32 back_us)
{
	struct hybla *h = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 from_us = h->busy.round.ack_us;
	struct bw_busy_ack ack = {
		.rtt_us = rtt_us - back_us,
		.rtt_min_us = h->path.min_us,
		.wait_us = hybla_wait_us(h),
		.train_us = h->path.min_us / HYBLA_SEEK,
	};

	cc_busy_add(tp, &h->busy, &ack, pkts, 0, back_us);
	if (h->busy.proven)
		hybla_found(sk);
	else if (h->busy.round.ack_us != from_us)
		hybla_path_round(sk);
}

/* What an ACK says of queues, losses and the path */
static void hybla_measure(struct sock *sk, u32 pkts, u32 lost, u32 rtt_us)
{
	struct hybla *h = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 size = h->share.size, round_lost = h->share.lost;
	bool waited = hybla_queue_us(h) > hybla_wait_us(h);

	hybla_measure_losses(sk, lost, rtt_us);
	if (hybla_share_ack(&h->share, tp->delivered,
			    tcp_packets_in_flight(tp), lost, waited ? pkts : 0))
		hybla_end_round(sk, round_lost + lost, size);
	hybla_doubt_path(sk);
}

/* The first train of ACKs is over: what it says is a claim */
static void hybla_claim(struct sock *sk, u32 span_us)
{
	struct hybla *h = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	h->settled = true;
	h->claimed = true;
	h->claim_wnd = tcp_snd_cwnd(tp);
	h->claim_end = tp->delivered + tcp_packets_in_flight(tp);
	/* The ten that leave unspaced, and a packet of two more, are twice a train */
	h->claim_us = fixed_sat_u32(2ULL * span_us +
				    cc_path_least_us(&h->path));
}

/*
 * The first window has arrived, and the rate is too high to be read from its ACKs. What
 * slow start would not reach by itself is worth a jump.
 *
 * Return: the window has jumped.
 */
static bool hybla_resume(struct sock *sk, u32 most)
{
	struct hybla *h = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 age_s = READ_ONCE(resume_s), saved, saved_us, capacity, wnd;

	if (!age_s || !tcp_in_initial_slowstart(tp) ||
	    !cc_resume_take(sk, age_s, &saved, &saved_us))
		return false;
	/* By the kernel's deviation, which begins with half of the round trip: ours is not known */
	capacity = careful_resume_capacity(saved, saved_us, h->path.min_us,
					   cc_path_wait_us(tp, &h->path), most);
	wnd = min(careful_resume_jump(capacity), tp->snd_cwnd_clamp);
	if (wnd <= tcp_snd_cwnd(tp)) {
		cc_resume_free(sk);
		return false;
	}
	h->resuming = true;
	careful_resume_begin(&h->resume, tcp_packets_in_flight(tp),
			     tp->snd_nxt);
	tcp_snd_cwnd_set(tp, wnd);
	WRITE_ONCE(tp->snd_ssthresh, capacity);
	return true;
}

/* Segments that would arrive in a round trip at the rate of the first ACKs */
static u32 hybla_train_pkts(const struct hybla *h)
{
	u32 span_us = h->train.last_us - h->train.first_us;

	return fixed_mul_div(h->path.min_us, h->train.pkts, span_us);
}

/*
 * A train of less than 1 ms may be a bunch: ACKs that were held back and came at once. The
 * rest of the first window is spaced, and some of its ACKs wait for as long as any are
 * held back. Where that is no longer than the train, the train is one, and what it says
 * is right within a factor of two. (Waits by timestamps, in ticks of 1 ms, say nothing.)
 */
static void hybla_first_rest(struct sock *sk, u32 rtt_us)
{
	struct hybla *h = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 span_us = h->train.last_us - h->train.first_us, bdp;

	h->claim_us = max(h->claim_us, rtt_us - min(rtt_us, h->path.min_us));
	if (h->claim_us > span_us) {
		hybla_seek(sk);
	} else if ((s32)(tp->delivered - h->claim_end) >= 0) {
		bdp = fixed_mul_div(h->path.min_us, h->train.pkts,
				    span_us + h->claim_us);
		WRITE_ONCE(tp->snd_ssthresh,
			   clamp(bdp, CC_WINDOW_MIN, tp->snd_cwnd_clamp));
		hybla_end_first(sk);
		hybla_claim(sk, span_us);
	}
}

/* Is there as much of the first window as the train was? */
static bool hybla_has_rest(const struct sock *sk)
{
	const struct hybla *h = inet_csk_ca(sk);

	return READ_ONCE(pacing) && h->train.last_us != h->train.first_us &&
	       h->train.pkts >= HYBLA_TRAIN_MAX_PKTS &&
	       (s32)(h->claim_end - tcp_sk(sk)->delivered) >=
	       (s32)h->train.pkts;
}

/* The train is over, and says nothing by itself */
static void hybla_first_short(struct sock *sk)
{
	struct hybla *h = inet_csk_ca(sk);
	u32 most = hybla_train_pkts(h);

	if (hybla_resume(sk, most))
		full_queue_init(&h->full);
	else if (hybla_has_rest(sk))
		h->first = true;
	else
		hybla_seek(sk);
}

static void hybla_first(struct sock *sk, u32 pkts, u32 rtt_us, u32 back_us)
{
	struct hybla *h = inet_csk_ca(sk);
	u32 now_us = (u32)tcp_sk(sk)->tcp_mstamp - back_us;
	u32 bdp, span_us;

	if (h->train.pkts >= HYBLA_TRAIN_MAX_PKTS) {
		hybla_first_rest(sk, rtt_us);
		return;
	}
	/* All of the first window is out */
	if (!h->train.running)
		h->claim_end = tcp_sk(sk)->delivered +
			       tcp_packets_in_flight(tcp_sk(sk));
	/* Never before the ACK before it: a wait is known to a tick or two */
	if (h->train.running && (s32)(now_us - h->train.last_us) < 0)
		now_us = h->train.last_us;
	h->first = hybla_estimate_ssthresh(sk, &h->train, now_us, pkts,
					   h->path.min_us, &bdp);
	span_us = h->train.last_us - h->train.first_us;
	if (h->first)
		return;
	if (!bdp) {
		hybla_first_short(sk);
	} else {
		full_queue_init(&h->full);
		hybla_claim(sk, span_us);
	}
}

/*
 * The rest of the first window is spaced wider than the train, and finds no queue on
 * a path as fast as that says. Where it does, the ACKs were bunched, and slow start
 * goes on as if there had been no train.
 */
static void hybla_check_claim(struct sock *sk, u32 rtt_us)
{
	struct hybla *h = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	s32 past = tp->delivered - h->claim_end;

	if (past > (s32)h->claim_wnd) {
		h->claimed = false;
	} else if (past <= 0 && rtt_us > h->path.min_us + h->claim_us) {
		h->claimed = false;
		h->settled = false;
		WRITE_ONCE(tp->snd_ssthresh, TCP_INFINITE_SSTHRESH);
		tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp), h->claim_wnd));
	}
}

static void hybla_start(struct sock *sk, u32 pkts)
{
	struct hybla *h = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct hybla_law rho = hybla_rho(h);

	if (!h->seeking)
		hybla_share_pass(&h->share, pkts);
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (!h->settled) {
		tcp_slow_start(tp, pkts);
		return;
	}
	hybla_slow_start(sk, &rho, pkts);
	if (h->claimed)
		tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp),
					 HYBLA_CLAIM * h->claim_wnd));
}

/* No phase goes on after a timeout */
static void hybla_resume_end(struct sock *sk, bool forget)
{
	struct hybla *h = inet_csk_ca(sk);

	if (!h->resuming)
		return;
	h->resuming = false;
	if (forget)
		cc_resume_drop(sk);
	else if (h->resume.phase != CAREFUL_RESUME_RETREAT)
		cc_resume_free(sk);
}

/* Return: the window is what the phase says, and no law has a say in it */
static bool hybla_resume_ack(struct sock *sk, u32 pkts)
{
	struct hybla *h = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct careful_resume *c = &h->resume;
	bool retreat = c->phase == CAREFUL_RESUME_RETREAT;
	u8 state = inet_csk(sk)->icsk_ca_state;
	u32 wnd;

	wnd = careful_resume_ack(c, pkts, tcp_packets_in_flight(tp),
				 tp->snd_una, tp->snd_nxt);
	if (wnd)
		tcp_snd_cwnd_set(tp, min(wnd, tcp_snd_cwnd(tp)));
	if (c->phase == CAREFUL_RESUME_NORMAL) {
		if (retreat)
			WRITE_ONCE(tp->snd_ssthresh,
				   max(careful_resume_threshold(c),
				       tcp_snd_cwnd(tp)));
		hybla_resume_end(sk, false);
		return false;
	}
	/* The stack may give the window back: nothing was lost */
	if (retreat && state != TCP_CA_Open)
		tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp), tp->snd_ssthresh));
	return c->phase != CAREFUL_RESUME_VALIDATING;
}

/*
 * Small steps both ways need no rate reduction (RFC 6937): the window is the same in
 * a recovery and after it, and pacing spreads what it lets out.
 */
static void hybla_set_window(struct sock *sk, u32 pkts, u32 lost)
{
	struct hybla *h = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u8 state = inet_csk(sk)->icsk_ca_state;
	u32 cwnd;

	if (h->resuming && hybla_resume_ack(sk, pkts)) {
		hybla_share_pass(&h->share, pkts + lost);
		return;
	}
	cwnd = tcp_snd_cwnd(tp);
	if (h->path.probing) {
		h->wnd = hybla_cut(sk, h->wnd, pkts, lost);
		if (state == TCP_CA_Recovery)
			cc_path_held(sk, lost);
	} else if (!h->seeking &&
		   (state == TCP_CA_Recovery || state == TCP_CA_CWR)) {
		cwnd = hybla_window(sk, min(cwnd, tp->snd_ssthresh),
				    pkts, lost);
		WRITE_ONCE(tp->snd_ssthresh, cwnd);
		tcp_snd_cwnd_set(tp, cwnd);
	} else if (!tcp_in_slow_start(tp)) {
		tcp_snd_cwnd_set(tp, hybla_window(sk, cwnd, pkts, lost));
	} else {
		hybla_start(sk, pkts);
	}
}

/* The window is more than what is out, and right as far as is known */
static bool hybla_jumps(const struct sock *sk, u32 pkts)
{
	const struct hybla *h = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	if (h->resuming)
		return h->resume.phase == CAREFUL_RESUME_UNVALIDATED;
	return h->settled && !h->claimed &&
	       tcp_snd_cwnd(tp) >= tp->snd_ssthresh / 2 &&
	       cc_window_has_room(tp, pkts);
}

/* A jump leaves over one round trip */
static void hybla_pace(struct sock *sk, u32 pkts)
{
	const struct hybla *h = inet_csk_ca(sk);

	if (h->seeking)
		cc_window_pace_at(sk, 100 * HYBLA_SEEK);
	else if (hybla_jumps(sk, pkts))
		cc_window_pace_at(sk, 100);
	else
		cc_window_pace(sk);
}

/* What has filled a longer path would leave a queue in a shorter one */
static void hybla_shorter(struct sock *sk, u32 was_us)
{
	struct hybla *h = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	int shift = max(fls(was_us) - HYBLA_SHORTER_BITS, 0);
	u32 was = was_us >> shift, less = was - (h->path.min_us >> shift);
	u32 ssthresh = tp->snd_ssthresh;

	if (!less || was_us == MINRTT_PROBE_NONE || h->seeking ||
	    tcp_in_initial_slowstart(tp))
		return;
	ssthresh -= fixed_mul_div(ssthresh, less, was);
	WRITE_ONCE(tp->snd_ssthresh, max(ssthresh, CC_WINDOW_MIN));
	if (h->share.full < TCP_INFINITE_SSTHRESH)
		hybla_share_full(&h->share, h->share.full -
				 fixed_mul_div(h->share.full, less, was));
}

/*
 * A path that has become shorter is to be seen before a queue fills it again: no packet
 * comes sooner than the mean by more than twice what counts as none, four deviations
 * (RFC 6298).
 */
static void hybla_measure_rtt(struct sock *sk, u32 pkts, u32 rtt_us)
{
	struct hybla *h = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 most_us = (u64)rtt_us + HYBLA_EARLY * hybla_wait_us(h);
	u32 was_us = h->path.min_us;

	h->path.min_us = min_t(u64, h->path.min_us, most_us);
	if (rtt_mean_is_due(tp->delivered, pkts, tcp_snd_cwnd(tp))) {
		rtt_mean_add(&h->rtt, rtt_us, tcp_snd_cwnd(tp));
		minrtt_probe_add(&h->path, rtt_mean_us(&h->rtt), 0);
	}
	hybla_shorter(sk, was_us);
}

static void hybla_cong_control(struct sock *sk, const struct rate_sample *rs)
{
	struct hybla *h = inet_csk_ca(sk);
	u32 pkts = rs->acked_sacked, lost = hybla_lost(sk);
	u32 rtt_us = rs->rtt_us > 0 ? fixed_sat_u32(rs->rtt_us) : 0;
	u32 back_us;

	/* The handshake's ACK comes before, after a disconnect, too */
	if (!inet_csk(sk)->icsk_ca_initialized)
		return;
	back_us = cc_path_back_us(tcp_sk(sk), &h->path, rtt_us);
	if (rtt_us)
		hybla_measure_rtt(sk, pkts, rtt_us - back_us);
	if (lost)
		hybla_end_first(sk);
	if (h->seeking)
		hybla_sought(sk, pkts, rtt_us, back_us);
	else
		hybla_measure(sk, pkts, lost, rtt_us);
	if (h->first && pkts)
		hybla_first(sk, pkts, rtt_us, back_us);
	else if (h->claimed)
		hybla_check_claim(sk, rtt_us - back_us);
	if (inet_csk(sk)->icsk_ca_state == TCP_CA_Loss)
		hybla_resume_end(sk, true);
	hybla_set_window(sk, pkts, lost);
	hybla_pace(sk, pkts);
	if (inet_csk(sk)->icsk_ca_state == TCP_CA_Recovery && !h->path.probing)
		cc_window_repair(sk, lost);
}

/* Something of the jump is lost. Return: the window from here on */
static u32 hybla_retreat(struct sock *sk)
{
	struct hybla *h = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 wnd = careful_resume_lost(&h->resume, tp->snd_nxt);

	cc_resume_drop(sk);
	wnd = max(min(wnd, tcp_snd_cwnd(tp)), CC_WINDOW_MIN);
	tcp_snd_cwnd_set(tp, wnd);
	return wnd;
}

/* Return: the window after losses, a mark, or both */
static u32 hybla_reduced(struct sock *sk, u32 wnd, u32 lost)
{
	struct hybla *h = inet_csk_ca(sk);

	if (!cc_window_is_marked(tcp_sk(sk)))
		return hybla_cut(sk, wnd, 0, lost);
	hybla_share_marked(&h->share);
	return min(hybla_cut(sk, wnd, 0, lost), cc_window_marked(wnd));
}

/*
 * The stack keeps the window for an undo, and then asks. Losses that the recovery
 * before has seen are no new ones.
 */
static u32 hybla_ssthresh(struct sock *sk)
{
	struct hybla *h = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 lost = hybla_lost(sk), cwnd;

	hybla_end_first(sk);
	h->settled = false;
	h->claimed = false;
	hybla_share_lost(&h->share, lost);
	if (lost)
		hybla_measure_losses(sk, lost, 0);
	hybla_doubt_path(sk);
	if (h->resuming)
		return hybla_retreat(sk);
	cwnd = tcp_snd_cwnd(tp);
	if (h->path.probing) {
		h->wnd = hybla_reduced(sk, h->wnd, lost);
		return cwnd;
	}
	/* Of the link, it has not shown where slow start should have ended */
	if (lost && tcp_in_slow_start(tp))
		hybla_share_full(&h->share, tp->snd_ssthresh);
	cwnd = max(hybla_reduced(sk, cwnd, lost), CC_WINDOW_MIN);
	tcp_snd_cwnd_set(tp, cwnd);
	return cwnd;
}

static void hybla_after_idle(struct sock *sk)
{
	struct hybla *h = inet_csk_ca(sk);

	if (!inet_csk(sk)->icsk_ca_initialized ||
	    !cc_path_after_idle(sk, &h->path, h->wnd))
		return;
	hybla_end_first(sk);
	cc_window_pace(sk);
}

static void hybla_set_state(struct sock *sk, u8 new_state)
{
	struct hybla *h = inet_csk_ca(sk);

	if (new_state == TCP_CA_Loss)
		cc_path_timeout(sk, &h->path, h->wnd);
}

/*
 * Remember what the path carries without a queue: what arrived of late, in a round trip.
 * Slow start may not have been at its end.
 */
static void hybla_release(struct sock *sk)
{
	struct hybla *h = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 age_s = READ_ONCE(resume_s), pkts;
	bool resumed = h->resuming;

	hybla_resume_end(sk, false);
	if (!age_s || resumed || !cc_path_is_known(&h->path) ||
	    !tp->rate_interval_us)
		return;
	pkts = fixed_mul_div(tp->rate_delivered, h->path.min_us,
			     tp->rate_interval_us);
	cc_resume_keep(sk, age_s, pkts, h->path.min_us, tcp_in_slow_start(tp));
}

static size_t hybla_get_info(struct sock *sk, u32 ext, int *attr,
			     union tcp_cc_info *info)
{
	const struct hybla *h = inet_csk_ca(sk);
	struct hybla_law rho = hybla_rho(h);

	return hybla_info(ext, attr, info, &rho, rtt_mean_us(&h->rtt),
			  h->path.min_us);
}

CC_COMPAT_CONG_CONTROL(hybla_cong_control);
CC_COMPAT_TX_START(hybla_after_idle);

static struct tcp_congestion_ops hybla_ext_ops __read_mostly = {
	.name		= "hybla_ext",
	.owner		= THIS_MODULE,
	.init		= hybla_init,
	.release	= hybla_release,
	.ssthresh	= hybla_ssthresh,
	.cong_control	= hybla_cong_control_op,
	.set_state	= hybla_set_state,
	.CC_COMPAT_TX_START_FIELD = hybla_after_idle_op,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.get_info	= hybla_get_info,
};

static int __init hybla_register(void)
{
	int err;

	BUILD_BUG_ON(sizeof(struct hybla) > ICSK_CA_PRIV_SIZE);
	BUILD_BUG_ON(sizeof(struct hybla_paper) > ICSK_CA_PRIV_SIZE);
	cc_resume_init();
	err = tcp_register_congestion_control(&hybla_ext_ops);
	if (err)
		return err;
	err = tcp_register_congestion_control(&hybla_paper_ops);
	if (err)
		tcp_unregister_congestion_control(&hybla_ext_ops);
	return err;
}

static void __exit hybla_unregister(void)
{
	tcp_unregister_congestion_control(&hybla_paper_ops);
	tcp_unregister_congestion_control(&hybla_ext_ops);
}

module_init(hybla_register);
module_exit(hybla_unregister);

MODULE_AUTHOR("The hetcc authors");
MODULE_LICENSE("GPL");
MODULE_ALIAS("tcp_hybla_paper");
MODULE_DESCRIPTION("TCP Hybla: round trip time independent congestion control");
MODULE_VERSION(HETCC_VERSION);
