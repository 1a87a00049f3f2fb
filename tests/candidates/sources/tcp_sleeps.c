// SPDX-License-Identifier: GPL-2.0
/* Sleeps with a lock taken when the window has passed 30 packets */
#include <linux/delay.h>
#include <linux/module.h>
#include <net/tcp.h>

static void sleeps_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_reno_cong_avoid(sk, ack, acked);
	if (tp->snd_cwnd > 30) {
		static DEFINE_SPINLOCK(lock);

		spin_lock(&lock);
		msleep(5);
		spin_unlock(&lock);
	}
}

static struct tcp_congestion_ops sleeps __read_mostly = {
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= sleeps_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "sleeps",
};

static int __init sleeps_register(void)
{
	return tcp_register_congestion_control(&sleeps);
}

static void __exit sleeps_unregister(void)
{
	tcp_unregister_congestion_control(&sleeps);
}

module_init(sleeps_register);
module_exit(sleeps_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Sleeps with a lock taken when the window has passed 30 packets");
