// SPDX-License-Identifier: GPL-2.0
/*
 * Distributions of sizes and times.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "dist.h"

#define MAX_PARAMETERS	3
#define MAX_VALUES	1000000
#define LINE_BYTES	256
#define MAX_LABEL	512	/* file and line, in error messages */
#define DRAW_LIMIT	1e15

/* The least mean of a Pareto distribution that is not all tail. */
#define MIN_SHAPE	1.01
#define MAX_SHAPE	100
#define MIN_SIGMA	0.001
#define MAX_SIGMA	10

struct form {
	const char *name;
	enum dist_kind kind;
	int needed, allowed;	/* parameters */
	const char *text;
};

static const struct form forms[] = {
	{ "const", DIST_CONST, 1, 1, "const:VALUE" },
	{ "exp", DIST_EXP, 1, 2, "exp:MEAN[:MAX]" },
	{ "pareto", DIST_PARETO, 2, 3, "pareto:MEAN:SHAPE[:MAX]" },
	{ "lognormal", DIST_LOGNORMAL, 2, 3, "lognormal:MEDIAN:SIGMA[:MAX]" },
	{ "uniform", DIST_UNIFORM, 2, 2, "uniform:LEAST:LARGEST" },
};

#define FORMS	(sizeof(forms) / sizeof(forms[0]))

static void add_value(struct dist *dist, double value)
{
	if (!(dist->count & (dist->count + 1))) {
		dist->values = realloc(dist->values, 2 * (dist->count + 1) *
						     sizeof(*dist->values));
		if (!dist->values)
			fatal("out of memory");
	}
	dist->values[dist->count++] = value;
}

static void parse_list(struct dist *dist, const char *name, const char *text,
		       double min, double max)
{
	char *copy = copy_string(text);
	char *rest = copy;
	char *value;

	while ((value = strsep(&rest, "/")))
		add_value(dist, parse_real(name, value, min, max));
	free(copy);
}

static void parse_file(struct dist *dist, const char *name, const char *path,
		       double min, double max)
{
	FILE *file = fopen(path, "re");
	char line[LINE_BYTES], label[MAX_LABEL];

	if (!file)
		usage_error("%s: %s: %s", name, path, strerror(errno));
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\r\n")] = '\0';
		snprintf(label, sizeof(label), "%s: %s, line %zu", name, path,
			 dist->count + 1);
		if (dist->count == MAX_VALUES)
			usage_error("%s: at most %d values", label, MAX_VALUES);
		add_value(dist, parse_real(label, line, min, max));
	}
	fclose(file);
	if (!dist->count)
		usage_error("%s: %s is empty", name, path);
}

static const struct form *find_form(const char *name, const char *text,
				    size_t length)
{
	size_t i;

	for (i = 0; i < FORMS; i++)
		if (strlen(forms[i].name) == length &&
		    !strncmp(forms[i].name, text, length))
			return &forms[i];
	usage_error("%s: \"%s\" is no distribution; they are const, exp, pareto, lognormal, uniform, list, file",
		    name, text);
}

static int parse_parameters(const struct form *form, const char *name,
			    const char *text, double found[MAX_PARAMETERS])
{
	char *copy = copy_string(text);
	char *rest = copy;
	char *value;
	int count = 0;

	while ((value = strsep(&rest, ":"))) {
		if (count == form->allowed)
			usage_error("%s: it is %s", name, form->text);
		found[count++] = parse_real(name, value, 0, DRAW_LIMIT);
	}
	free(copy);
	if (count < form->needed)
		usage_error("%s: it is %s", name, form->text);
	return count;
}

static void check_range(const char *name, const char *what, double value,
			double min, double max)
{
	if (value < min || value > max)
		usage_error("%s: %s %g is out of range; allowed are %g to %g",
			    name, what, value, min, max);
}

static void set_form(struct dist *dist, const struct form *form,
		     const char *name, const double *p, int count, double min,
		     double max)
{
	dist->kind = form->kind;
	dist->a = p[0];
	dist->b = form->allowed > 1 ? p[1] : 0;
	dist->max = count == form->allowed && form->kind != DIST_CONST &&
		    form->kind != DIST_UNIFORM ? p[count - 1] : max;
	check_range(name, "value", dist->a, min, max);
	check_range(name, "largest value", dist->max, min, max);
	if (form->kind == DIST_PARETO)
		check_range(name, "shape", dist->b, MIN_SHAPE, MAX_SHAPE);
	if (form->kind == DIST_LOGNORMAL)
		check_range(name, "sigma", dist->b, MIN_SIGMA, MAX_SIGMA);
	if (form->kind == DIST_UNIFORM)
		check_range(name, "largest value", dist->b, dist->a, max);
}

void dist_parse(struct dist *dist, const char *name, const char *text,
		double min, double max)
{
	double parameters[MAX_PARAMETERS] = { 0 };
	const char *colon = strchr(text, ':');
	const struct form *form = &forms[0];
	int count;

	memset(dist, 0, sizeof(*dist));
	if (colon && !strncmp(text, "list:", colon + 1 - text)) {
		dist->kind = DIST_LIST;
		parse_list(dist, name, colon + 1, min, max);
	} else if (colon && !strncmp(text, "file:", colon + 1 - text)) {
		dist->kind = DIST_LIST;
		parse_file(dist, name, colon + 1, min, max);
	} else {
		if (colon)
			form = find_form(name, text, colon - text);
		count = parse_parameters(form, name, colon ? colon + 1 : text,
					 parameters);
		set_form(dist, form, name, parameters, count, min, max);
	}
}

static double draw(struct dist *dist)
{
	double uniform, least;

	switch (dist->kind) {
	case DIST_CONST:
		return dist->a;
	case DIST_LOGNORMAL:
		return dist->a * exp(dist->b * rng_normal(&dist->rng));
	default:
		break;
	}
	uniform = rng_uniform(&dist->rng);
	switch (dist->kind) {
	case DIST_EXP:
		return -dist->a * log(uniform);
	case DIST_PARETO:
		least = dist->a * (dist->b - 1) / dist->b;
		return least * pow(uniform, -1 / dist->b);
	case DIST_UNIFORM:
		return dist->a + uniform * (dist->b - dist->a);
	default:
		return dist->values[(size_t)(uniform * dist->count)];
	}
}

double dist_draw(struct dist *dist)
{
	double value = draw(dist);

	return dist->kind != DIST_LIST && value > dist->max ? dist->max : value;
}

void dist_print(const char *text, uint64_t seed, int64_t count)
{
	struct dist dist;

	dist_parse(&dist, "--draw", text, 0, DRAW_LIMIT);
	rng_seed(&dist.rng, seed, 0, 0);
	while (count--)
		printf("%.9g\n", dist_draw(&dist));
}
