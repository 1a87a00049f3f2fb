// SPDX-License-Identifier: GPL-2.0
/*
 * TCP Santa Cruz: congestion control by relative forward delay.
 *
 * The sender keeps N_op packets in the bottleneck queue. The queue is read
 * from the forward path alone: what the reverse path does to the ACKs, by
 * delay or by loss, does not count.
 *
 *   D(j,i) = R(j,i) - S(j,i)      (1)  relative forward delay
 *   n      = n + M                (2)  packets in the bottleneck queue
 *   pktS   = R / packets received (3)  service time of a packet
 *   M      = sum(D) / pktS        (4)  over one window of data
 *
 * Once per window:  n < N_op - delta   window + 1 over the next window
 *                   n > N_op + delta   window - 1 over the next window
 *                   else               window stays
 *
 * Start-up is slow start until the queue exceeds N_op / 2; only a timeout
 * starts it again.
 *
 * Loss: intervals in which the queue grew are counted,
 *
 *       grew          grew
 *   0 --------> 1 ---------> 2 (stays while the queue grows)
 *   ^-----------+------------+  queue shrank or stood
 *
 * and a loss is congestion, and halves the window, only in state 2. Any other
 * loss is random and leaves the window as it is. An ECN mark is congestion.
 *
 * Forward delay: S is the send time of the packet that caused the ACK, from the
 * retransmission queue (microseconds). R comes from, in this order,
 *   option      arrival at the receiver in microseconds (santacruz_opt.patch on
 *               both sides); S is exact for retransmissions as well;
 *   timestamps  TSval of the ACK (RFC 7323), in the peer's ticks, which are
 *               measured (1 us where tcp_usec_ts is on, else 1 ms and more);
 *   rtt         arrival of the ACK at the sender, where the peer has no
 *               timestamps or an unknown clock: then the reverse path counts.
 *
 * Departures from the papers, by the parameter that restores the paper's rule. The
 * paper's n_op is 1.5. What each gains is measured in docs/santacruz.md.
 *   sum_rule=1   n is the interval's level over the current pktS (reldelay.h)
 *   startup=0    ends at the bandwidth-delay product, or when the queue stands
 *   init_cwnd=2  the kernel's initial window, at least two
 *   pacing=0     segments are paced
 *   scale=0      larger steps, N_op of large windows, 4 N_op right now are congestion
 *   predict=0    the window's steps of the last round are added to the queue
 *   drain_s=0    the queue is emptied every 10 s: base and clock skew are seen
 *   reroute=0    a delay that came at once and does not drain is a longer path
 * Where the papers are silent, without a parameter:
 *  - a random loss leaves the window full in recovery; PRR would let it shrink;
 *  - more than 1/8 of the window lost is congestion, after 1/16 it is not raised;
 *  - in start-up, more than N_op packets queued are congestion;
 *  - growth of 1.5 delta or a tick, after a drain or a larger step, is no sign of it;
 *  - 10 s without sending: the base begins anew;
 *  - packets that overtook others do not make the base (four in a row do).
 *
 * tcpvegas_info: enabled = source of R (0 rtt, 1 timestamps, 2 option), rttcnt = queue
 * estimate in packets, rtt and minrtt in microseconds.
 *
 * References
 *   Parsa, Garcia-Luna-Aceves: Improving TCP Congestion Control over Internets
 *   with Heterogeneous Transmission Media. ICNP 1999.
 *   Parsa, Garcia-Luna-Aceves: Differentiating Congestion vs. Random Loss: A
 *   Method for Improving TCP Performance over Wireless Links. WCNC 2000.
 */
#include <linux/module.h>
#include <net/tcp.h>

#include "hetcc/cc_compat.h"
#include "hetcc/cc_info.h"
#include "hetcc/cc_param.h"
#include "hetcc/cc_window.h"
#include "hetcc/reldelay.h"
#include "hetcc/santacruz_law.h"
#include "hetcc/tsval_tick.h"
#include "hetcc/version.h"

#define CREATE_TRACE_POINTS
#include "hetcc/trace_santacruz.h"

#define SANTACRUZ_MAX_CWND	((u32)1 << 24)
#define SANTACRUZ_TICK_MS_US	1000U
/* A drain lasts long enough for those of other hosts to overlap */
#define SANTACRUZ_DRAIN_US	200000U
/* Growth of the queue after a drain is no sign of anything */
#define SANTACRUZ_REFILL_RTTS	4U
/* Losing more than 1/8 of the window, and than four packets, is not noise */
#define SANTACRUZ_HEAVY_SHIFT	3
#define SANTACRUZ_HEAVY_PKTS	4U
/* Nor is a window raised that lost more than 1/16, and than one packet */
#define SANTACRUZ_LOSSY_SHIFT	4
/* An application was silent for so long: clocks and path may be others */
#define SANTACRUZ_IDLE_S	10

