/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The qdisc "replay": what its netlink messages and statistics hold.
 */
#ifndef SCH_REPLAY_H
#define SCH_REPLAY_H

#include <linux/types.h>

/* Entries of a table at most: 64 MB. */
#define REPLAY_MAX_ENTRIES	4194304u

/* Entries of one netlink attribute, whose length has 16 bits, at most. */
#define REPLAY_CHUNK_ENTRIES	4000u

/* The longest period of a table (ns), a week. */
#define REPLAY_MAX_PERIOD_NS	(7ull * 24 * 3600 * 1000000000)

/* Bounds of values. */
#define REPLAY_MAX_BIT_S	1000000000000ull
#define REPLAY_MAX_DELAY_NS	100000000000ull
#define REPLAY_MAX_COUNT	1000000ull

/* What a delivery opportunity carries: bytes of packets, their overhead added. */
#define REPLAY_OPPORTUNITY_BYTES 1500

enum {
	REPLAY_STAGE_QUEUE,	/* a queue, and the capacity that empties it */
	REPLAY_STAGE_DELAY,	/* delay in order, and loss */
};

/* Tables; the queue has one of the first two, the delay stage one of each other. */
enum {
	REPLAY_OPPORTUNITIES,	/* value: delivery opportunities at this time */
	REPLAY_RATE,		/* value: bit/s from this time on; 0 holds packets */
	REPLAY_DELAY,		/* value: delay (ns) from this time on */
	REPLAY_LOSS,		/* value: probability of a loss * 2^32 from then on */
	REPLAY_TABLES
};

/**
 * struct replay_entry - a value and its time
 * @t_ns: since the table's start, each later than the one before; the first of
 *	a table other than of opportunities is 0
 * @value: see the tables
 */
struct replay_entry {
	__u64 t_ns;
	__u64 value;
};

/*
 * Attributes of TCA_OPTIONS.  A table comes in messages, one after the other:
 * the first has its total number of entries and its period, every one its kind
 * and entries.  With the last entry the table is in force, at once as a whole.
 */
enum {
	TCA_REPLAY_UNSPEC,
	TCA_REPLAY_STAGE,	/* u32, when it is made */
	TCA_REPLAY_LIMIT_PKTS,	/* u32: packets that may wait, those in transit not */
	TCA_REPLAY_LIMIT_BYTES,	/* u32: the same in bytes; 0: any number */
	TCA_REPLAY_OVERHEAD,	/* s32: added to each packet's length */
	TCA_REPLAY_TABLE,	/* u32 */
	TCA_REPLAY_TOTAL,	/* u32: entries of the table */
	TCA_REPLAY_PERIOD,	/* u64, ns; 0: the last value holds */
	TCA_REPLAY_CHUNK,	/* struct replay_entry[] */
	TCA_REPLAY_START,	/* s64: time 0 of all tables, CLOCK_MONOTONIC ns */
	__TCA_REPLAY_MAX
};

#define TCA_REPLAY_MAX (__TCA_REPLAY_MAX - 1)

/**
 * struct replay_xstats - what is set and was counted, in TCA_STATS_APP
 * @start_ns: time 0 of the tables, CLOCK_MONOTONIC
 * @period_ns: of each table
 * @entries: of each table; 0: there is none
 * @used: opportunities that carried something
 * @lost: packets that the table of loss took
 * @stage: REPLAY_STAGE_...
 * @limit_pkts: packets that may wait
 * @limit_bytes: bytes that may wait; 0: any number
 * @overhead: bytes added to each packet's length
 */
struct replay_xstats {
	__s64 start_ns;
	__u64 period_ns[REPLAY_TABLES];
	__u32 entries[REPLAY_TABLES];
	__u64 used;
	__u64 lost;
	__u32 stage;
	__u32 limit_pkts;
	__u32 limit_bytes;
	__s32 overhead;
};

#endif
