// SPDX-License-Identifier: GPL-2.0
/* As a module that is kept for many kernels is written. */
#include <linux/module.h>
#include <linux/version.h>
#include <net/tcp.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define any_below(ceil) prandom_u32_max(ceil)
#else
#define any_below(ceil) get_random_u32_below(ceil)
#endif

static void any_update(struct sock *sk, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (rs->losses)
		tcp_snd_cwnd_set(tp, max(tcp_snd_cwnd(tp) / 2, 2U));
	else if (rs->acked_sacked > 0 && any_below(tcp_snd_cwnd(tp)) < rs->acked_sacked)
		tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp) + 1, tp->snd_cwnd_clamp));
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
static void any_main(struct sock *sk, const struct rate_sample *rs)
{
	any_update(sk, rs);
}
#else
static void any_main(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	any_update(sk, rs);
}
#endif

static struct tcp_congestion_ops anyyear __read_mostly = {
	.name		= "anyyear",
	.owner		= THIS_MODULE,
	.cong_control	= any_main,
	.ssthresh	= tcp_reno_ssthresh,
	.undo_cwnd	= tcp_reno_undo_cwnd,
};

static int __init any_register(void)
{
	return tcp_register_congestion_control(&anyyear);
}

static void __exit any_unregister(void)
{
	tcp_unregister_congestion_control(&anyyear);
}

module_init(any_register);
module_exit(any_unregister);
MODULE_LICENSE("GPL");
