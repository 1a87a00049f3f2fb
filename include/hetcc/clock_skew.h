/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How much faster the receiver's clock runs than the sender's.
 *
 * A fast receiver makes forward offsets (received minus sent) grow and reverse
 * ones (ACK's arrival minus received) shrink by as much; a longer path or a
 * queue does not. Once per epoch the least offset of the empty forward path and
 * the least of the reverse path are held against what the skew so far
 * predicts. What both agree on is skew, the rest is somebody's path.
 */
#ifndef HETCC_CLOCK_SKEW_H
#define HETCC_CLOCK_SKEW_H

#include "fixed.h"

/* Parts per billion: 1000 ppm, ten times a bad crystal, to 0.001 ppm */
#define CLOCK_SKEW_ONE		1000000000
#define CLOCK_SKEW_MAX		1000000
/* Remainder of a prediction: Q15 us */
#define CLOCK_SKEW_REM_SHIFT	15
#define CLOCK_SKEW_REM_ONE	((s32)1 << CLOCK_SKEW_REM_SHIFT)
/* Part of a residual that an epoch corrects */
#define CLOCK_SKEW_GAIN_SHIFT	1
/* Epochs below this say nothing: a tick of 1 ms is 1000 ppm of it */
#define CLOCK_SKEW_EPOCH_US	1000000U

/**
 * struct clock_skew - clock skew of a connection
 * @ppb: receiver's clock against the sender's, parts per billion
 * @rem: of the last advance, Q15 us, below 1 us
 * @lifted: what drains have lifted the base by, 64 us (santacruz_law.h)
 * @drained: the epoch began with a drain
 * @leapt: the window under which the next packets were sent is more than one above
 *	   the one before
 * @fell: the path has become shorter since the last drain began
 * @now_us: sender's time up to which everything is advanced
 * @begin_us: sender's time at which the epoch began
 * @fwd_us: least forward offset at the end of the previous epoch, advanced
 * @rev_us: least reverse offset of the previous epoch, advanced
 * @rev_min_us: least reverse offset of this epoch
 */
struct clock_skew {
	s32 ppb;
	s16 rem;
	u16 lifted:8,
	    drained:1,
	    leapt:1,
	    fell:1;
	u32 now_us;
	u32 begin_us;
	u32 fwd_us;
	u32 rev_us;
	u32 rev_min_us;
};

/**
 * clock_skew_begin() - start, with clocks that run alike
 * @k: skew
 * @now_us: sender's time
 * @fwd_us: least forward offset so far
 * @rev_us: a reverse offset
 */
static inline void clock_skew_begin(struct clock_skew *k, u32 now_us,
				    u32 fwd_us, u32 rev_us)
{
	*k = (struct clock_skew){
		.now_us = now_us,
		.begin_us = now_us,
		.fwd_us = fwd_us,
		.rev_us = rev_us,
		.rev_min_us = rev_us,
	};
}

/**
 * clock_skew_reverse() - account for a reverse offset
 * @k: skew
 * @rev_us: arrival of an ACK minus receiver's time of its packet
 */
static inline void clock_skew_reverse(struct clock_skew *k, u32 rev_us)
{
	if ((s32)(rev_us - k->rev_min_us) < 0)
		k->rev_min_us = rev_us;
}

/**
 * clock_skew_advance() - predict
 * @k: skew
 * @now_us: sender's time, at most 35 min after the previous call
 *
 * 10^6 * 2^31 us * 2^6 < 2^57. A remainder of 2^-15 us per call is lost.
 *
 * Return: what forward offsets have grown by since, in microseconds.
 */
static inline s32 clock_skew_advance(struct clock_skew *k, u32 now_us)
{
	s64 span_us = max_t(s32, (s32)(now_us - k->now_us), 0);
	s64 moved = div_s64(k->ppb * span_us * (CLOCK_SKEW_REM_ONE >> 9),
			    CLOCK_SKEW_ONE >> 9) + k->rem;
	s32 us = (s32)div_s64(moved, CLOCK_SKEW_REM_ONE);

	k->rem = (s16)(moved - (s64)us * CLOCK_SKEW_REM_ONE);
	k->now_us = now_us;
	k->fwd_us += us;
	k->rev_us -= us;
	return us;
}

/* What both ways say: same sign, the smaller of the two */
static inline s32 clock_skew_agree(s32 fwd_us, s32 rev_us)
{
	if ((fwd_us ^ rev_us) < 0)
		return 0;
	return fwd_us < 0 ? max_t(s32, fwd_us, rev_us) :
			    min_t(s32, fwd_us, rev_us);
}

/**
 * clock_skew_epoch() - compare and correct at the end of an epoch
 * @k: skew, advanced to the present; of this epoch's reverse offsets, at least one
 * @fwd_us: least forward offset of the path just emptied
 *
 * A residual over 1000 ppm of the epoch is no clock's. 2^31 us * 10^9 < 2^61.
 *
 * Return: what the empty path's offset has moved by beyond the prediction.
 */
static inline s32 clock_skew_epoch(struct clock_skew *k, u32 fwd_us)
{
	u32 span_us = k->now_us - k->begin_us;
	s32 us = clock_skew_agree((s32)(fwd_us - k->fwd_us),
				  (s32)(k->rev_us - k->rev_min_us));
	s64 ppb;

	if (span_us < CLOCK_SKEW_EPOCH_US)
		return 0;
	ppb = div_s64((s64)us * CLOCK_SKEW_ONE,
		      (s32)min_t(u32, span_us, S32_MAX));
	if (ppb > CLOCK_SKEW_MAX || ppb < -CLOCK_SKEW_MAX) {
		us = 0;
		ppb = 0;
	}
	ppb = k->ppb + ppb / (1 << CLOCK_SKEW_GAIN_SHIFT);
	k->ppb = (s32)clamp_t(s64, ppb, -CLOCK_SKEW_MAX, CLOCK_SKEW_MAX);
	k->begin_us = k->now_us;
	k->fwd_us = fwd_us;
	k->rev_us = k->rev_min_us;
	k->rev_min_us = k->rev_us + S32_MAX / 2;
	return us;
}

#endif /* HETCC_CLOCK_SKEW_H */