CC_PARAM_MILLI(n_op, 3000, 500, 1000000,
	       "packets to keep in the bottleneck queue (0.5..1000); default 3");
CC_PARAM_MILLI(delta, 500, 0, 1000000,
	       "tolerance around n_op in packets (0..1000); default 0.5");
CC_PARAM_UINT(init_cwnd, 0, 0, 1000,
	      "initial window in segments (0..1000, paper 2, 0: the kernel's); default 0");
CC_PARAM_UINT(startup, 1, 0, 1,
	      "start-up ends on 0: any delay above n_op/2 (paper), 1: a standing queue; default 1");
CC_PARAM_UINT(sum_rule, 0, 0, 1,
	      "queue estimate 1: equation 2 to the letter (paper), 0: delay above the minimum; default 0");
CC_PARAM_UINT(predict, 1, 0, 1,
	      "1: count the window's own last steps, which the queue shows a round later; 0: paper; default 1");
CC_PARAM_UINT(discriminate, 1, 0, 1,
	      "loss response 1: only congestive loss halves (paper), 0: every loss does; default 1");
CC_PARAM_UINT(pacing, 1, 0, 1, "space segments over the round trip (0, 1); default 1");
CC_PARAM_UINT(scale, 1, 0, 1,
	      "steps 1: as large as the queue says, 0: one packet (paper); default 1");
CC_PARAM_UINT(drain_s, 10, 0, 3600,
	      "empty the queue once in so many seconds to see the path (0: never, paper); default 10");
CC_PARAM_UINT(drain_sync, 1, 0, 1,
	      "drain 1: with all others, by the clock on the wall, 0: at a time of one's own; default 1");
CC_PARAM_UINT(reroute, 1, 0, 1,
	      "1: a delay that lowering does not shorten is a longer path, 0: queue (paper); default 1");

/* What the window does during this interval */
enum santacruz_mode {
	SANTACRUZ_HOLD,
	SANTACRUZ_RAISE,
	SANTACRUZ_LOWER,
};

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
	SANTACRUZ_REFILL,
};

/**
 * struct santacruz - state of a connection
 * @rd: relative delay estimator
 * @end: tp->delivered when the window of data is complete that the interval covers
 * @probe_ts: peer's TSval when the tick probe began
 * @probe_us: local time of the same, lower 32 bits
 * @cwnd_end: window at the end of the last and of the last but one interval
 * @before: window before a drain, or before the current run of lowering
 * @first_us: mean offset of a drain, or delay at the first of the run
 * @mode: enum santacruz_mode
 * @source: enum santacruz_source
 * @phase: enum santacruz_phase
 * @grew: consecutive intervals in which the queue grew, 0..2
 * @run: intervals in this mode or phase before the current one, saturating
 * @reorders: 0, or the stack has seen reordering, and the base begun anew: one and
 *	the packets in a row, up to SANTACRUZ_EARLY_PKTS, that came below the base
 * @marked: the current ACK carries ECN-Echo
 * @probing: probe_ts and probe_us are valid; 2: the last probe found no clock
 * @random: the last loss was
 * @lost: tp->lost when the interval began, lower 13 bits
 */
struct santacruz {
	struct reldelay rd;
	u32 end;
	u32 probe_ts;
	u32 probe_us;
	u32 cwnd_end[2];
	u32 before;
	u32 first_us;
	u32 mode:2,
	    source:2,
	    phase:2,
	    grew:2,
	    run:4,
	    reorders:3,
	    marked:1,
	    probing:2,
	    random:1,
	    lost:13;
};

#define SANTACRUZ_RUN_MAX	15
#define SANTACRUZ_LOST_MASK	0x1fffU
/* So many below the base, one after the other, are the path: 0..6 */
#define SANTACRUZ_EARLY_PKTS	4

/* Packets in Q8 from a parameter in thousandths: 10^6 * 2^8 < 2^32 */
static s32 santacruz_milli_to_rd(unsigned int milli)
{
	return milli * QUEUE_PKTS_ONE / FIXED_MILLI;
}

