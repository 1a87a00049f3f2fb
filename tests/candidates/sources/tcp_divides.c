// SPDX-License-Identifier: GPL-2.0
/* Divides by zero when the window has passed 30 packets */
#include <linux/module.h>
#include <net/tcp.h>

static void divides_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_reno_cong_avoid(sk, ack, acked);
	if (tp->snd_cwnd > 30) {
		volatile u32 none = 0;

		tp->snd_ssthresh = tp->snd_cwnd / none;
	}
}

static struct tcp_congestion_ops divides __read_mostly = {
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= divides_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "divides",
};

static int __init divides_register(void)
{
	return tcp_register_congestion_control(&divides);
}

static void __exit divides_unregister(void)
{
	tcp_unregister_congestion_control(&divides);
}

module_init(divides_register);
module_exit(divides_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Divides by zero when the window has passed 30 packets");
