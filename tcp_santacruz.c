// SPDX-License-Identifier: GPL-2.0
/*
 * TCP Santa Cruz
 */
#include <linux/module.h>
#include <net/tcp.h>

#include "hetcc/cc_compat.h"
#include "hetcc/cc_info.h"
#include "hetcc/cc_param.h"
#include "hetcc/cc_window.h"
#include "hetcc/forward_level.h"
#include "hetcc/loss_delay.h"
#include "hetcc/santacruz_law.h"
#include "hetcc/santacruz_paper.h"
#include "hetcc/tsval_tick.h"
#include "hetcc/version.h"

#define CREATE_TRACE_POINTS
#include "hetcc/trace_santacruz.h"

#define SANTACRUZ_TICK_MS_US	1000U
/* A tick is fine enough for a round that spans so many */
#define SANTACRUZ_TICKS_PER_RTT	8U
/* Drains are at least so many round trips apart: 1 % of the rate */
#define SANTACRUZ_DRAIN_RTTS	32U
#define SANTACRUZ_BUSY_PKTS	8U
/* So many rounds without reaching the operating point: the law does not hold the queue */
#define SANTACRUZ_AWAY_ROUNDS	32U
#define SANTACRUZ_AWAY_MAX	63
#define SANTACRUZ_LOSS_MAX	(U16_MAX / 50)

CC_PARAM_MILLI(n_op, 3000, 500, 1000000,
	       "packets to keep in the bottleneck queue (0.5..1000); default 3");
CC_PARAM_MILLI(delta, 500, 0, 1000000,
	       "tolerance around n_op in packets (0..1000); default 0.5");
CC_PARAM_UINT(drain_s, 10, 0, 1000,
	      "empty the queue after so many seconds without (0..1000, 0: never); default 10");
CC_PARAM_UINT(discriminate, 1, 0, 1,
	      "1: only congestive loss halves the window, 0: every loss does; default 1");
CC_PARAM_UINT(compete, 1, 0, 1,
	      "1: keep a share beside flows that fill the queue, 0: give way; default 1");
CC_PARAM_UINT(paper, 0, 0, 1,
	      "1: the two papers and nothing else, 0: what departs from them too; default 0");

/* Where R of equation 1 comes from */
enum santacruz_source {
	SANTACRUZ_RTT,
	SANTACRUZ_TSTAMP,
	SANTACRUZ_OPTION,
};

enum santacruz_phase {
	SANTACRUZ_STARTUP,
	SANTACRUZ_STEADY,
	SANTACRUZ_DRAIN,
};

struct santacruz {
	union {
		struct {
			struct forward_level lv;
			struct loss_delay loss;
			u32 end;
			u32 window;
			u32 prior;
			u32 before;
			u32 ref_us;
			u32 ref_pkts;
			u32 near_stamp;
			u32 left_us;
			u32 lost;
		};
		struct santacruz_paper pp;
	};
	u32 probe_ts;
	u32 probe_us;
	u32 tick:3,
	    source:2,
	    phase:2,
	    grew:2,
	    run:4,
	    probing:2,
	    lifted:1,
	    lowering:1,
	    sudden:1,
	    coarse:1,
	    reduced:2,
	    away:6,
	    paper:1;
};

#define SANTACRUZ_RUN_MAX	15

/* Packets in Q8 from a parameter in thousandths: 10^6 * 2^8 < 2^32 */
static s32 santacruz_milli_to_q8(unsigned int milli)
{
	return milli * QUEUE_PKTS_ONE / FIXED_MILLI;
}

static const u32 santacruz_ticks_us[] = { 1, 1000, 4000, 10000, 100000 };

static u32 santacruz_tick_us(const struct santacruz *sc)
{
	return santacruz_ticks_us[sc->tick];
}

static u8 santacruz_tick_code(u32 tick_us)
{
	u8 i = 0;

	while (i < ARRAY_SIZE(santacruz_ticks_us) - 1 &&
	       santacruz_ticks_us[i] < tick_us)
		i++;
	return i;
}

