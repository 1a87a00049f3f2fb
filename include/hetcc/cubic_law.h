/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CUBIC's window (RFC 9438) after a congestion, as a function of the time since. Plain
 * integers, no socket.
 */
#ifndef HETCC_CUBIC_LAW_H
#define HETCC_CUBIC_LAW_H

#include "fixed.h"

/* Windows are at most 2^24 segments, times 2^18 ms (4 min) */
#define CUBIC_LAW_WINDOW_MAX	((u32)1 << 24)
#define CUBIC_LAW_MS_MAX	((u32)1 << 18)
/* 1/C of RFC 9438 (C = 0.4 packets/s^3), in ms^3 for a packet */
#define CUBIC_LAW_MS3_PER_PKT	2500000000U

/**
 * cubic_law_reduce() - window after congestion: beta = 0.7
 * @window: packets
 *
 * Return: packets.
 */
static inline u32 cubic_law_reduce(u32 window)
{
	/* 2^24 * 7 < 2^27 */
	return window * 7 / 10;
}

/**
 * cubic_law_max() - W_max for the time after a congestion
 * @window: window that met it, packets
 * @last: W_max of before, packets
 *
 * Less than last time: others came, and get more room (fast convergence).
 *
 * Return: packets.
 */
static inline u32 cubic_law_max(u32 window, u32 last)
{
	return window < last ? window - window * 3 / 20 : window;
}

/* Integer cube root, 21 bits: of less than 2^63 */
static inline u32 cubic_law_root(u64 v)
{
	u64 root = 0, t;
	int bit;

	for (bit = 20; bit >= 0; bit--) {
		t = root | (1ULL << bit);
		if (t * t * t <= v)
			root = t;
	}
	return (u32)root;
}

/**
 * cubic_law_window() - what CUBIC's window would be
 * @w_max: cubic_law_max() of the last congestion, packets, at most CUBIC_LAW_WINDOW_MAX
 * @ms: since then, milliseconds; more than CUBIC_LAW_MS_MAX counts as that
 * @rtt_ms: round trip, milliseconds, 1..2^27
 *
 * W(t) = C (t - K)^3 + W_max with K = cbrt(0.3 W_max / C), and not less than what an AIMD
 * flow of the same mean has: 0.7 W_max and 0.53 packets a round trip.
 *
 * Return: packets, at most 2 * CUBIC_LAW_WINDOW_MAX.
 */
static inline u32 cubic_law_window(u32 w_max, u32 ms, u32 rtt_ms)
{
	/* 2^24 * 0.75 * 10^9 < 2^54 */
	u32 k_ms = cubic_law_root((u64)w_max * 750000000U);
	u32 t_ms = min_t(u32, ms, CUBIC_LAW_MS_MAX);
	u64 off_ms = t_ms > k_ms ? t_ms - k_ms : k_ms - t_ms;
	/* (2^18)^3 = 2^54 */
	u64 ms3 = off_ms * off_ms * off_ms;
	u32 up = (u32)div_u64(ms3, CUBIC_LAW_MS3_PER_PKT);
	u32 down = (u32)div_u64(ms3 + CUBIC_LAW_MS3_PER_PKT - 1,
				CUBIC_LAW_MS3_PER_PKT);
	u32 window = t_ms > k_ms ? w_max + up : w_max - min(down, w_max);
	/* 9/17 = 3 (1 - 0.7) / (1 + 0.7), in tenths; 2^18 * 90 + 2^24 * 7 < 2^28 */
	u32 reno = (w_max * 7 + t_ms * 90 / (17 * max_t(u32, rtt_ms, 1))) / 10;

	return min_t(u32, max(window, reno), 2 * CUBIC_LAW_WINDOW_MAX);
}

#endif /* HETCC_CUBIC_LAW_H */
