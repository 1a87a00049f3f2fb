/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A small KTAP harness: a table of cases, one result line for each.
 *
 * A check that fails prints "# file:line: what: expected X, got Y" and the
 * case goes on; the first TAP_SHOWN of a case are shown, the others counted.
 * The text of a check is formatted only when it fails.
 */
#ifndef HETCC_TAP_H
#define HETCC_TAP_H

#include <math.h>
#include <stdio.h>

#include "prng.h"
#include "user_compat.h"

#define TAP_SHOWN	5
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/**
 * struct tap_case - one test case
 * @name: what holds if it passes
 * @run: makes the checks
 */
struct tap_case {
	const char *name;
	void (*run)(void);
};

/* Of the case that is running */
static unsigned long tap_checks;
static unsigned long tap_failures;

/* Return: the caller is to print what went wrong */
static inline bool tap_failed(const char *file, int line)
{
	if (++tap_failures > TAP_SHOWN)
		return false;
	printf("# %s:%d: ", file, line);
	return true;
}

/* The text says what should hold */
#define EXPECT_TRUE(condition, ...) do {				\
	tap_checks++;							\
	if (!(condition) && tap_failed(__FILE__, __LINE__)) {		\
		printf(__VA_ARGS__);					\
		printf(": expected true, got false\n");			\
	}								\
} while (0)

/* Unsigned integers */
#define EXPECT_EQ(got, want, ...) do {					\
	u64 got_ = (got), want_ = (want);				\
									\
	tap_checks++;							\
	if (got_ != want_ && tap_failed(__FILE__, __LINE__)) {		\
		printf(__VA_ARGS__);					\
		printf(": expected %llu, got %llu\n", want_, got_);	\
	}								\
} while (0)

/* Signed integers */
#define EXPECT_EQ_S(got, want, ...) do {				\
	s64 got_ = (got), want_ = (want);				\
									\
	tap_checks++;							\
	if (got_ != want_ && tap_failed(__FILE__, __LINE__)) {		\
		printf(__VA_ARGS__);					\
		printf(": expected %lld, got %lld\n", want_, got_);	\
	}								\
} while (0)

/* |got - want| <= tol; a NaN fails */
#define EXPECT_NEAR(got, want, tol, ...) do {				\
	double got_ = (double)(got), want_ = (double)(want);		\
	double tol_ = (tol);						\
									\
	tap_checks++;							\
	if (!(fabs(got_ - want_) <= tol_) &&				\
	    tap_failed(__FILE__, __LINE__)) {				\
		printf(__VA_ARGS__);					\
		printf(": expected %.10g +- %.4g, got %.10g\n",		\
		       want_, tol_, got_);				\
	}								\
} while (0)

/* lo <= got <= hi; a NaN fails */
#define EXPECT_IN(got, lo, hi, ...) do {				\
	double got_ = (double)(got);					\
	double lo_ = (double)(lo), hi_ = (double)(hi);			\
									\
	tap_checks++;							\
	if (!(got_ >= lo_ && got_ <= hi_) &&				\
	    tap_failed(__FILE__, __LINE__)) {				\
		printf(__VA_ARGS__);					\
		printf(": expected %.10g..%.10g, got %.10g\n",		\
		       lo_, hi_, got_);					\
	}								\
} while (0)

static inline bool tap_run_case(const struct tap_case *c, unsigned int number)
{
	tap_checks = 0;
	tap_failures = 0;
	prng_start(number);
	c->run();
	if (tap_failures > TAP_SHOWN)
		printf("# and %lu more\n", tap_failures - TAP_SHOWN);
	if (tap_failures)
		printf("# %lu of %lu checks failed\n", tap_failures,
		       tap_checks);
	if (!tap_checks)
		printf("# no check was made\n");
	printf("%s %u - %s\n", tap_failures || !tap_checks ? "not ok" : "ok",
	       number, c->name);
	fflush(stdout);
	return !tap_failures && tap_checks;
}

/**
 * tap_run() - run all cases
 * @cases: table
 * @n: rows of the table
 *
 * Return: exit status, 0 if all passed.
 */
static inline int tap_run(const struct tap_case *cases, unsigned int n)
{
	unsigned int i, passed = 0;

	printf("KTAP version 1\n1..%u\n# HETCC_SEED=%llu\n", n, prng_seed());
	for (i = 0; i < n; i++)
		passed += tap_run_case(&cases[i], i + 1);
	return passed == n ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* The program runs the cases of a table */
#define TAP_MAIN(cases)							\
	int main(void)							\
	{								\
		return tap_run(cases, ARRAY_SIZE(cases));		\
	}

#endif /* HETCC_TAP_H */
