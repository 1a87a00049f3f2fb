// SPDX-License-Identifier: GPL-2.0
/* As a module was written for Linux 3.15 to 4.6: delay-based additive increase. */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/skbuff.h>
#include <linux/inet_diag.h>
#include <net/tcp.h>

static int y2014_target __read_mostly = 10;
module_param_named(target, y2014_target, int, 0644);
MODULE_PARM_DESC(target, "packets to keep in the queue");

struct y2014 {
	u32	base_us;
	u32	last_us;
	u32	since;
	u32	spread;
};

static void y2014_init(struct sock *sk)
{
	struct y2014 *ca = inet_csk_ca(sk);

	ca->base_us = 0x7fffffff;
	ca->last_us = 0;
	ca->since = tcp_time_stamp;
	ca->spread = prandom_u32() % 8;
}

static void y2014_pkts_acked(struct sock *sk, u32 cnt, s32 rtt_us)
{
	struct y2014 *ca = inet_csk_ca(sk);

	if (rtt_us < 0)
		return;
	ca->last_us = rtt_us;
	ca->base_us = min_t(u32, ca->base_us, rtt_us);
}

static void y2014_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct y2014 *ca = inet_csk_ca(sk);
	u32 queued;

	if (!tcp_is_cwnd_limited(sk))
		return;
	queued = ca->last_us ? tp->snd_cwnd - tp->snd_cwnd * ca->base_us / ca->last_us : 0;
	if (tp->snd_cwnd <= tp->snd_ssthresh) {
		tcp_slow_start(tp, acked);
	} else if (queued < y2014_target) {
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
	} else if (tcp_time_stamp - ca->since > HZ / 10) {
		tp->snd_cwnd = max(tp->snd_cwnd - 1, 2U);
		((struct y2014 *)ca)->since = tcp_time_stamp;
	}
}

static void y2014_state(struct sock *sk, u8 new_state)
{
	if (new_state == TCP_CA_Open)
		((struct y2014 *)inet_csk_ca(sk))->since = tcp_time_stamp;
}

static void y2014_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	switch (event) {
	case CA_EVENT_CWND_RESTART:
	case CA_EVENT_TX_START:
		y2014_init(sk);
		break;
	default:
		break;
	}
}

static u32 y2014_ssthresh(struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd >> 1U, 2U);
}

static struct tcp_congestion_ops y2014 __read_mostly = {
	.flags		= TCP_CONG_RTT_STAMP,
	.init		= y2014_init,
	.ssthresh	= y2014_ssthresh,
	.cong_avoid	= y2014_cong_avoid,
	.pkts_acked	= y2014_pkts_acked,
	.set_state	= y2014_state,
	.cwnd_event	= y2014_cwnd_event,
	.owner		= THIS_MODULE,
	.name		= "y2014",
};

static int __init y2014_register(void)
{
	BUILD_BUG_ON(sizeof(struct y2014) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&y2014);
}

static void __exit y2014_unregister(void)
{
	tcp_unregister_congestion_control(&y2014);
}

module_init(y2014_register);
module_exit(y2014_unregister);
MODULE_LICENSE("GPL");
