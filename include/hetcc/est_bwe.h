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
#ifndef HETCC_EST_BWE_H
#define HETCC_EST_BWE_H

#include "est_ewma.h"

/**
 * struct hetcc_bwe - estimator state
 * @avg: filtered rate, bytes per second
 * @start_us: when the open sample began (the ACK before its first byte)
 * @bytes: delivered in the open sample
 * @running: start_us is valid
 * @limited: the application left the pipe unfilled during the open sample
 */
struct hetcc_bwe {
	struct hetcc_ewma avg;
	u32 start_us;
	u32 bytes;
	bool running;
	bool limited;
};

/**
 * hetcc_bwe_get() - current estimate
 * @b: estimator
 *
 * Return: bytes per second, 0 before the first sample.
 */
static inline u64 hetcc_bwe_get(const struct hetcc_bwe *b)
{
	return hetcc_ewma_get(&b->avg);
}

/**
 * hetcc_bwe_pause() - forget the open sample
 * @b: estimator
 *
 * To be called when nothing is left in flight: the idle time that follows is
 * not a property of the path.
 */
static inline void hetcc_bwe_pause(struct hetcc_bwe *b)
{
	b->running = false;
	b->limited = false;
	b->bytes = 0;
}

static inline bool hetcc_bwe_close(struct hetcc_bwe *b, u32 span_us,
				   u32 alpha_permille)
{
	/* bytes < 2^32, times 10^6 < 2^52 */
	u64 sample = div_u64((u64)b->bytes * HETCC_USEC_PER_SEC, span_us);

	/* A sender that does not fill the pipe measures itself, not the path */
	if (b->limited && sample < hetcc_bwe_get(b))
		return false;
	hetcc_ewma_add(&b->avg, sample, alpha_permille);
	return true;
}

/**
 * hetcc_bwe_ack() - account for one ACK
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
static inline bool hetcc_bwe_ack(struct hetcc_bwe *b, u32 now_us, u32 bytes,
				 u32 interval_us, u32 alpha_permille,
				 bool limited)
{
	u32 span_us = now_us - b->start_us;

	if (!b->running) {
		b->running = true;
		b->start_us = now_us;
		return false;
	}
	b->bytes = hetcc_sat_u32((u64)b->bytes + bytes);
	b->limited |= limited;
	/* Close early rather than saturate: 4 GB are one sample at 80 Gbit/s */
	if (b->bytes > U32_MAX / 2)
		interval_us = 1;
	if (!b->bytes || span_us < max_t(u32, interval_us, 1))
		return false;
	limited = hetcc_bwe_close(b, span_us, alpha_permille);
	b->start_us = now_us;
	b->bytes = 0;
	b->limited = false;
	return limited;
}

/**
 * hetcc_bdp_pkts() - bandwidth-delay product in segments
 * @bytes_per_s: rate, at most HETCC_EWMA_MAX
 * @rtt_us: round trip time
 * @mss: segment size in bytes; 0 gives 0
 * @a_milli: the paper's reduction factor a in thousandths; 0 counts as 1
 *
 * Above 2^32 bytes/s the rate is taken in units of 256 bytes/s (2^32 units at
 * most, so that the product with a 32-bit rtt fits) and 10^6 / 256 as 15625 / 4.
 *
 * Return: (BWE * RTTmin) / a in whole segments, saturated to 32 bits.
 */
static inline u32 hetcc_bdp_pkts(u64 bytes_per_s, u32 rtt_us, u32 mss,
				 u32 a_milli)
{
	u64 bytes;

	if (!mss)
		return 0;
	if (bytes_per_s <= U32_MAX)
		bytes = div_u64(bytes_per_s * rtt_us, HETCC_USEC_PER_SEC);
	else
		bytes = div_u64((min_t(u64, bytes_per_s, HETCC_EWMA_MAX) >> 8) *
				rtt_us, 15625) * 4;
	bytes = div_u64(min_t(u64, bytes, U64_MAX / HETCC_PERMILLE) *
			HETCC_PERMILLE, a_milli ? a_milli : HETCC_PERMILLE);
	return hetcc_sat_u32(div_u64(bytes, mss));
}

#endif /* HETCC_EST_BWE_H */
