// SPDX-License-Identifier: GPL-2.0
/*
 * A kernel loop that waits with cond_resched() for a task that can run, as
 * shrink_dcache_parent() does for whoever holds a dentry. Nothing asks for a
 * switch: the other task has had its turn, and no tick comes while time stands
 * still.
 */
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>

static bool begun, go, done;

static int other(void *unused)
{
	WRITE_ONCE(begun, true);
	while (!READ_ONCE(go))
		yield();
	WRITE_ONCE(done, true);
	return 0;
}

static int __init spin_init(void)
{
	struct task_struct *task = kthread_run(other, NULL, "spin");

	if (IS_ERR(task))
		return PTR_ERR(task);
	while (!READ_ONCE(begun))
		yield();
	WRITE_ONCE(go, true);
	while (!READ_ONCE(done))
		cond_resched();
	return 0;
}
module_init(spin_init);

MODULE_DESCRIPTION("Waits with cond_resched()");
MODULE_LICENSE("GPL");
