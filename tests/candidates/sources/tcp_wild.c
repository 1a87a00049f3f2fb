// SPDX-License-Identifier: GPL-2.0
/* Follows a wild pointer when the window has passed 30 packets */
#include <linux/module.h>
#include <net/tcp.h>

static void wild_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_reno_cong_avoid(sk, ack, acked);
	if (tp->snd_cwnd > 30) {
		tp->snd_cwnd = *(u32 *)0x10;
	}
}

static struct tcp_congestion_ops wild __read_mostly = {
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= wild_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "wild",
};

static int __init wild_register(void)
{
	return tcp_register_congestion_control(&wild);
}

static void __exit wild_unregister(void)
{
	tcp_unregister_congestion_control(&wild);
}

module_init(wild_register);
module_exit(wild_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Follows a wild pointer when the window has passed 30 packets");
