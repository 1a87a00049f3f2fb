/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Distributions of sizes and times, as NAME:PARAMETER:... on the command line.
 */
#ifndef FLOWGEN_DIST_H
#define FLOWGEN_DIST_H

#include <stddef.h>
#include <stdint.h>

#include "rng.h"

enum dist_kind {
	DIST_CONST,
	DIST_EXP,
	DIST_PARETO,
	DIST_LOGNORMAL,
	DIST_UNIFORM,
	DIST_LIST,
};

struct dist {
	enum dist_kind kind;
	double a;		/* value, mean, median or least */
	double b;		/* shape, sigma or largest */
	double max;		/* larger draws become this */
	double *values;		/* of a list; each as likely as any other */
	size_t count;
	struct rng rng;
};

/*
 * Read a distribution: const:V or V, exp:MEAN[:MAX], pareto:MEAN:SHAPE[:MAX],
 * lognormal:MEDIAN:SIGMA[:MAX], uniform:LEAST:LARGEST, list:V/V/..., file:PATH
 * (one value a line).  Values, means and medians lie between min and max.
 * Exits with a message that begins with the name when it is wrong.
 */
void dist_parse(struct dist *dist, const char *name, const char *text,
		double min, double max);

/* The next value. */
double dist_draw(struct dist *dist);

/* Print draws, one a line: flowgen --draw. */
void dist_print(const char *text, uint64_t seed, int64_t count);

#endif /* FLOWGEN_DIST_H */
