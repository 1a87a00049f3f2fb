/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bandwidth estimate from the stream of ACKs (Casetti et al. 2000, section II).
 *
 *   sample_BWE = delivered / (now - lastacktime)
 *   BWE        = alpha * BWE + (1 - alpha) * sample_BWE
 *
 * A sample is closed once it spans at least interval_us. An interval of 0 is
 * the paper's rule, one sample per ACK; ACKs within one microsecond share a
 * sample. A span of a round trip makes the estimate blind to how the ACKs are
 * bunched (delayed, compressed, thinned or merged by GRO).
 */
#ifndef HETCC_BW_ACK_H
#define HETCC_BW_ACK_H

#include "ewma.h"

/**
 * struct bw_ack - estimator state
 * @avg: filtered rate, bytes per second
 * @start_us: when the open sample began (the ACK before its first byte)
 * @bytes: delivered in the open sample
 * @running: start_us is valid
 * @limited: the application left the pipe unfilled during the open sample
 */
struct bw_ack {
	struct ewma avg;
	u32 start_us;
	u32 bytes;
	bool running;
	bool limited;
};

/**
 * bw_ack_get() - current estimate
 * @b: estimator
 *
 * Return: bytes per second, 0 before the first sample.
 */
static inline u64 bw_ack_get(const struct bw_ack *b)
{
	return ewma_get(&b->avg);
}

/**
 * bw_ack_pause() - forget the open sample
 * @b: estimator
 *
 * To be called when nothing is left in flight: the idle time that follows is
 * not a property of the path.
 */
static inline void bw_ack_pause(struct bw_ack *b)
{
	b->running = false;
	b->limited = false;
	b->bytes = 0;
}

static inline bool bw_ack_close(struct bw_ack *b, u32 span_us,
				u32 alpha_permille)
{
	/* bytes < 2^32, times 10^6 < 2^52 */
	u64 sample = div_u64((u64)b->bytes * FIXED_USEC_PER_SEC, span_us);

	/* A sender that does not fill the pipe measures itself, not the path */
	if (b->limited && sample < bw_ack_get(b))
		return false;
	ewma_add(&b->avg, sample, alpha_permille);
	return true;
}

/**
 * bw_ack_add() - account for one ACK
 * @b: estimator
 * @now_us: arrival time of the ACK, wraps at 2^32
 * @bytes: newly delivered (cumulatively or selectively acknowledged)
 * @interval_us: shortest span of a sample; 0: every ACK
 * @alpha_permille: weight of the old average, 0..999
 * @limited: the application limited the sender at this ACK; such a sample
 *	     can raise the estimate, not lower it
 *
 * Return: true if the estimate was given a new sample.
 */
static inline bool bw_ack_add(struct bw_ack *b, u32 now_us, u32 bytes,
			      u32 interval_us, u32 alpha_permille,
			      bool limited)
{
	u32 span_us = now_us - b->start_us;

	if (!b->running) {
		b->running = true;
		b->start_us = now_us;
		return false;
	}
	b->bytes = fixed_sat_u32((u64)b->bytes + bytes);
	b->limited |= limited;
	/* Close early rather than saturate: 4 GB are one sample at 80 Gbit/s */
	if (b->bytes > U32_MAX / 2)
		interval_us = 1;
	if (!b->bytes || span_us < max_t(u32, interval_us, 1))
		return false;
	limited = bw_ack_close(b, span_us, alpha_permille);
	b->start_us = now_us;
	b->bytes = 0;
	b->limited = false;
	return limited;
}

#endif /* HETCC_BW_ACK_H */
