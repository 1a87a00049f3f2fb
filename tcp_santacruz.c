// SPDX-License-Identifier: GPL-2.0
/*
 * TCP Santa Cruz: keep n_op packets in the bottleneck queue
 *
 * C. Parsa, J.J. Garcia-Luna-Aceves: "Improving TCP Congestion Control over Internets
 * with Heterogeneous Transmission Media" (1999), "Differentiating Congestion vs. Random
 * Loss" (2000). docs/santacruz.md has the measurements.
 *
 * Model. The receiver's clock minus the sender's, packet by packet (the Santa Cruz option,
 * RFC 7323 timestamps, or the round trip where their tick is too coarse), says how long
 * a packet had to wait. A round's level is the least of its packets above the least ever
 * seen (base). level / service time = n, packets in the queue (equation 2).
 *
 * Law, once a round trip:
 *	n < op - delta	raise the window by 1, 2, 4... packets, W/4 at most; in noise by
 *			half of op - n; after a congestion half way to the window of before
 *	n > op + delta	lower it by n - op, by half at most, to three bursts at least
 *	op = max(n_op, sqrt(W)/4) + own burst + what the level moves by itself
 *
 * Slow start ends where the level is an eighth of the round trip and more than it moves, or at
 * the rate, twice alike, at which packets leave a queue that grows; nothing is sent faster then.
 *
 * Loss. A full queue loses when packets wait longest, a link at any delay: a loss is
 * congestion unless the packet sent right behind it waited less than half of what the
 * queue has held, or in a quarter of the rounds of late (3/16 if that packet tells) most
 * waited less than the mean; and always above 1/12, in doubt 1/24 or 1/48. The reaction
 * and the growth after it are CUBIC's (RFC 9438), as long as losses are congestion.
 *
 * Empty queue. After drain_s seconds without one the window is n less, and 3/4 of that,
 * for three rounds and 200 ms at least. Flows see the least level, and drain, together.
 *
 * Competitive mode: CUBIC's window, until a drain empties the queue. Entered where a quarter of
 * the window less does not shorten the delay, or all in flight cannot cause half of it (eight
 * rounds, losses not the link's); where n_op queued lose packets; after two drains that left one.
 *
 * Path or queue. A queue answers what is in flight: more packets make the level rise by
 * their service times, fewer make it fall. Where it moves by more than n_op packets, and
 * for eight rounds less than ours would have moved it, its mean is the path's delay and
 * becomes the base, until the level is lower by more than it moves. In slow start one
 * round says so: twice as much in flight waits no longer. So does a delay that came at once
 * (in two parts if both ways changed) and does not answer (slow start that it ended goes on), or
 * is for eight rounds twice what all in flight can cause, or that two drains leave alike.
 *
 * Departures from the papers, each with its function; paper=1 has none of them:
 * - n from the level, not from sums of differences	santacruz_n
 * - service time: least of some rounds, not our own rate	forward_level_service
 * - op grows with the window, bursts and noise		santacruz_op
 * - steps of 1, 2, 4... or half; several down		santacruz_target, santacruz_law_lower
 * - end of slow start					santacruz_startup_rate, _reached
 * - which losses are congestion; CUBIC's 0.7		santacruz_loss, santacruz_reduce
 * - drains, competitive mode, longer paths		santacruz_drain, _compete, _foreign
 * - a level that does not answer is the path's		santacruz_whose_level
 * - delay that the round trip does not show is no delay	santacruz_believed
 * - the round trip where timestamps are too coarse	santacruz_tick_too_coarse
 * - the wait for a delayed ACK is not the path's	santacruz_prompt
 * - in small windows pairs of packets, to know the queue	santacruz_pace
 * - after silence the window of before, paced		santacruz_after_idle
 *
 * Not safe to rely on: with loss and small windows, or a pipe of 10^3 packets, it can be as
 * slow as CUBIC (docs/santacruz.md).
 */
#include <linux/module.h>
#include <net/tcp.h>

#include "hetcc/cc_compat.h"
#include "hetcc/cc_info.h"
#include "hetcc/cc_param.h"
#include "hetcc/cc_window.h"
#include "hetcc/cubic_law.h"
#include "hetcc/forward_level.h"
#include "hetcc/loss_delay.h"
#include "hetcc/santacruz_law.h"
#include "hetcc/santacruz_paper.h"
#include "hetcc/tsval_tick.h"
#include "hetcc/version.h"

#define CREATE_TRACE_POINTS
#include "hetcc/trace_santacruz.h"

#define SANTACRUZ_TICK_MS_US	1000U
/* A tick is fine enough for a round that spans so many: its least packet is a tick's last */
#define SANTACRUZ_TICKS_PER_RTT	2U
/* Drains are at least so many round trips apart: 1 % of the rate */
#define SANTACRUZ_DRAIN_RTTS	32U
/* Packets that show the link's rate in slow start: less would be one burst's */
#define SANTACRUZ_BUSY_PKTS	8U
/* RFC 9406: a delay is a queue from an eighth of the round trip on, 16 ms at most */
#define SANTACRUZ_STARTUP_SHIFT	3
#define SANTACRUZ_STARTUP_MAX_US	16000U
/* Rounds after a drain, or after a reduction, in which the window is neither raised nor reduced */
#define SANTACRUZ_AFTER_DRAIN	3
#define SANTACRUZ_AFTER_LOSS	2
/* Rounds after slow start until the losses of what it has sent are known */
#define SANTACRUZ_AFTER_STARTUP	2
/* Rounds of a drain at least: out, empty, and seen */
#define SANTACRUZ_DRAIN_ROUNDS	3
/* What two drains leave is alike if it differs by this part and a tick: one in 16 by chance */
#define SANTACRUZ_ALIKE	32
/* A drain is as long as that of other flows with other round trips, to meet theirs */
#define SANTACRUZ_DRAIN_MS	200U
/* A flow that starts fills the queue for so many rounds; 0..8 has 4 bits, 0..7 three */
#define SANTACRUZ_PATIENCE_ROUNDS	8U
/* Packets of a hole that are looked at, from the first missing on */
#define SANTACRUZ_HOLE_SKBS	4U
/* Windows a round trip: bursts of a known size rather than pacing */
#define SANTACRUZ_PACE_BURSTS	10U
/* Bursts of a window at least: one leaves, one is on its way, one is acknowledged */
#define SANTACRUZ_BURSTS	3
/* A window says nothing after a silence of so long (RFC 7661) */
#define SANTACRUZ_IDLE_S	300U

