/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a proof is made of. tools/ci/prove.py has CBMC follow every PROOF of a file with
 * all values of its inputs at once, and demands of each operation on the way that no
 * signed result overflows, no unsigned one wraps, no conversion changes a value, no
 * divisor is 0, no shift is too wide, no index is outside its array and no loop goes on
 * beyond UNWIND turns; and of each CHECK that it holds.
 *
 * An unsigned wrap that a header means (times modulo 2^32) is named in the file:
 *
 *	wraps: FUNCTION: EXPRESSION
 *
 * It must be possible, or the line is out of date.
 */
#ifndef HETCC_PROOF_H
#define HETCC_PROOF_H

#include "user_compat.h"

/* Any value: CBMC gives what has no body and is called nondet_ all of them */
bool nondet_bool(void);
u8 nondet_u8(void);
u16 nondet_u16(void);
u32 nondet_u32(void);
s32 nondet_s32(void);
u64 nondet_u64(void);

/* In a function's kernel-doc: the ranges of what it is given */
#ifdef __CPROVER__
#define ASSUME(condition)	__CPROVER_assume(condition)
#define CHECK(condition)	__CPROVER_assert(condition, #condition)
/* The end must be within reach: assumptions that contradict each other prove anything */
#define PROOF_END()		__CPROVER_assert(0, "the end is within reach")
#else
/* A compiler that needs no more than to see the headers used */
void proof_failed(void);
#define ASSUME(condition)	do { if (!(condition)) __builtin_unreachable(); } while (0)
#define CHECK(condition)	do { if (!(condition)) proof_failed(); } while (0)
#define PROOF_END()		do { } while (0)
#endif

/**
 * PROOF() - a function that makes the checks; by CBMC's own SAT solver
 * @name: what is proved; prove_NAME is CBMC's entry
 */
#define PROOF(name)							\
	static inline void name##_body(void);				\
	void prove_##name(void);					\
	void prove_##name(void)						\
	{								\
		name##_body();						\
		PROOF_END();						\
	}								\
	static inline void name##_body(void)

/* The same by an SMT solver, to which equal products and quotients are one term */
#define PROOF_SMT(name)		PROOF(name)
/* Of terms alone, by that solver: CBMC checks nothing but CHECK */
#define TERMS(name)		PROOF(name)
/* The same about integers without bounds, too */
#define LEMMA(name)		PROOF(name)

#endif /* HETCC_PROOF_H */
