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
 * paper=1 has these rules. By default, what each gains in docs/westwood_fr.md:
 *  - samples of the bandwidth where the bottleneck was busy with us (bw_busy.h);
 *  - a loss beside a queue that stands, or of one that is full (full_queue.h), leaves
 *    half of the window at most; any other one nothing less than the window;
 *  - until a busy stretch was seen BWE is a lower bound: a loss then does not end
 *    slow start; the stretch does, at BWE * RTTmin;
 *  - no queue: GFR takes a quarter more than the window for BWE * RTTmin;
 *  - a loss never raises the window at once, but by slow start, in recovery, too;
 *  - RTTmin is of smoothed round trips, and follows a path that gets longer, which is
 *    begun anew (minrtt_probe.h). Until a queue that stands has answered half of the
 *    window, and if it has not, it is no reason to take more, until two answers differ;
 *  - slow start whose end is known is spaced, until congestion has shown a better one;
 *  - waits of ACKs on their way back are no queue (return_path.h); while all of them
 *    wait RTTmin is as much longer;
 *  - an ECN mark takes a fifth of the window (RFC 8511).
 * With both:
 *  - ECN-Echo is congestion, whatever the bandwidth;
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
#include "hetcc/cc_compat.h"
#include "hetcc/cc_info.h"
#include "hetcc/cc_param.h"
#include "hetcc/cc_path.h"
#include "hetcc/cc_window.h"
#include "hetcc/full_queue.h"
#include "hetcc/version.h"

/* Weight of the old bandwidth estimate, the paper's */
#define WESTWOOD_ALPHA_PERMILLE	800U
/* Shortest busy stretch, part of RTTmin */
#define WESTWOOD_TRAIN		16
/* Congestion takes this part of the window at least, as Reno's */
#define WESTWOOD_CUT		2
/* Where nothing waits GFR looks for this part more, and takes half of it at once */
#define WESTWOOD_SEARCH		4
/* Waits of ACKs are kept in parts of RTTmin, below 127 of these; that is none, or more */
#define WESTWOOD_BACK		32
#define WESTWOOD_BACK_MAX	127U
/* The paper's interval */
#define WESTWOOD_GFR_MS		500U
/* Bits of jiffies that a time is kept in: 32 s at 1000 Hz */
#define WESTWOOD_STAMP_MASK	0x7fffU
/* Packets that a probe remembers at most */
#define WESTWOOD_WND_MAX	((1U << 24) - 1)

CC_PARAM_UINT(paper, 0, 0, 1,
	      "1: the paper's rules alone (0, 1); default 0");
CC_PARAM_MILLI(a, 1000, 1000, 16000,
	       "paper=1: reduction factor of the window after a loss (1..16; the paper: 1 for few, 2 for many connections); default 1");

/**
 * struct westwood - state of a connection
 * @bwe: the paper's bandwidth estimator
 * @busy: the other one
 * @path: minimum round trip
 * @full: what losses have to do with queues
 * @wnd: window that comes back after a probe at the path, packets
 * @lost: tp->lost at the latest look, lower bits
 * @gfr_stamp: time of GFR's last look, lower bits of jiffies
 * @shown: congestion has shown on this path where slow start should have ended
 * @paper: @bwe is in use, not @busy
 * @cut: the open recovery has answered congestion; with @paper: a recovery is open
 * @back: every ACK of the round before waited so long on its way back
 * @back_low: and those of the open one
 */
struct westwood {
	union {
		struct bw_ack bwe;
		struct bw_busy busy;
	};
	struct minrtt_probe path;
	struct full_queue full;
	u32 wnd:24,
	    lost:8;
	u16 gfr_stamp:15,
	    shown:1;
	u16 paper:1,
	    cut:1,
	    back:7,
	    back_low:7;
};

static void westwood_init(struct sock *sk)
{
	struct westwood *w = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	memset(w, 0, sizeof(*w));
	cc_path_init(tp, &w->path);
	full_queue_init(&w->full);
	w->paper = READ_ONCE(paper);
	w->lost = tp->lost;
	w->gfr_stamp = tcp_jiffies32;
	cc_window_pace(sk);
}

