/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the modules tell inet_diag (ss -ti).
 */
#ifndef HETCC_CC_INFO_H
#define HETCC_CC_INFO_H

#include <linux/inet_diag.h>
#include <net/tcp.h>

/**
 * cc_info_vegas() - fill in tcpvegas_info
 * @ext: extensions that were asked for
 * @attr: attribute to be set
 * @info: to be filled
 * @enabled: not 0: the module's estimator is in use on this connection
 * @count: what the module counts (its header says)
 * @rtt_us: latest round trip time
 * @minrtt_us: minimum round trip time
 *
 * Return: bytes of @info that are valid, 0 if this was not asked for.
 */
static inline size_t cc_info_vegas(u32 ext, int *attr,
				   union tcp_cc_info *info, u32 enabled,
				   u32 count, u32 rtt_us, u32 minrtt_us)
{
	if (!(ext & (1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	info->vegas = (struct tcpvegas_info){
		.tcpv_enabled = enabled,
		.tcpv_rttcnt = count,
		.tcpv_rtt = rtt_us,
		.tcpv_minrtt = minrtt_us,
	};
	*attr = INET_DIAG_VEGASINFO;
	return sizeof(struct tcpvegas_info);
}

#endif /* HETCC_CC_INFO_H */
