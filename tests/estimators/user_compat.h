/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the estimator headers take from the kernel, for user space: the types
 * and the exact meaning of linux/types.h, limits.h, minmax.h, math.h, math64.h
 * and bitops.h.
 */
#ifndef HETCC_USER_COMPAT_H
#define HETCC_USER_COMPAT_H

#include <stdbool.h>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed short s16;
typedef signed int s32;
typedef signed long long s64;

#define __packed	__attribute__((__packed__))
#define __aligned(x)	__attribute__((__aligned__(x)))

#define U16_MAX		((u16)65535)
#define U32_MAX		((u32)~0U)
#define S32_MAX		((s32)(U32_MAX >> 1))
#define U64_MAX		((u64)~0ULL)

/* Comparing the addresses makes the compiler refuse two different types */
#define user_compat_pick(x, y, op) ({			\
	__typeof__(x) x_ = (x);			\
	__typeof__(y) y_ = (y);			\
	(void)(&x_ == &y_);			\
	x_ op y_ ? x_ : y_; })

#define user_compat_pick_t(type, x, y, op) ({		\
	type x_ = (type)(x);			\
	type y_ = (type)(y);			\
	x_ op y_ ? x_ : y_; })

#define min(x, y)		user_compat_pick(x, y, <)
#define max(x, y)		user_compat_pick(x, y, >)
#define min3(x, y, z)		min((__typeof__(x))min(x, y), z)
#define min_t(type, x, y)	user_compat_pick_t(type, x, y, <)
#define max_t(type, x, y)	user_compat_pick_t(type, x, y, >)

#define clamp(val, lo, hi) ({			\
	__typeof__(val) val_ = (val);		\
	__typeof__(lo) lo_ = (lo);		\
	__typeof__(hi) hi_ = (hi);		\
	(void)(&val_ == &lo_);			\
	(void)(&val_ == &hi_);			\
	val_ < lo_ ? lo_ : val_ > hi_ ? hi_ : val_; })

#define clamp_t(type, val, lo, hi)		\
	clamp((type)(val), (type)(lo), (type)(hi))

/* The divisor is 32 bits wide: a wider one is cut, as in the kernel */
static inline u64 div_u64(u64 dividend, u32 divisor)
{
	return dividend / divisor;
}

/* Truncates towards zero */
static inline s64 div_s64(s64 dividend, s32 divisor)
{
	return dividend / divisor;
}

static inline u64 div64_u64(u64 dividend, u64 divisor)
{
	return dividend / divisor;
}

/* Number of the highest bit set, from 1; 0 of 0. No __builtin_clz: BPF has none */
static inline int fls(unsigned int x)
{
	int bit = 0, step;

	for (step = 16; step; step >>= 1) {
		int up = x >> step ? step : 0;

		x >>= up;
		bit += up;
	}
	return bit + (int)x;
}

/* Rounded down */
static inline unsigned long int_sqrt(unsigned long x)
{
	unsigned long root = 0, bit = 1UL << (sizeof(x) * 8 - 2);

	for (; bit; bit >>= 2) {
		bool fits = x >= root + bit;

		x -= fits ? root + bit : 0;
		root = (root >> 1) + (fits ? bit : 0);
	}
	return root;
}

#endif /* HETCC_USER_COMPAT_H */
