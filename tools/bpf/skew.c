// SPDX-License-Identifier: GPL-2.0
/*
 * A host whose clock runs fast or slow, is ahead or behind, or stands still,
 * as its TCP packets show it.
 *
 * Runs at the clsact hook of a host's interface: what leaves the host carries
 * timestamps of a clock that is OFFSET_US microseconds ahead (negative: behind)
 * and runs SKEW_PPB billionths fast (negative: slow) since the first packet, what
 * comes back is restored, so that the host itself notices nothing. With STANDS
 * timestamps of a connection stay as they were in its SYN, as of a receiver that
 * hides how long packets took. Rewritten are TSval and TSecr of RFC 7323
 * (milliseconds) and the arrival time in the Santa Cruz option (microseconds).
 *
 *	clang -O2 -g -target bpf -DSKEW_PPB=200000 -DOFFSET_US=0LL \
 *		-DSTANDS=0 -c skew.c -o skew.o
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/types.h>

#define SEC(name)	__attribute__((section(name), used))
#define PIN_BY_NAME	1

static void *(*map_lookup)(void *map, const void *key) =
	(void *)BPF_FUNC_map_lookup_elem;
static __u64 (*ktime_ns)(void) = (void *)BPF_FUNC_ktime_get_ns;
static long (*load_bytes)(const struct __sk_buff *skb, __u32 offset, void *to,
			  __u32 len) = (void *)BPF_FUNC_skb_load_bytes;
static long (*store_bytes)(struct __sk_buff *skb, __u32 offset,
			   const void *from, __u32 len, __u64 flags) =
	(void *)BPF_FUNC_skb_store_bytes;
static long (*l4_csum_replace)(struct __sk_buff *skb, __u32 offset,
			       __u64 from, __u64 to, __u64 flags) =
	(void *)BPF_FUNC_l4_csum_replace;

#define IP4_TCP_PROTO	9	/* offsets */
#define IP6_TCP_NEXT	6
#define IP6_HEADER	40
#define TCP_DOFF	12
#define TCP_CHECK	16
#define TCP_HEADER	20
#define TCP_MAX_HEADER	60
#define PROTO_TCP	6
#define OPT_END		0
#define OPT_NOP		1
#define OPT_TIMESTAMP	8
#define OPT_EXPERIMENT	254
#define EXID_SANTACRUZ	0x5343
#define SC_ARRIVAL	9	/* offset of the arrival time in its option */
#define SC_MIN_ECHO	13
#define BILLION		1000000000ULL
#define SENT_BITS	16
/* Keeps a clock that is behind above 0; whole milliseconds */
#define LONG_AGO_US	10000000000000ULL
#define TCP_FLAGS	13
#define TCP_SYN		2
#define GOLDEN		2654435761U	/* neighbouring ports get far slots */
#define STOOD_AT_US	1000000000U	/* arrival, by a clock that stands */

/* What was sent instead of what: the echo of the one becomes the other again */
struct sent {
	__u32 ports;
	__u32 said;
	__u32 meant;
};

/* Maps as libbpf reads them: sizes of arrays are values */
struct {
	int (*type)[BPF_MAP_TYPE_ARRAY];
	__u32 *key;
	struct sent *value;
	int (*max_entries)[1 << SENT_BITS];
	int (*pinning)[PIN_BY_NAME];
} skew_sent SEC(".maps");

struct {
	int (*type)[BPF_MAP_TYPE_ARRAY];
	__u32 *key;
	__u64 *value;
	int (*max_entries)[1];
	int (*pinning)[PIN_BY_NAME];
} skew_epoch SEC(".maps");

/* Where the clock of a connection stands: ports and TSval of its SYN */
struct stood {
	__u32 ports;
	__u32 said;
};

struct {
	int (*type)[BPF_MAP_TYPE_ARRAY];
	__u32 *key;
	struct stood *value;
	int (*max_entries)[1 << SENT_BITS];
} skew_stood SEC(".maps");

struct packet {
	__u32 tcp;	/* offset of the TCP header */
	__u32 option;	/* offset of the option that is looked at */
	__u32 end;	/* of the TCP header */
};

/* Time since the first packet that the skewed clock has seen */
static __always_inline __u64 elapsed_us(__u64 now_us)
{
	__u32 zero = 0;
	__u64 *epoch_us = map_lookup(&skew_epoch, &zero);

	if (!epoch_us)
		return 0;
	if (!*epoch_us)
		*epoch_us = now_us;
	return now_us - *epoch_us;
}

/* How far the skewed clock is ahead, rounded down */
static __always_inline __s64 ahead_us(__u64 elapsed)
{
	if (SKEW_PPB >= 0)
		return OFFSET_US + elapsed * SKEW_PPB / BILLION;
	return OFFSET_US -
	       (__s64)((elapsed * -(SKEW_PPB) + BILLION - 1) / BILLION);
}

/*
 * Replace 4 bytes of the TCP header, checksum included: of what arrives (these
 * bytes are aligned then). What leaves gets its checksum behind this hook.
 */
static __always_inline void replace(struct __sk_buff *skb, __u32 tcp,
				    __u32 offset, __u32 from, __u32 to)
{
	__u32 old = __builtin_bswap32(from), new = __builtin_bswap32(to);

	store_bytes(skb, offset, &new, sizeof(new), 0);
	l4_csum_replace(skb, tcp + TCP_CHECK, old, new, sizeof(new));
}

