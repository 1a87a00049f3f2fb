// SPDX-License-Identifier: GPL-2.0
/* A module of several files and folders; the table and the function that it names are apart. */
#include <linux/module.h>
#include "parts.h"

static struct tcp_congestion_ops parts_ops[] = {
	{
		.name		= "parts",
		.owner		= THIS_MODULE,
		.cong_control	= parts_main,
		.ssthresh	= tcp_reno_ssthresh,
		.undo_cwnd	= tcp_reno_undo_cwnd,
	},
	{
		.name		= "parts_reno",
		.owner		= THIS_MODULE,
		.cong_avoid	= tcp_reno_cong_avoid,
		.ssthresh	= tcp_reno_ssthresh,
		.undo_cwnd	= tcp_reno_undo_cwnd,
	},
};

static int __init parts_register(void)
{
	int i, ret = 0;

	for (i = 0; i < ARRAY_SIZE(parts_ops) && !ret; i++)
		ret = tcp_register_congestion_control(&parts_ops[i]);
	return ret;
}

static void __exit parts_unregister(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(parts_ops); i++)
		tcp_unregister_congestion_control(&parts_ops[i]);
}

module_init(parts_register);
module_exit(parts_unregister);
MODULE_LICENSE("GPL");