static s32 santacruz_queue(const struct santacruz *sc, u32 delay_us)
{
	return queue_pkts_from_us(delay_us, forward_level_pkts_ns(&sc->lv));
}

/* Equation 2: packets in the bottleneck queue, Q8 */
static s32 santacruz_n(const struct santacruz *sc)
{
	return santacruz_queue(sc, sc->lv.level_us);
}

static s32 santacruz_op(const struct santacruz *sc)
{
	s32 op = santacruz_law_op(sc->window, santacruz_milli_to_q8(READ_ONCE(n_op)));
	u32 noise_us = sc->lv.spread >> FORWARD_LEVEL_SPREAD_SHIFT;
	s32 spread = santacruz_queue(sc, noise_us - min(noise_us, santacruz_tick_us(sc)));

	return op + max(spread - QUEUE_PKTS_ONE, 0);
}

static u8 santacruz_best_source(const struct tcp_sock *tp)
{
	if (cc_compat_option_ok(tp))
		return SANTACRUZ_OPTION;
	return tp->rx_opt.tstamp_ok ? SANTACRUZ_TSTAMP : SANTACRUZ_RTT;
}

static u32 santacruz_best_tick_us(const struct tcp_sock *tp, u8 source)
{
	return source != SANTACRUZ_TSTAMP || cc_compat_usec_ts(tp) ?
	       1 : SANTACRUZ_TICK_MS_US;
}

static void santacruz_set_window(struct sock *sk, u32 window)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	sc->window = clamp(window, SANTACRUZ_LAW_WINDOW_MIN,
			   min(tp->snd_cwnd_clamp, SANTACRUZ_LAW_WINDOW_MAX));
	WRITE_ONCE(tp->snd_ssthresh, sc->window);
}

/* A window of data: what is in flight now */
static void santacruz_paper_begin_interval(struct sock *sk)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	santacruz_paper_begin(&sc->pp, tp->delivered, tcp_packets_in_flight(tp));
}

static void santacruz_paper_init(struct sock *sk)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	sc->pp.startup = 1;
	if (cc_window_is_fresh(tp))
		tcp_snd_cwnd_set(tp, SANTACRUZ_PAPER_WINDOW_MIN);
	santacruz_paper_begin_interval(sk);
}

static void santacruz_init(struct sock *sk)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	memset(sc, 0, sizeof(*sc));
	sc->source = santacruz_best_source(tp);
	sc->tick = santacruz_tick_code(santacruz_best_tick_us(tp, sc->source));
	sc->paper = READ_ONCE(paper);
	if (sc->paper) {
		santacruz_paper_init(sk);
		return;
	}
	sc->end = tp->delivered;
	sc->lost = tp->lost;
	sc->near_stamp = tcp_jiffies32;
	santacruz_set_window(sk, cc_window_is_fresh(tp) ?
			     SANTACRUZ_LAW_WINDOW_MAX : tcp_snd_cwnd(tp));
	cc_window_want_pacing(sk);
}

static void santacruz_use_clock(struct santacruz *sc, u8 source, u32 tick_us)
{
	if (sc->source == source && santacruz_tick_us(sc) == tick_us)
		return;
	sc->source = source;
	sc->tick = santacruz_tick_code(tick_us);
	if (sc->paper) {
		sc->pp.primed = 0;
		sc->pp.fresh = 0;
		return;
	}
	sc->lowering = 0;
	forward_level_reset(&sc->lv);
}

/* Measure the peer's timestamp clock against ours, again and again */
static void santacruz_probe_tick(struct santacruz *sc, u32 tsval, u32 now_us)
{
	u32 elapsed_us = now_us - sc->probe_us;
	u32 tick_us = 0;

	if (sc->coarse)
		return;
	if (sc->probing && (elapsed_us < TSVAL_TICK_PROBE_US ||
			    before(tsval, sc->probe_ts)))
		return;
	if (sc->probing) {
		tick_us = tsval_tick_us(tsval - sc->probe_ts, elapsed_us);
		if (tick_us)
			santacruz_use_clock(sc, SANTACRUZ_TSTAMP, tick_us);
		else if (sc->probing == 2)
			santacruz_use_clock(sc, SANTACRUZ_RTT, 1);
	}
	sc->probing = sc->probing && !tick_us ? 2 : 1;
	sc->probe_ts = tsval;
	sc->probe_us = now_us;
}

