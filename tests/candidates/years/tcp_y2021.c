// SPDX-License-Identifier: GPL-2.0
/* As a module was written for Linux 5.16 and 5.17: its functions are offered to BPF. */
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/module.h>
#include <net/tcp.h>

static void y2021_main(struct sock *sk, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (rs->acked_sacked > 0 && !rs->losses)
		tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp) + 1, tp->snd_cwnd_clamp));
	else if (rs->losses)
		tcp_snd_cwnd_set(tp, max(tcp_snd_cwnd(tp) * 3 / 4, 4U));
}

static u32 y2021_min_tso_segs(struct sock *sk)
{
	return READ_ONCE(sk->sk_pacing_rate) < 150000 ? 1 : 2;
}

static struct tcp_congestion_ops y2021_ops __read_mostly = {
	.name		= "y2021",
	.owner		= THIS_MODULE,
	.cong_control	= y2021_main,
	.min_tso_segs	= y2021_min_tso_segs,
	.ssthresh	= tcp_reno_ssthresh,
	.undo_cwnd	= tcp_reno_undo_cwnd,
};

BTF_SET_START(y2021_kfunc_ids)
#ifdef CONFIG_X86
#ifdef CONFIG_DYNAMIC_FTRACE
BTF_ID(func, y2021_main)
BTF_ID(func, y2021_min_tso_segs)
#endif
#endif
BTF_SET_END(y2021_kfunc_ids)

static DEFINE_KFUNC_BTF_ID_SET(&y2021_kfunc_ids, y2021_kfunc_btf_set);

static void __exit y2021_unregister(void)
{
	unregister_kfunc_btf_id_set(&bpf_tcp_ca_kfunc_list, &y2021_kfunc_btf_set);
	tcp_unregister_congestion_control(&y2021_ops);
}

static int __init y2021_register(void)
{
	int ret;

	ret = tcp_register_congestion_control(&y2021_ops);
	if (ret)
		return ret;
	register_kfunc_btf_id_set(&bpf_tcp_ca_kfunc_list, &y2021_kfunc_btf_set);
	return 0;
}

module_init(y2021_register);
module_exit(y2021_unregister);
MODULE_LICENSE("GPL");
