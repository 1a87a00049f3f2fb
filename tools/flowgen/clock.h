/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Time on CLOCK_MONOTONIC, which all network namespaces share, in nanoseconds.
 */
#ifndef FLOWGEN_CLOCK_H
#define FLOWGEN_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NSEC_PER_SEC	1000000000LL
#define NSEC_PER_MSEC	1000000LL
#define NSEC_PER_USEC	1000LL

/* Later than every instant of a run. */
#define TIME_NEVER	INT64_MAX

static inline int64_t timespec_to_ns(const struct timespec *ts)
{
	return ts->tv_sec * NSEC_PER_SEC + ts->tv_nsec;
}

static inline struct timespec ns_to_timespec(int64_t ns)
{
	struct timespec ts = {
		.tv_sec = ns / NSEC_PER_SEC,
		.tv_nsec = ns % NSEC_PER_SEC,
	};

	return ts;
}

static inline int64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return timespec_to_ns(&ts);
}

static inline int64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static inline double ns_to_sec(int64_t ns)
{
	return (double)ns / NSEC_PER_SEC;
}

/*
 * Sleep until an absolute time; one that is past returns at once.  Returns 0,
 * or EINTR after a signal.
 */
static inline int sleep_until(int64_t ns)
{
	struct timespec ts = ns_to_timespec(ns);

	return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

#endif /* FLOWGEN_CLOCK_H */
