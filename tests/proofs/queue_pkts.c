// SPDX-License-Identifier: GPL-2.0
/*
 * queue_pkts.h: equations 3 and 4, all arguments.
 *
 * Times and counts are modulo 2^32:
 * wraps: queue_pkts_service_ns: r_us - s->r_us
 * wraps: queue_pkts_service_ns: delivered - s->delivered
 * wraps: queue_pkts_service_ns: (s32)span_us
 */
#include "hetcc/queue_pkts.h"
#include "proof.h"

PROOF(service_ns)
{
	struct queue_pkts_span s = { nondet_u32(), nondet_u32() };
	u32 r_us = nondet_u32(), delivered = nondet_u32();
	u32 ns = queue_pkts_service_ns(&s, r_us, delivered);

	if (delivered == s.delivered || r_us == s.r_us)
		CHECK(!ns);
	CHECK(ns || delivered == s.delivered || r_us == s.r_us ||
	      ((r_us ^ s.r_us) & 1U << 31) || r_us < s.r_us);
}

PROOF(from_us)
{
	s32 d_us = nondet_s32();
	u32 pkts_ns = nondet_u32();
	s32 n = queue_pkts_from_us(d_us, pkts_ns);

	CHECK(n >= -QUEUE_PKTS_MAX);
	CHECK(d_us < 0 ? n <= 0 : n >= 0);
	CHECK(pkts_ns || !n);
}

PROOF_SMT(from_us_is_equation_4)
{
	s32 d_us = nondet_s32();
	u32 pkts_ns = nondet_u32();
	u64 mag = d_us < 0 ? -(s64)d_us : d_us, want;
	s32 n = queue_pkts_from_us(d_us, pkts_ns);

	ASSUME(pkts_ns);
	want = mag * 1000 * QUEUE_PKTS_ONE / pkts_ns;
	want = want > QUEUE_PKTS_MAX ? QUEUE_PKTS_MAX : want;
	CHECK(n == (d_us < 0 ? -(s32)want : (s32)want));
}