static __always_inline __u32 load32(struct __sk_buff *skb, __u32 offset)
{
	__u32 value = 0;

	load_bytes(skb, offset, &value, sizeof(value));
	return __builtin_bswap32(value);
}

static __always_inline struct sent *sent_slot(__u32 ports, __u32 said)
{
	__u32 slot = (said ^ ports ^ ports >> 16) & ((1 << SENT_BITS) - 1);

	return map_lookup(&skew_sent, &slot);
}

/* TSval of a connection whose clock stands: what its SYN said */
static __always_inline __u32 stood(struct __sk_buff *skb,
				   const struct packet *p, __u32 ports,
				   __u32 said)
{
	__u32 slot = ports * GOLDEN >> (32 - SENT_BITS);
	struct stood *stood = map_lookup(&skew_stood, &slot);
	__u8 flags = 0;

	if (!stood)
		return said;
	load_bytes(skb, p->tcp + TCP_FLAGS, &flags, 1);
	if (flags & TCP_SYN || stood->ports != ports)
		*stood = (struct stood){ ports, said };
	return stood->said;
}

static __always_inline void say(struct __sk_buff *skb, const struct packet *p)
{
	__u64 true_us = ktime_ns() / 1000, now_us = true_us + LONG_AGO_US;
	__u64 skewed_us = now_us + ahead_us(elapsed_us(true_us));
	__u32 meant = load32(skb, p->option + 2), ports = load32(skb, p->tcp);
	__u32 said = meant + (__u32)(skewed_us / 1000 - now_us / 1000);
	struct sent *sent;

	if (STANDS)
		said = stood(skb, p, ports, said);
	sent = sent_slot(ports, said);
	if (sent)
		*sent = (struct sent){ ports, said, meant };
	replace(skb, p->tcp, p->option + 2, meant, said);
}

static __always_inline void restore(struct __sk_buff *skb,
				    const struct packet *p)
{
	__u32 said = load32(skb, p->option + 6), ports = load32(skb, p->tcp);
	struct sent *sent;

	ports = ports >> 16 | ports << 16;
	sent = sent_slot(ports, said);
	if (sent && sent->ports == ports && sent->said == said)
		replace(skb, p->tcp, p->option + 6, said, sent->meant);
}

/* By the time of the ACK: the option's clock begins anywhere, so how long ago is not known */
static __always_inline void say_arrival(struct __sk_buff *skb,
					const struct packet *p)
{
	__u32 arrival = load32(skb, p->option + SC_ARRIVAL);
	__u32 said = arrival +
		     (__u32)ahead_us(elapsed_us(ktime_ns() / 1000));

	if (STANDS)
		said = STOOD_AT_US;
	replace(skb, p->tcp, p->option + SC_ARRIVAL, arrival, said);
}

/* Offset of the TCP header; 0: not TCP */
static __always_inline __u32 find_tcp(struct __sk_buff *skb)
{
	__u8 first = 0, proto = 0;

	if (load_bytes(skb, ETH_HLEN, &first, 1))
		return 0;
	if (first >> 4 == 4)
		load_bytes(skb, ETH_HLEN + IP4_TCP_PROTO, &proto, 1);
	else if (first >> 4 == 6)
		load_bytes(skb, ETH_HLEN + IP6_TCP_NEXT, &proto, 1);
	if (proto != PROTO_TCP)
		return 0;
	return ETH_HLEN + (first >> 4 == 4 ? (first & 15) * 4 : IP6_HEADER);
}

static __always_inline void option(struct __sk_buff *skb,
				   const struct packet *p, __u8 kind,
				   __u8 length, int leaves)
{
	if (kind == OPT_TIMESTAMP && leaves)
		say(skb, p);
	else if (kind == OPT_TIMESTAMP)
		restore(skb, p);
	else if (kind == OPT_EXPERIMENT && leaves && length >= SC_MIN_ECHO &&
		 load32(skb, p->option) << 16 >> 16 == EXID_SANTACRUZ)
		say_arrival(skb, p);
}

static __always_inline int rewrite(struct __sk_buff *skb, int leaves)
{
	struct packet p = { .tcp = find_tcp(skb) };
	__u8 head[2];
	int i;

	if (!p.tcp || load_bytes(skb, p.tcp + TCP_DOFF, head, 1))
		return TC_ACT_OK;
	p.end = p.tcp + (head[0] >> 4) * 4;
	p.option = p.tcp + TCP_HEADER;
	for (i = 0; i < TCP_MAX_HEADER - TCP_HEADER; i++) {
		if (p.option + 2 > p.end ||
		    load_bytes(skb, p.option, head, 2) || head[0] == OPT_END)
			break;
		if (head[0] == OPT_NOP) {
			p.option++;
			continue;
		}
		if (head[1] < 2)
			break;
		option(skb, &p, head[0], head[1], leaves);
		p.option += head[1];
	}
	return TC_ACT_OK;
}

SEC("egress")
int skew_egress(struct __sk_buff *skb)
{
	return rewrite(skb, 1);
}

SEC("ingress")
int skew_ingress(struct __sk_buff *skb)
{
	return rewrite(skb, 0);
}

char _license[] SEC("license") = "GPL";
