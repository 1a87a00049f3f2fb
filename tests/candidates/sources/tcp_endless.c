// SPDX-License-Identifier: GPL-2.0
/* Never returns when the window has passed 30 packets */
#include <linux/module.h>
#include <net/tcp.h>

static void endless_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_reno_cong_avoid(sk, ack, acked);
	if (tp->snd_cwnd > 30) {
		while (READ_ONCE(tp->snd_cwnd))
			cpu_relax();
	}
}

static struct tcp_congestion_ops endless __read_mostly = {
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= endless_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "endless",
};

static int __init endless_register(void)
{
	return tcp_register_congestion_control(&endless);
}

static void __exit endless_unregister(void)
{
	tcp_unregister_congestion_control(&endless);
}

module_init(endless_register);
module_exit(endless_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Never returns when the window has passed 30 packets");
