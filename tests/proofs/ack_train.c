// SPDX-License-Identifier: GPL-2.0
/*
 * ack_train.h: any state, all arguments.
 *
 * Times are modulo 2^32:
 * wraps: ack_train_add: now_us - t->last_us
 * wraps: ack_train_add: now_us - t->first_us
 */
#include "hetcc/ack_train.h"
#include "proof.h"

PROOF(add)
{
	struct ack_train t = { nondet_u32(), nondet_u32(), nondet_u32(),
			       nondet_bool() };
	struct ack_train was = t;
	u32 now_us = nondet_u32(), pkts = nondet_u32(), rtt_us = nondet_u32();
	u32 bdp = ack_train_add(&t, now_us, pkts, rtt_us);

	CHECK(t.running && t.last_us == now_us);
	CHECK(was.running || !bdp);
	CHECK(!bdp || t.pkts >= ACK_TRAIN_MIN_PKTS);
	CHECK(t.pkts == 0 || t.pkts >= was.pkts);
}
