// SPDX-License-Identifier: GPL-2.0
/*
 * Making and showing the qdisc dualpi2, of which the headers and the tc of
 * Debian 12 know nothing.
 */
#include <linux/pkt_sched.h>
#include <stddef.h>
#include <string.h>

#include "args.h"
#include "dualpi2.h"

/* Of Linux 6.17's linux/pkt_sched.h. */
enum {
	DUALPI2_LIMIT = 1,
	DUALPI2_TARGET = 3,
	DUALPI2_TUPDATE = 4,
	DUALPI2_STEP_THRESH_US = 8,
	DUALPI2_COUPLING = 10,
	DUALPI2_ECN_MASK = 14,
};

struct dualpi2_xstats {
	uint32_t prob;
	uint32_t delay_c;
	uint32_t delay_l;
	uint32_t packets_in_c;
	uint32_t packets_in_l;
	uint32_t maxq;
	uint32_t ecn_mark;
	uint32_t step_marks;
	int32_t credit;
	uint32_t memory_used;
	uint32_t max_memory_used;
	uint32_t memory_limit;
};

/* Keys, the attributes that they are, and the largest values. */
static const struct {
	const char *key;
	uint16_t attribute;
	uint32_t high;
	size_t at;
	bool byte;
} keys[] = {
	{ "limit_pkts", DUALPI2_LIMIT, 10000000, offsetof(struct dualpi2_options, limit_pkts), false },
	{ "target_us", DUALPI2_TARGET, 10000000, offsetof(struct dualpi2_options, target_us), false },
	{ "tupdate_us", DUALPI2_TUPDATE, 1000000, offsetof(struct dualpi2_options, tupdate_us), false },
	{ "step_us", DUALPI2_STEP_THRESH_US, 4000000, offsetof(struct dualpi2_options, step_us), false },
	{ "coupling", DUALPI2_COUPLING, 255, offsetof(struct dualpi2_options, coupling), true },
	{ "ecn_mask", DUALPI2_ECN_MASK, 3, offsetof(struct dualpi2_options, ecn_mask), true },
};

#define KEYS	(sizeof(keys) / sizeof(*keys))

static uint32_t *field(struct dualpi2_options *o, size_t i)
{
	return (uint32_t *)((char *)o + keys[i].at);
}

int dualpi2_take(struct dualpi2_options *o, const char *key, const char *value)
{
	size_t i;

	for (i = 0; i < KEYS; i++) {
		if (strcmp(key, keys[i].key))
			continue;
		*field(o, i) = parse_integer(key, value, 1, keys[i].high);
		return 1;
	}
	return 0;
}

void dualpi2_make(const struct tc_place *at, const struct dualpi2_options *o)
{
	struct nlmsghdr *nlh = tc_begin(at, RTM_NEWQDISC, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL);
	struct nlattr *options = mnl_attr_nest_start(nlh, TCA_OPTIONS);
	struct dualpi2_options given = *o;
	size_t i;

	for (i = 0; i < KEYS; i++) {
		uint32_t value = *field(&given, i);

		if (value && keys[i].byte)
			mnl_attr_put_u8(nlh, keys[i].attribute, value);
		else if (value)
			mnl_attr_put_u32(nlh, keys[i].attribute, value);
	}
	mnl_attr_nest_end(nlh, options);
	tc_talk(at, nlh);
}

static void print_options(const struct nlattr *options)
{
	const struct nlattr *attr;
	const char *between = "";
	size_t i;

	mnl_attr_for_each_nested(attr, options)
		for (i = 0; i < KEYS; i++) {
			if (mnl_attr_get_type(attr) != keys[i].attribute)
				continue;
			printf("%s\"%s\":%u", between, keys[i].key,
			       keys[i].byte ? mnl_attr_get_u8(attr) : mnl_attr_get_u32(attr));
			between = ",";
		}
}

void dualpi2_show(const struct tc_place *at)
{
	struct dualpi2_xstats st = { 0 };
	const struct nlattr *options = tc_show(at, &st, sizeof(st));

	printf("{\"dev\":\"%s\",\"kind\":\"" DUALPI2_KIND "\",\"handle\":\"%x:\",", at->dev, at->handle >> 16);
	printf("\"packets_classic\":%u,\"packets_l4s\":%u,\"ecn_mark\":%u,\"step_marks\":%u,\"options\":{",
	       st.packets_in_c, st.packets_in_l, st.ecn_mark, st.step_marks);
	if (options)
		print_options(options);
	puts("}}");
	fflush(stdout);
}
