// SPDX-License-Identifier: GPL-2.0
/*
 * Does one thing wrong when it is loaded: "insmod bad_module.ko fault=NAME".
 * What does not see it cannot be trusted with modules that are to be right.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

static char *fault = "";
module_param(fault, charp, 0444);
MODULE_PARM_DESC(fault, "kasan, ubsan, atomic, leak, lockdep, refcount or warning");

#define BYTES	40

static int shifted;
static DEFINE_SPINLOCK(first);
static DEFINE_SPINLOCK(second);

static void bad_kasan(void)
{
	char *buffer = kzalloc(BYTES, GFP_KERNEL);
	size_t beyond = BYTES;

	if (!buffer)
		return;
	OPTIMIZER_HIDE_VAR(beyond);
	WRITE_ONCE(buffer[beyond], 1);
	kfree(buffer);
}

static void bad_ubsan(void)
{
	unsigned int bits = 32;

	OPTIMIZER_HIDE_VAR(bits);
	WRITE_ONCE(shifted, 1 << bits);
}

static void bad_atomic(void)
{
	spin_lock(&first);
	msleep(20);
	spin_unlock(&first);
}

static void bad_leak(void)
{
	void *lost = kmalloc(BYTES, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(lost);
}

/* In an order and in the other; nobody waits, this time */
static void bad_lockdep(void)
{
	spin_lock(&first);
	spin_lock(&second);
	spin_unlock(&second);
	spin_unlock(&first);
	spin_lock(&second);
	spin_lock(&first);
	spin_unlock(&first);
	spin_unlock(&second);
}

static void bad_refcount(void)
{
	refcount_t count = REFCOUNT_INIT(0);

	refcount_inc(&count);
}

static void bad_warning(void)
{
	WARN(true, "bad_module");
}

static const struct {
	const char *name;
	void (*run)(void);
} faults[] = {
	{ "kasan", bad_kasan },
	{ "ubsan", bad_ubsan },
	{ "atomic", bad_atomic },
	{ "leak", bad_leak },
	{ "lockdep", bad_lockdep },
	{ "refcount", bad_refcount },
	{ "warning", bad_warning },
};

static int __init bad_register(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		if (!strcmp(fault, faults[i].name)) {
			faults[i].run();
			return 0;
		}
	}
	return -EINVAL;
}

static void __exit bad_unregister(void)
{
}

module_init(bad_register);
module_exit(bad_unregister);

MODULE_AUTHOR("The hetcc authors");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("One fault for each of the kernel's checkers");