CC_PARAM_MILLI(n_op, 3000, 500, 1000000,
	       "packets to keep in the bottleneck queue (0.5..1000); default 3");
CC_PARAM_MILLI(delta, 500, 0, 1000000,
	       "tolerance around n_op in packets (0..1000); default 0.5");
CC_PARAM_UINT(drain_s, 10, 0, 1000,
	      "empty the queue after so many seconds without (0..1000, 0: never, nor compete); default 10");
CC_PARAM_UINT(discriminate, 1, 0, 1,
	      "1: only congestive loss reduces the window, 0: every loss does; default 1");
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

/* The peer's tick */
enum santacruz_probing {
	SANTACRUZ_PROBE_NOT_BEGUN,
	SANTACRUZ_PROBING,
	SANTACRUZ_PROBE_UNKNOWN,	/* the last one was none that is known */
	SANTACRUZ_TOO_COARSE,		/* for the rest of the connection */
};

/* How the delay came that the window is lowered for */
enum santacruz_sudden {
	SANTACRUZ_GRADUAL,
	SANTACRUZ_AT_ONCE,	/* within a round, or two */
	SANTACRUZ_IN_STARTUP,	/* the same, before slow start was over */
};

enum santacruz_phase {
	SANTACRUZ_STARTUP,
	SANTACRUZ_STEADY,
	SANTACRUZ_DRAIN,
	/* In the trace, paper=1: from here on enum santacruz_paper_mode */
	SANTACRUZ_PAPER_PHASE,
};

/**
 * struct santacruz - state of a connection
 * @lv: level of the forward delay
 * @loss: whose the losses are
 * @min_us: round trip of the empty path
 * @end: tp->delivered that ends the round
 * @ref_us: delay that the window is lowered for, or the least one since a drain began
 * @ref_pkts: packets in flight then; in a drain the window to come back to
 * @left_us: delay that the last drain left, 0: none
 * @near_ms: when the queue was last empty, or a drain began or ended. After 4.6 hours of
 *	silence a drain may come late by that
 * @lost: tp->lost at the latest look: what no ACK has reported, RACK's timer has found
 * @cut_ms: when the window was last reduced
 * @prior: window before the last congestion, packets; 0: none
 * @phase: enum santacruz_phase
 * @of_path: rounds in a row in which the level was the path's; in slow start: the last one
 * @sudden: enum santacruz_sudden
 * @delack: the receiver has acknowledged two packets at once
 * @before: window when the queue was last empty, or competitive mode or slow start ended;
 *	in slow start: what the rate has said before; packets
 * @run: rounds in a row that do the same
 * @compete: competitive mode
 * @lowering: the window is being lowered; slow start: @ref_us, @ref_pkts and @left_us are
 *	the beginning of a queue and its highest delay
 * @company: others filled the queue before the last drain
 * @last_pkts: packets in flight in the last round; 0: not what the path could carry
 * @reduced: rounds in which the window is not to be raised or reduced
 * @slow: rounds in which what slow start has sent may be lost
 * @foreign: rounds in a row with a delay that our packets cannot cause
 * @pp: paper=1 has a state of its own
 * @probe_ts: timestamp of the peer, at
 * @probe_us: our time
 * @window: congestion window to reach, packets
 * @tick: index of the peer's tick, santacruz_ticks_us
 * @source: enum santacruz_source
 * @probing: enum santacruz_probing
 * @paper: paper=1 when the connection began
 */
struct santacruz {
	union {
		struct {
			struct forward_level lv;
			struct loss_delay loss;
			u32 min_us;
			u32 end;
			u32 ref_us;
			u32 ref_pkts;
			u32 left_us;
			u32 near_ms:24,
			    lost:8;
			u32 cut_ms;
			u32 prior:24,
			    phase:2,
			    of_path:4,
			    sudden:2;
			u32 before:24,
			    run:5,
			    compete:1,
			    lowering:1,
			    company:1;
			u32 last_pkts:24,
			    reduced:2,
			    slow:2,
			    foreign:3,
			    delack:1;
		};
		struct santacruz_paper pp;
	};
	u32 probe_ts;
	u32 probe_us;
	u32 window:24,
	    tick:3,
	    source:2,
	    probing:2,
	    paper:1;
};

#define SANTACRUZ_RUN_MAX	31
#define SANTACRUZ_NEAR_MASK	((1U << 24) - 1)

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
	return queue_pkts_from_us(delay_us, sc->lv.pkts_ns);
}

/* What so many packets (Q8) have to wait for each other; 0: unknown */
static u32 santacruz_service_us(const struct santacruz *sc, s32 pkts)
{
	return fixed_mul_div(pkts, sc->lv.pkts_ns, 1000 * QUEUE_PKTS_ONE);
}

/* Equation 2: packets in the bottleneck queue, Q8 */
static s32 santacruz_n(const struct santacruz *sc)
{
	return santacruz_queue(sc, sc->lv.level_us);
}

/* Segments that the stack sends at once: what leaves in a millisecond (tcp_tso_autosize()) */
static u32 santacruz_burst_pkts(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 burst_us = USEC_PER_SEC >> READ_ONCE(sk->sk_pacing_shift);
	u32 pkts = fixed_mul_div(tcp_snd_cwnd(tp), burst_us,
				 max(tp->srtt_us >> 3, 1U));

	if (!sk_can_gso(sk))
		return 1;
	return clamp(pkts, 1U, sk->sk_gso_max_size / max(tp->mss_cache, 1U) + 1);
}

/* The operating point: n_op, what the own bursts put there, and the link's noise */
static s32 santacruz_op(const struct sock *sk)
{
	const struct santacruz *sc = inet_csk_ca(sk);
	/* Slow start has no window to reach yet */
	u32 window = min_t(u32, sc->window, tcp_snd_cwnd(tcp_sk(sk)));
	s32 op = santacruz_law_op(window, santacruz_milli_to_q8(READ_ONCE(n_op)));
	u32 noise_us = forward_level_noise_us(&sc->lv);
	s32 spread = santacruz_queue(sc, noise_us - min(noise_us, santacruz_tick_us(sc)));

	return santacruz_law_widen(op, santacruz_burst_pkts(sk), spread);
}