static s32 santacruz_op(u32 window)
{
	s32 op = santacruz_milli_to_rd(READ_ONCE(n_op));

	return READ_ONCE(scale) ? santacruz_law_op(window, op) : op;
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

/* The window; during a recovery, what it will be after it */
static u32 santacruz_window(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tcp_in_cwnd_reduction(sk) ? tp->snd_ssthresh : tcp_snd_cwnd(tp);
}

/* What the operating point delays */
static u32 santacruz_op_us(const struct sock *sk)
{
	const struct santacruz *sc = inet_csk_ca(sk);
	s32 op = santacruz_op(santacruz_window(sk));

	/* 2^31 * 2^32 / 2^18 < 2^45 */
	return fixed_sat_u32(div_u64((u64)op * sc->rd.pkts_ns,
				     1000 * QUEUE_PKTS_ONE));
}

static void santacruz_set_window(struct sock *sk, u32 window)
{
	struct tcp_sock *tp = tcp_sk(sk);

	window = clamp(window, CC_WINDOW_MIN, tp->snd_cwnd_clamp);
	if (tcp_in_cwnd_reduction(sk)) {
		WRITE_ONCE(tp->snd_ssthresh, window);
		return;
	}
	tcp_snd_cwnd_set(tp, window);
	WRITE_ONCE(tp->snd_ssthresh, min(tp->snd_ssthresh, window));
}

static void santacruz_begin_interval(struct sock *sk)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	/* While there is a delay that it may explain */
	bool keep_jump = sc->phase == SANTACRUZ_DRAIN ||
			 sc->phase == SANTACRUZ_REFILL ||
			 sc->rd.n > 2 * santacruz_op(santacruz_window(sk));

	sc->end = tp->delivered + max(tcp_packets_in_flight(tp), 1U);
	sc->lost = tp->lost;
	reldelay_restart(&sc->rd, keep_jump);
}

static void santacruz_init(struct sock *sk)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 iw = READ_ONCE(init_cwnd);

	memset(sc, 0, sizeof(*sc));
	reldelay_init(&sc->rd, READ_ONCE(sum_rule));
	sc->phase = SANTACRUZ_STARTUP;
	sc->mode = SANTACRUZ_HOLD;
	sc->source = santacruz_best_source(tp);
	sc->rd.tick_us = santacruz_best_tick_us(tp, sc->source);
	santacruz_begin_interval(sk);
	/* The stack starts with one segment after lost SYNs */
	if (cc_window_is_fresh(tp) && tp->total_retrans <= 1) {
		iw = iw ? iw : tcp_snd_cwnd(tp);
		tcp_snd_cwnd_set(tp, clamp(iw, CC_WINDOW_MIN,
					   max(tp->snd_cwnd_clamp,
					       CC_WINDOW_MIN)));
	}
	sc->cwnd_end[0] = tcp_snd_cwnd(tp);
	sc->cwnd_end[1] = tcp_snd_cwnd(tp);
	if (READ_ONCE(pacing))
		cc_window_want_pacing(sk);
}

static void santacruz_use_clock(struct santacruz *sc, u8 source, u32 tick_us)
{
	if (sc->source == source && sc->rd.tick_us == tick_us)
		return;
	sc->source = source;
	sc->rd.tick_us = tick_us;
	if (sc->phase == SANTACRUZ_DRAIN)
		sc->run = 0;
	reldelay_reset(&sc->rd);
}

/* Measure the peer's timestamp clock against ours, again and again */
static void santacruz_probe_tick(struct santacruz *sc, u32 tsval, u32 now_us)
{
	u32 elapsed_us = now_us - sc->probe_us;
	u32 tick_us = 0;

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

/* R of equation 1 for the current ACK */
static u32 santacruz_receive_us(struct sock *sk, u32 now_us)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (tp->rx_opt.saw_tstamp)
		santacruz_probe_tick(sc, tp->rx_opt.rcv_tsval, now_us);
	if (sc->source == SANTACRUZ_TSTAMP)
		return tp->rx_opt.rcv_tsval * sc->rd.tick_us;
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

/* The queue fills again after a drain, or after larger steps than the paper's */
static bool santacruz_refilling(const struct sock *sk)
{
	const struct santacruz *sc = inet_csk_ca(sk);
	const struct clock_skew *skew = &sc->rd.skew;
	u32 since_us = skew->now_us - skew->begin_us;

	if (sc->phase == SANTACRUZ_STARTUP)
		return false;
	return skew->leapt ||
	       (skew->drained &&
		since_us < SANTACRUZ_REFILL_RTTS *
			   (tcp_sk(sk)->srtt_us >> 3));
}

/* The state diagram of the 2000 paper; half again delta, or a tick, is no growth */
static void santacruz_count_growth(struct sock *sk, s32 previous)
{
	s32 tolerance = santacruz_milli_to_rd(READ_ONCE(delta));
	struct santacruz *sc = inet_csk_ca(sk);
	s32 noise = max(tolerance + tolerance / 2,
			queue_pkts_from_us(sc->rd.tick_us, sc->rd.pkts_ns));

	if ((s64)sc->rd.n - previous > noise && !santacruz_refilling(sk))
		sc->grew = min(sc->grew + 1, 2);
	else
		sc->grew = 0;
}

/*
 * What the queue will be once the window's steps since the measured packets were
 * sent have arrived. Those left during the previous interval; the paper's steps
 * took the window from cwnd_end[1] to cwnd_end[0] meanwhile. An empty queue
 * says nothing about where a step goes: the pipe may take it.
 */
static s32 santacruz_predicted(const struct sock *sk)
{
	const struct santacruz *sc = inet_csk_ca(sk);
	u32 late = READ_ONCE(scale) ? sc->cwnd_end[1] : sc->cwnd_end[0];
	s64 sent = ((s64)late + sc->cwnd_end[1]) * QUEUE_PKTS_ONE / 2;
	s64 step = (s64)santacruz_window(sk) * QUEUE_PKTS_ONE - sent;

	if (!READ_ONCE(predict) ||
	    !santacruz_law_shows(sc->rd.n, santacruz_op(santacruz_window(sk))))
		return sc->rd.n;
	return (s32)clamp_t(s64, sc->rd.n + step, -QUEUE_PKTS_MAX,
			    QUEUE_PKTS_MAX);
}

static void santacruz_set_mode(struct santacruz *sc, u8 mode)
{
	sc->run = sc->mode == mode ? min(sc->run + 1, SANTACRUZ_RUN_MAX) : 0;
	sc->mode = mode;
}

/*
 * A longer path is not a queue. The run of lowering that is to tell began with
 * first_us; a delay that has grown since begins it anew.
 */
static bool santacruz_rerouted(struct sock *sk)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct santacruz_law_lowering d = {
		.before = sc->before,
		.sent = sc->cwnd_end[1],
		.first_us = sc->first_us,
		.now_us = max(reldelay_delay_us(&sc->rd), 0),
		.jump_us = (1U << sc->rd.jump) / 2,
		.pkts_ns = sc->rd.pkts_ns,
		.tick_us = sc->rd.tick_us,
	};

	if (!sc->run || santacruz_law_delay_grows(&d)) {
		sc->before = santacruz_window(sk);
		sc->first_us = d.now_us;
		return false;
	}
	return READ_ONCE(reroute) && santacruz_law_path_changed(&d);
}

