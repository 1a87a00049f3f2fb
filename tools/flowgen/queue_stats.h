/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Statistics of a queueing discipline from a netlink message.
 */
#ifndef FLOWGEN_QUEUE_STATS_H
#define FLOWGEN_QUEUE_STATS_H

#include <linux/netlink.h>
#include <stdbool.h>

#include "record.h"

/*
 * Fill in length, backlog (bytes), drops, overlimits, packets and bytes from a
 * RTM_NEWQDISC message; false if it has no TCA_STATS2.
 */
bool queue_stats_read(const struct nlmsghdr *message,
		      struct queue_record *record);

#endif /* FLOWGEN_QUEUE_STATS_H */