/*
 * A coarse tick says nothing about a short path, nor about a queue that is much shorter
 * than a tick. Once found, the round trip serves for the connection.
 */
static bool santacruz_tick_too_coarse(struct sock *sk)
{
	const struct santacruz *sc = inet_csk_ca(sk);
	u32 pkts_ns = forward_level_pkts_ns(&sc->lv);
	u32 op_us = fixed_mul_div(santacruz_law_op(sc->window,
				santacruz_milli_to_q8(READ_ONCE(n_op))),
				pkts_ns, 1000 * QUEUE_PKTS_ONE);

	if (sc->paper || sc->source != SANTACRUZ_TSTAMP || sc->tick < 1)
		return false;
	return santacruz_tick_us(sc) * SANTACRUZ_TICKS_PER_RTT >
	       tcp_min_rtt(tcp_sk(sk)) ||
	       (sc->phase != SANTACRUZ_STARTUP && pkts_ns &&
		santacruz_tick_us(sc) > 2 * op_us);
}

/* R of equation 1 for the current ACK */
static u32 santacruz_receive_us(struct sock *sk, u32 now_us)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (santacruz_tick_too_coarse(sk)) {
		sc->coarse = 1;
		santacruz_use_clock(sc, SANTACRUZ_RTT, 1);
	}
	if (sc->source == SANTACRUZ_TSTAMP)
		return tp->rx_opt.rcv_tsval * santacruz_tick_us(sc);
	return now_us;
}

/* S and R of equation 1; false if the ACK has none */
static bool santacruz_times(struct sock *sk, s32 rtt_us, u32 *s_us, u32 *r_us)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 now_us = (u32)tp->tcp_mstamp;
	u8 source;

	if (sc->source == SANTACRUZ_OPTION) {
		if (cc_compat_option_ok(tp))
			return cc_compat_option_sample(sk, s_us, r_us);
		source = santacruz_best_source(tp);
		santacruz_use_clock(sc, source,
				    santacruz_best_tick_us(tp, source));
	}
	if (rtt_us <= 0)
		return false;
	*s_us = now_us - (u32)rtt_us;
	*r_us = santacruz_receive_us(sk, now_us);
	return true;
}

/* Segments that the stack sends at once: the rule of tcp_tso_autosize() */
static u32 santacruz_burst_pkts(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 bytes = READ_ONCE(sk->sk_pacing_rate) >>
		    READ_ONCE(sk->sk_pacing_shift);
	u32 halvings = tcp_min_rtt(tp) >> 9;

	if (halvings < 32)
		bytes += sk->sk_gso_max_size >> halvings;
	return div_u64(min_t(u64, bytes, sk->sk_gso_max_size),
		       max(tp->mss_cache, 1U));
}

/* An ACK of a whole burst tells of its last packet, which waited for our own first */
static u32 santacruz_own_burst_us(const struct sock *sk, u32 acked)
{
	const struct santacruz *sc = inet_csk_ca(sk);
	u32 burst = min(acked, santacruz_burst_pkts(sk));

	return burst < 2 ? 0 : fixed_mul_div(burst - 1,
				forward_level_pkts_ns(&sc->lv), 1000);
}

/* Offset of the packet that caused the ACK; false if there is none */
static bool santacruz_sample(struct sock *sk, const struct rate_sample *rs,
			     u32 *off_us)
{
	struct santacruz *sc = inet_csk_ca(sk);
	u32 s_us, r_us, flight = rs->delivered > 0 ? rs->delivered : 1;

	if (rs->rtt_us > 0)
		loss_delay_sample(&sc->loss, rs->rtt_us);
	if (!santacruz_times(sk, rs->rtt_us, &s_us, &r_us))
		return false;
	*off_us = r_us - s_us - santacruz_own_burst_us(sk, rs->acked_sacked);
	forward_level_sample(&sc->lv, *off_us, flight);
	return true;
}