/* Bytes per second, 0 while there is no estimate */
static u64 westwood_bwe(const struct westwood *w)
{
	return w->paper ? bw_ack_get(&w->bwe) : bw_busy_get(&w->busy);
}

/* A queue of ACKs that stands makes the way as much longer */
static u32 westwood_bdp(const struct sock *sk, u32 a_milli)
{
	const struct westwood *w = inet_csk_ca(sk);
	u32 rtt_us = w->path.min_us;

	rtt_us = fixed_sat_u32(rtt_us + (u64)rtt_us * w->back / WESTWOOD_BACK);
	return bdp_pkts(westwood_bwe(w), rtt_us, tcp_sk(sk)->mss_cache,
			a_milli);
}

static bool westwood_has_estimate(const struct westwood *w)
{
	return westwood_bwe(w) && cc_path_is_known(&w->path);
}

static void westwood_estimate_paper(struct sock *sk, u32 pkts)
{
	struct westwood *w = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	bw_ack_add(&w->bwe, (u32)tp->tcp_mstamp,
		   fixed_sat_u32((u64)pkts * tp->mss_cache), 0,
		   WESTWOOD_ALPHA_PERMILLE, !!tp->app_limited);
	if (!tp->packets_out)
		bw_ack_pause(&w->bwe);
}

/*
 * Where delays vary a few packets come sooner than a window of them ever does: all that
 * are in flight wait for the slowest. What the path takes is the least of the smoothed
 * round trip, which has this one in it.
 */
static void westwood_path(struct westwood *w, const struct tcp_sock *tp,
			  u32 rtt_us, u32 back_us)
{
	minrtt_probe_add(&w->path, max(rtt_us, tp->srtt_us >> 3) - back_us,
			 tp->mdev_us);
}

/* The least wait of ACKs in a round */
static void westwood_back(struct westwood *w, u32 back_us)
{
	u32 part = fixed_mul_div(back_us, WESTWOOD_BACK, w->path.min_us);

	w->back_low = min_t(u32, w->back_low, part);
}

static void westwood_back_round(struct westwood *w)
{
	w->back = w->back_low < WESTWOOD_BACK_MAX ? w->back_low : 0;
	w->back_low = WESTWOOD_BACK_MAX;
}

/* Return: a round is over */
static bool westwood_estimate_busy(struct sock *sk, u32 pkts, u32 lost,
				   u32 rtt_us, u32 back_us)
{
	struct westwood *w = inet_csk_ca(sk);
	struct bw_busy_ack ack = {
		.rtt_us = rtt_us,
		.rtt_min_us = w->path.min_us,
		.wait_us = cc_path_wait_us(tcp_sk(sk), &w->path),
		.train_us = w->path.min_us / WESTWOOD_TRAIN,
		.alpha_permille = WESTWOOD_ALPHA_PERMILLE,
	};
	u32 lost_bytes = w->busy.lost << BW_BUSY_LOST_SHIFT;
	struct bw_busy_stretch round = w->busy.round;

	cc_busy_add(tcp_sk(sk), &w->busy, &ack, pkts, lost, back_us);
	if (w->busy.round.ack_us == round.ack_us)
		return false;
	westwood_back_round(w);
	full_queue_catch_up(&w->full);
	full_queue_round(&w->full, lost_bytes,
			 fixed_sat_u32((u64)round.bytes + lost_bytes), 1);
	full_queue_size(&w->full, tcp_packets_in_flight(tcp_sk(sk)));
	return true;
}

/* Waits up to this long count as no queue: nor is what a packet itself takes, on a slow link */
static u32 westwood_wait_us(const struct sock *sk)
{
	const struct westwood *w = inet_csk_ca(sk);
	u32 wait_us = cc_path_wait_us(tcp_sk(sk), &w->path);
	u32 bwe = fixed_sat_u32(westwood_bwe(w));

	if (!w->busy.proven)
		return wait_us;
	return max(wait_us, min(fixed_mul_div(tcp_sk(sk)->mss_cache,
					      USEC_PER_SEC, bwe),
				w->path.min_us));
}

/* Slow start ends by filling the queue: heavy loss in it is not the link's */
static bool westwood_is_heavy(const struct sock *sk)
{
	const struct westwood *w = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 window = (u64)max(tp->prior_cwnd, tcp_snd_cwnd(tp)) * tp->mss_cache;

	return tcp_in_slow_start(tp) &&
	       bw_busy_lost_bytes(&w->busy) > window / BW_BUSY_HEAVY;
}