static u32 santacruz_now_ms(const struct tcp_sock *tp)
{
	return (u32)div_u64(tp->tcp_mstamp, USEC_PER_MSEC);
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
	sc->min_us = tcp_min_rtt(tp);
	loss_delay_init(&sc->loss);
	sc->near_ms = santacruz_now_ms(tp);
	sc->before = cc_window_is_fresh(tp) ? 0 : tcp_snd_cwnd(tp);
	santacruz_set_window(sk, sc->before ?: SANTACRUZ_LAW_WINDOW_MAX);
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
	/* The base of the round trip is known */
	if (source == SANTACRUZ_RTT)
		forward_level_prime(&sc->lv, sc->min_us);
}

/* Measure the peer's timestamp clock against ours, again and again */
static void santacruz_probe_tick(struct santacruz *sc, u32 tsval, u32 now_us)
{
	u32 elapsed_us = now_us - sc->probe_us;
	u32 tick_us = 0;

	if (sc->probing == SANTACRUZ_TOO_COARSE)
		return;
	if (sc->probing && (elapsed_us < TSVAL_TICK_PROBE_US ||
			    before(tsval, sc->probe_ts)))
		return;
	if (sc->probing) {
		tick_us = tsval_tick_us(tsval - sc->probe_ts, elapsed_us);
		if (tick_us)
			santacruz_use_clock(sc, SANTACRUZ_TSTAMP, tick_us);
		else if (sc->probing == SANTACRUZ_PROBE_UNKNOWN)
			santacruz_use_clock(sc, SANTACRUZ_RTT, 1);
	}
	sc->probing = sc->probing && !tick_us ? SANTACRUZ_PROBE_UNKNOWN : SANTACRUZ_PROBING;
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
	u32 pkts_ns = sc->lv.pkts_ns;
	u32 op_us = santacruz_service_us(sc, santacruz_law_op(sc->window,
					 santacruz_milli_to_q8(READ_ONCE(n_op))));

	if (sc->source != SANTACRUZ_TSTAMP || sc->tick < 1)
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

	if (!sc->paper && santacruz_tick_too_coarse(sk)) {
		sc->probing = SANTACRUZ_TOO_COARSE;
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

static u32 santacruz_wait_us(const struct santacruz *sc, u32 rtt_us)
{
	return rtt_us - min(rtt_us, sc->min_us);
}

/* A delay is the path's */
static void santacruz_raise_base(struct santacruz *sc, u32 us)
{
	forward_level_raise_base(&sc->lv, us);
	sc->min_us += us;
}

/* Delay that the round trip does not show is not believed */
static u32 santacruz_believed(const struct sock *sk, u32 off_us, u32 rtt_us)
{
	const struct santacruz *sc = inet_csk_ca(sk);
	u32 most_us = sc->lv.base_us + santacruz_wait_us(sc, rtt_us);

	return rtt_us && sc->lv.primed && (s32)(off_us - most_us) > 0 ? most_us : off_us;
}

/* Time between a lost packet and the one behind it that arrived, U32_MAX: unknown */
static u32 santacruz_gap_us(const struct sock *sk)
{
	struct sk_buff *skb = tcp_rtx_queue_head(sk), *next;
	u32 i;

	for (i = 0; skb && i < SANTACRUZ_HOLE_SKBS; i++, skb = next) {
		next = skb_rb_next(skb);
		if (!next || TCP_SKB_CB(skb)->sacked & TCPCB_RETRANS)
			break;
		if (TCP_SKB_CB(next)->sacked & TCPCB_SACKED_ACKED)
			return tcp_skb_timestamp_us(next) - tcp_skb_timestamp_us(skb);
	}
	return U32_MAX;
}

/* This ACK did not wait at the receiver for another packet */
static bool santacruz_prompt(const struct sock *sk, const struct rate_sample *rs)
{
	const struct santacruz *sc = inet_csk_ca(sk);

	return rs->acked_sacked > 1 || tcp_sk(sk)->sacked_out || !sc->delack;
}

/* 8 to 16 packets of a window, equally far apart, are enough for the mean */
static bool santacruz_of_mean(const struct sock *sk, u32 acked)
{
	const struct santacruz *sc = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 now = tp->delivered - sc->end;
	int shift = max(fls(tcp_snd_cwnd(tp)) - 4, 0);

	return now >> shift != (now - acked) >> shift;
}

/* What the packets had to wait that an ACK tells of, for whose the losses are */
static void santacruz_waited(struct sock *sk, const struct rate_sample *rs)
{
	struct santacruz *sc = inet_csk_ca(sk);
	bool hole = tcp_sk(sk)->sacked_out;
	u32 wait_us;

	sc->min_us = min_t(u32, sc->min_us, rs->rtt_us);
	wait_us = santacruz_wait_us(sc, rs->rtt_us);
	loss_delay_sample(&sc->loss, wait_us, max(rs->acked_sacked, 1U), hole,
			  hole && !sc->loss.hole ? santacruz_gap_us(sk) : 0);
	if (santacruz_prompt(sk, rs) && santacruz_of_mean(sk, rs->acked_sacked))
		loss_delay_wait(&sc->loss, wait_us);
	sc->delack |= rs->acked_sacked > 1;
}

/* Offset of the packet that caused the ACK; false if there is none */
static bool santacruz_sample(struct sock *sk, const struct rate_sample *rs,
			     u32 *off_us)
{
	struct santacruz *sc = inet_csk_ca(sk);
	u32 s_us, r_us, flight = rs->delivered > 0 ? rs->delivered : 1;

	if (rs->rtt_us > 0)
		santacruz_waited(sk, rs);
	if (!santacruz_times(sk, rs->rtt_us, &s_us, &r_us))
		return false;
	*off_us = santacruz_believed(sk, r_us - s_us, max(rs->rtt_us, 0L));
	forward_level_sample(&sc->lv, *off_us, flight);
	return true;
}

static void santacruz_enter(struct santacruz *sc, u8 phase)
{
	sc->phase = phase;
	sc->run = 0;
	sc->lowering = 0;
	sc->sudden = SANTACRUZ_GRADUAL;
}

static void santacruz_end_startup(struct sock *sk)
{
	struct santacruz *sc = inet_csk_ca(sk);

	/* What is known of the delay stays */
	sc->phase = SANTACRUZ_STEADY;
	sc->run = 0;
	sc->lowering = 0;
	sc->left_us = 0;
	sc->slow = SANTACRUZ_AFTER_STARTUP;
	sc->near_ms = santacruz_now_ms(tcp_sk(sk));
	cc_window_want_pacing(sk);
}

static void santacruz_reduce(struct sock *sk)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	bool drain = sc->phase == SANTACRUZ_DRAIN;
	bool startup = sc->phase == SANTACRUZ_STARTUP || sc->slow;
	u32 window = drain ? sc->ref_pkts : min_t(u32, sc->window, tcp_snd_cwnd(tp));

	if (sc->reduced)
		return;
	sc->reduced = SANTACRUZ_AFTER_LOSS;
	loss_delay_answered(&sc->loss);
	/* The first loss of slow start is that of its bursts: it says nothing of the pipe */
	if (!startup || sc->prior)
		sc->prior = cubic_law_max(window, sc->prior);
	sc->cut_ms = santacruz_now_ms(tp);
	window = cubic_law_reduce(window);
	/* A drain goes on: what it finds out is worth no less for a loss */
	if (drain) {
		sc->ref_pkts = window;
		return;
	}
	if (sc->phase == SANTACRUZ_STARTUP)
		santacruz_end_startup(sk);
	/* A delay is to answer what losses take out as well. Back by the largest steps */
	if (!sc->lowering)
		sc->run = sc->prior ? SANTACRUZ_RUN_MAX : 0;
	cc_window_want_pacing(sk);
	santacruz_set_window(sk, window);
	if (startup)
		sc->before = sc->window;
}

/* The level moves by more than n_op packets: it says nothing of so few */
static bool santacruz_noisy(const struct santacruz *sc)
{
	return santacruz_queue(sc, forward_level_moves_us(&sc->lv)) >=
	       santacruz_milli_to_q8(READ_ONCE(n_op));
}

/*
 * In steps of 1, 2, 4...; where the level is noise by half of what is missing too; after a
 * congestion half of the way to the window of before, and not beyond CUBIC's as long as losses
 * are congestion.
 */
static u32 santacruz_target(const struct sock *sk, bool shows, s32 missing)
{
	const struct santacruz *sc = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	bool cautious = sc->compete ||
			(sc->prior && (!READ_ONCE(discriminate) ||
				       !loss_delay_of_link(&sc->loss) ||
				       loss_delay_often(&sc->loss)));
	u32 step = santacruz_law_raise(sc->window, shows, sc->run, cautious);
	u32 window;

	step = max(step, santacruz_law_deficit(sc->window, sc->lv.sent_pkts, missing, cautious));
	if (!cautious) {
		if (sc->window < sc->prior)
			step = clamp_t(u32, (sc->prior - sc->window) / 2, 1, step);
		return sc->window + step;
	}
	window = cubic_law_window(sc->prior, santacruz_now_ms(tp) - sc->cut_ms,
				  (tp->srtt_us >> 3) / USEC_PER_MSEC);
	if (sc->compete)
		step = sc->window / 2;
	return clamp_t(u32, window, sc->window, sc->window + step);
}

static void santacruz_raise(struct sock *sk, s32 op)
{
	struct santacruz *sc = inet_csk_ca(sk);
	s32 missing = op - santacruz_n(sc);
	bool shows = !sc->compete && missing <= santacruz_milli_to_q8(READ_ONCE(n_op)) / 2;

	if (sc->lowering)
		sc->run = 0;
	sc->lowering = 0;
	sc->sudden = SANTACRUZ_GRADUAL;
	if (sc->reduced || !tcp_is_cwnd_limited(sk))
		return;
	santacruz_set_window(sk, santacruz_target(sk, shows,
						  santacruz_noisy(sc) ? missing : 0));
	/* Beyond the window of before nothing is known */
	sc->run = sc->window == sc->prior ? 0 : min(sc->run + 1, SANTACRUZ_RUN_MAX);
}

/* A queue that our own packets fill grows by what is sent more in a round */
static bool santacruz_at_once(u32 level_us, u32 last_us)
{
	return last_us < level_us / 4;
}

/* Milliseconds since the queue was last empty */
static u32 santacruz_near_ms(const struct santacruz *sc, u32 now_ms)
{
	return (now_ms - sc->near_ms) & SANTACRUZ_NEAR_MASK;
}

static bool santacruz_drain_due(const struct sock *sk)
{
	const struct santacruz *sc = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 rtt_ms = (tp->srtt_us >> 3) / USEC_PER_MSEC;
	u32 period_ms = max_t(u32, READ_ONCE(drain_s) * MSEC_PER_SEC,
			      rtt_ms * SANTACRUZ_DRAIN_RTTS) / (1 + sc->compete);

	return READ_ONCE(drain_s) && sc->phase == SANTACRUZ_STEADY &&
	       santacruz_near_ms(sc, santacruz_now_ms(tp)) > period_ms;
}

static void santacruz_begin_drain(struct sock *sk)
{
	struct santacruz *sc = inet_csk_ca(sk);

	santacruz_enter(sc, SANTACRUZ_DRAIN);
	sc->ref_pkts = sc->window;
	sc->near_ms = santacruz_now_ms(tcp_sk(sk));
	sc->ref_us = sc->lv.level_us;
	santacruz_set_window(sk, santacruz_law_drain(sc->window, santacruz_n(sc)));
}

/* Only a queue that was empty ends competitive mode */
static bool santacruz_may_compete(void)
{
	return READ_ONCE(compete) && READ_ONCE(drain_s);
}

/* Others fill the queue: what CUBIC does after a congestion, from the window of before */
static void santacruz_compete(struct sock *sk)
{
	struct santacruz *sc = inet_csk_ca(sk);

	if (sc->compete || !santacruz_may_compete())
		return;
	sc->compete = 1;
	sc->company = 1;
	sc->lowering = 0;
	sc->prior = max_t(u32, sc->before, sc->window);
	sc->cut_ms = santacruz_now_ms(tcp_sk(sk));
	santacruz_set_window(sk, cubic_law_reduce(sc->prior));
}

/* The queue was empty: nobody fills it. If that is wrong, the window of now is kept for it */
static void santacruz_nobody_else(struct santacruz *sc)
{
	if (sc->compete)
		sc->before = sc->window;
	sc->company = sc->compete;
	sc->compete = 0;
	sc->left_us = 0;
}

/*
 * A drain leaves nothing of ours, unless so few are in flight that they wait for each other.
 * What it and the one before have left alike is the path's. Else less than the operating point
 * may be that of flows that drain at other times; more, where the one before left something too,
 * is that of others who fill the queue.
 */
static void santacruz_drained(struct sock *sk, s32 op)
{
	struct santacruz *sc = inet_csk_ca(sk);
	u32 us = min(sc->left_us, sc->ref_us), more_us = max(sc->left_us, sc->ref_us) - us;
	s32 most = op + santacruz_milli_to_q8(READ_ONCE(delta));
	s32 least = sc->lv.sent_pkts > SANTACRUZ_LAW_DRAIN_MIN ? op / 4 : most;
	s32 n = santacruz_queue(sc, sc->ref_us);

	if (n > least && us && more_us <= us / SANTACRUZ_ALIKE + santacruz_tick_us(sc)) {
		santacruz_raise_base(sc, us);
		santacruz_nobody_else(sc);
		return;
	}
	if (n <= most)
		santacruz_nobody_else(sc);
	else if (sc->left_us)
		santacruz_compete(sk);
	sc->left_us = n > least ? sc->ref_us : 0;
}

/* As long as that of other flows with other round trips, to meet theirs */
static void santacruz_drain(struct sock *sk, u32 level_us, s32 op)
{
	struct santacruz *sc = inet_csk_ca(sk);
	u32 now_ms = santacruz_now_ms(tcp_sk(sk));

	sc->ref_us = min(sc->ref_us, level_us);
	sc->run = min(sc->run + 1, SANTACRUZ_RUN_MAX);
	if (sc->run < SANTACRUZ_DRAIN_ROUNDS ||
	    santacruz_near_ms(sc, now_ms) < SANTACRUZ_DRAIN_MS)
		return;
	sc->near_ms = now_ms;
	santacruz_enter(sc, SANTACRUZ_STEADY);
	sc->reduced = SANTACRUZ_AFTER_DRAIN;
	santacruz_set_window(sk, max_t(u32, sc->ref_pkts, sc->window));
	santacruz_drained(sk, op);
}

/* What losses have shown is of the path before; slow start that it ended goes on */
static void santacruz_longer_path(struct sock *sk, u32 level_us)
{
	struct santacruz *sc = inet_csk_ca(sk);

	santacruz_raise_base(sc, level_us);
	sc->lowering = 0;
	sc->prior = 0;
	if (sc->sudden == SANTACRUZ_IN_STARTUP) {
		santacruz_enter(sc, SANTACRUZ_STARTUP);
		sc->before = 0;
		santacruz_set_window(sk, SANTACRUZ_LAW_WINDOW_MAX);
		return;
	}
	sc->sudden = SANTACRUZ_GRADUAL;
	santacruz_set_window(sk, max_t(u32, sc->before, sc->window));
}

/* It came at once, and all packets in flight could not cause half of it, for some rounds */
static bool santacruz_foreign(struct santacruz *sc, u32 level_us, u32 last_us)
{
	if (!santacruz_law_foreign(level_us, sc->lv.sent_pkts, sc->lv.pkts_ns) ||
	    (!sc->foreign && !santacruz_at_once(level_us, last_us))) {
		sc->foreign = 0;
		return false;
	}
	sc->foreign = (sc->foreign + 1) % SANTACRUZ_PATIENCE_ROUNDS;
	return !sc->foreign;
}

/* No packet of ours is to blame, and nobody is known to be */
static void santacruz_foreign_stands(struct sock *sk, u32 level_us)
{
	struct santacruz *sc = inet_csk_ca(sk);

	santacruz_nobody_else(sc);
	sc->company = 0;
	santacruz_longer_path(sk, level_us);
}

/*
 * The delay that the window is lowered for begins, or has grown. What was taken out
 * before should have shortened it all the more.
 */
static void santacruz_lower_from(struct santacruz *sc, u32 level_us, u32 last_us)
{
	/* A path that changes both ways shows it in two parts, a round or two apart */
	if (santacruz_at_once(level_us, last_us)) {
		sc->run = 0;
		sc->sudden = max_t(u32, sc->sudden, SANTACRUZ_AT_ONCE);
	} else if (sc->run >= 3) {
		sc->sudden = SANTACRUZ_GRADUAL;
	}
	sc->ref_pkts = sc->lowering ? max(sc->ref_pkts, sc->lv.sent_pkts) : sc->lv.sent_pkts;
	sc->ref_us = level_us;
	sc->lowering = 1;
}

/*
 * Down to the operating point. The delay of our own packets answers; that of others, and
 * of a path that got longer at once, does not.
 */
static void santacruz_lower(struct sock *sk, u32 level_us, u32 last_us, s32 op)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct santacruz_law_answer a = {
		.first_us = sc->ref_us,
		.now_us = level_us,
		.first_pkts = sc->ref_pkts,
		.now_pkts = sc->lv.sent_pkts,
		.pkts_ns = sc->lv.pkts_ns,
	};
	bool grew = santacruz_law_grew(&a, santacruz_tick_us(sc));
	bool stands = sc->lowering && santacruz_law_unanswered(&a);
	bool foreign = sc->lowering &&
		       santacruz_law_foreign(level_us, a.now_pkts, a.pkts_ns);

	sc->run = sc->lowering ? min(sc->run + 1, SANTACRUZ_RUN_MAX) : 0;
	/* A queue that others begin to fill grows on for a round */
	if (stands && sc->sudden && !grew && sc->run > 1) {
		santacruz_longer_path(sk, level_us);
		return;
	}
	/* Not ours: it would not answer more packets taken out either */
	if (((stands && santacruz_law_gave_way(&a)) || foreign) && !sc->sudden && !grew &&
	    santacruz_may_compete()) {
		bool patient = sc->run >= SANTACRUZ_PATIENCE_ROUNDS;

		/* Who fills a queue loses by it, when packets wait longest */
		if (patient && loss_delay_clear(&sc->loss))
			santacruz_longer_path(sk, level_us);
		else if (patient || sc->company)
			santacruz_compete(sk);
		return;
	}
	if (!sc->lowering || grew)
		santacruz_lower_from(sc, level_us, last_us);
	santacruz_set_window(sk, santacruz_law_lower(sc->window, sc->lv.sent_pkts,
						     santacruz_n(sc) - op,
						     SANTACRUZ_BURSTS *
						     santacruz_burst_pkts(sk)));
}

