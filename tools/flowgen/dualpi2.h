/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The qdisc dualpi2 (RFC 9332; Linux 6.17), which tc knows since iproute2 6.17.
 */
#ifndef FLOWGEN_DUALPI2_H
#define FLOWGEN_DUALPI2_H

#include "tc_netlink.h"

#define DUALPI2_KIND	"dualpi2"

/* Zero: the kernel's default. */
struct dualpi2_options {
	uint32_t limit_pkts;
	uint32_t target_us;
	uint32_t tupdate_us;
	uint32_t step_us;
	uint32_t coupling;
	uint32_t ecn_mask;	/* what goes to the L4S queue: 1 ECT(1), 3 both ECT */
};

/* Take key=value; 0 where the key is none of dualpi2's. */
int dualpi2_take(struct dualpi2_options *o, const char *key, const char *value);

void dualpi2_make(const struct tc_place *at, const struct dualpi2_options *o);

/* A line of JSON: what the kernel has now, and what it counted. */
void dualpi2_show(const struct tc_place *at);

#endif /* FLOWGEN_DUALPI2_H */
