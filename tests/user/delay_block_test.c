// SPDX-License-Identifier: GPL-2.0
/*
 * delay_block.h: how an interval is cut by the length of the one before, and the
 * least offset of each part.
 */
#include "hetcc/delay_block.h"
#include "tap.h"

#define PKT_US		50U
/* Times are cut to 64 us, and a block ends with a packet */
#define GRAIN_US	(64U + PKT_US)
/* Of a first interval, every packet is a block */
#define CUT_MAX		(4000000 / PKT_US + 1)

/**
 * struct cut - an interval in blocks
 * @begin_us: when each began
 * @min_us: least offset of each, above the first possible
 * @blocks: how many
 */
struct cut {
	u32 begin_us[CUT_MAX];
	u32 min_us[CUT_MAX];
	u32 blocks;
};

static struct cut cut;

/* A packet each PKT_US for @span_us, with offsets from @from_us on */
static void run_interval(struct delay_block *b, u32 span_us, u32 from_us)
{
	u32 i, *least, r_us = prng_u32();

	cut.blocks = 0;
	for (i = 0; i <= span_us; i += PKT_US) {
		u16 at = delay_block_at(r_us, r_us + i);
		u32 off_us = from_us + prng_range(0, 100000);

		if (!i || delay_block_is_over(b, at)) {
			delay_block_begin(b, i ? at : 0, off_us);
			cut.begin_us[cut.blocks] = i;
			cut.min_us[cut.blocks] = U32_MAX;
			cut.blocks++;
		}
		delay_block_add(b, off_us);
		off_us -= from_us;
		least = &cut.min_us[cut.blocks - 1];
		*least = min(*least, off_us);
		EXPECT_EQ(b->min_us - from_us, *least, "least of block %u",
			  cut.blocks - 1);
	}
	delay_block_cut(b, delay_block_at(r_us, r_us + i - PKT_US));
}

/* One interval after another of @span_us: equal parts, 5 ms at least, 32 at most */
static void equal_run(u32 span_us)
{
	struct delay_block b = { 0 };
	double fit = clamp((span_us - 64.0) / 5000, 1.0, 32.0);
	u32 i, len_us;

	span_us -= span_us % PKT_US;
	run_interval(&b, span_us, prng_u32());
	run_interval(&b, span_us, prng_u32());
	EXPECT_IN(cut.blocks, fmax(floor(fit) * 15 / 17 - 1, 1),
		  clamp(span_us / 5000, 1U, 32U),
		  "blocks of %u us", span_us);
	for (i = 1; i < cut.blocks; i++) {
		len_us = cut.begin_us[i] - cut.begin_us[i - 1];
		EXPECT_IN(len_us, DELAY_BLOCK_US - GRAIN_US, U32_MAX,
			  "%u us: block %u of %u", span_us, i, cut.blocks);
		EXPECT_IN(len_us, span_us / fit - GRAIN_US,
			  span_us / floor(fit) * 17 / 16 + 64 + GRAIN_US,
			  "%u us: block %u of %u", span_us, i, cut.blocks);
	}
}

/* A sixteenth to spare: an interval that is a little longer has no block more */
static void spare_run(u32 span_us)
{
	struct delay_block b = { 0 };
	double fit = clamp((span_us - 64.0) / 5000, 1.0, 32.0);

	span_us -= span_us % PKT_US;
	run_interval(&b, span_us, 0);
	run_interval(&b, span_us + span_us / 20, 0);
	EXPECT_IN(cut.blocks, 1, floor(fit), "a twentieth more than %u us",
		  span_us);
}

static void test_spare(void)
{
	int i;

	for (i = 0; i < 300; i++)
		spare_run(prng_log32(1000, 3900000));
}

static void test_equal(void)
{
	u32 span_us;
	int i;

	for (span_us = 0; span_us < 40000; span_us += PKT_US)
		equal_run(span_us);
	for (i = 0; i < 200; i++)
		equal_run(prng_log32(40000, 4000000));
}

static void test_first_interval(void)
{
	struct delay_block b = { 0 };

	run_interval(&b, 200 * PKT_US, 0);
	EXPECT_EQ(cut.blocks, 201, "nothing is known of its length");
}

/* The length is that of the interval before, whatever this one's is */
static void test_other_length(void)
{
	struct delay_block b = { 0 };
	u32 i;

	run_interval(&b, 51000, 0);
	run_interval(&b, 500000, 0);
	EXPECT_IN(cut.blocks, 80, 100, "ten blocks in 51 ms, ten times that");
	for (i = 1; i < cut.blocks; i++)
		EXPECT_IN(cut.begin_us[i] - cut.begin_us[i - 1], 5100 - GRAIN_US,
			  5100 * 17 / 16 + GRAIN_US, "block %u", i);
	run_interval(&b, 10000, 0);
	EXPECT_EQ(cut.blocks, 1, "less than a block of 15 ms");
}

static void test_at(void)
{
	static const struct {
		u32 after_us, want;
	} rows[] = {
		{ 0, 0 }, { 63, 0 }, { 64, 1 }, { 64 * 65535, 65535 },
		/* Saturates at 4 s; a time that goes back is the begin */
		{ 64 * 65536, 65535 }, { S32_MAX, 65535 },
		{ 1U << 31, 0 }, { U32_MAX, 0 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 from_us = prng_u32();

		EXPECT_EQ(delay_block_at(from_us, from_us + rows[i].after_us),
			  rows[i].want, "%u us after", rows[i].after_us);
	}
}

/* Of an interval that ends before it began, or lasts for 4 s and longer */
static void test_cut_edges(void)
{
	struct delay_block b = { 0 };

	delay_block_cut(&b, 0);
	EXPECT_EQ(b.len, DELAY_BLOCK_US / 64, "no time: 5 ms");
	delay_block_cut(&b, U16_MAX);
	EXPECT_IN(b.len * 64.0, 4.19e6 / 32, 4.2e6 / 32 * 17 / 16 + 64,
		  "4 s: a 32nd, a sixteenth to spare");
}

/* Offsets within 2^31 us are told apart, at any reading of the clocks */
static void test_offsets(void)
{
	struct delay_block b = { 0 };
	u32 i, base = prng_u32();

	delay_block_begin(&b, 0, base);
	delay_block_add(&b, base + S32_MAX);
	EXPECT_EQ(b.min_us, base, "above");
	for (i = 1; i < 100; i++) {
		delay_block_add(&b, base - i);
		EXPECT_EQ(b.min_us, base - i, "below by %u us", i);
	}
}

static const struct tap_case cases[] = {
	{ "equal blocks of 5 ms and more, 32 at most", test_equal },
	{ "a sixteenth to spare", test_spare },
	{ "of the first interval, every sample", test_first_interval },
	{ "as long as the interval before says", test_other_length },
	{ "times: edges, saturation, time that goes back", test_at },
	{ "length: edges", test_cut_edges },
	{ "offsets within 35 minutes, clocks that wrap", test_offsets },
};

TAP_MAIN(cases)