/* A link's loss changes nothing. Congestion although n_op wait, no more: others fill the queue */
static void santacruz_loss(struct sock *sk, const struct rate_sample *rs)
{
	struct santacruz *sc = inet_csk_ca(sk);
	u32 rtt_us = rs->rtt_us > 0 ? rs->rtt_us : tcp_sk(sk)->srtt_us >> 3;
	bool as_meant = abs(santacruz_n(sc) - santacruz_op(sk)) <=
			santacruz_milli_to_q8(READ_ONCE(delta));
	/* A loss of the same queue again, or of what slow start has sent, says nothing of others */
	bool steady = sc->phase == SANTACRUZ_STEADY && !sc->reduced && !sc->slow;
	bool startup = sc->phase == SANTACRUZ_STARTUP;
	u32 lost = cc_window_lost(tcp_sk(sk), sc->lost, max(rs->losses, 0));
	bool congested, not_full;

	sc->lost = tcp_sk(sk)->lost;
	if (!lost)
		return;
	not_full = loss_delay_lost(&sc->loss, santacruz_wait_us(sc, rtt_us), sc->min_us,
				   rtt_us / tcp_snd_cwnd(tcp_sk(sk)), lost,
				   startup && sc->of_path, startup || sc->slow);
	congested = !READ_ONCE(discriminate) || loss_delay_heavy(&sc->loss) ||
		    !(not_full || loss_delay_of_link(&sc->loss) || loss_delay_open(&sc->loss));
	trace_loss(sk, santacruz_n(sc), 0, sc->compete, congested);
	if (!congested)
		return;
	santacruz_reduce(sk);
	if (steady && as_meant && !sc->lowering && !santacruz_noisy(sc))
		sc->compete = santacruz_may_compete();
}

