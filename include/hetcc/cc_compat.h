/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One spelling for what differs between the kernels the modules build on
 * (6.1, 6.12, 7.2). Probes come from Kbuild as HETCC_HAVE_*.
 */
#ifndef HETCC_CC_COMPAT_H
#define HETCC_CC_COMPAT_H

#include <net/tcp.h>
#ifdef HETCC_HAVE_SANTACRUZ_OPTION
#include <net/tcp_santacruz.h>
#endif

/* Microsecond timestamps, since 6.7: both directions of a Linux path use them
 * where the route says so.
 */
static inline bool cc_compat_usec_ts(const struct tcp_sock *tp)
{
#ifdef HETCC_HAVE_TCP_USEC_TS
	return tp->tcp_usec_ts;
#else
	return false;
#endif
}

/* tcp_congestion_ops.cong_control was given two more arguments in 6.10 */
#ifdef HETCC_HAVE_CONG_CONTROL_FLAG
#define CC_COMPAT_CONG_CONTROL(_main)					\
	static void _main##_op(struct sock *sk, u32 ack, int flag,	\
			       const struct rate_sample *rs)		\
	{								\
		_main(sk, rs);						\
	}
#else
#define CC_COMPAT_CONG_CONTROL(_main)					\
	static void _main##_op(struct sock *sk,				\
			       const struct rate_sample *rs)		\
	{								\
		_main(sk, rs);						\
	}
#endif

/* The event of data after silence has an operation of its own in 7.2 */
#ifdef HETCC_HAVE_EVENT_TX_START
#define CC_COMPAT_TX_START_FIELD	cwnd_event_tx_start
#define CC_COMPAT_TX_START(_main)					\
	static void _main##_op(struct sock *sk)				\
	{								\
		_main(sk);						\
	}
#else
#define CC_COMPAT_TX_START_FIELD	cwnd_event
#define CC_COMPAT_TX_START(_main)					\
	static void _main##_op(struct sock *sk, enum tcp_ca_event event) \
	{								\
		if (event == CA_EVENT_TX_START)				\
			_main(sk);					\
	}
#endif

/* Ask for the Santa Cruz option (santacruz_opt.patch) where there is one */
#ifdef HETCC_HAVE_SANTACRUZ_OPTION
#define CC_COMPAT_OPTION_FLAG	TCP_CONG_WANTS_SC
#else
#define CC_COMPAT_OPTION_FLAG	0
#endif

/**
 * cc_compat_option_ok() - does the connection have the Santa Cruz option?
 * @tp: socket; a path that takes the option away ends it during the connection
 */
static inline bool cc_compat_option_ok(const struct tcp_sock *tp)
{
#ifdef HETCC_HAVE_SANTACRUZ_OPTION
	return tcp_sc_ok(tp);
#else
	return false;
#endif
}

/**
 * cc_compat_option_sample() - what the option says about the current ACK
 * @sk: socket
 * @s_us: set to the send time of the transmission that caused the ACK
 * @r_us: set to its arrival, receiver's clock
 *
 * Return: false if the ACK names none whose send time is known.
 */
static inline bool cc_compat_option_sample(const struct sock *sk, u32 *s_us,
					   u32 *r_us)
{
#ifdef HETCC_HAVE_SANTACRUZ_OPTION
	const struct tcp_sc *sc = tcp_sc_current(sk);

	if (sc) {
		*s_us = sc->snd_us;
		*r_us = sc->rcv_us;
		return true;
	}
#endif
	return false;
}

#endif /* HETCC_CC_COMPAT_H */