/* A queue stands, and it is not being found out whether that is the path */
static bool westwood_stands(const struct sock *sk)
{
	const struct westwood *w = inet_csk_ca(sk);

	return !minrtt_probe_is_open(&w->path) &&
	       bw_busy_standing_us(&w->busy) > westwood_wait_us(sk);
}

/* More is lost than a link loses, or where a full queue loses */
static bool westwood_is_full(const struct sock *sk)
{
	const struct westwood *w = inet_csk_ca(sk);

	return full_queue_is_it(&w->full) || westwood_is_heavy(sk);
}

/* A loss of now says that a queue is full. It may be none of those that do */
static bool westwood_lost_by_queue(const struct sock *sk)
{
	const struct westwood *w = inet_csk_ca(sk);

	return westwood_stands(sk) ||
	       (westwood_is_full(sk) && full_queue_is_here(&w->full));
}

static u32 westwood_bounded(const struct sock *sk, u32 ssthresh)
{
	u32 most = min_t(u32, tcp_sk(sk)->snd_cwnd_clamp, TCP_INFINITE_SSTHRESH);

	return clamp(ssthresh, CC_WINDOW_MIN, max(most, CC_WINDOW_MIN));
}

/* The queue is too short to be seen by its waits */
static bool westwood_is_short(const struct westwood *w)
{
	return full_queue_is_short(&w->full, w->path.min_us,
				   cc_path_least_us(&w->path));
}

/* Threshold after a loss of congestion */
static u32 westwood_congested(struct sock *sk, u32 cwnd)
{
	struct westwood *w = inet_csk_ca(sk);
	u32 bdp = westwood_bdp(sk, FIXED_MILLI);
	u32 most = cwnd - cwnd / WESTWOOD_CUT;

	w->cut = true;
	w->shown = true;
	/* A full queue that others keep is no shorter for half of our window: that is no path */
	if (!westwood_is_full(sk))
		minrtt_probe_cut(&w->path);
	bw_busy_congested(&w->busy);
	if (w->busy.proven)
		most = min(most, bdp);
	return westwood_bounded(sk, most);
}

/*
 * Bandwidth-delay product, where it is not congested. Without a busy stretch the path
 * may carry more than was ever sent: twice the window, and slow start goes on that
 * began.
 */
static u32 westwood_room(const struct sock *sk)
{
	const struct westwood *w = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 bdp = 0;

	if (westwood_has_estimate(w))
		bdp = westwood_bdp(sk, FIXED_MILLI);
	if (w->busy.proven)
		return bdp;
	if (tcp_in_slow_start(tp))
		bdp = max(bdp, tp->snd_ssthresh);
	/* Nor will a queue too short to be seen ever make such a stretch */
	if (!tcp_is_cwnd_limited(sk) || (w->shown && westwood_is_short(w)))
		return bdp;
	return max(bdp, 2 * tcp_snd_cwnd(tp));
}

/*
 * Above cwnd after a sporadic loss where there is room: the window then grows by slow
 * start, in recovery and after it. Not right after a recovery that has cut: nor does a queue
 * that stood before say that it still does.
 */
static u32 westwood_ssthresh_lost(struct sock *sk, bool again)
{
	const struct westwood *w = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	if (again && !full_queue_is_here(&w->full))
		return cwnd;
	if (westwood_lost_by_queue(sk))
		return westwood_congested(sk, cwnd);
	return westwood_bounded(sk, max(cwnd, westwood_room(sk)));
}

static u32 westwood_ssthresh_busy(struct sock *sk, bool again)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 marked = cc_window_marked(tcp_snd_cwnd(tp));

	if (!cc_window_is_marked(tp))
		return westwood_ssthresh_lost(sk, again);
	return tp->lost_out ? min(westwood_ssthresh_lost(sk, again), marked) :
	       marked;
}

static u32 westwood_ssthresh_paper(struct sock *sk)
{
	const struct westwood *w = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	if (cc_window_is_marked(tp) || !westwood_has_estimate(w))
		return max(tcp_snd_cwnd(tp) >> 1, CC_WINDOW_MIN);
	return westwood_bounded(sk, westwood_bdp(sk, READ_ONCE(a)));
}