static void santacruz_steer(struct sock *sk, u32 level_us, u32 last_us)
{
	struct santacruz *sc = inet_csk_ca(sk);
	s32 tolerance = santacruz_milli_to_q8(READ_ONCE(delta));
	s32 op = santacruz_op(sk);

	if (sc->compete) {
		/* Others drain: drain with them the next time */
		if (level_us < sc->ref_us) {
			sc->ref_us = level_us;
			sc->near_ms = santacruz_now_ms(tcp_sk(sk));
		}
		santacruz_raise(sk, op);
	} else if (santacruz_n(sc) > op + tolerance) {
		santacruz_lower(sk, level_us, last_us, op);
	} else if (santacruz_n(sc) < max(op - tolerance, 1)) {
		santacruz_raise(sk, op);
	} else {
		sc->lowering = 0;
		sc->sudden = SANTACRUZ_GRADUAL;
		sc->run = 0;
	}
}

/*
 * What the level moves by is no queue. A queue that has come moves it by an eighth of that.
 * With a shift of 1: half of both, for the wait of one packet; 16 ms at most stays.
 */
static u32 santacruz_startup_us(const struct santacruz *sc, u32 shift)
{
	return max(min(sc->min_us >> (SANTACRUZ_STARTUP_SHIFT + shift), SANTACRUZ_STARTUP_MAX_US),
		   forward_level_moves_us(&sc->lv) >> shift);
}

