// SPDX-License-Identifier: GPL-2.0
/*
 * Changes the congestion control of the connections of a cgroup, from inside
 * the stack: when they are established, at some of their round-trip samples,
 * retransmissions and timeouts, at the end.
 */
#include <linux/bpf.h>
#include <linux/types.h>

#define SEC(name)	__attribute__((section(name), used))

#define SOL_TCP		6
#define TCP_CONGESTION	13
#define NAMES		8
#define RARELY		7	/* one call of 8 */

static void *(*map_lookup)(void *map, const void *key) =
	(void *)BPF_FUNC_map_lookup_elem;
static __u32 (*random_u32)(void) = (void *)BPF_FUNC_get_prandom_u32;
static long (*set_option)(struct bpf_sock_ops *ctx, int level, int name,
			  const void *value, int length) =
	(void *)BPF_FUNC_setsockopt;
static long (*set_callbacks)(struct bpf_sock_ops *ctx, int flags) =
	(void *)BPF_FUNC_sock_ops_cb_flags_set;

struct name {
	char text[16];
};

/* Maps as libbpf reads them: sizes of arrays are values */
struct {
	int (*type)[BPF_MAP_TYPE_ARRAY];
	__u32 *key;
	struct name *value;
	int (*max_entries)[NAMES];
} cc_names SEC(".maps");

/* How many changes were made, how many refused */
struct {
	int (*type)[BPF_MAP_TYPE_ARRAY];
	__u32 *key;
	__u64 *value;
	int (*max_entries)[2];
} cc_done SEC(".maps");

static __always_inline void change(struct bpf_sock_ops *ctx)
{
	__u32 slot = random_u32() % NAMES, refused;
	struct name *name = map_lookup(&cc_names, &slot);
	__u64 *count;

	if (!name)
		return;
	refused = !!set_option(ctx, SOL_TCP, TCP_CONGESTION, name->text,
			       sizeof(name->text));
	count = map_lookup(&cc_done, &refused);
	if (count)
		__sync_fetch_and_add(count, 1);
}

SEC("sockops")
int switch_cc(struct bpf_sock_ops *ctx)
{
	switch (ctx->op) {
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		set_callbacks(ctx, BPF_SOCK_OPS_RTT_CB_FLAG |
				   BPF_SOCK_OPS_RTO_CB_FLAG |
				   BPF_SOCK_OPS_RETRANS_CB_FLAG |
				   BPF_SOCK_OPS_STATE_CB_FLAG);
		change(ctx);
		break;
	case BPF_SOCK_OPS_RTT_CB:
	case BPF_SOCK_OPS_RETRANS_CB:
		if (!(random_u32() & RARELY))
			change(ctx);
		break;
	case BPF_SOCK_OPS_RTO_CB:
	case BPF_SOCK_OPS_STATE_CB:
		change(ctx);
		break;
	}
	return 1;
}

char _license[] SEC("license") = "GPL";
