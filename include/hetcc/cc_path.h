/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Minimum round trip of a path that may get longer: the probes of minrtt_probe.h,
 * carried out on a socket whose module has the whole window.
 */
#ifndef HETCC_CC_PATH_H
#define HETCC_CC_PATH_H

#include <net/tcp.h>

#include "cc_window.h"
#include "minrtt_probe.h"

/*
 * Waits up to this long count as no queue at least, on a short path this part of it; on a long
 * one half of what slow start puts there before it is seen (HYBLA_SEEK), up to twice as long
 */
#define CC_PATH_WAIT_US		4000U
#define CC_PATH_WAIT		4
#define CC_PATH_WAIT_LONG	32
#define CC_PATH_WAIT_MAX_US	(2 * CC_PATH_WAIT_US)
/* A probe holds the window down by this part, and by the queue */
#define CC_PATH_HOLD		8
/* ... but to no fewer segments: with two a lost ACK leaves nothing to clock by (as BBR) */
#define CC_PATH_HOLD_MIN	4U
/* A path that is longer by more than this part is another one */
#define CC_PATH_ANEW		8

/**
 * cc_path_least_us() - waits up to this long count as no queue on any path
 * @p: path
 */
static inline u32 cc_path_least_us(const struct minrtt_probe *p)
{
	return clamp(p->min_us / CC_PATH_WAIT_LONG,
		     min(CC_PATH_WAIT_US, p->min_us / CC_PATH_WAIT),
		     CC_PATH_WAIT_MAX_US);
}

/**
 * cc_path_wait_us() - waits up to this long count as no queue
 * @tp: socket
 * @p: its path
 *
 * Radio slots and jitter make packets wait that find no queue. Four mean deviations
 * of the round trip are what the retransmission timer allows for them (RFC 6298);
 * tp->mdev_us is that many.
 */
static inline u32 cc_path_wait_us(const struct tcp_sock *tp,
				  const struct minrtt_probe *p)
{
	return max(cc_path_least_us(p), min(tp->mdev_us, p->min_us));
}

/**
 * cc_path_init() - path of a new connection
 * @tp: socket
 * @p: path
 */
static inline void cc_path_init(const struct tcp_sock *tp,
				struct minrtt_probe *p)
{
	minrtt_probe_init(p, tcp_min_rtt(tp) ? : MINRTT_PROBE_NONE);
	return_path_begin(&p->back, (u32)tp->tcp_mstamp, tp->rx_opt.rcv_tsval);
	p->back.off = false;
}

static inline bool cc_path_is_known(const struct minrtt_probe *p)
{
	return p->min_us != MINRTT_PROBE_NONE;
}

/**
 * cc_path_back_us() - how long the ACK that is being processed waited on its way back
 * @tp: socket
 * @p: path
 * @rtt_us: round trip that it shows, 0: none
 *
 * The module may have been chosen, or the connection begun, before the peer's first
 * timestamp: then the first one that is measured is where the way back begins.
 *
 * Return: microseconds, less than @rtt_us or 0.
 */
static inline u32 cc_path_back_us(const struct tcp_sock *tp,
				  struct minrtt_probe *p, u32 rtt_us)
{
	u32 min_us = min(rtt_us, p->min_us);

	if (!rtt_us || !tp->rx_opt.saw_tstamp)
		return 0;
	if (!cc_path_is_known(p)) {
		return_path_begin(&p->back, (u32)tp->tcp_mstamp,
				  tp->rx_opt.rcv_tsval);
		return 0;
	}
	return return_path_add(&p->back, (u32)tp->tcp_mstamp,
			       tp->rx_opt.rcv_tsval, rtt_us - min_us, min_us);
}

/* Hold the window below what the path takes without a queue */
static inline void cc_path_hold(struct sock *sk, const struct minrtt_probe *p,
				u32 *wnd)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	*wnd = cwnd;
	cwnd = fixed_mul_div(cwnd, p->min_us,
			     max(tp->srtt_us >> 3, p->min_us));
	cwnd = max(cwnd - cwnd / CC_PATH_HOLD, CC_PATH_HOLD_MIN);
	tcp_snd_cwnd_set(tp, min(cwnd, *wnd));
	if (inet_csk(sk)->icsk_ca_state > TCP_CA_Disorder)
		WRITE_ONCE(tp->snd_ssthresh, tcp_snd_cwnd(tp));
}

/**
 * cc_path_held() - window of a probe while losses are repaired
 * @sk: socket in a recovery, whose threshold is what the probe holds
 * @lost: segments newly lost
 *
 * More is out than the probe holds, for up to a round trip: the retransmission does not
 * wait for that, and nothing else leaves.
 */
static inline void cc_path_held(struct sock *sk, u32 lost)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp), tp->snd_ssthresh));
	cc_window_repair(sk, lost);
}

/*
 * The window after a probe; a queue of its own does not come back. Round trips that
 * the probe has not made shorter were no queue.
 */
static inline u32 cc_path_window(const struct sock *sk,
				 const struct minrtt_probe *p, u32 wnd,
				 enum minrtt_probe_event event)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	cwnd = fixed_mul_div(cwnd + cwnd / (CC_PATH_HOLD - 1),
			     max(tp->srtt_us >> 3, p->min_us), p->min_us);
	return event == MINRTT_PROBE_EMPTY ? min(wnd, cwnd) : wnd;
}

