// SPDX-License-Identifier: GPL-2.0
/*
 * What the kernel tells about a TCP connection.
 */
#include <assert.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>

#include "flow.h"
#include "json.h"
#include "tcp_stats.h"

static_assert(offsetof(struct tcp_info_ext, pacing_rate) ==
	      offsetof(struct tcp_info, tcpi_total_retrans) + 4,
	      "the C library's struct tcp_info is the head of ours");
static_assert(sizeof(struct tcp_info_ext) == 248,
	      "the size of struct tcp_info in Linux 6.12");

#define INFINITE_SSTHRESH	0x7fffffff	/* of the kernel */
#define NO_MIN_RTT		UINT32_MAX
#define UNLIMITED_RATE		UINT64_MAX
#define BBR_GAIN_UNIT		256.0

/* Whether the kernel's struct tcp_info reaches as far as this field. */
#define KNOWS(stats, field)						\
	((stats)->info_bytes >= offsetof(struct tcp_info_ext, field) +	\
				sizeof((stats)->info.field))

void tcp_cc_name(int fd, char name[TCP_CC_NAME_BYTES])
{
	socklen_t size = TCP_CC_NAME_BYTES - 1;

	memset(name, 0, TCP_CC_NAME_BYTES);
	if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &size))
		name[0] = '\0';
}

/*
 * TCP_CC_INFO does not say whose it is, and two kinds have the same size.  A
 * connection without ECN calls it dctcp-reno.
 */
static bool uses_dctcp(int fd)
{
	char name[TCP_CC_NAME_BYTES];

	tcp_cc_name(fd, name);
	return !strncmp(name, "dctcp", strlen("dctcp"));
}

void tcp_info_read(int fd, struct tcp_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	stats->info_bytes = sizeof(stats->info);
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &stats->info,
		       &stats->info_bytes))
		stats->info_bytes = 0;
}

void tcp_stats_read(int fd, struct tcp_stats *stats)
{
	tcp_info_read(fd, stats);
	stats->cc_bytes = sizeof(stats->cc);
	if (getsockopt(fd, IPPROTO_TCP, TCP_CC_INFO, &stats->cc,
		       &stats->cc_bytes))
		stats->cc_bytes = 0;
	if (stats->cc_bytes == sizeof(stats->cc.dctcp))
		stats->is_dctcp = uses_dctcp(fd);
}

static void record_vegas(const struct tcpvegas_info *vegas)
{
	fprintf(run.out,
		",\"cc_info\":{\"kind\":\"vegas\",\"enabled\":%u,\"rttcnt\":%u,"
		"\"rtt\":%u,\"minrtt\":%u}",
		vegas->tcpv_enabled, vegas->tcpv_rttcnt, vegas->tcpv_rtt,
		vegas->tcpv_minrtt);
}

static void record_dctcp(const struct tcp_dctcp_info *dctcp)
{
	fprintf(run.out,
		",\"cc_info\":{\"kind\":\"dctcp\",\"enabled\":%u,"
		"\"ce_state\":%u,\"alpha\":%u,\"ab_ecn\":%u,\"ab_tot\":%u}",
		dctcp->dctcp_enabled, dctcp->dctcp_ce_state, dctcp->dctcp_alpha,
		dctcp->dctcp_ab_ecn, dctcp->dctcp_ab_tot);
}

static void record_bbr(const struct tcp_bbr_info *bbr)
{
	unsigned long long bytes_per_sec =
		(unsigned long long)bbr->bbr_bw_hi << 32 | bbr->bbr_bw_lo;

	fprintf(run.out,
		",\"cc_info\":{\"kind\":\"bbr\",\"bw_bps\":%llu,"
		"\"min_rtt_us\":%u,\"pacing_gain\":%.4f,\"cwnd_gain\":%.4f}",
		bytes_per_sec * BITS_PER_BYTE, bbr->bbr_min_rtt,
		bbr->bbr_pacing_gain / BBR_GAIN_UNIT,
		bbr->bbr_cwnd_gain / BBR_GAIN_UNIT);
}

static void record_cc_info(const struct tcp_stats *stats)
{
	if (stats->cc_bytes == sizeof(stats->cc.bbr))
		record_bbr(&stats->cc.bbr);
	else if (stats->is_dctcp)
		record_dctcp(&stats->cc.dctcp);
	else if (stats->cc_bytes == sizeof(stats->cc.vegas))
		record_vegas(&stats->cc.vegas);
	else
		json_null("cc_info");
}

static void record_window(const struct tcp_info_ext *info)
{
	json_integer("cwnd", info->snd_cwnd);
	json_integer_if(info->snd_ssthresh < INFINITE_SSTHRESH, "ssthresh",
			info->snd_ssthresh);
	json_integer("srtt_us", info->rtt);
	json_integer("rttvar_us", info->rttvar);
	json_integer_if(info->min_rtt != NO_MIN_RTT, "min_rtt_us",
			info->min_rtt);
	json_integer("rto_us", info->rto);
}

static void record_counters(const struct tcp_info_ext *info)
{
	json_integer("unacked", info->unacked);
	json_integer("sacked", info->sacked);
	json_integer("lost", info->lost);
	json_integer("retrans", info->retrans);
	json_integer("total_retrans", info->total_retrans);
	json_integer("bytes_sent", info->bytes_sent);
	json_integer("bytes_acked", info->bytes_acked);
	json_integer("bytes_retrans", info->bytes_retrans);
	json_integer("delivered", info->delivered);
	json_integer("delivered_ce", info->delivered_ce);
}

static void record_rate(const char *name, uint64_t bytes_per_sec)
{
	json_integer_if(bytes_per_sec != UNLIMITED_RATE, name,
			bytes_per_sec * BITS_PER_BYTE);
}

void record_sender_stats(const struct tcp_stats *stats)
{
	const struct tcp_info_ext *info = &stats->info;

	record_window(info);
	record_counters(info);
	record_rate("delivery_rate_bps", info->delivery_rate);
	record_rate("pacing_rate_bps", info->pacing_rate);
	json_integer("ca_state", info->ca_state);
	json_integer("backoff", info->backoff);
	json_integer_if(KNOWS(stats, total_rto), "total_rto",
			info->total_rto);
	json_integer("busy_us", info->busy_time);
	json_integer("rwnd_limited_us", info->rwnd_limited);
	json_integer("sndbuf_limited_us", info->sndbuf_limited);
	json_integer("dsack_dups", info->dsack_dups);
	json_integer("reord_seen", info->reord_seen);
	record_cc_info(stats);
}

void record_receiver_stats(const struct tcp_stats *stats)
{
	json_integer("bytes_received", stats->info.bytes_received);
	json_integer("rcv_rtt_us", stats->info.rcv_rtt);
	json_integer("rcv_space", stats->info.rcv_space);
	json_integer("rcv_ooopack", stats->info.rcv_ooopack);
}