static void santacruz_reduce(struct sock *sk)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	bool startup = sc->phase == SANTACRUZ_STARTUP;

	if (sc->reduced)
		return;
	sc->reduced = 2;
	sc->phase = SANTACRUZ_STEADY;
	sc->run = 0;
	sc->lowering = 0;
	sc->prior = min(sc->window, tcp_snd_cwnd(tp));
	santacruz_set_window(sk, santacruz_law_reduce(sc->prior));
	if (startup)
		sc->prior = 0;
}

/*
 * More is lost than the link loses where no queue shows. In start-up that is not known
 * yet: a sixteenth.
 */
static bool santacruz_heavy_loss(const struct santacruz *sc)
{
	if (sc->phase == SANTACRUZ_STARTUP)
		return sc->loss.rate > U16_MAX / 32;
	return sc->loss.rate > U16_MAX / 32;
}

/*
 * A loss can be random only while the law holds the queue: the operating point was
 * reached of late. Where it is never reached, the queue is shorter, or others fill it.
 */
static bool santacruz_congested(const struct santacruz *sc, bool full)
{
	return full || sc->grew == 2 || !READ_ONCE(discriminate) ||
	       sc->away >= clamp(sc->window / 2, 4U, SANTACRUZ_AWAY_ROUNDS) || santacruz_heavy_loss(sc);
}

static void santacruz_loss(struct sock *sk, const struct rate_sample *rs)
{
	struct santacruz *sc = inet_csk_ca(sk);
	u32 rtt_us = rs->rtt_us > 0 ? rs->rtt_us : tcp_sk(sk)->srtt_us >> 3;
	bool congested;

	if (rs->losses <= 0)
		return;
	congested = santacruz_congested(sc, loss_delay_lost(&sc->loss, rtt_us,
				sc->phase == SANTACRUZ_STARTUP));
	trace_loss(sk, santacruz_n(sc), sc->grew, congested);
	if (congested)
		santacruz_reduce(sk);
}

/* Has the operating point, without what noise adds to it, been reached? */
static void santacruz_hold(struct santacruz *sc)
{
	s32 op = santacruz_law_op(sc->window,
				  santacruz_milli_to_q8(READ_ONCE(n_op)));

	if (sc->window >= sc->prior)
		sc->away = min(sc->away + 1, SANTACRUZ_AWAY_MAX);
	if (santacruz_n(sc) >= op - santacruz_milli_to_q8(READ_ONCE(delta)))
		sc->away = 0;
}

/* The state diagram of the 2000 paper */
static void santacruz_count_growth(struct santacruz *sc, s32 previous)
{
	s32 tolerance = santacruz_milli_to_q8(READ_ONCE(delta));
	s32 noise = tolerance + tolerance / 2 +
		    santacruz_queue(sc, santacruz_tick_us(sc) +
				    (sc->lv.spread >> FORWARD_LEVEL_SPREAD_SHIFT));

	if ((s64)santacruz_n(sc) - previous > noise && sc->run < 3)
		sc->grew = min(sc->grew + 1, 2);
	else
		sc->grew = 0;
}

static void santacruz_raise(struct sock *sk, s32 op)
{
	struct santacruz *sc = inet_csk_ca(sk);

	sc->lowering = 0;
	if (sc->reduced || !tcp_is_cwnd_limited(sk))
		return;
	santacruz_set_window(sk, sc->window +
			     santacruz_law_raise(sc->window, santacruz_n(sc) >=
			op - santacruz_milli_to_q8(READ_ONCE(n_op)) / 2, sc->run,
			sc->prior));
	sc->run = min(sc->run + 1, SANTACRUZ_RUN_MAX);
}

