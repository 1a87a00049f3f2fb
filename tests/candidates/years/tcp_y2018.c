// SPDX-License-Identifier: GPL-2.0
/* As a module was written for Linux 4.9 to 4.12: a paced model of rate and round trip. */
#include <linux/module.h>
#include <linux/inet_diag.h>
#include <linux/inet.h>
#include <linux/random.h>
#include <linux/win_minmax.h>
#include <asm/unaligned.h>
#include <net/tcp.h>

#define Y_SCALE	24
#define Y_UNIT	(1ULL << Y_SCALE)

static int gain_percent[2] __read_mostly = { 289, 110 };
static int gains;
module_param_array(gain_percent, int, &gains, 0644);
static bool spread = true;
module_param(spread, bool, 0444);
static char *label = "";
module_param(label, charp, 0444);

struct y2018 {
	struct skb_mstamp cycle;
	struct minmax	bw;
	u32		round;
	u32		min_rtt_us;
	u32		next_delivered;
	u32		full_bw;
	u32		flat:4, full:1, began:1, unused:26;
};

static u64 y2018_bdp(const struct y2018 *ca)
{
	return (u64)minmax_get(&ca->bw) * ca->min_rtt_us >> Y_SCALE;
}

static void y2018_pace(struct sock *sk, int percent)
{
	const struct y2018 *ca = inet_csk_ca(sk);
	u64 rate = minmax_get(&ca->bw);

	rate *= tcp_mss_to_mtu(sk, tcp_sk(sk)->mss_cache);
	rate *= percent;
	rate = rate * (USEC_PER_SEC / 100) >> Y_SCALE;
	sk->sk_pacing_rate = min_t(u64, rate, sk->sk_max_pacing_rate);
}

static void y2018_main(struct sock *sk, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct y2018 *ca = inet_csk_ca(sk);
	struct skb_mstamp now;
	u64 bw;

	if (rs->delivered < 0 || rs->interval_us <= 0)
		return;
	if (!before(rs->prior_delivered, ca->next_delivered)) {
		ca->next_delivered = tp->delivered;
		ca->round++;
		if (minmax_get(&ca->bw) * 4ULL < ca->full_bw * 5ULL)
			ca->flat = min(ca->flat + 1, 3);
		else
			ca->flat = 0, ca->full_bw = minmax_get(&ca->bw);
		ca->full |= ca->flat == 3;
	}
	bw = (u64)rs->delivered * Y_UNIT;
	do_div(bw, rs->interval_us);
	if (!rs->is_app_limited || bw >= minmax_get(&ca->bw))
		minmax_running_max(&ca->bw, 10, ca->round, bw);
	if (rs->rtt_us >= 0)
		ca->min_rtt_us = min_t(u32, ca->min_rtt_us, rs->rtt_us);
	skb_mstamp_get(&now);
	if (skb_mstamp_us_delta(&now, &ca->cycle) > 1000000)
		ca->cycle = tp->tcp_mstamp;
	if (rs->prior_mstamp.v64)
		y2018_pace(sk, gain_percent[ca->full]);
	tp->snd_cwnd = clamp_t(u32, 2 * y2018_bdp(ca) + 3 + (spread ? prandom_u32_max(2) : 0), 4, tp->snd_cwnd_clamp);
}

static u32 y2018_tso_segs_goal(struct sock *sk)
{
	return min_t(u32, tcp_tso_autosize(sk, tcp_sk(sk)->mss_cache, sk->sk_pacing_rate < 150000 ? 1 : 2), 0x7f);
}

static void y2018_init(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct y2018 *ca = inet_csk_ca(sk);

	memset(ca, 0, sizeof(*ca));
	ca->min_rtt_us = tcp_min_rtt(tp);
	minmax_reset(&ca->bw, 0, 0);
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
	sk->sk_pacing_rate = ~0U;
}

static u32 y2018_sndbuf_expand(struct sock *sk)
{
	return 3;
}

static u32 y2018_undo_cwnd(struct sock *sk)
{
	return tcp_sk(sk)->snd_cwnd;
}

static u32 y2018_ssthresh(struct sock *sk)
{
	return TCP_INFINITE_SSTHRESH;
}

static size_t y2018_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	if (!(ext & (1 << (INET_DIAG_BBRINFO - 1))))
		return 0;
	memset(&info->bbr, 0, sizeof(info->bbr));
	info->bbr.bbr_min_rtt = ((struct y2018 *)inet_csk_ca(sk))->min_rtt_us;
	*attr = INET_DIAG_BBRINFO;
	return sizeof(info->bbr);
}

static struct tcp_congestion_ops y2018_ops __read_mostly = {
	.flags		= TCP_CONG_NON_RESTRICTED,
	.name		= "y2018",
	.owner		= THIS_MODULE,
	.init		= y2018_init,
	.cong_control	= y2018_main,
	.sndbuf_expand	= y2018_sndbuf_expand,
	.undo_cwnd	= y2018_undo_cwnd,
	.ssthresh	= y2018_ssthresh,
	.tso_segs_goal	= y2018_tso_segs_goal,
	.get_info	= y2018_get_info,
};

static int __init y2018_register(void)
{
	char name[TCP_CA_NAME_MAX];

	BUILD_BUG_ON(sizeof(struct y2018) > ICSK_CA_PRIV_SIZE);
	strlcpy(name, label, sizeof(name));
	pr_info("y2018 %s\n", name);
	return tcp_register_congestion_control(&y2018_ops);
}

static void __exit y2018_unregister(void)
{
	tcp_unregister_congestion_control(&y2018_ops);
}

module_init(y2018_register);
module_exit(y2018_unregister);
MODULE_LICENSE("Dual BSD/GPL");
