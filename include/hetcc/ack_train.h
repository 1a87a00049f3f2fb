/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Initial slow start threshold from the spacing of the first ACKs (Hoe 1996,
 * taken up by TCP Hybla, section 3.3.1).
 *
 * The first window leaves the sender back to back, so its segments leave the
 * bottleneck one service time apart and so do their ACKs. A train of ACKs
 * gives the rate, the rate times the minimum round trip time the threshold.
 */
#ifndef HETCC_ACK_TRAIN_H
#define HETCC_ACK_TRAIN_H

#include "fixed.h"

/* Fewer segments say too little; the first window has ten on Linux */
#define ACK_TRAIN_MIN_PKTS	6
/* A train faster than this was compressed on its way: radio slots, merged ACKs */
#define ACK_TRAIN_LEAST_US	1000U

/**
 * struct ack_train - train of ACKs under measurement
 * @first_us: arrival of the ACK that opened the train
 * @last_us: arrival of the latest ACK of the train
 * @pkts: segments acknowledged since, the opening ACK's not included
 * @running: the train is open
 */
struct ack_train {
	u32 first_us;
	u32 last_us;
	u32 pkts;
	bool running;
};

/**
 * ack_train_add() - account for one ACK
 * @t: train
 * @now_us: arrival time, wraps at 2^32
 * @pkts: segments newly acknowledged
 * @rtt_us: minimum round trip time
 *
 * A gap of half a round trip ends a window: the train starts anew.
 *
 * Return: the bandwidth-delay product in segments once the train is long
 * enough in segments and time, 0 before that.
 */
static inline u32 ack_train_add(struct ack_train *t, u32 now_us, u32 pkts,
				u32 rtt_us)
{
	if (!t->running || now_us - t->last_us > rtt_us / 2) {
		t->running = true;
		t->first_us = now_us;
		t->last_us = now_us;
		t->pkts = 0;
		return 0;
	}
	t->last_us = now_us;
	t->pkts = fixed_sat_u32((u64)t->pkts + pkts);
	if (t->pkts < ACK_TRAIN_MIN_PKTS ||
	    now_us - t->first_us < ACK_TRAIN_LEAST_US)
		return 0;
	return max_t(u32, fixed_mul_div(rtt_us, t->pkts, now_us - t->first_us),
		     1);
}

#endif /* HETCC_ACK_TRAIN_H */
