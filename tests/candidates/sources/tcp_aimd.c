// SPDX-License-Identifier: GPL-2.0
/* Additive increase, multiplicative decrease: a window of one's own in few lines. */
#include <linux/module.h>
#include <net/tcp.h>

struct aimd {
	u32 acked;
};

static unsigned int alpha __read_mostly = 1;
module_param(alpha, uint, 0644);
MODULE_PARM_DESC(alpha, "packets that the window grows by in each round trip");

static void aimd_init(struct sock *sk)
{
	struct aimd *ca = inet_csk_ca(sk);

	ca->acked = 0;
}

static void aimd_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct aimd *ca = inet_csk_ca(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	ca->acked += acked * alpha;
	if (ca->acked >= tcp_snd_cwnd(tp)) {
		ca->acked -= tcp_snd_cwnd(tp);
		tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp) + 1, tp->snd_cwnd_clamp));
	}
}

static u32 aimd_ssthresh(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)) / 2, 2U);
}

static struct tcp_congestion_ops aimd __read_mostly = {
	.init		= aimd_init,
	.ssthresh	= aimd_ssthresh,
	.cong_avoid	= aimd_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "aimd",
};

static int __init aimd_register(void)
{
	BUILD_BUG_ON(sizeof(struct aimd) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&aimd);
}

static void __exit aimd_unregister(void)
{
	tcp_unregister_congestion_control(&aimd);
}

module_init(aimd_register);
module_exit(aimd_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Additive increase, multiplicative decrease");
