// SPDX-License-Identifier: GPL-2.0
/* Writes to memory that it has freed when the window has passed 30 packets */
#include <linux/slab.h>
#include <linux/module.h>
#include <net/tcp.h>

static void freed_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_reno_cong_avoid(sk, ack, acked);
	if (tp->snd_cwnd > 30) {
		u32 *p = kmalloc(256, GFP_ATOMIC);

		if (p) {
			kfree(p);
			memset(p, 0xff, 256);
		}
	}
}

static struct tcp_congestion_ops freed __read_mostly = {
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= freed_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "freed",
};

static int __init freed_register(void)
{
	return tcp_register_congestion_control(&freed);
}

static void __exit freed_unregister(void)
{
	tcp_unregister_congestion_control(&freed);
}

module_init(freed_register);
module_exit(freed_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Writes to memory that it has freed when the window has passed 30 packets");