static void santacruz_lower(struct sock *sk, u32 level_us, u32 last_us, s32 op)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct santacruz_law_answer a = {
		.first_us = sc->ref_us,
		.now_us = level_us,
		.first_pkts = sc->ref_pkts,
		.now_pkts = sc->lv.sent_pkts,
		.pkts_ns = forward_level_pkts_ns(&sc->lv),
		.sudden = sc->sudden,
	};

	sc->run = 0;
	if (!sc->lowering) {
		sc->before = sc->window;
	} else if (santacruz_law_unanswered(&a) &&
		   !santacruz_law_grew(&a, santacruz_tick_us(sc))) {
		forward_level_raise_base(&sc->lv, level_us);
		sc->lifted = 1;
		sc->lowering = 0;
		santacruz_set_window(sk, max(sc->before, sc->window));
		return;
	}
	if (!sc->lowering || santacruz_law_grew(&a, santacruz_tick_us(sc))) {
		sc->sudden = last_us < level_us / 4;
		sc->lowering = 1;
		sc->ref_us = level_us;
		sc->ref_pkts = sc->lv.sent_pkts;
	}
	santacruz_set_window(sk, santacruz_law_lower(sc->window, sc->lv.sent_pkts,
						     santacruz_n(sc) - op));
}

static void santacruz_steer(struct sock *sk, const struct rate_sample *rs,
			    u32 level_us, u32 last_us)
{
	struct santacruz *sc = inet_csk_ca(sk);
	s32 tolerance = santacruz_milli_to_q8(READ_ONCE(delta));
	s32 op = santacruz_op(sc);

	if (santacruz_n(sc) > op + tolerance) {
		if (!rs->is_app_limited)
			santacruz_lower(sk, level_us, last_us, op);
	} else if (santacruz_n(sc) < max(op - tolerance, 1)) {
		santacruz_raise(sk, op);
	} else {
		sc->lowering = 0;
		sc->run = 0;
	}
}

static bool santacruz_drain_due(const struct sock *sk)
{
	const struct santacruz *sc = inet_csk_ca(sk);
	u32 rtt_us = tcp_sk(sk)->srtt_us >> 3;
	u32 period = max_t(u32, READ_ONCE(drain_s) * HZ,
			   usecs_to_jiffies(rtt_us * SANTACRUZ_DRAIN_RTTS));

	return READ_ONCE(drain_s) && sc->phase == SANTACRUZ_STEADY &&
	       tcp_jiffies32 - sc->near_stamp > period;
}

static void santacruz_begin_drain(struct sock *sk)
{
	struct santacruz *sc = inet_csk_ca(sk);

	sc->phase = SANTACRUZ_DRAIN;
	sc->run = 0;
	sc->lowering = 0;
	sc->before = sc->window;
	santacruz_set_window(sk, santacruz_law_drain(sc->window, santacruz_n(sc)));
}

/*
 * The first round still had packets from before the drain. What two drains in a row
 * leave is the path's.
 */
static void santacruz_drain(struct sock *sk, u32 level_us)
{
	struct santacruz *sc = inet_csk_ca(sk);
	u32 left_us = level_us;

	if (sc->run++ < 2)
		return;
	if (sc->left_us) {
		left_us = min(level_us, sc->left_us);
		forward_level_raise_base(&sc->lv, left_us);
		left_us = 0;
	}
	sc->left_us = left_us;
	sc->lifted = 0;
	sc->near_stamp = tcp_jiffies32;
	sc->phase = SANTACRUZ_STEADY;
	sc->run = 0;
	santacruz_set_window(sk, max(sc->before, sc->window));
}

static void santacruz_end_startup(struct sock *sk)
{
	struct santacruz *sc = inet_csk_ca(sk);

	sc->phase = SANTACRUZ_STEADY;
	sc->run = 0;
	sc->lowering = 0;
	sc->near_stamp = tcp_jiffies32;
}

