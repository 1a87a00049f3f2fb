/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bandwidth-delay product: BWE * RTTmin / a (Casetti et al. 2000, section III).
 */
#ifndef HETCC_BDP_H
#define HETCC_BDP_H

#include "ewma.h"

/**
 * bdp_pkts() - bandwidth-delay product in segments
 * @bytes_per_s: rate, at most EWMA_MAX
 * @rtt_us: round trip time
 * @mss: segment size in bytes; 0 gives 0
 * @a_milli: the paper's reduction factor a in thousandths; 0 counts as 1
 *
 * Above 2^32 bytes/s the rate is taken in units of 256 bytes/s (2^32 units at
 * most, so that the product with a 32-bit rtt fits) and 10^6 / 256 as 15625 / 4.
 *
 * Return: (BWE * RTTmin) / a in whole segments, saturated to 32 bits.
 */
static inline u32 bdp_pkts(u64 bytes_per_s, u32 rtt_us, u32 mss, u32 a_milli)
{
	u64 bytes;

	if (!mss)
		return 0;
	if (bytes_per_s <= U32_MAX)
		bytes = div_u64(bytes_per_s * rtt_us, FIXED_USEC_PER_SEC);
	else
		bytes = div_u64((min_t(u64, bytes_per_s, EWMA_MAX) >> 8) *
				rtt_us, 15625) * 4;
	bytes = div_u64(min_t(u64, bytes, U64_MAX / FIXED_MILLI) *
			FIXED_MILLI, a_milli ? a_milli : FIXED_MILLI);
	return fixed_sat_u32(div_u64(bytes, mss));
}

#endif /* HETCC_BDP_H */
