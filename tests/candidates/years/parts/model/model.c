// SPDX-License-Identifier: GPL-2.0
#include "parts.h"

u32 parts_step(struct parts *ca, u32 acked, u32 cwnd)
{
	ca->acked += acked * PARTS_GAIN;
	if (ca->acked < cwnd)
		return cwnd;
	ca->acked -= cwnd;
	return cwnd + 1;
}

void parts_main(struct sock *sk, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (rs->losses)
		tp->snd_cwnd = max(tp->snd_cwnd / 2, 2U);
	else
		tp->snd_cwnd = min(parts_step(inet_csk_ca(sk), rs->acked_sacked, tp->snd_cwnd), tp->snd_cwnd_clamp);
}