/*
 * excess: what will be left of the queue to take out, Q8 packets. Two packets that
 * meet the same delay over and over do not make it.
 */
static void santacruz_lower(struct sock *sk, s32 excess)
{
	struct santacruz *sc = inet_csk_ca(sk);
	u32 window = santacruz_window(sk);

	if (santacruz_rerouted(sk) ||
	    (READ_ONCE(reroute) && sc->run == SANTACRUZ_RUN_MAX &&
	     window <= CC_WINDOW_MIN + 1)) {
		sc->rd.base_us += reldelay_delay_us(&sc->rd);
		sc->rd.n = 0;
		sc->mode = SANTACRUZ_HOLD;
		sc->phase = SANTACRUZ_REFILL;
		sc->run = 0;
		santacruz_set_window(sk, max(sc->before, window));
	} else if (excess > santacruz_milli_to_rd(READ_ONCE(delta))) {
		window -= santacruz_law_lower(window, excess);
		santacruz_set_window(sk, window);
	}
}

static u32 santacruz_lost(const struct sock *sk)
{
	const struct santacruz *sc = inet_csk_ca(sk);

	return (tcp_sk(sk)->lost - sc->lost) & SANTACRUZ_LOST_MASK;
}

/* Not while slow start does, nor into a queue that may be full at any length */
static void santacruz_raise(struct sock *sk, s32 op)
{
	const struct santacruz *sc = inet_csk_ca(sk);
	u32 window = santacruz_window(sk);

	if (!tcp_is_cwnd_limited(sk) ||
	    santacruz_lost(sk) > max(window >> SANTACRUZ_LOSSY_SHIFT, 1U) ||
	    (!tcp_in_cwnd_reduction(sk) && tcp_in_slow_start(tcp_sk(sk))))
		return;
	window += santacruz_law_raise(window, sc->rd.n, op, sc->run);
	santacruz_set_window(sk, window);
}

/*
 * Towards the operating point. A queue that is measured too long, and that earlier
 * steps will shorten, is still being lowered.
 */
static u8 santacruz_choose(const struct sock *sk, s32 op, s32 predicted)
{
	const struct santacruz *sc = inet_csk_ca(sk);
	s32 tolerance = santacruz_milli_to_rd(READ_ONCE(delta));

	if (READ_ONCE(scale) && sc->rd.n > op + tolerance)
		return SANTACRUZ_LOWER;
	/* On the spot: a prediction alone moves the window by a whole packet */
	if (READ_ONCE(scale) && sc->rd.n >= op - tolerance)
		tolerance += QUEUE_PKTS_ONE / 2;
	if (predicted > op + tolerance)
		return SANTACRUZ_LOWER;
	return predicted < max(op - tolerance, 1) ? SANTACRUZ_RAISE :
						     SANTACRUZ_HOLD;
}

static void santacruz_steer(struct sock *sk)
{
	struct santacruz *sc = inet_csk_ca(sk);
	s32 op = santacruz_op(santacruz_window(sk));
	s32 n = santacruz_predicted(sk);

	santacruz_set_mode(sc, santacruz_choose(sk, op, n));
	if (!READ_ONCE(scale) || sc->phase != SANTACRUZ_STEADY)
		return;
	if (sc->mode == SANTACRUZ_RAISE)
		santacruz_raise(sk, op);
	else if (sc->mode == SANTACRUZ_LOWER)
		santacruz_lower(sk, n - op);
}