static u32 westwood_ssthresh(struct sock *sk)
{
	struct westwood *w = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	bool again = w->cut;
	u32 ssthresh;

	if (w->paper)
		return westwood_ssthresh_paper(sk);
	w->cut = false;
	if (westwood_is_full(sk))
		cc_path_abort(sk, &w->path, w->wnd);
	if (w->path.probing) {
		if (cc_window_is_marked(tp))
			w->wnd = cc_window_marked(w->wnd);
		return tcp_snd_cwnd(tp);
	}
	/* A cut that the recovery before has not reached yet */
	if (again)
		tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp), tp->snd_ssthresh));
	ssthresh = westwood_ssthresh_busy(sk, again);
	tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp), ssthresh));
	return ssthresh;
}

/*
 * The paper's window is the threshold at once. Where that is more than what is out, the
 * difference would leave as one burst: until the end of the recovery the stack lets out
 * one more than has arrived (RFC 6937).
 */
static void westwood_recover_paper(struct sock *sk, u32 pkts, u32 lost)
{
	struct westwood *w = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 flight = tcp_packets_in_flight(tp);

	w->cut = true;
	tcp_snd_cwnd_set(tp, max(min(tp->snd_ssthresh, flight + pkts + 1),
				 flight + !!lost));
}

/*
 * In a recovery the window is the threshold. Where that leaves room it comes by slow
 * start: as much as has left the path, and as much again. While more is out than a cut has
 * left, one packet leaves for two that have arrived: else all that leaves in the round would
 * leave in half of it, at the rate of the bottleneck.
 */
static void westwood_recover(struct sock *sk, u32 pkts, u32 lost)
{
	struct westwood *w = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 flight = tcp_packets_in_flight(tp), cwnd;

	if (w->paper) {
		westwood_recover_paper(sk, pkts, lost);
		return;
	}
	/* It may have grown since the recovery began */
	if (lost && !w->cut && westwood_lost_by_queue(sk))
		WRITE_ONCE(tp->snd_ssthresh,
			   westwood_congested(sk, max(tp->prior_cwnd,
						      tcp_snd_cwnd(tp))));
	if (w->cut && flight > tp->snd_ssthresh)
		cwnd = flight + fixed_halve(tp->delivered, pkts);
	else
		cwnd = min(tp->snd_ssthresh, flight + 2 * (pkts + lost));
	tcp_snd_cwnd_set(tp, max(cwnd, CC_WINDOW_MIN));
	cc_window_repair(sk, lost);
}

static void westwood_set_window(struct sock *sk, u32 pkts, u32 lost)
{
	struct westwood *w = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u8 state = inet_csk(sk)->icsk_ca_state;
	bool recovers = state == TCP_CA_Recovery || state == TCP_CA_CWR;

	if (w->path.probing) {
		if (recovers)
			cc_path_held(sk, lost);
		return;
	}
	if (recovers) {
		westwood_recover(sk, pkts, lost);
		return;
	}
	/* Without SACK an undo may leave a recovery open, with the threshold of before it */
	if (w->cut && state != TCP_CA_Loss && tp->snd_ssthresh < TCP_INFINITE_SSTHRESH)
		tcp_snd_cwnd_set(tp, w->paper ? tp->snd_ssthresh :
				 min(tcp_snd_cwnd(tp), tp->snd_ssthresh));
	w->cut = false;
	if (pkts)
		tcp_reno_cong_avoid(sk, 0, pkts);
}

/* ssthresh above cwnd: slow start follows */
static void westwood_raise_ssthresh(struct sock *sk, u32 ssthresh)
{
	struct tcp_sock *tp = tcp_sk(sk);

	ssthresh = westwood_bounded(sk, ssthresh);
	if (ssthresh > tp->snd_ssthresh)
		WRITE_ONCE(tp->snd_ssthresh, ssthresh);
}

/* How losses lay on the path before says nothing of this one, nor what that carried */
static void westwood_new_path(struct westwood *w)
{
	full_queue_init(&w->full);
	w->shown = false;
	/* By the shorter round trip the bottleneck seemed busy all the time */
	bw_busy_pause(&w->busy);
	w->busy.proven = false;
	w->busy.wary = 0;
}

