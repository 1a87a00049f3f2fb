// SPDX-License-Identifier: GPL-2.0
/* As a module was written for Linux 5.18 and 5.19: its functions are offered to BPF. */
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/module.h>
#include <net/tcp.h>

static void y2022_main(struct sock *sk, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (rs->acked_sacked > 0 && !rs->losses)
		tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp) + 1, tp->snd_cwnd_clamp));
	else if (rs->losses)
		tcp_snd_cwnd_set(tp, max(tcp_snd_cwnd(tp) * 3 / 4, 4U));
}

static u32 y2022_min_tso_segs(struct sock *sk)
{
	return READ_ONCE(sk->sk_pacing_rate) < 150000 ? 1 : 2;
}

static struct tcp_congestion_ops y2022_ops __read_mostly = {
	.name		= "y2022",
	.owner		= THIS_MODULE,
	.cong_control	= y2022_main,
	.min_tso_segs	= y2022_min_tso_segs,
	.ssthresh	= tcp_reno_ssthresh,
	.undo_cwnd	= tcp_reno_undo_cwnd,
};

BTF_SET_START(y2022_check_kfunc_ids)
BTF_ID(func, y2022_main)
BTF_ID(func, y2022_min_tso_segs)
BTF_SET_END(y2022_check_kfunc_ids)

static const struct btf_kfunc_id_set y2022_kfunc_set = {
	.owner		= THIS_MODULE,
	.check_set	= &y2022_check_kfunc_ids,
};

static void __exit y2022_unregister(void)
{
	tcp_unregister_congestion_control(&y2022_ops);
}

static int __init y2022_register(void)
{
	int ret;

	ret = register_btf_kfunc_id_set(BPF_PROG_TYPE_STRUCT_OPS, &y2022_kfunc_set);
	if (ret < 0)
		return ret;
	return tcp_register_congestion_control(&y2022_ops);
}

module_init(y2022_register);
module_exit(y2022_unregister);
MODULE_LICENSE("GPL");
