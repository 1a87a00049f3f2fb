/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Mean round trip of late, and how far single ones lie from it.
 *
 * Where delays vary (jitter, radio slots) a packet comes sooner now and then than a window
 * of them ever does. So what a path takes is the least mean, not the least round trip. The
 * mean is of a quarter of a window: of a longer time it would have a queue in it that comes
 * and goes.
 *
 * Packets that a slot has delayed come in bunches, and an average over every ACK would follow
 * the bunches (RFC 7323, appendix G). So samples are 32 a window.
 */
#ifndef HETCC_RTT_MEAN_H
#define HETCC_RTT_MEAN_H

#include "fixed.h"

/* Samples of a window, at most; those of this part of it make the mean */
#define RTT_MEAN_SAMPLES	32
#define RTT_MEAN_PART		4
#define RTT_MEAN_SHIFT		3
/* The mean is in 8ths of microseconds, below 2^29 us, which is 9 minutes */
#define RTT_MEAN_ONE		((u32)1 << RTT_MEAN_SHIFT)
#define RTT_MEAN_MAX_US		(U32_MAX >> RTT_MEAN_SHIFT)
/* The deviation is of four times as many: of a window */
#define RTT_MEAN_DEV_SHIFT	2
/*
 * A mean of eight lies a third of the deviation of one from what it is a mean of; the least of
 * many, and another now, are less than two apart
 */
#define RTT_MEAN_DEVIATIONS	2U

/**
 * struct rtt_mean - state
 * @mean: mean round trip in units of 1 / RTT_MEAN_ONE us, 0 before the first
 * @dev_us: mean deviation of a single one from it, U16_MAX: that or more
 */
struct rtt_mean {
	u32 mean;
	u16 dev_us;
} __packed __aligned(2);

/**
 * rtt_mean_us() - mean round trip
 * @m: state
 *
 * Return: microseconds, 0 before the first.
 */
static inline u32 rtt_mean_us(const struct rtt_mean *m)
{
	return m->mean >> RTT_MEAN_SHIFT;
}

/**
 * rtt_mean_wait_us() - how long packets wait
 * @m: state
 * @min_us: round trip without a queue
 *
 * Return: the mean above that, microseconds.
 */
static inline u32 rtt_mean_wait_us(const struct rtt_mean *m, u32 min_us)
{
	return rtt_mean_us(m) - min(rtt_mean_us(m), min_us);
}

/**
 * rtt_mean_begin() - from here on
 * @m: state
 * @rtt_us: a round trip, 0: not known
 */
static inline void rtt_mean_begin(struct rtt_mean *m, u32 rtt_us)
{
	m->mean = min(rtt_us, RTT_MEAN_MAX_US) << RTT_MEAN_SHIFT;
	m->dev_us = 0;
}

/**
 * rtt_mean_at_least() - a way that was not in it has become part of the round trip
 * @m: state
 * @rtt_us: the mean is at least so long, if it is known; cut to RTT_MEAN_MAX_US
 */
static inline void rtt_mean_at_least(struct rtt_mean *m, u32 rtt_us)
{
	if (m->mean)
		m->mean = max(m->mean, min(rtt_us, RTT_MEAN_MAX_US) << RTT_MEAN_SHIFT);
}

/**
 * rtt_mean_is_due() - is a sample due?
 * @delivered: packets delivered so far, wraps at 2^32
 * @pkts: of these by the latest ACK
 * @wnd: window in packets
 */
static inline bool rtt_mean_is_due(u32 delivered, u32 pkts, u32 wnd)
{
	u32 every = wnd / RTT_MEAN_SAMPLES + 1;

	return delivered / every != (delivered - pkts) / every;
}

/**
 * rtt_mean_add() - a round trip was measured, and one is due
 * @m: state
 * @rtt_us: round trip, 1..RTT_MEAN_MAX_US, cut to that
 * @wnd: window in packets
 *
 * What is rounded off is below 1 us of the mean and 32 us of the deviation.
 */
static inline void rtt_mean_add(struct rtt_mean *m, u32 rtt_us, u32 wnd)
{
	u32 shift = min_t(u32, fls(wnd / (RTT_MEAN_SAMPLES / RTT_MEAN_PART)),
			  RTT_MEAN_SHIFT);
	u32 rtt = clamp(rtt_us, 1U, RTT_MEAN_MAX_US) << RTT_MEAN_SHIFT;
	u32 mean = m->mean ? : rtt;
	u32 off = max(rtt, mean) - min(rtt, mean);
	u32 off_us = min_t(u32, off >> RTT_MEAN_SHIFT, U16_MAX);

	m->mean = rtt > mean ? mean + (off >> shift) : mean - (off >> shift);
	shift += RTT_MEAN_DEV_SHIFT;
	if (off_us > m->dev_us)
		m->dev_us += (off_us - m->dev_us) >> shift;
	else
		m->dev_us -= (m->dev_us - off_us) >> shift;
}

#endif /* HETCC_RTT_MEAN_H */
