// SPDX-License-Identifier: GPL-2.0
/*
 * Statistics of a queueing discipline from a netlink message.
 */
#include <libmnl/libmnl.h>
#include <linux/gen_stats.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <string.h>

#include "queue_stats.h"

/* The kernel aligns attributes to 4 bytes only, and may know more fields. */
static void copy_attribute(const struct nlattr *attr, void *to, size_t size)
{
	size_t length = mnl_attr_get_payload_len(attr);

	memcpy(to, mnl_attr_get_payload(attr), length < size ? length : size);
}

static void read_basic(const struct nlattr *attr, struct queue_record *record)
{
	struct gnet_stats_basic basic = { 0 };

	copy_attribute(attr, &basic, sizeof(basic));
	record->bytes = basic.bytes;
	record->packets = basic.packets;
}

static void read_queue(const struct nlattr *attr, struct queue_record *record)
{
	struct gnet_stats_queue stats = { 0 };

	copy_attribute(attr, &stats, sizeof(stats));
	record->qlen = stats.qlen;
	record->backlog = stats.backlog;
	record->drops = stats.drops;
	record->overlimits = stats.overlimits;
}

bool queue_stats_read(const struct nlmsghdr *message,
		      struct queue_record *record)
{
	const struct nlattr *attr, *nested;
	bool found = false;

	mnl_attr_for_each(attr, message, sizeof(struct tcmsg)) {
		if (mnl_attr_get_type(attr) != TCA_STATS2)
			continue;
		found = true;
		mnl_attr_for_each_nested(nested, attr) {
			if (mnl_attr_get_type(nested) == TCA_STATS_BASIC)
				read_basic(nested, record);
			else if (mnl_attr_get_type(nested) == TCA_STATS_QUEUE)
				read_queue(nested, record);
		}
	}
	return found;
}