/*
 * The window is what the rate says. Jitter passes for packets that leave a queue, and what it
 * says grows with the window: slow start goes on, and the second time it must be alike.
 */
static bool santacruz_startup_reached(struct sock *sk)
{
	struct santacruz *sc = inet_csk_ca(sk);
	u32 last = sc->before;

	if (tcp_snd_cwnd(tcp_sk(sk)) < sc->window)
		return false;
	sc->before = sc->window;
	if (sc->window <= last + last / 4)
		return true;
	santacruz_set_window(sk, SANTACRUZ_LAW_WINDOW_MAX);
	return false;
}

/* The delay that came at once stands though twice as much is in flight */
static void santacruz_startup_longer(struct santacruz *sc, u32 level_us, u32 last_us)
{
	if (!sc->of_path || sc->sudden != SANTACRUZ_IN_STARTUP ||
	    last_us <= level_us - level_us / 4)
		return;
	santacruz_raise_base(sc, min(level_us, last_us));
	sc->sudden = SANTACRUZ_GRADUAL;
}

/* A delay that came at once: what is in flight now is more, and tells in a round whose it is */
static bool santacruz_startup_holds(struct sock *sk, u32 level_us, u32 last_us)
{
	struct santacruz *sc = inet_csk_ca(sk);

	if (!santacruz_at_once(level_us, last_us))
		return false;
	sc->run = 1;
	santacruz_set_window(sk, tcp_snd_cwnd(tcp_sk(sk)));
	return true;
}

/* The whole round had to wait: the pipe was full with what was sent then */
static void santacruz_check_startup(struct sock *sk, u32 level_us, u32 last_us, s32 op,
				    u32 last_pkts)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 more = sc->lv.sent_pkts - min(sc->lv.sent_pkts, last_pkts);
	u32 due_us = fixed_mul_div(more, sc->lv.pkts_ns, 1000);
	bool held = sc->run;

	/* Twice as much in flight, and it waits no longer */
	sc->of_path = level_us <= last_us + due_us / 4;
	if (level_us <= santacruz_startup_us(sc, 0))
		sc->sudden = SANTACRUZ_GRADUAL;
	else if (santacruz_at_once(level_us, last_us))
		sc->sudden = SANTACRUZ_IN_STARTUP;
	santacruz_startup_longer(sc, level_us, last_us);
	sc->run = 0;
	if (held)
		santacruz_set_window(sk, sc->prior ? max_t(u32, sc->before, tcp_snd_cwnd(tp)) :
					 SANTACRUZ_LAW_WINDOW_MAX);
	if (santacruz_startup_reached(sk)) {
		santacruz_end_startup(sk);
	} else if (santacruz_n(sc) > op && !sc->of_path &&
		   level_us > santacruz_startup_us(sc, 0) &&
		   (held || !santacruz_startup_holds(sk, level_us, last_us))) {
		santacruz_set_window(sk, tcp_snd_cwnd(tp));
		santacruz_end_startup(sk);
		sc->before = sc->window;
		santacruz_lower(sk, level_us, last_us, op);
	}
}

/*
 * No link is slower than what it has carried in a round trip. A pipe that holds more than is
 * in flight has no queue. While a delay is asked whether it answers, nothing more is sent.
 */
static bool santacruz_startup_credible(const struct sock *sk, const struct rate_sample *rs,
				       u32 window)
{
	const struct santacruz *sc = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	if (rs->delivered <= 0 || window < rs->delivered)
		return false;
	if (window < tcp_snd_cwnd(tp) && window > tcp_packets_in_flight(tp))
		return false;
	return !sc->run || window <= sc->window;
}

