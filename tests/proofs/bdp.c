// SPDX-License-Identifier: GPL-2.0
/* bdp.h: all arguments. */
#include "hetcc/bdp.h"
#include "proof.h"

PROOF(bdp)
{
	u64 bytes_per_s = nondet_u64();
	u32 rtt_us = nondet_u32(), mss = nondet_u32(), a_milli = nondet_u32();
	u32 pkts = bdp_pkts(bytes_per_s, rtt_us, mss, a_milli);

	CHECK(mss || !pkts);
}
