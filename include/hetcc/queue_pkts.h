/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Delay to packets (Parsa and Garcia-Luna-Aceves 1999, section 3.1):
 *
 *   pktS   = R / packets received     (3)  service time of a packet
 *   M(W)   = sum(D) / pktS            (4)  packets that a delay stands for
 *
 * Times are 32-bit microseconds modulo 2^32.
 */
#ifndef HETCC_QUEUE_PKTS_H
#define HETCC_QUEUE_PKTS_H

#include "fixed.h"

/* Queues: Q8 packets, resolution 0.004, -2^23 to 2^23 packets */
#define QUEUE_PKTS_SHIFT	8
#define QUEUE_PKTS_ONE		((s32)1 << QUEUE_PKTS_SHIFT)
#define QUEUE_PKTS_MAX		S32_MAX

/**
 * struct queue_pkts_span - where a run of packets began, for equation 3
 * @r_us: receiver's time of the packet that opened the run
 * @delivered: packets received up to and with it
 */
struct queue_pkts_span {
	u32 r_us;
	u32 delivered;
};

/**
 * queue_pkts_service_ns() - equation 3
 * @s: where the run of packets began
 * @r_us: receiver's time of the latest packet
 * @delivered: packets received up to and with it, modulo 2^32
 *
 * Return: time per packet, nanoseconds; 0 if nothing or no time passed.
 */
static inline u32 queue_pkts_service_ns(const struct queue_pkts_span *s,
					u32 r_us, u32 delivered)
{
	u32 span_us = r_us - s->r_us, pkts = delivered - s->delivered;

	if (!pkts || !span_us || (s32)span_us < 0)
		return 0;
	/* 2^31 us * 1000 < 2^41 */
	return max_t(u32, fixed_mul_div(span_us, 1000, pkts), 1);
}

/**
 * queue_pkts_from_us() - equation 4
 * @d_us: relative delay, signed
 * @pkts_ns: service time of a packet; 0 (unknown) gives 0
 *
 * |d| < 2^31 us: times 1000 * 2^8 < 2^49.
 *
 * Return: packets in Q8, saturated to +-QUEUE_PKTS_MAX.
 */
static inline s32 queue_pkts_from_us(s32 d_us, u32 pkts_ns)
{
	u64 mag = d_us < 0 ? -(s64)d_us : d_us;
	u64 n;

	if (!pkts_ns)
		return 0;
	n = div_u64(mag * 1000 * QUEUE_PKTS_ONE, pkts_ns);
	n = min_t(u64, n, QUEUE_PKTS_MAX);
	return d_us < 0 ? -(s32)n : (s32)n;
}

#endif /* HETCC_QUEUE_PKTS_H */
