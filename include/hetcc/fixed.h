/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Integer helpers of the estimators: wide products, saturation, powers of two.
 *
 * Every estimator header of this directory works on plain integers and
 * compiles in the kernel and in user space (tests/estimators) from the same source.
 */
#ifndef HETCC_FIXED_H
#define HETCC_FIXED_H

#ifdef __KERNEL__
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/math.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>
#else
#include "user_compat.h"
#endif

#define FIXED_USEC_PER_SEC	1000000U
/* Parameters and weights are in thousandths */
#define FIXED_MILLI		1000

/**
 * fixed_sat_u32() - narrow to 32 bits, saturating
 * @v: any value
 *
 * Return: @v, or U32_MAX if it does not fit.
 */
static inline u32 fixed_sat_u32(u64 v)
{
	return v > U32_MAX ? U32_MAX : (u32)v;
}

/**
 * fixed_mul_div() - a * b / c rounded down, saturating
 * @a: factor; the product of two u32 always fits 64 bits
 * @b: factor
 * @c: divisor; 0 counts as "unknown" and saturates
 *
 * Return: the quotient, U32_MAX if it does not fit or if @c is 0.
 */
static inline u32 fixed_mul_div(u32 a, u32 b, u32 c)
{
	return c ? fixed_sat_u32(div_u64((u64)a * b, c)) : U32_MAX;
}

/**
 * fixed_halve() - one of two of what is counted
 * @count: counted so far, wraps at 2^32
 * @n: of these newly
 *
 * Return: half of @n, and the odd one too where @count was even before.
 */
static inline u32 fixed_halve(u32 count, u32 n)
{
	u32 odd = (count - n) & 1;

	return n - n / 2 - (n & odd);
}

/*
 * 2^x: argument Q12, result Q16, saturating at 2^15.
 * Resolution of the result 1.5e-5, relative error below 1e-4 (tests/estimators).
 */
#define FIXED_EXP_ARG_SHIFT	12
#define FIXED_EXP_ARG_ONE	((u32)1 << FIXED_EXP_ARG_SHIFT)
#define FIXED_EXP_SHIFT		16
#define FIXED_EXP_ONE		((u32)1 << FIXED_EXP_SHIFT)
#define FIXED_EXP_MAX		((u32)1 << 31)

/**
 * fixed_exp2() - 2^x in fixed point
 * @x: exponent, Q12, any value
 *
 * One product per binary digit of the fraction: each factor is below 2 in
 * Q31 and the running product below 2 in Q31, so products stay under 2^64.
 *
 * Return: 2^x in Q16; FIXED_EXP_MAX (2^15) for x >= 15.
 */
static inline u32 fixed_exp2(u32 x)
{
	/* 2^(2^-i) in Q31 for i = 1..12 */
	static const u32 root[FIXED_EXP_ARG_SHIFT] = {
		3037000500U, 2553802834U, 2341847524U, 2242560872U,
		2194507417U, 2170868212U, 2159144272U, 2153306067U,
		2150392887U, 2148937775U, 2148210589U, 2147847087U,
	};
	u32 whole = x >> FIXED_EXP_ARG_SHIFT;
	u64 r = 1ULL << 31;
	int i;

	if (whole >= 15)
		return FIXED_EXP_MAX;
	for (i = 0; i < FIXED_EXP_ARG_SHIFT; i++)
		if (x & (FIXED_EXP_ARG_ONE >> (i + 1)))
			r = (r * root[i]) >> 31;
	return (u32)((r << whole) >> (31 - FIXED_EXP_SHIFT));
}

#endif /* HETCC_FIXED_H */