/* The whole round had to wait: the pipe was full with what was sent then */
static void santacruz_check_startup(struct sock *sk, s32 op)
{
	struct santacruz *sc = inet_csk_ca(sk);

	if (tcp_snd_cwnd(tcp_sk(sk)) >= sc->window) {
		santacruz_end_startup(sk);
	} else if (santacruz_n(sc) > op) {
		u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

		santacruz_set_window(sk, santacruz_law_lower(cwnd,
					sc->lv.sent_pkts, santacruz_n(sc) - op));
		santacruz_end_startup(sk);
	}
}

/*
 * Packets that queue behind each other leave at the link's rate. A queue that has
 * not been empty for so many shows it, and so where slow start has to end.
 */
static void santacruz_startup_rate(struct sock *sk, u32 off_us)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 now_us = (u32)tp->tcp_mstamp, min_us = tcp_min_rtt(tp);
	u32 pkts = tp->delivered - sc->ref_pkts, us = now_us - sc->ref_us;
	u32 ns, window;

	if (!sc->lowering ||
	    forward_level_delay_us(&sc->lv, off_us) <=
	    min(min_us / 16, 4000U) + santacruz_tick_us(sc)) {
		sc->lowering = 1;
		sc->ref_us = now_us;
		sc->ref_pkts = tp->delivered;
		return;
	}
	if (pkts < SANTACRUZ_BUSY_PKTS)
		return;
	ns = fixed_mul_div(us, 1000, pkts);
	window = fixed_mul_div(min_us, 1000, ns);
	window = min(window, SANTACRUZ_LAW_WINDOW_MAX);
	window += santacruz_law_op(window, santacruz_milli_to_q8(READ_ONCE(n_op)))
		  >> QUEUE_PKTS_SHIFT;
	santacruz_set_window(sk, max(window, tcp_snd_cwnd(tp) / 2));
	forward_level_service(&sc->lv, us, pkts);
}

static void santacruz_near(struct santacruz *sc, s32 previous, s32 op)
{
	if (santacruz_n(sc) > op / 4)
		return;
	if (previous <= op / 4)
		forward_level_noise(&sc->lv);
	if (sc->lifted)
		return;
	sc->near_stamp = tcp_jiffies32;
	sc->left_us = 0;
}

static void santacruz_round(struct sock *sk, const struct rate_sample *rs)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	s32 previous = santacruz_n(sc), op = santacruz_op(sc);
	u32 level_us, lost, last_us = sc->lv.level_us;

	if (rs->delivered <= 0 || before(rs->prior_delivered, sc->end))
		return;
	lost = tp->lost - sc->lost;
	loss_delay_round(&sc->loss, lost, tp->delivered - sc->end + lost,
			 false);
	sc->end = tp->delivered;
	sc->lost = tp->lost;
	sc->reduced -= !!sc->reduced;
	if (rs->interval_us > 0)
		forward_level_service(&sc->lv, rs->interval_us, rs->delivered);
	if (!forward_level_round(&sc->lv))
		return;
	level_us = sc->lv.level_us;
	santacruz_count_growth(sc, previous);
	santacruz_near(sc, previous, op);
	if (tcp_is_cwnd_limited(sk) && sc->phase != SANTACRUZ_STARTUP)
		santacruz_hold(sc);
	if (sc->phase == SANTACRUZ_STARTUP)
		santacruz_check_startup(sk, op);
	else if (sc->phase == SANTACRUZ_DRAIN)
		santacruz_drain(sk, level_us);
	else if (santacruz_drain_due(sk))
		santacruz_begin_drain(sk);
	else
		santacruz_steer(sk, rs, level_us, last_us);
	trace_interval(sk, santacruz_n(sc), level_us, forward_level_pkts_ns(&sc->lv),
		       sc->grew, sc->source, sc->phase);
	if (!sc->lv.round) {
		forward_level_next_epoch(&sc->lv);
		sc->lost = tp->lost;
		}
}

/* Up to the window by slow start, down to it at once */
static void santacruz_set_cwnd(struct sock *sk, u32 acked)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	if (cwnd < sc->window && tcp_is_cwnd_limited(sk))
		cwnd = min(cwnd + acked, sc->window);
	cwnd = min(cwnd, sc->window);
	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
}