static inline void cc_path_restore(struct sock *sk, u32 wnd)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tp, wnd);
	if (inet_csk(sk)->icsk_ca_state > TCP_CA_Disorder)
		WRITE_ONCE(tp->snd_ssthresh, wnd);
}

/*
 * At once it would leave as one burst, of the whole queue that the probe has emptied.
 * Slow start lets out two packets for each that arrives, from the burst on that any
 * connection begins with. In a recovery the module decides; and where packets overtake
 * each other, reductions for losses that were none would end slow start early.
 */
static inline void cc_path_release(struct sock *sk, u32 wnd)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (inet_csk(sk)->icsk_ca_state > TCP_CA_Disorder || tp->reord_seen) {
		cc_path_restore(sk, wnd);
		return;
	}
	tcp_snd_cwnd_set(tp, max(tcp_snd_cwnd(tp),
				 min_t(u32, wnd, TCP_INIT_CWND)));
	if (tp->snd_ssthresh < wnd)
		WRITE_ONCE(tp->snd_ssthresh, wnd);
}

/**
 * cc_path_abort() - give the window back before the probe is over
 * @sk: socket
 * @p: path
 * @wnd: window that comes back
 */
static inline void cc_path_abort(struct sock *sk, struct minrtt_probe *p,
				 u32 wnd)
{
	if (!p->probing)
		return;
	minrtt_probe_abort(p);
	cc_path_restore(sk, wnd);
}

/**
 * cc_path_timeout() - a timeout ends a probe
 * @sk: socket
 * @p: path
 * @wnd: window before the probe: slow start comes back to that
 */
static inline void cc_path_timeout(struct sock *sk, struct minrtt_probe *p,
				   u32 wnd)
{
	if (!p->probing)
		return;
	minrtt_probe_abort(p);
	WRITE_ONCE(tcp_sk(sk)->snd_ssthresh, max(wnd, CC_WINDOW_MIN));
}

/**
 * cc_path_after_idle() - see cc_window_after_idle(); a probe is over
 * @sk: socket
 * @p: path
 * @wnd: window before the probe, to which that is done
 *
 * Return: the window has changed.
 */
static inline bool cc_path_after_idle(struct sock *sk, struct minrtt_probe *p,
				      u32 wnd)
{
	u32 cwnd = p->probing ? max(wnd, CC_WINDOW_MIN) : tcp_snd_cwnd(tcp_sk(sk));

	if (!cc_window_after_idle(sk, cwnd))
		return false;
	minrtt_probe_abort(p);
	return true;
}

/* Another path, on which slow start begins anew: nothing is known of what it carries */
static inline void cc_path_begin_anew(struct sock *sk)
{
	u8 state = inet_csk(sk)->icsk_ca_state;

	if (state != TCP_CA_CWR && state != TCP_CA_Loss)
		WRITE_ONCE(tcp_sk(sk)->snd_ssthresh, TCP_INFINITE_SSTHRESH);
}

/* What ACKs wait for then is part of the longer path */
static inline void cc_path_longer(const struct tcp_sock *tp,
				  struct minrtt_probe *p)
{
	if (!tp->rx_opt.saw_tstamp)
		return;
	p->min_us += return_path_add(&p->back, (u32)tp->tcp_mstamp,
				     tp->rx_opt.rcv_tsval, U32_MAX - p->min_us,
				     p->min_us);
	return_path_begin(&p->back, (u32)tp->tcp_mstamp, tp->rx_opt.rcv_tsval);
}

/**
 * cc_path_round() - a round is over
 * @sk: socket
 * @p: path
 * @wnd: window that comes back after a probe; set when one begins
 * @least_us: waits up to this long count as near the minimum, whatever the deviation
 * @wait_us: waits up to this long count as no queue
 *
 * Return: the path has become much longer: it is another one, and slow start begins anew.
 */
static inline bool cc_path_round(struct sock *sk, struct minrtt_probe *p,
				 u32 *wnd, u32 least_us, u32 wait_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	bool probed = p->probing, anew = false;
	enum minrtt_probe_event event;
	u32 min_us = p->min_us;

	return_path_round(&p->back, (u32)tp->tcp_mstamp, p->min_us);
	event = minrtt_probe_round(p, least_us, wait_us);
	if (event == MINRTT_PROBE_LONGER) {
		cc_path_longer(tp, p);
		anew = p->min_us - min_us > min_us / CC_PATH_ANEW;
	}
	if (event == MINRTT_PROBE_BEGIN &&
	    inet_csk(sk)->icsk_ca_state == TCP_CA_Loss)
		minrtt_probe_abort(p);
	else if (event == MINRTT_PROBE_BEGIN)
		cc_path_hold(sk, p, wnd);
	else if (probed && !p->probing)
		cc_path_release(sk, cc_path_window(sk, p, *wnd, event));
	if (anew)
		cc_path_begin_anew(sk);
	return anew;
}

#endif /* HETCC_CC_PATH_H */
