// SPDX-License-Identifier: GPL-2.0
/*
 * fixed.h: all arguments; the products do not wrap, so that the quotients are those of
 * the integers.
 *
 * wraps: fixed_halve: count - n
 */
#include "hetcc/fixed.h"
#include "proof.h"

PROOF(sat_u32)
{
	u64 v = nondet_u64();

	CHECK(fixed_sat_u32(v) == (v > U32_MAX ? U32_MAX : v));
}

PROOF_SMT(mul_div)
{
	u32 a = nondet_u32(), b = nondet_u32(), c = nondet_u32();
	u32 got = fixed_mul_div(a, b, c);
	u64 want;

	if (!c) {
		CHECK(got == U32_MAX);
		return;
	}
	want = (u64)a * b / c;
	CHECK(got == (want > U32_MAX ? U32_MAX : want));
}

PROOF(halve)
{
	u32 was = nondet_u32(), n = nondet_u32();
	u32 half = fixed_halve((u32)(((u64)was + n) & U32_MAX), n);

	CHECK(half == ((u64)!(was & 1) + n) / 2);
}

PROOF(exp2)
{
	u32 x = nondet_u32(), whole = x >> FIXED_EXP_ARG_SHIFT;
	u32 y = fixed_exp2(x);

	CHECK(y >= FIXED_EXP_ONE && y <= FIXED_EXP_MAX);
	CHECK(whole < 15 || y == FIXED_EXP_MAX);
	CHECK(whole >= 15 || y >= FIXED_EXP_ONE << whole);
	CHECK(whole >= 15 || y < FIXED_EXP_ONE << (whole + 1));
}
