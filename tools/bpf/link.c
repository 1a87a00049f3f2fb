// SPDX-License-Identifier: GPL-2.0
/*
 * What a link does to packets besides queue and delay: a policer, a hop that
 * drops large packets without a word, a hop that erases ECN.
 *
 * Runs at the egress hook of the ifb that carries what a link delivers. One
 * object serves all links: whoever loads it finds the mark in the read-only
 * data and writes what the link does behind it (hetlab.emulation.filters).
 *
 *	clang -O2 -g -target bpf -c link.c -o link.bpf.o
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/types.h>

#define SEC(name)	__attribute__((section(name), used))

static void *(*map_lookup)(void *map, const void *key) =
	(void *)BPF_FUNC_map_lookup_elem;
static __u64 (*ktime_ns)(void) = (void *)BPF_FUNC_ktime_get_ns;
static long (*load_bytes)(const struct __sk_buff *skb, __u32 offset, void *to,
			  __u32 len) = (void *)BPF_FUNC_skb_load_bytes;
static long (*store_bytes)(struct __sk_buff *skb, __u32 offset,
			   const void *from, __u32 len, __u64 flags) =
	(void *)BPF_FUNC_skb_store_bytes;
static long (*l3_csum_replace)(struct __sk_buff *skb, __u32 offset,
			       __u64 from, __u64 to, __u64 flags) =
	(void *)BPF_FUNC_l3_csum_replace;
static long (*spin_lock)(struct bpf_spin_lock *lock) =
	(void *)BPF_FUNC_spin_lock;
static long (*spin_unlock)(struct bpf_spin_lock *lock) =
	(void *)BPF_FUNC_spin_unlock;

#define MARK		0x4b4e494c54454821ULL
#define BILLION		1000000000ULL
#define IP4_CHECK	10	/* offset */
#define ECT0		2
#define CE		3
#define ECN_MASK	3
#define IP6_ECN_SHIFT	4
#define BLEACH_CE	1	/* marks become ECT(0) */
#define BLEACH_ALL	2	/* marks and ECT become not-ECT */

/*
 * Tokens are bits * 10^9, so that a nanosecond earns rate_bps of them: exact at
 * any rate. A bucket that took fill_ns is full; with up to 8 * 10^18 tokens
 * (a GB) nothing overflows.
 */
struct config {
	__u64 mark;
	__u64 rate_bps;		/* of the policer; 0: none */
	__u64 depth;		/* tokens that the bucket holds */
	__u64 fill_ns;		/* time in which an empty bucket gets full */
	__u32 largest_bytes;	/* longer IP packets vanish; 0: none */
	__u32 bleach;
};

/* volatile: whoever loads the object writes it, the compiler must not know it */
volatile const struct config config SEC(".rodata") = { .mark = MARK };

struct bucket {
	struct bpf_spin_lock lock;
	__u32 begun;
	__u64 tokens;
	__u64 at_ns;
};

struct {
	int (*type)[BPF_MAP_TYPE_ARRAY];
	__u32 *key;
	struct bucket *value;
	int (*max_entries)[1];
} link_bucket SEC(".maps");

/* What a bucket that is full at first has at this time; caller has the lock */
static __always_inline void earn(struct bucket *bucket, __u64 now_ns)
{
	__u64 passed_ns = now_ns - bucket->at_ns;

	if (!bucket->begun || passed_ns >= config.fill_ns)
		bucket->tokens = config.depth;
	else
		bucket->tokens += passed_ns * config.rate_bps;
	if (bucket->tokens > config.depth)
		bucket->tokens = config.depth;
	bucket->begun = 1;
	bucket->at_ns = now_ns;
}

static __always_inline int conforms(__u32 bytes)
{
	__u64 price = bytes * 8 * BILLION, now_ns = ktime_ns();
	struct bucket *bucket;
	__u32 zero = 0;
	int enough;

	bucket = map_lookup(&link_bucket, &zero);
	if (!bucket)
		return 1;
	spin_lock(&bucket->lock);
	earn(bucket, now_ns);
	enough = bucket->tokens >= price;
	if (enough)
		bucket->tokens -= price;
	spin_unlock(&bucket->lock);
	return enough;
}

/* The ECN field that a packet has behind the link */
static __always_inline __u8 bleached(__u8 ecn)
{
	if (config.bleach == BLEACH_ALL)
		return 0;
	return ecn == CE ? ECT0 : ecn;
}

static __always_inline void bleach(struct __sk_buff *skb)
{
	__u16 from, to;
	__u8 head[2], ecn, shift;

	if (load_bytes(skb, ETH_HLEN, head, sizeof(head)))
		return;
	if (head[0] >> 4 != 4 && head[0] >> 4 != 6)
		return;
	shift = head[0] >> 4 == 6 ? IP6_ECN_SHIFT : 0;
	ecn = head[1] >> shift & ECN_MASK;
	if (bleached(ecn) == ecn)
		return;
	from = head[0] | head[1] << 8;
	head[1] = (head[1] & ~(ECN_MASK << shift)) | bleached(ecn) << shift;
	to = head[0] | head[1] << 8;
	store_bytes(skb, ETH_HLEN, head, sizeof(head), 0);
	if (head[0] >> 4 == 4)
		l3_csum_replace(skb, ETH_HLEN + IP4_CHECK, from, to,
				sizeof(from));
}

SEC("link")
int link_egress(struct __sk_buff *skb)
{
	__u32 bytes = skb->len - ETH_HLEN;

	if (config.largest_bytes && bytes > config.largest_bytes)
		return TC_ACT_SHOT;
	if (config.rate_bps && !conforms(bytes))
		return TC_ACT_SHOT;
	if (config.bleach)
		bleach(skb);
	return TC_ACT_OK;
}

char _license[] SEC("license") = "GPL";