/* Until congestion has shown where slow start should have ended the estimate says it */
static void westwood_round(struct sock *sk)
{
	struct westwood *w = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 wnd = w->wnd;

	if (cc_path_round(sk, &w->path, &wnd, cc_path_least_us(&w->path),
			  cc_path_wait_us(tp, &w->path)))
		westwood_new_path(w);
	w->wnd = min(wnd, WESTWOOD_WND_MAX);
	if (w->busy.proven && !w->shown && !tp->delivered_ce)
		westwood_raise_ssthresh(sk, westwood_bdp(sk, FIXED_MILLI));
}

/* What an ACK says of the bandwidth, of queues and of the path */
static void westwood_measure(struct sock *sk, u32 pkts, u32 lost, u32 rtt_us)
{
	struct westwood *w = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u8 state = inet_csk(sk)->icsk_ca_state;
	u32 back_us;

	if (w->paper) {
		if (rtt_us)
			minrtt_probe_add(&w->path, rtt_us, tp->mdev_us);
		westwood_estimate_paper(sk, pkts);
		return;
	}
	/* A timeout gives all up for lost, whatever became of it */
	if (state == TCP_CA_Loss)
		lost = 0;
	back_us = cc_path_back_us(tp, &w->path, rtt_us);
	if (rtt_us) {
		westwood_path(w, tp, rtt_us, back_us);
		westwood_back(w, back_us);
		full_queue_add(&w->full, rtt_us, w->path.min_us,
			       !!tp->sacked_out, state == TCP_CA_Recovery);
	}
	if (lost)
		full_queue_lost(&w->full, westwood_is_short(w));
	if (westwood_estimate_busy(sk, pkts, lost, rtt_us - back_us, back_us))
		westwood_round(sk);
	/* The first busy stretch knows where slow start has to end */
	if (w->busy.proven && tcp_in_initial_slowstart(tp))
		WRITE_ONCE(tp->snd_ssthresh,
			   westwood_bounded(sk, westwood_bdp(sk, FIXED_MILLI)));
}

/*
 * Slow start whose end is known is spaced: else two packets leave for each that the
 * bottleneck lets through, and half of the window is a queue. What pacing has held back
 * must not leave at once when it ends; in a recovery nothing has been.
 */
static void westwood_pace(struct sock *sk, u32 pkts)
{
	const struct westwood *w = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	bool open = inet_csk(sk)->icsk_ca_state < TCP_CA_CWR;

	if (w->paper)
		return;
	if (open && w->busy.proven && !w->shown && tcp_in_slow_start(tp))
		cc_window_want_pacing(sk);
	else if (!open || !cc_window_has_room(tp, pkts))
		cc_window_end_pacing(sk);
}

static void westwood_ack(struct sock *sk, const struct rate_sample *rs)
{
	struct westwood *w = inet_csk_ca(sk);
	u32 rtt_us = rs->rtt_us > 0 ? fixed_sat_u32(rs->rtt_us) : 0;
	u32 lost = cc_window_lost(tcp_sk(sk), w->lost, max(rs->losses, 0));

	w->lost = tcp_sk(sk)->lost;
	westwood_measure(sk, rs->acked_sacked, lost, rtt_us);
	westwood_set_window(sk, rs->acked_sacked, lost);
	westwood_pace(sk, rs->acked_sacked);
	cc_window_pace(sk);
}

/* Bandwidth-delay product that GFR looks for, 0: none */
static u32 westwood_target(const struct sock *sk)
{
	const struct westwood *w = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk)), room;
	u32 wait_us = westwood_wait_us(sk);

	if (w->paper)
		return westwood_has_estimate(w) ?
		       westwood_bdp(sk, FIXED_MILLI) : 0;
	/* A full queue is no more where nothing waits, unless it is too short to be seen */
	if (w->path.probing || bw_busy_standing_us(&w->busy) > wait_us ||
	    (full_queue_is_it(&w->full) &&
	     full_queue_is_short(&w->full, w->path.min_us, wait_us)))
		return 0;
	room = westwood_room(sk);
	/* It carries more by now than the estimate says */
	if (tcp_is_cwnd_limited(sk) && bw_busy_no_queue(&w->busy))
		room = max(room, cwnd + cwnd / WESTWOOD_SEARCH);
	return room;
}