/*
 * Packets that queue behind each other leave at the link's rate. They do where the delay
 * rises by a quarter of the time at least (slow start sends twice as fast as a full link
 * carries) and neither falls nor jumps by more than within a burst: jitter does.
 */
static void santacruz_startup_rate(struct sock *sk, const struct rate_sample *rs,
				   u32 off_us)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 now_us = (u32)tp->tcp_mstamp;
	u32 pkts = tp->delivered - sc->ref_pkts, us = now_us - sc->ref_us;
	u32 delay_us = forward_level_delay_us(&sc->lv, off_us);
	u32 empty_us = santacruz_startup_us(sc, 1) + santacruz_tick_us(sc);
	u32 burst_us = fixed_mul_div(us, santacruz_burst_pkts(sk), max(pkts, 1U));
	u32 moved_us = max(delay_us, sc->left_us) - min(delay_us, sc->left_us);
	u32 ns, window;

	if (!sc->lowering || delay_us <= empty_us ||
	    moved_us > santacruz_tick_us(sc) + burst_us) {
		sc->lowering = 1;
		sc->ref_us = now_us;
		sc->ref_pkts = tp->delivered;
		sc->left_us = delay_us;
		return;
	}
	sc->left_us = max(sc->left_us, delay_us);
	if (pkts < SANTACRUZ_BUSY_PKTS || delay_us < us / 4)
		return;
	ns = fixed_mul_div(us, 1000, pkts);
	window = fixed_mul_div(sc->min_us, 1000, ns);
	window = min(window, SANTACRUZ_LAW_WINDOW_MAX);
	window += santacruz_law_op(window, santacruz_milli_to_q8(READ_ONCE(n_op)))
		  >> QUEUE_PKTS_SHIFT;
	if (!santacruz_startup_credible(sk, rs, window))
		return;
	santacruz_set_window(sk, window);
	cc_window_want_pacing(sk);
}

/* The queue was empty or nearly so: nobody fills it */
static void santacruz_near(struct sock *sk, s32 op)
{
	struct santacruz *sc = inet_csk_ca(sk);

	if (santacruz_n(sc) > op / 4 || sc->compete)
		return;
	if (sc->phase == SANTACRUZ_STEADY)
		sc->before = sc->window;
	if (sc->phase != SANTACRUZ_DRAIN)
		sc->near_ms = santacruz_now_ms(tcp_sk(sk));
	sc->left_us = 0;
}

/*
 * Does the level answer what is in flight? Others' packets that come as ours go look like
 * a path that does not answer, for some rounds, and keep the level where it is.
 */
static void santacruz_whose_level(struct santacruz *sc, u32 last_us, u32 last_pkts)
{
	forward_level_noise(&sc->lv, last_us, last_pkts);
	if (!santacruz_noisy(sc) || !forward_level_of_path(&sc->lv))
		sc->of_path = 0;
	else if (sc->of_path < SANTACRUZ_PATIENCE_ROUNDS)
		sc->of_path++;
	/* What the base has taken is no answer to a smaller window */
	if (sc->of_path == SANTACRUZ_PATIENCE_ROUNDS)
		sc->ref_us -= min(sc->ref_us, forward_level_learn(&sc->lv));
}

static void santacruz_round(struct sock *sk, const struct rate_sample *rs,
			    u32 off_us)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	s32 op = santacruz_op(sk);
	u32 level_us, last_us = sc->lv.level_us, last_pkts = sc->last_pkts;
	bool fresh;

	if (rs->delivered <= 0 || before(rs->prior_delivered, sc->end))
		return;
	sc->end = tp->delivered;
	sc->reduced -= !!sc->reduced;
	sc->slow -= !!sc->slow;
	/* The delay may be foreign: that is asked of the service time of before */
	if (rs->interval_us > 0 && !sc->foreign)
		forward_level_service(&sc->lv, rs->interval_us, rs->delivered);
	fresh = forward_level_round(&sc->lv);
	/* One round of late packets is no queue */
	loss_delay_round(&sc->loss, min(sc->lv.level_us, last_us),
			 santacruz_service_us(sc, op + QUEUE_PKTS_ONE), rs->delivered);
	if (!fresh)
		return;
	forward_level_moved(&sc->lv, last_us);
	/* A sender with little to send does not fill the pipe, nor a queue */
	sc->last_pkts = min(sc->lv.sent_pkts, SANTACRUZ_LAW_WINDOW_MAX);
	if (sc->phase != SANTACRUZ_STARTUP && sc->lv.sent_pkts < sc->window / 2)
		sc->last_pkts = 0;
	/* A delay that is asked whether it answers, as slow start may go on, is no noise */
	if (sc->phase == SANTACRUZ_STEADY && !sc->reduced && !sc->compete &&
	    sc->last_pkts && !(sc->lowering && sc->sudden == SANTACRUZ_IN_STARTUP))
		santacruz_whose_level(sc, last_us, last_pkts);
	level_us = sc->lv.level_us;
	santacruz_near(sk, op);
	if (sc->phase == SANTACRUZ_STARTUP)
		santacruz_check_startup(sk, level_us, last_us, op, last_pkts);
	else if (santacruz_foreign(sc, level_us, last_us))
		santacruz_foreign_stands(sk, level_us);
	else if (sc->phase == SANTACRUZ_DRAIN)
		santacruz_drain(sk, level_us, op);
	else if (santacruz_drain_due(sk))
		santacruz_begin_drain(sk);
	else
		santacruz_steer(sk, level_us, last_us);
	trace_interval(sk, santacruz_n(sc), level_us, sc->lv.pkts_ns,
		       0, sc->compete, sc->source, sc->phase);
}

/* Up to the window by slow start, down to it at once */
static void santacruz_set_cwnd(struct sock *sk, u32 acked)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	if (cwnd < sc->window && tcp_is_cwnd_limited(sk))
		cwnd = min_t(u32, cwnd + acked, sc->window);
	cwnd = min_t(u32, cwnd, sc->window);
	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
}

/*
 * Slow start that knows the link's rate sends no faster. After a congestion packets that
 * are a quarter of a full queue apart would tell nothing of a loss: the ACK clock sends
 * pairs, unless losses come so often that they are congestion anyway.
 */
