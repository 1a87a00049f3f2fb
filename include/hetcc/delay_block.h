/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An interval cut into blocks of some milliseconds, and the smallest forward
 * offset of each.
 *
 * Jitter, aggregation, bursts, late ACKs and the receiver's tick lift offsets for
 * milliseconds; a queue of ours stands for a round trip. A short noise is not in
 * the minimum of a block, a queue that comes and goes is.
 *
 * Blocks are equal parts of an interval as long as the one before, 5 ms each at
 * least, 64 us less by rounding; of the first interval, every sample is a block.
 */
#ifndef HETCC_DELAY_BLOCK_H
#define HETCC_DELAY_BLOCK_H

#include "fixed.h"

#define DELAY_BLOCK_US		5000U
/* Blocks of an interval as long as the one before */
#define DELAY_BLOCK_MAX		32U
/* Times within an interval: 64 us, up to 4 s */
#define DELAY_BLOCK_SHIFT	6

/**
 * struct delay_block - the block under way
 * @min_us: smallest offset of it
 * @at: its begin since that of the interval, 64 us
 * @len: length of blocks, 64 us
 */
struct delay_block {
	u32 min_us;
	u16 at;
	u16 len;
};

/**
 * delay_block_at() - time within an interval
 * @from_us: its begin, receiver's clock
 * @r_us: time, receiver's clock
 *
 * Return: 64 us, at most 4 s; 0 if @r_us is before @from_us.
 */
static inline u16 delay_block_at(u32 from_us, u32 r_us)
{
	s32 at_us = max_t(s32, (s32)(r_us - from_us), 0);

	return (u16)min_t(u32, (u32)at_us >> DELAY_BLOCK_SHIFT, U16_MAX);
}

/**
 * delay_block_begin() - a sample opens a block
 * @b: block
 * @at: time within the interval, 64 us
 * @off_us: offset
 */
static inline void delay_block_begin(struct delay_block *b, u16 at, u32 off_us)
{
	b->at = at;
	b->min_us = off_us;
}

/**
 * delay_block_is_over() - does a sample belong to the next block?
 * @b: block
 * @at: time within the interval, 64 us
 */
static inline bool delay_block_is_over(const struct delay_block *b, u16 at)
{
	return at - b->at >= b->len;
}

/**
 * delay_block_add() - account for a sample within the block
 * @b: block
 * @off_us: offset
 */
static inline void delay_block_add(struct delay_block *b, u32 off_us)
{
	if ((s32)(off_us - b->min_us) < 0)
		b->min_us = off_us;
}

/**
 * delay_block_cut() - cut the next interval by the length of this one
 * @b: block
 * @at: when the interval ends, 64 us
 *
 * Equal blocks, and 1/16 to spare.
 */
static inline void delay_block_cut(struct delay_block *b, u32 at)
{
	u32 blocks = (at << DELAY_BLOCK_SHIFT) / DELAY_BLOCK_US;

	at /= clamp(blocks, 1U, DELAY_BLOCK_MAX);
	at = max_t(u32, at + at / 16 + 1, DELAY_BLOCK_US >> DELAY_BLOCK_SHIFT);
	b->len = (u16)min_t(u32, at, U16_MAX);
}

#endif /* HETCC_DELAY_BLOCK_H */
