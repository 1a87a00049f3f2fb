// SPDX-License-Identifier: GPL-2.0
/*
 * santacruz_paper.h, driven by test_santacruz_paper.py: a line of stdin is a call, a line
 * of stdout what it left.
 *
 *   S s_us r_us delivered		a packet was acknowledged
 *   I delivered n_op delta tick_us	an interval is over
 *   O delivered n_op			does slow start end?
 *   B delivered pkts			an interval of so many packets begins
 *   W delivered window limited		the window's step, if it is time
 *   T					a timeout
 */
#include <stdio.h>
#include <string.h>

#include "hetcc/santacruz_paper.h"

static u32 call(struct santacruz_paper *e, char op, const long long *a)
{
	switch (op) {
	case 'S':
		santacruz_paper_sample(e, (u32)a[0], (u32)a[1], (u32)a[2]);
		return 0;
	case 'I':
		return santacruz_paper_interval(e, (u32)a[0], (s32)a[1],
						(s32)a[2], (u32)a[3]);
	case 'O':
		return santacruz_paper_startup_over(e, (u32)a[0], (s32)a[1]);
	case 'B':
		santacruz_paper_begin(e, (u32)a[0], (u32)a[1]);
		return 0;
	case 'W':
		return santacruz_paper_step(e, (u32)a[0], (u32)a[1], a[2]);
	default:
		santacruz_paper_timeout(e);
		return 0;
	}
}

int main(void)
{
	struct santacruz_paper e;
	char line[128], op;

	memset(&e, 0, sizeof(e));
	while (fgets(line, sizeof(line), stdin)) {
		long long a[4] = { 0 };
		u32 answer;

		if (sscanf(line, "%c %lld %lld %lld %lld", &op, &a[0], &a[1],
			   &a[2], &a[3]) < 1)
			return 1;
		answer = call(&e, op, a);
		printf("%u %d %u %d %u %u %u %d\n", answer, e.n, e.pkts_ns,
		       e.sum_us, e.count, e.mode, e.startup,
		       santacruz_paper_reached((u32)a[0], e.end));
	}
	return 0;
}
