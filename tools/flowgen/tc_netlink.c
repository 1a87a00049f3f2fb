// SPDX-License-Identifier: GPL-2.0
/*
 * Requests about qdiscs over rtnetlink.
 */
#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <net/if.h>
#include <string.h>

#include "../qdisc/sch_replay.h"
#include "args.h"
#include "tc_netlink.h"

#define MESSAGE_BYTES	(REPLAY_CHUNK_ENTRIES * sizeof(struct replay_entry) + 1024)
#define REPLY_BYTES	16384

static struct mnl_socket *nl;
static unsigned int sequence;
static char message[MESSAGE_BYTES];
static char reply[REPLY_BYTES];

void tc_open(void)
{
	const int one = 1;

	nl = mnl_socket_open(NETLINK_ROUTE);
	if (!nl || mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID))
		fatal("netlink: %s", strerror(errno));
	mnl_socket_setsockopt(nl, NETLINK_EXT_ACK, (void *)&one, sizeof(one));
}

struct nlmsghdr *tc_begin(const struct tc_place *at, int type, int flags)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(message);
	struct tcmsg *tc;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	nlh->nlmsg_seq = ++sequence;
	tc = mnl_nlmsg_put_extra_header(nlh, sizeof(*tc));
	tc->tcm_ifindex = if_nametoindex(at->dev);
	tc->tcm_handle = at->handle;
	if (!tc->tcm_ifindex)
		fatal("%s: no such interface", at->dev);
	if (type == RTM_NEWQDISC) {
		tc->tcm_parent = at->parent;
		mnl_attr_put_strz(nlh, TCA_KIND, at->kind);
	}
	return nlh;
}

/* What the kernel says of an error, if it says anything. */
static const char *reason(const struct nlmsghdr *nlh)
{
	const struct nlmsgerr *err = mnl_nlmsg_get_payload(nlh);
	size_t head = sizeof(*err);
	const struct nlattr *attr;

	if (!(nlh->nlmsg_flags & NLM_F_ACK_TLVS))
		return "";
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED))
		head += mnl_nlmsg_get_payload_len(&err->msg);
	mnl_attr_for_each(attr, nlh, head)
		if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MSG)
			return mnl_attr_get_str(attr);
	return "";
}

const struct nlmsghdr *tc_talk(const struct tc_place *at, struct nlmsghdr *nlh)
{
	const struct nlmsghdr *answer = (const struct nlmsghdr *)reply;
	const struct nlmsgerr *err = mnl_nlmsg_get_payload(answer);
	int length;

	if (mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0)
		fatal("netlink: %s", strerror(errno));
	length = mnl_socket_recvfrom(nl, reply, sizeof(reply));
	if (length < 0 || !mnl_nlmsg_ok(answer, length))
		fatal("netlink: %s", strerror(errno));
	if (answer->nlmsg_type == NLMSG_ERROR && err->error)
		fatal("%s %s %s: %s%s%s", at->verb, at->kind, at->dev, strerror(-err->error),
		      *reason(answer) ? ": " : "", reason(answer));
	return answer;
}

/* The counters of a qdisc's own, where they have the size that is wanted. */
static void take_xstats(const struct nlattr *stats, void *xstats, size_t size)
{
	const struct nlattr *nested;

	mnl_attr_for_each_nested(nested, stats)
		if (mnl_attr_get_type(nested) == TCA_STATS_APP && mnl_attr_get_payload_len(nested) == size)
			memcpy(xstats, mnl_attr_get_payload(nested), size);
}

const struct nlattr *tc_show(const struct tc_place *at, void *xstats, size_t size)
{
	const struct nlattr *attr, *options = NULL;
	const struct nlmsghdr *nlh;
	const char *kind = "";

	nlh = tc_talk(at, tc_begin(at, RTM_GETQDISC, NLM_F_ECHO));
	mnl_attr_for_each(attr, nlh, sizeof(struct tcmsg)) {
		if (mnl_attr_get_type(attr) == TCA_KIND)
			kind = mnl_attr_get_str(attr);
		if (mnl_attr_get_type(attr) == TCA_OPTIONS)
			options = attr;
		if (mnl_attr_get_type(attr) == TCA_STATS2)
			take_xstats(attr, xstats, size);
	}
	if (strcmp(kind, at->kind))
		fatal("show %s: its qdisc is %s, not %s", at->dev, kind, at->kind);
	return options;
}