/* paper=1: the two papers and nothing else (santacruz_paper.h) */

/* From here on the stack's slow start has nothing to say */
static void santacruz_paper_set_window(struct sock *sk, u32 window)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tp, min(window, tp->snd_cwnd_clamp));
	WRITE_ONCE(tp->snd_ssthresh, min(tp->snd_ssthresh, tcp_snd_cwnd(tp)));
}

static void santacruz_paper_interval_over(struct sock *sk)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct santacruz_paper *pp = &sc->pp;
	struct tcp_sock *tp = tcp_sk(sk);
	s32 sum_us = pp->sum_us;

	if (santacruz_paper_interval(pp, tp->delivered,
				     santacruz_milli_to_q8(READ_ONCE(n_op)),
				     santacruz_milli_to_q8(READ_ONCE(delta)),
				     santacruz_tick_us(sc)))
		trace_interval(sk, pp->n, sum_us, pp->pkts_ns, pp->count,
			       sc->source, pp->mode);
	santacruz_paper_begin_interval(sk);
}

/* Reno's, until the queue shows */
static void santacruz_paper_slow_start(struct sock *sk, u32 acked)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	s32 op = santacruz_milli_to_q8(READ_ONCE(n_op));

	if (!tcp_in_slow_start(tp) ||
	    santacruz_paper_startup_over(&sc->pp, tp->delivered, op)) {
		sc->pp.startup = 0;
		santacruz_paper_set_window(sk, tcp_snd_cwnd(tp));
	} else if (tcp_is_cwnd_limited(sk)) {
		tcp_slow_start(tp, acked);
	}
}

static void santacruz_paper_avoid(struct sock *sk)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = santacruz_paper_step(&sc->pp, tp->delivered,
					tcp_snd_cwnd(tp),
					tcp_is_cwnd_limited(sk));

	santacruz_paper_set_window(sk, cwnd);
}

static void santacruz_paper_main(struct sock *sk, const struct rate_sample *rs)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 s_us, r_us;

	if (santacruz_times(sk, rs->rtt_us, &s_us, &r_us))
		santacruz_paper_sample(&sc->pp, s_us, r_us, tp->delivered);
	if (sc->pp.startup)
		santacruz_paper_slow_start(sk, rs->acked_sacked);
	else
		santacruz_paper_avoid(sk);
	if (santacruz_paper_reached(tp->delivered, sc->pp.end))
		santacruz_paper_interval_over(sk);
	/* For the size of a burst; nothing is paced */
	cc_window_pace(sk);
}

/* A loss, once a recovery, or a timeout */
static u32 santacruz_paper_ssthresh(struct sock *sk)
{
	const struct santacruz *sc = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));
	bool congested = santacruz_paper_congested(&sc->pp) ||
			 !READ_ONCE(discriminate);

	trace_loss(sk, sc->pp.n, sc->pp.count, congested);
	return congested ? santacruz_paper_half(cwnd) : cwnd;
}

static void santacruz_paper_reduce(struct sock *sk, u32 window)
{
	struct santacruz *sc = inet_csk_ca(sk);

	sc->pp.startup = 0;
	if (window < tcp_snd_cwnd(tcp_sk(sk)))
		sc->pp.mode = SANTACRUZ_PAPER_HOLD;
	santacruz_paper_set_window(sk, window);
}

/* An ECN mark, or a packet dropped on this host, is congestion */
static void santacruz_paper_set_state(struct sock *sk, u8 new_state)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	if (new_state == TCP_CA_Loss) {
		santacruz_paper_timeout(&sc->pp);
		santacruz_paper_begin_interval(sk);
	} else if (!tcp_in_cwnd_reduction(sk) && new_state == TCP_CA_CWR) {
		santacruz_paper_reduce(sk, santacruz_paper_half(cwnd));
	} else if (!tcp_in_cwnd_reduction(sk) && new_state == TCP_CA_Recovery) {
		santacruz_paper_reduce(sk, min(cwnd, tp->snd_ssthresh));
	}
}

