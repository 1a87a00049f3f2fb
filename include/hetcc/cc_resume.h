/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What ended connections remember of capacity and round trip, by destination, for
 * careful_resume.h: a table of bounded size. Two destinations of the same slot take it
 * from each other. One connection at a time uses an entry (RFC 9959): more of them would
 * jump into the same capacity.
 */
#ifndef HETCC_CC_RESUME_H
#define HETCC_CC_RESUME_H

#include <linux/jhash.h>
#include <linux/random.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <net/ipv6.h>
#include <net/tcp.h>

#include "fixed.h"

#define CC_RESUME_BITS	8
/* What fewer segments than four initial windows of the kernel hold, slow start has soon */
#define CC_RESUME_LEAST	(4 * TCP_INIT_CWND)

/**
 * struct cc_resume_entry - what is remembered of a destination
 * @to: its address, IPv4 in the form of IPv6
 * @net: cookie of the network namespace
 * @bytes: capacity, 0: nothing is remembered
 * @rtt_us: round trip without a queue
 * @at_s: when it was measured
 * @used: by a connection that has neither proved nor disproved it yet
 */
struct cc_resume_entry {
	struct in6_addr to;
	u64 net;
	u32 bytes;
	u32 rtt_us;
	u32 at_s;
	bool used;
};

static struct cc_resume_entry cc_resume_table[1 << CC_RESUME_BITS];
static DEFINE_SPINLOCK(cc_resume_lock);
static u32 cc_resume_seed __read_mostly;

static inline void cc_resume_init(void)
{
	cc_resume_seed = get_random_u32();
}

static inline struct in6_addr cc_resume_to(const struct sock *sk)
{
	struct in6_addr to;

#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		return sk->sk_v6_daddr;
#endif
	ipv6_addr_set_v4mapped(sk->sk_daddr, &to);
	return to;
}

static inline struct cc_resume_entry *
cc_resume_slot(const struct in6_addr *to, u64 net)
{
	u32 hash = jhash2((const u32 *)to->s6_addr32, 4,
			  cc_resume_seed ^ (u32)net);

	return &cc_resume_table[hash >> (32 - CC_RESUME_BITS)];
}

static inline bool cc_resume_is_of(const struct cc_resume_entry *e,
				   const struct in6_addr *to, u64 net,
				   u32 age_s)
{
	return e->bytes && e->net == net && ipv6_addr_equal(&e->to, to) &&
	       (u32)ktime_get_seconds() - e->at_s <= age_s;
}

/**
 * cc_resume_take() - what is remembered of a socket's destination, for this one alone
 * @sk: socket
 * @age_s: not older than that, seconds
 * @pkts: set to the capacity in segments of @sk
 * @rtt_us: set to the round trip
 *
 * Return: there is something; cc_resume_free() or cc_resume_drop() must follow.
 */
static inline bool cc_resume_take(const struct sock *sk, u32 age_s, u32 *pkts,
				  u32 *rtt_us)
{
	struct in6_addr to = cc_resume_to(sk);
	u64 net = sock_net(sk)->net_cookie;
	struct cc_resume_entry *e;
	bool found;

	spin_lock_bh(&cc_resume_lock);
	e = cc_resume_slot(&to, net);
	found = cc_resume_is_of(e, &to, net, age_s) && !e->used;
	if (found) {
		e->used = true;
		*pkts = e->bytes / max(tcp_sk(sk)->mss_cache, 1U);
		*rtt_us = e->rtt_us;
	}
	spin_unlock_bh(&cc_resume_lock);
	return found;
}

static inline void cc_resume_end(const struct sock *sk, bool forget)
{
	struct in6_addr to = cc_resume_to(sk);
	u64 net = sock_net(sk)->net_cookie;
	struct cc_resume_entry *e;

	spin_lock_bh(&cc_resume_lock);
	e = cc_resume_slot(&to, net);
	if (cc_resume_is_of(e, &to, net, U32_MAX)) {
		e->used = false;
		if (forget)
			e->bytes = 0;
	}
	spin_unlock_bh(&cc_resume_lock);
}

/**
 * cc_resume_free() - others may use it again
 * @sk: socket that has taken it
 */
static inline void cc_resume_free(const struct sock *sk)
{
	cc_resume_end(sk, false);
}

/**
 * cc_resume_drop() - what was remembered is not so
 * @sk: socket that has taken it
 */
static inline void cc_resume_drop(const struct sock *sk)
{
	cc_resume_end(sk, true);
}

/**
 * cc_resume_keep() - remember
 * @sk: socket that ends
 * @age_s: what is older is no longer remembered, seconds
 * @pkts: capacity, segments
 * @rtt_us: round trip without a queue
 * @least: the capacity may be larger: takes the place of a smaller one alone
 */
static inline void cc_resume_keep(const struct sock *sk, u32 age_s, u32 pkts,
				  u32 rtt_us, bool least)
{
	u32 bytes = fixed_sat_u32((u64)pkts * tcp_sk(sk)->mss_cache);
	struct in6_addr to = cc_resume_to(sk);
	u64 net = sock_net(sk)->net_cookie;
	struct cc_resume_entry *e;

	if (pkts < CC_RESUME_LEAST)
		return;
	spin_lock_bh(&cc_resume_lock);
	e = cc_resume_slot(&to, net);
	if (!least || !cc_resume_is_of(e, &to, net, age_s) || e->bytes < bytes)
		*e = (struct cc_resume_entry){
			.to = to,
			.net = net,
			.bytes = bytes,
			.rtt_us = rtt_us,
			.at_s = (u32)ktime_get_seconds(),
			.used = e->used && cc_resume_is_of(e, &to, net, U32_MAX),
		};
	spin_unlock_bh(&cc_resume_lock);
}

#endif /* HETCC_CC_RESUME_H */