/* Time since all drains were due, modulo the period; false without drains */
static bool santacruz_drain_clock(const struct sock *sk, u32 *since_us)
{
	u32 period_us = READ_ONCE(drain_s) * FIXED_USEC_PER_SEC;
	u64 now_us = div_u64(ktime_get_real_ns(), NSEC_PER_USEC);

	if (!period_us)
		return false;
	if (!READ_ONCE(drain_sync))
		now_us += sk->sk_hash;
	div_u64_rem(now_us, period_us, since_us);
	return true;
}

static void santacruz_begin_drain(struct sock *sk)
{
	struct santacruz *sc = inet_csk_ca(sk);
	u32 window = santacruz_window(sk);

	sc->before = window;
	sc->rd.skew.fell = 0;
	sc->phase = SANTACRUZ_DRAIN;
	sc->mode = SANTACRUZ_HOLD;
	sc->run = 0;
	window -= santacruz_law_drain(window, sc->rd.n);
	santacruz_set_window(sk, window);
}

/* What else has changed the window meanwhile has the last word */
static void santacruz_end_drain(struct sock *sk)
{
	struct santacruz *sc = inet_csk_ca(sk);
	u32 left_us, lift = 0;

	sc->rd.base_us += clock_skew_epoch(&sc->rd.skew, sc->first_us);
	left_us = max_t(s32, (s32)(sc->first_us - sc->rd.base_us), 0);
	if (READ_ONCE(reroute))
		lift = santacruz_law_lift(left_us, santacruz_op(sc->before),
					  sc->rd.pkts_ns, sc->rd.skew.lifted);
	sc->rd.base_us += lift << SANTACRUZ_LAW_LIFT_SHIFT;
	sc->rd.skew.lifted += lift;
	sc->rd.skew.drained = 1;
	sc->rd.n = 0;
	sc->phase = SANTACRUZ_REFILL;
	if (santacruz_window(sk) == sc->cwnd_end[0])
		santacruz_set_window(sk, sc->before);
}

/* First the packets from before the drain arrive, then those of the drain */
static void santacruz_drain(struct sock *sk, u32 offset_us, u32 since_us)
{
	struct santacruz *sc = inet_csk_ca(sk);

	if (sc->run == 1)
		sc->first_us = offset_us;
	else if (sc->run)
		sc->first_us += (s32)(offset_us - sc->first_us) / (s32)sc->run;
	if (sc->run && since_us >= SANTACRUZ_DRAIN_US)
		santacruz_end_drain(sk);
	else
		sc->run = min(sc->run + 1, SANTACRUZ_RUN_MAX);
}

static bool santacruz_near(s32 n, s32 op)
{
	return n >= op / 2 && n < 2 * op;
}

/*
 * At the time of all drains, if most of a period has passed since start-up, or
 * since the last one; on a shorter path, as soon as the queue stands.
 */
static bool santacruz_drain_due(const struct sock *sk, s32 previous,
				u32 since_us, u32 passed_us)
{
	const struct santacruz *sc = inet_csk_ca(sk);
	s32 op = santacruz_op(santacruz_window(sk));
	u32 period_us = READ_ONCE(drain_s) * FIXED_USEC_PER_SEC;
	const struct clock_skew *skew = &sc->rd.skew;

	if (sc->phase != SANTACRUZ_STEADY || !period_us)
		return false;
	if (skew->fell)
		return santacruz_near(sc->rd.n, op) &&
		       santacruz_near(previous, op);
	return since_us < passed_us &&
	       skew->now_us - skew->begin_us >= period_us - period_us / 8;
}

/*
 * True if a drain keeps the window to itself. offset_us is the interval's level,
 * previous the queue of the one before, passed_us the time since then.
 */
static bool santacruz_draining(struct sock *sk, u32 offset_us, s32 previous,
			       u32 passed_us)
{
	struct santacruz *sc = inet_csk_ca(sk);
	u32 since_us;

	if (!santacruz_drain_clock(sk, &since_us))
		since_us = SANTACRUZ_DRAIN_US;
	if (sc->phase == SANTACRUZ_DRAIN) {
		santacruz_drain(sk, offset_us, since_us);
		return true;
	}
	if (sc->phase == SANTACRUZ_REFILL) {
		sc->phase = SANTACRUZ_STEADY;
		return true;
	}
	if (santacruz_drain_due(sk, previous, since_us, passed_us)) {
		santacruz_begin_drain(sk);
		return true;
	}
	return false;
}

static bool santacruz_heavy_loss(const struct sock *sk)
{
	u32 window = santacruz_window(sk);

	/* Of the largest windows less is enough: what is counted wraps */
	window = min(window, SANTACRUZ_LOST_MASK << (SANTACRUZ_HEAVY_SHIFT - 1));
	return santacruz_lost(sk) > max(window >> SANTACRUZ_HEAVY_SHIFT,
					min(window >> 1, SANTACRUZ_HEAVY_PKTS));
}

