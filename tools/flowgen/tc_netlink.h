/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests about qdiscs over rtnetlink; any error ends the program.
 */
#ifndef FLOWGEN_TC_NETLINK_H
#define FLOWGEN_TC_NETLINK_H

#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <stdint.h>

/* Which qdisc a request is about, and what it is called in messages. */
struct tc_place {
	const char *verb;
	const char *dev;
	const char *kind;
	uint32_t parent;
	uint32_t handle;
};

/* Before all else. */
void tc_open(void);

/* A request; there is one at a time. */
struct nlmsghdr *tc_begin(const struct tc_place *at, int type, int flags);

/* Send a request; returns its answer, which is not an error. */
const struct nlmsghdr *tc_talk(const struct tc_place *at, struct nlmsghdr *nlh);

/* The qdisc's TCA_OPTIONS, NULL without; its counters of its own to xstats. */
const struct nlattr *tc_show(const struct tc_place *at, void *xstats, size_t size);

#endif /* FLOWGEN_TC_NETLINK_H */
