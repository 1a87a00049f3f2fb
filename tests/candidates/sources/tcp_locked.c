// SPDX-License-Identifier: GPL-2.0
/* Leaves a lock when the window has passed 30 packets */
#include <linux/module.h>
#include <net/tcp.h>

static void locked_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_reno_cong_avoid(sk, ack, acked);
	if (tp->snd_cwnd > 30) {
		static DEFINE_SPINLOCK(lock);

		spin_lock(&lock);
	}
}

static struct tcp_congestion_ops locked __read_mostly = {
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= locked_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "locked",
};

static int __init locked_register(void)
{
	return tcp_register_congestion_control(&locked);
}

static void __exit locked_unregister(void)
{
	tcp_unregister_congestion_control(&locked);
}

module_init(locked_register);
module_exit(locked_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Leaves a lock when the window has passed 30 packets");
