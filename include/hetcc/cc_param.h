/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Module parameters that are checked where they are set.
 *
 * A value outside its range is refused with -EINVAL and a line in the kernel
 * log that names parameter, value and range; the old value stays. Readers use
 * READ_ONCE: a parameter may change under a running connection.
 */
#ifndef HETCC_CC_PARAM_H
#define HETCC_CC_PARAM_H

#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/moduleparam.h>

#include "fixed.h"

/**
 * struct cc_param - a bounded parameter
 * @val: where the value lives
 * @min: smallest value
 * @max: largest value
 * @scale: 1 for whole numbers, FIXED_MILLI for decimals with three places
 */
struct cc_param {
	unsigned int *val;
	unsigned int min;
	unsigned int max;
	unsigned int scale;
};

/* "12.345" in units of 1/scale; more places than the scale has are refused */
static inline int cc_param_parse(const char *s, unsigned int scale,
				 unsigned int *out)
{
	unsigned long long v = 0;
	unsigned int digits = 0;
	bool point = false;

	for (; *s && *s != '\n'; s++) {
		if (*s == '.' && !point && scale > 1) {
			point = true;
			continue;
		}
		if (!isdigit(*s) || (point && scale == 1) || v > U32_MAX)
			return -EINVAL;
		v = v * 10 + (*s - '0');
		digits++;
		if (point)
			scale /= 10;
	}
	v *= scale;
	if (!digits || v > U32_MAX)
		return -EINVAL;
	*out = v;
	return 0;
}

static int cc_param_set(const char *val, const struct kernel_param *kp)
{
	const struct cc_param *p = kp->arg;
	unsigned int v;

	if (!val || cc_param_parse(val, p->scale, &v) ||
	    v < p->min || v > p->max) {
		pr_err("%s: %s=%.*s refused: not in %u.%03u..%u.%03u\n",
		       KBUILD_MODNAME, kp->name,
		       val ? (int)strcspn(val, "\n") : 0, val ? val : "",
		       p->min / p->scale, p->min % p->scale,
		       p->max / p->scale, p->max % p->scale);
		return -EINVAL;
	}
	WRITE_ONCE(*p->val, v);
	return 0;
}

static int cc_param_get(char *buf, const struct kernel_param *kp)
{
	const struct cc_param *p = kp->arg;
	unsigned int v = READ_ONCE(*p->val);

	if (p->scale == 1)
		return scnprintf(buf, PAGE_SIZE, "%u\n", v);
	return scnprintf(buf, PAGE_SIZE, "%u.%03u\n", v / FIXED_MILLI,
			 v % FIXED_MILLI);
}

static const struct kernel_param_ops cc_param_ops = {
	.set = cc_param_set,
	.get = cc_param_get,
};

#define CC_PARAM(_name, _def, _min, _max, _scale, _desc)		\
	static unsigned int _name = (_def);				\
	static const struct cc_param cc_param_##_name = {		\
		.val = &_name,						\
		.min = (_min),						\
		.max = (_max),						\
		.scale = (_scale),					\
	};								\
	module_param_cb(_name, &cc_param_ops,			\
			(void *)&cc_param_##_name, 0644);		\
	MODULE_PARM_DESC(_name, _desc)

/* Whole number */
#define CC_PARAM_UINT(_name, _def, _min, _max, _desc)		\
	CC_PARAM(_name, _def, _min, _max, 1, _desc)

/* Decimal with three places, held in thousandths */
#define CC_PARAM_MILLI(_name, _def, _min, _max, _desc)		\
	CC_PARAM(_name, _def, _min, _max, FIXED_MILLI, _desc)

#endif /* HETCC_CC_PARAM_H */