static void santacruz_end_interval(struct sock *sk)
{
	struct santacruz *sc = inet_csk_ca(sk);
	u32 now_us = (u32)tcp_sk(sk)->tcp_mstamp, passed_us = 0;
	s32 previous = sc->rd.n, d_us;
	u32 offset_us;

	if (sc->phase != SANTACRUZ_STARTUP) {
		passed_us = now_us - sc->rd.skew.now_us;
		sc->rd.base_us += clock_skew_advance(&sc->rd.skew, now_us);
	}
	if (!reldelay_interval(&sc->rd, tcp_sk(sk)->delivered))
		return;
	santacruz_count_growth(sk, previous);
	d_us = reldelay_delay_us(&sc->rd);
	offset_us = sc->rd.base_us + d_us;
	if (sc->phase != SANTACRUZ_STARTUP)
		sc->rd.skew.fell |= reldelay_settle(&sc->rd,
						    santacruz_op_us(sk));
	if (!santacruz_draining(sk, offset_us, previous, passed_us))
		santacruz_steer(sk);
	if (sc->phase != SANTACRUZ_STARTUP)
		sc->rd.skew.leapt = sc->cwnd_end[0] > sc->cwnd_end[1] + 1;
	sc->cwnd_end[1] = sc->cwnd_end[0];
	sc->cwnd_end[0] = santacruz_window(sk);
	trace_interval(sk, sc->rd.n, d_us, sc->rd.pkts_ns, sc->grew, sc->source,
		       sc->mode);
}

/* Window that holds N_op packets queued: base round trip over pktS, plus N_op */
static u32 santacruz_target(const struct sock *sk, u32 pkts_ns)
{
	u32 bdp = fixed_mul_div(tcp_min_rtt(tcp_sk(sk)), 1000, pkts_ns);
	s32 op;

	bdp = clamp(bdp, CC_WINDOW_MIN, SANTACRUZ_MAX_CWND);
	op = santacruz_op(bdp) + QUEUE_PKTS_ONE / 2;
	return bdp + (op >> QUEUE_PKTS_SHIFT);
}

/* Slow start is over; what is under way was sent under this window */
static void santacruz_leave_startup(struct sock *sk, u32 sent)
{
	struct santacruz *sc = inet_csk_ca(sk);
	u32 now_us = (u32)tcp_sk(sk)->tcp_mstamp;

	sc->phase = SANTACRUZ_STEADY;
	sc->mode = SANTACRUZ_HOLD;
	sc->run = 0;
	sc->rd.steady = 1;
	sc->cwnd_end[1] = sent;
	sc->cwnd_end[0] = santacruz_window(sk);
	clock_skew_begin(&sc->rd.skew, now_us, sc->rd.base_us,
			 now_us - sc->rd.r_us);
	santacruz_begin_interval(sk);
}

static void santacruz_end_startup(struct sock *sk, u32 cwnd)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 sent = tcp_snd_cwnd(tp);

	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
	WRITE_ONCE(tp->snd_ssthresh, tcp_snd_cwnd(tp));
	santacruz_leave_startup(sk, sent);
}

/* Packets that queued behind each other show pktS, hence where to stop */
static void santacruz_check_startup(struct sock *sk)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct startup_queue_len q = reldelay_startup_queue(&sc->rd, tp->delivered);
	s32 limit = santacruz_op(tcp_snd_cwnd(tcp_sk(sk))) / 2;
	u32 target;

	if (q.recent <= limit)
		return;
	target = santacruz_target(sk, q.pkts_ns);
	if (target <= tcp_snd_cwnd(tp))
		santacruz_end_startup(sk, target);
	else if (q.standing > limit)
		santacruz_end_startup(sk, tcp_snd_cwnd(tp));
	else if (inet_csk(sk)->icsk_ca_state != TCP_CA_Loss)
		WRITE_ONCE(tp->snd_ssthresh, target);
}

/* The paper's rule: any delay above N_op / 2 */
static void santacruz_check_startup_paper(struct sock *sk)
{
	struct santacruz *sc = inet_csk_ca(sk);
	u32 pkts_ns = queue_pkts_service_ns(&sc->rd.iv, sc->rd.r_us,
					    tcp_sk(sk)->delivered);

	if (reldelay_now(&sc->rd, pkts_ns) >
	    santacruz_op(tcp_snd_cwnd(tcp_sk(sk))) / 2)
		santacruz_end_startup(sk, tcp_snd_cwnd(tcp_sk(sk)));
}

