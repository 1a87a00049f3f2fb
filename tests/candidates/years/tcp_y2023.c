// SPDX-License-Identifier: GPL-2.0
/* As a module was written for Linux 6.0 to 6.7 with BBRv3's patches: its functions are offered to BPF. */
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/module.h>
#include <net/tcp.h>

__bpf_kfunc static void y2023_main(struct sock *sk, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (rs->acked_sacked > 0 && !rs->losses)
		tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp) + 1, tp->snd_cwnd_clamp));
	else if (rs->losses)
		tcp_snd_cwnd_set(tp, max(tcp_snd_cwnd(tp) * 3 / 4, 4U));
}

__bpf_kfunc static u32 y2023_tso_segs(struct sock *sk, unsigned int mss_now)
{
	return READ_ONCE(sk->sk_pacing_rate) < 150000 ? 1 : 2;
}

static struct tcp_congestion_ops y2023_ops __read_mostly = {
	.flags		= TCP_CONG_NON_RESTRICTED | TCP_CONG_WANTS_CE_EVENTS,
	.name		= "y2023",
	.owner		= THIS_MODULE,
	.cong_control	= y2023_main,
	.tso_segs	= y2023_tso_segs,
	.ssthresh	= tcp_reno_ssthresh,
	.undo_cwnd	= tcp_reno_undo_cwnd,
};

BTF_SET8_START(y2023_check_kfunc_ids)
BTF_ID_FLAGS(func, y2023_main)
BTF_ID_FLAGS(func, y2023_tso_segs)
BTF_SET8_END(y2023_check_kfunc_ids)

static const struct btf_kfunc_id_set y2023_kfunc_set = {
	.owner	= THIS_MODULE,
	.set	= &y2023_check_kfunc_ids,
};

static void __exit y2023_unregister(void)
{
	tcp_unregister_congestion_control(&y2023_ops);
}

static int __init y2023_register(void)
{
	int ret;

	ret = register_btf_kfunc_id_set(BPF_PROG_TYPE_STRUCT_OPS, &y2023_kfunc_set);
	if (ret < 0)
		return ret;
	return tcp_register_congestion_control(&y2023_ops);
}

module_init(y2023_register);
module_exit(y2023_unregister);
MODULE_LICENSE("GPL");