static void santacruz_pace(struct sock *sk)
{
	const struct santacruz *sc = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	if (sc->phase == SANTACRUZ_STARTUP && sc->window < SANTACRUZ_LAW_WINDOW_MAX)
		cc_window_pace_at(sk, 100 * min(sc->window / cwnd + 1,
						SANTACRUZ_PACE_BURSTS));
	else if (sc->prior && !loss_delay_often(&sc->loss) &&
		 (tp->srtt_us >> 3) / cwnd > loss_delay_full_us(&sc->loss) / 4)
		cc_window_pace_at(sk, 100 * SANTACRUZ_PACE_BURSTS);
	else
		cc_window_pace(sk);
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
		trace_interval(sk, pp->n, sum_us, pp->pkts_ns, pp->count, 0,
			       sc->source, SANTACRUZ_PAPER_PHASE + pp->mode);
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

	trace_loss(sk, sc->pp.n, sc->pp.count, 0, congested);
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
	u32 off_us = 0;

	/* The SYN's ACK comes before init */
	if (!inet_csk(sk)->icsk_ca_initialized)
		return;
	if (tp->rx_opt.saw_tstamp && sc->source != SANTACRUZ_OPTION)
		santacruz_probe_tick(sc, tp->rx_opt.rcv_tsval,
				     (u32)tp->tcp_mstamp);
	if (sc->paper) {
		santacruz_paper_main(sk, rs);
		return;
	}
	if (santacruz_sample(sk, rs, &off_us) &&
	    sc->phase == SANTACRUZ_STARTUP && santacruz_prompt(sk, rs))
		santacruz_startup_rate(sk, rs, off_us);
	santacruz_round(sk, rs, off_us);
	santacruz_loss(sk, rs);
	santacruz_set_cwnd(sk, rs->acked_sacked);
	santacruz_pace(sk);
}

CC_COMPAT_CONG_CONTROL(santacruz_main);

static u32 santacruz_ssthresh(struct sock *sk)
{
	struct santacruz *sc = inet_csk_ca(sk);

	if (sc->paper)
		return santacruz_paper_ssthresh(sk);
	return clamp_t(u32, tcp_snd_cwnd(tcp_sk(sk)), SANTACRUZ_LAW_WINDOW_MIN,
		       sc->window);
}

static u32 santacruz_undo_cwnd(struct sock *sk)
{
	struct santacruz *sc = inet_csk_ca(sk);
	u32 cwnd;

	cwnd = tcp_reno_undo_cwnd(sk);
	if (sc->paper)
		return cwnd;
	santacruz_set_window(sk, max_t(u32, sc->window, cwnd));
	/* Slow start ends there, as before the timeout */
	if (sc->phase == SANTACRUZ_STARTUP && sc->prior)
		sc->before = sc->window;
	return cwnd;
}

static void santacruz_timeout(struct sock *sk)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 window = min_t(u32, sc->window, max(tcp_snd_cwnd(tp), tp->prior_cwnd));

	trace_loss(sk, santacruz_n(sc), 0, sc->compete, true);
	sc->prior = cubic_law_max(window, sc->prior);
	sc->cut_ms = santacruz_now_ms(tp);
	santacruz_set_window(sk, sc->prior / 2);
	sc->before = sc->window;
	santacruz_enter(sc, SANTACRUZ_STARTUP);
}

static void santacruz_set_state(struct sock *sk, u8 new_state)
{
	struct santacruz *sc = inet_csk_ca(sk);
	u8 old = inet_csk(sk)->icsk_ca_state;

	if (sc->paper) {
		santacruz_paper_set_state(sk, new_state);
		return;
	}
	/* A timeout gives all up for lost, whatever became of it */
	if (new_state == TCP_CA_Loss)
		sc->lost = tcp_sk(sk)->lost;
	if (old < TCP_CA_CWR && (new_state == TCP_CA_CWR || (new_state == TCP_CA_Recovery &&
							     cc_window_is_marked(tcp_sk(sk)))))
		santacruz_reduce(sk);
	else if (new_state == TCP_CA_Loss && old != TCP_CA_Loss)
		santacruz_timeout(sk);
}

/*
 * After silence the window of before, but no faster than it was acknowledged: the path
 * may have changed. After five minutes nothing is known (RFC 7661).
 */
static void santacruz_after_idle(struct sock *sk)
{
	const struct santacruz *sc = inet_csk_ca(sk);
	u32 idle = tcp_jiffies32 - tcp_sk(sk)->lsndtime;

	if (!inet_csk(sk)->icsk_ca_initialized || idle <= inet_csk(sk)->icsk_rto)
		return;
	if (sc->paper) {
		cc_window_after_idle(sk, tcp_snd_cwnd(tcp_sk(sk)));
		return;
	}
	if (idle > SANTACRUZ_IDLE_S * HZ)
		cc_window_after_idle(sk, tcp_snd_cwnd(tcp_sk(sk)));
	cc_window_want_pacing(sk);
	cc_window_pace_at(sk, 100);
}

CC_COMPAT_TX_START(santacruz_after_idle);

static size_t santacruz_get_info(struct sock *sk, u32 ext, int *attr,
				 union tcp_cc_info *info)
{
	const struct santacruz *sc = inet_csk_ca(sk);
	u32 pkts_ns = sc->paper ? sc->pp.pkts_ns : sc->lv.pkts_ns;
	u32 min_us = sc->paper ? tcp_min_rtt(tcp_sk(sk)) : sc->min_us;

	/* CUBIC's window is not a multiple of the pipe */
	return cc_info_bbr(sk, ext, attr, info, pkts_ns, min_us,
			   sc->paper || !sc->compete);
}

static struct tcp_congestion_ops santacruz_ops __read_mostly = {
	.name		= "santacruz",
	.owner		= THIS_MODULE,
	.flags		= CC_COMPAT_OPTION_FLAG,
	.init		= santacruz_init,
	.ssthresh	= santacruz_ssthresh,
	.cong_control	= santacruz_main_op,
	.set_state	= santacruz_set_state,
	.CC_COMPAT_TX_START_FIELD = santacruz_after_idle_op,
	.undo_cwnd	= santacruz_undo_cwnd,
	.get_info	= santacruz_get_info,
};

static int __init santacruz_register(void)
{
	/* With room for 8 bytes more */
	BUILD_BUG_ON(sizeof(struct santacruz) + 8 > ICSK_CA_PRIV_SIZE);
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