static void santacruz_sample(struct sock *sk, u32 s_us, u32 r_us)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 rev_us = (u32)tp->tcp_mstamp - r_us;
	bool clock = !sc->rd.primed;

	reldelay_sample(&sc->rd, s_us, r_us, tp->delivered);
	if (sc->phase == SANTACRUZ_STARTUP)
		reldelay_startup_add(&sc->rd, tp->delivered);
	else if (clock)
		clock_skew_begin(&sc->rd.skew, (u32)tp->tcp_mstamp,
				 sc->rd.base_us, rev_us);
	else
		clock_skew_reverse(&sc->rd.skew, rev_us);
}

/* Congestion ends a drain or a run of steps: their windows must not come back */
static void santacruz_cancel_steps(struct santacruz *sc)
{
	if (sc->phase != SANTACRUZ_STARTUP)
		sc->phase = SANTACRUZ_STEADY;
	sc->mode = SANTACRUZ_HOLD;
	sc->run = 0;
	sc->random = 0;
}

/*
 * The stack asks once per recovery what a loss means. When it turns out to be
 * congestion after all, halve then. PRR counts from here on.
 */
static void santacruz_revise_loss(struct sock *sk)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!sc->random || inet_csk(sk)->icsk_ca_state != TCP_CA_Recovery)
		return;
	trace_loss(sk, sc->rd.n, sc->grew, true);
	WRITE_ONCE(tp->snd_ssthresh, max(tp->snd_ssthresh >> 1, CC_WINDOW_MIN));
	tp->prr_delivered = tp->prr_out;
	santacruz_cancel_steps(sc);
}

/*
 * PRR (RFC 6937) lets a window shrink by what is lost, until the recovery ends. A
 * random loss takes nothing from the window: what PRR may send is what is
 * missing in flight.
 */
static void santacruz_fill_recovery(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 flight = tcp_packets_in_flight(tp), window = tp->snd_ssthresh;

	if (inet_csk(sk)->icsk_ca_state == TCP_CA_Recovery)
		tp->prr_delivered = flight < window ?
				    tp->prr_out + window - flight : 0;
}

/*
 * On a path that reorders, packets that overtake others do not make the base, nor
 * has it been theirs since before the stack knew. With nothing before them to
 * overtake they come in order, but not many in a row.
 */
static bool santacruz_overtook(struct sock *sk, const struct ack_sample *sample,
			       u32 offset_us)
{
	struct santacruz *sc = inet_csk_ca(sk);

	if (!sc->reorders) {
		sc->reorders = 1;
		reldelay_reset(&sc->rd);
	}
	if (!sc->rd.primed)
		return !sample->pkts_acked;
	if ((s32)(offset_us - sc->rd.base_us) >= 0) {
		sc->reorders = 1;
		return false;
	}
	if (sample->pkts_acked && sc->reorders > SANTACRUZ_EARLY_PKTS)
		return false;
	sc->reorders += !!sample->pkts_acked;
	return true;
}

static void santacruz_pkts_acked(struct sock *sk,
				 const struct ack_sample *sample)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 s_us, r_us;

	/* init comes after the SYN's ACK, and what it knows of timestamps */
	if (sk->sk_state == TCP_SYN_SENT || sk->sk_state == TCP_SYN_RECV)
		return;
	if (sc->random && santacruz_heavy_loss(sk))
		santacruz_revise_loss(sk);
	else if (sc->random)
		santacruz_fill_recovery(sk);
	if (!santacruz_times(sk, sample->rtt_us, &s_us, &r_us))
		return;
	if (tp->reord_seen && santacruz_overtook(sk, sample, r_us - s_us))
		return;
	santacruz_sample(sk, s_us, r_us);
	if (sc->phase == SANTACRUZ_STARTUP && tcp_in_slow_start(tp) &&
	    !tcp_in_cwnd_reduction(sk)) {
		if (READ_ONCE(startup))
			santacruz_check_startup(sk);
		else
			santacruz_check_startup_paper(sk);
	}
	if (!before(tp->delivered, sc->end)) {
		santacruz_end_interval(sk);
		santacruz_begin_interval(sk);
	}
}

static void santacruz_in_ack_event(struct sock *sk, u32 flags)
{
	struct santacruz *sc = inet_csk_ca(sk);

	sc->marked = !!(flags & CA_ACK_ECE);
	if (sc->marked)
		santacruz_revise_loss(sk);
}

static void santacruz_step(struct sock *sk)
{
	const struct santacruz *sc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	if (sc->mode == SANTACRUZ_RAISE && tcp_is_cwnd_limited(sk))
		cwnd = min(cwnd + 1, tp->snd_cwnd_clamp);
	else if (sc->mode == SANTACRUZ_LOWER)
		cwnd = max(cwnd - 1, CC_WINDOW_MIN);
	tcp_snd_cwnd_set(tp, cwnd);
}

/* One segment per window, up or down; acked may be any number of segments */
static void santacruz_step_per_window(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	tp->snd_cwnd_cnt += acked;
	if (tp->snd_cwnd_cnt < cwnd)
		return;
	tp->snd_cwnd_cnt -= cwnd;
	santacruz_step(sk);
}

