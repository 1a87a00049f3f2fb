// SPDX-License-Identifier: GPL-2.0
/* Writes a window of 0 when it has passed 30 packets */
#include <linux/module.h>
#include <net/tcp.h>

static void nothing_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_reno_cong_avoid(sk, ack, acked);
	if (tp->snd_cwnd > 30) {
		tp->snd_cwnd = 0;
	}
}

static struct tcp_congestion_ops nothing __read_mostly = {
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= nothing_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "nothing",
};

static int __init nothing_register(void)
{
	return tcp_register_congestion_control(&nothing);
}

static void __exit nothing_unregister(void)
{
	tcp_unregister_congestion_control(&nothing);
}

module_init(nothing_register);
module_exit(nothing_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Writes a window of 0 when it has passed 30 packets");