static void westwood_gradual(struct sock *sk)
{
	struct westwood *w = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 now = tcp_jiffies32;
	u32 cwnd = tcp_snd_cwnd(tp), bdp;

	if (((now - w->gfr_stamp) & WESTWOOD_STAMP_MASK) <
	    msecs_to_jiffies(WESTWOOD_GFR_MS))
		return;
	w->gfr_stamp = now;
	bdp = westwood_target(sk);
	if (cwnd > tp->snd_ssthresh && cwnd < bdp)
		westwood_raise_ssthresh(sk, tp->snd_ssthresh +
					    (bdp - tp->snd_ssthresh) / 2);
}

/* The handshake's ACK comes before init(), after a disconnect, too */
static void westwood_fr_cong_control(struct sock *sk,
				     const struct rate_sample *rs)
{
	if (inet_csk(sk)->icsk_ca_initialized)
		westwood_ack(sk, rs);
}

static void westwood_gfr_cong_control(struct sock *sk,
				      const struct rate_sample *rs)
{
	if (!inet_csk(sk)->icsk_ca_initialized)
		return;
	westwood_gradual(sk);
	westwood_ack(sk, rs);
}

static void westwood_after_idle(struct sock *sk)
{
	struct westwood *w = inet_csk_ca(sk);

	if (inet_csk(sk)->icsk_ca_initialized)
		cc_path_after_idle(sk, &w->path, w->wnd);
}

/* How long it was silent until a timeout is not how far apart ACKs come */
static void westwood_set_state(struct sock *sk, u8 new_state)
{
	struct westwood *w = inet_csk_ca(sk);

	if (new_state != TCP_CA_Loss)
		return;
	/* A timeout gives all up for lost, whatever became of it */
	w->lost = tcp_sk(sk)->lost;
	if (w->paper)
		return;
	bw_busy_pause(&w->busy);
	cc_path_timeout(sk, &w->path, w->wnd);
}

/* Nothing was lost: what a recovery has cut is none of the window's any more */
static u32 westwood_undo_cwnd(struct sock *sk)
{
	struct westwood *w = inet_csk_ca(sk);

	w->cut = false;
	return tcp_reno_undo_cwnd(sk);
}

static size_t westwood_get_info(struct sock *sk, u32 ext, int *attr,
				union tcp_cc_info *info)
{
	const struct westwood *w = inet_csk_ca(sk);

	return cc_info_vegas(ext, attr, info, westwood_has_estimate(w),
			     fixed_sat_u32(westwood_bwe(w)),
			     tcp_sk(sk)->srtt_us >> 3, w->path.min_us);
}

CC_COMPAT_CONG_CONTROL(westwood_fr_cong_control);
CC_COMPAT_CONG_CONTROL(westwood_gfr_cong_control);
CC_COMPAT_TX_START(westwood_after_idle);

static struct tcp_congestion_ops westwood_fr_ops __read_mostly = {
	.name		= "westwood_fr",
	.owner		= THIS_MODULE,
	.init		= westwood_init,
	.ssthresh	= westwood_ssthresh,
	.cong_control	= westwood_fr_cong_control_op,
	.CC_COMPAT_TX_START_FIELD = westwood_after_idle_op,
	.set_state	= westwood_set_state,
	.undo_cwnd	= westwood_undo_cwnd,
	.get_info	= westwood_get_info,
};

static struct tcp_congestion_ops westwood_gfr_ops __read_mostly = {
	.name		= "westwood_gfr",
	.owner		= THIS_MODULE,
	.init		= westwood_init,
	.ssthresh	= westwood_ssthresh,
	.cong_control	= westwood_gfr_cong_control_op,
	.CC_COMPAT_TX_START_FIELD = westwood_after_idle_op,
	.set_state	= westwood_set_state,
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
MODULE_ALIAS("tcp_westwood_gfr");
MODULE_DESCRIPTION("TCP with faster recovery: FR-TCP and GFR-TCP");
MODULE_VERSION(HETCC_VERSION);
