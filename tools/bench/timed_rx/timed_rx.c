// SPDX-License-Identifier: GPL-2.0
/*
 * How long TCP takes for each packet that comes in, and for what it answers at
 * once, in ticks of the processor's own counter: real time, also in a machine
 * of virtual time, whose clocks stand still meanwhile.  For x86; of the network
 * namespace that insmod is called in.  /proc/timed_rx: a line for each packet,
 * source port and ticks.
 */
#include <linux/ip.h>
#include <linux/module.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/nsproxy.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/tcp.h>
#include <net/net_namespace.h>

#define MOST	100000

static struct {
	u16 port;
	u64 ticks;
} packets[MOST];

static unsigned int count;
static struct net *net;

static u64 ticks(void)
{
	u64 now;

	asm volatile("lfence" ::: "memory");
	now = __builtin_ia32_rdtsc();
	asm volatile("lfence" ::: "memory");
	return now;
}

static unsigned int time_it(void *priv, struct sk_buff *skb, const struct nf_hook_state *state)
{
	u64 begun;

	if (ip_hdr(skb)->protocol != IPPROTO_TCP || count == MOST)
		return NF_ACCEPT;
	packets[count].port = ntohs(tcp_hdr(skb)->source);
	begun = ticks();
	state->okfn(state->net, state->sk, skb);
	packets[count++].ticks = ticks() - begun;
	return NF_STOLEN;
}

static const struct nf_hook_ops hook = {
	.hook		= time_it,
	.pf		= NFPROTO_IPV4,
	.hooknum	= NF_INET_LOCAL_IN,
	.priority	= INT_MAX,
};

static int show(struct seq_file *m, void *v)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		seq_printf(m, "%u %llu\n", packets[i].port, packets[i].ticks);
	return 0;
}

static int __init timed_rx_init(void)
{
	int err;

	net = current->nsproxy->net_ns;
	if (!proc_create_single("timed_rx", 0400, NULL, show))
		return -ENOMEM;
	err = nf_register_net_hook(net, &hook);
	if (err)
		remove_proc_entry("timed_rx", NULL);
	return err;
}

static void __exit timed_rx_exit(void)
{
	nf_unregister_net_hook(net, &hook);
	remove_proc_entry("timed_rx", NULL);
}

module_init(timed_rx_init);
module_exit(timed_rx_exit);
MODULE_DESCRIPTION("real time that TCP takes for each packet");
MODULE_LICENSE("GPL");