static void santacruz_main(struct sock *sk, const struct rate_sample *rs)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 off_us;

	if (tp->rx_opt.saw_tstamp)
		santacruz_probe_tick(sc, tp->rx_opt.rcv_tsval,
				     (u32)tp->tcp_mstamp);
	if (sc->paper) {
		santacruz_paper_main(sk, rs);
		return;
	}
	if (santacruz_sample(sk, rs, &off_us) &&
	    sc->phase == SANTACRUZ_STARTUP)
		santacruz_startup_rate(sk, off_us);
	santacruz_round(sk, rs);
	santacruz_loss(sk, rs);
	santacruz_set_cwnd(sk, rs->acked_sacked);
	cc_window_pace(sk);
}

CC_COMPAT_CONG_CONTROL(santacruz_main);

static u32 santacruz_ssthresh(struct sock *sk)
{
	struct santacruz *sc = inet_csk_ca(sk);

	if (sc->paper)
		return santacruz_paper_ssthresh(sk);
	return clamp(tcp_snd_cwnd(tcp_sk(sk)), SANTACRUZ_LAW_WINDOW_MIN,
		     sc->window);
}

static u32 santacruz_undo_cwnd(struct sock *sk)
{
	struct santacruz *sc = inet_csk_ca(sk);
	u32 cwnd;

	if (sc->paper)
		return tcp_reno_undo_cwnd(sk);
	cwnd = max(tcp_snd_cwnd(tcp_sk(sk)), sc->prior);
	santacruz_set_window(sk, max(sc->window, cwnd));
	return cwnd;
}

static void santacruz_set_state(struct sock *sk, u8 new_state)
{
	struct santacruz *sc = inet_csk_ca(sk);
	u8 old = inet_csk(sk)->icsk_ca_state;

	if (sc->paper) {
		santacruz_paper_set_state(sk, new_state);
		return;
	}
	if (new_state == TCP_CA_CWR && old != TCP_CA_CWR) {
		santacruz_reduce(sk);
	} else if (new_state == TCP_CA_Loss && old != TCP_CA_Loss) {
		sc->prior = min(sc->window, max(tcp_snd_cwnd(tcp_sk(sk)),
						tcp_sk(sk)->prior_cwnd));
		santacruz_set_window(sk, sc->prior / 2);
		sc->phase = SANTACRUZ_STARTUP;
		sc->grew = 0;
		sc->run = 0;
		sc->lowering = 0;
	}
}

static size_t santacruz_get_info(struct sock *sk, u32 ext, int *attr,
				 union tcp_cc_info *info)
{
	const struct santacruz *sc = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	return cc_info_vegas(ext, attr, info,
			     sc->source,
			     max(sc->paper ? sc->pp.n : santacruz_n(sc), 0) /
			     QUEUE_PKTS_ONE,
			     tp->srtt_us >> 3, tcp_min_rtt(tp));
}

static struct tcp_congestion_ops santacruz_ops __read_mostly = {
	.name		= "santacruz",
	.owner		= THIS_MODULE,
	.flags		= CC_COMPAT_OPTION_FLAG,
	.init		= santacruz_init,
	.ssthresh	= santacruz_ssthresh,
	.cong_control	= santacruz_main_op,
	.set_state	= santacruz_set_state,
	.undo_cwnd	= santacruz_undo_cwnd,
	.get_info	= santacruz_get_info,
};

static int __init santacruz_register(void)
{
	BUILD_BUG_ON(sizeof(struct santacruz) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&santacruz_ops);
}

static void __exit santacruz_unregister(void)
{
	tcp_unregister_congestion_control(&santacruz_ops);
}

module_init(santacruz_register);
module_exit(santacruz_unregister);

MODULE_AUTHOR("The hetcc authors");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP Santa Cruz: relative forward delay congestion control");
MODULE_VERSION(HETCC_VERSION);