/*
 * Nothing of ours is under way, so nothing queued: begin anew with whatever
 * clocks and path have become.
 */
static void santacruz_wake_up(struct sock *sk)
{
	struct santacruz *sc = inet_csk_ca(sk);

	reldelay_reset(&sc->rd);
	sc->probing = 0;
	if (sc->phase != SANTACRUZ_STARTUP)
		sc->phase = SANTACRUZ_STEADY;
	sc->run = 0;
}

/*
 * The paper's steps: the stack asks for none during recovery. With a random loss
 * in every window that would be always: make up for it when one ends.
 */
static void santacruz_step_at_last(struct sock *sk)
{
	const struct santacruz *sc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (READ_ONCE(scale) || sc->phase == SANTACRUZ_STARTUP)
		return;
	santacruz_step(sk);
	WRITE_ONCE(tp->snd_ssthresh, min(tp->snd_ssthresh, tcp_snd_cwnd(tp)));
}

static void santacruz_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct santacruz *sc = inet_csk_ca(sk);
	u32 idle = tcp_jiffies32 - tcp_sk(sk)->lsndtime;

	if (event == CA_EVENT_COMPLETE_CWR)
		santacruz_step_at_last(sk);
	else if (event == CA_EVENT_CWND_RESTART &&
		 sc->phase == SANTACRUZ_DRAIN)
		sc->phase = SANTACRUZ_STEADY;
	else if (event == CA_EVENT_TX_START && idle > SANTACRUZ_IDLE_S * HZ)
		santacruz_wake_up(sk);
}

static void santacruz_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct santacruz *sc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	/* An undone reduction may bring an infinite ssthresh back */
	if (sc->phase != SANTACRUZ_STARTUP && sc->mode == SANTACRUZ_LOWER)
		WRITE_ONCE(tp->snd_ssthresh,
			   min(tp->snd_ssthresh, tcp_snd_cwnd(tp)));
	if (!tcp_in_slow_start(tp)) {
		if (sc->phase == SANTACRUZ_STARTUP)
			santacruz_leave_startup(sk, tcp_snd_cwnd(tp));
	} else if (tcp_is_cwnd_limited(sk)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	} else {
		return;
	}
	if (!READ_ONCE(scale) && sc->phase == SANTACRUZ_STEADY)
		santacruz_step_per_window(sk, acked);
}

static bool santacruz_congested(const struct sock *sk)
{
	const struct santacruz *sc = inet_csk_ca(sk);
	s32 op = santacruz_op(santacruz_window(sk));

	if (sc->marked || !READ_ONCE(discriminate) || sc->grew == 2 ||
	    santacruz_heavy_loss(sk))
		return true;
	if (sc->phase == SANTACRUZ_STARTUP)
		return reldelay_now(&sc->rd, sc->rd.pkts_ns) > op;
	return READ_ONCE(scale) && !santacruz_refilling(sk) &&
	       reldelay_block(&sc->rd) > 4 * op;
}

static u32 santacruz_ssthresh(struct sock *sk)
{
	struct santacruz *sc = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));
	bool congested = santacruz_congested(sk);

	sc->random = !congested;
	trace_loss(sk, sc->rd.n, sc->grew, congested);
	if (congested) {
		cwnd >>= 1;
		santacruz_cancel_steps(sc);
	}
	return max(cwnd, CC_WINDOW_MIN);
}

static void santacruz_set_state(struct sock *sk, u8 new_state)
{
	struct santacruz *sc = inet_csk_ca(sk);

	if (new_state == TCP_CA_Loss) {
		santacruz_revise_loss(sk);
		sc->phase = SANTACRUZ_STARTUP;
		sc->rd.steady = 0;
		sc->grew = 0;
		sc->mode = SANTACRUZ_HOLD;
		sc->run = 0;
		startup_queue_restart(&sc->rd.start);
		santacruz_begin_interval(sk);
	}
}

static size_t santacruz_get_info(struct sock *sk, u32 ext, int *attr,
				 union tcp_cc_info *info)
{
	const struct santacruz *sc = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	return cc_info_vegas(ext, attr, info,
			     sc->source,
			     max(sc->rd.n, 0) / QUEUE_PKTS_ONE,
			     tp->srtt_us >> 3, tcp_min_rtt(tp));
}

static struct tcp_congestion_ops santacruz_ops __read_mostly = {
	.name		= "santacruz",
	.owner		= THIS_MODULE,
	.flags		= CC_COMPAT_OPTION_FLAG,
	.init		= santacruz_init,
	.ssthresh	= santacruz_ssthresh,
	.cong_avoid	= santacruz_cong_avoid,
	.set_state	= santacruz_set_state,
	.cwnd_event	= santacruz_cwnd_event,
	.in_ack_event	= santacruz_in_ack_event,
	.pkts_acked	= santacruz_pkts_acked,
	.undo_cwnd	= tcp_reno_undo_cwnd,
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
