// SPDX-License-Identifier: GPL-2.0
/*
 * ewma.h: any state up to EWMA_MAX, all samples, all weights that it allows.
 *
 * No solver bounds way * part / 1000 over 48 bits within minutes. So it is proved in
 * three steps: of integers, that this is at most the way; that this is the header's term;
 * and that nothing overflows, with the first for what the division gives.
 */
#include "proof.h"

static bool by_contract;
static u64 way;

/* The first step, for the third */
static inline u64 part_of_way(u64 dividend, u32 divisor)
{
	u64 step = nondet_u64();

	CHECK(divisor == 1000);
	ASSUME(step <= way);
	return by_contract ? step : div_u64(dividend, divisor);
}

#define div_u64 part_of_way
#include "hetcc/ewma.h"
#undef div_u64

#ifdef __CPROVER__
__CPROVER_integer nondet_integer(void);

LEMMA(part)
{
	__CPROVER_integer long_way = nondet_integer(), part = nondet_integer();
	__CPROVER_integer step = nondet_integer(), zero = (__CPROVER_integer)0;
	__CPROVER_integer all = (__CPROVER_integer)1000;

	ASSUME(long_way >= zero && part >= zero && part <= all);
	ASSUME(step * all <= long_way * part);
	CHECK(step <= long_way);
}
#endif

static u64 clamped(u64 sample)
{
	return min_t(u64, sample, EWMA_MAX) << EWMA_SHIFT;
}

TERMS(step)
{
	u64 was = nondet_u64(), sample = nondet_u64(), to = clamped(sample);
	struct ewma e = { was };
	u32 alpha_permille = nondet_u32(), part = FIXED_MILLI - alpha_permille;

	way = U64_MAX;
	ewma_add(&e, sample, alpha_permille);
	if (!was)
		CHECK(e.scaled == to);
	else if (to > was)
		CHECK(e.scaled == was + (to - was) * part / FIXED_MILLI);
	else
		CHECK(e.scaled == was - (was - to) * part / FIXED_MILLI);
}

PROOF(add)
{
	u64 was = nondet_u64(), sample = nondet_u64(), to = clamped(sample);
	struct ewma e = { was };
	u32 alpha_permille = nondet_u32();

	ASSUME(was <= EWMA_MAX << EWMA_SHIFT && alpha_permille <= 999);
	way = to > was ? to - was : was - to;
	by_contract = true;
	ewma_add(&e, sample, alpha_permille);
	CHECK(e.scaled >= min(was, to) || !was);
	CHECK(e.scaled <= max(was, to));
	CHECK(ewma_get(&e) <= EWMA_MAX);
}
