// SPDX-License-Identifier: GPL-2.0
/*
 * flowgen: makes TCP and UDP flows at given times and records what the kernel
 * tells about them.
 *
 * The main thread sleeps until the next sample is due or the time of a flow is
 * up; there is no polling anywhere, because in virtual time a busy loop never
 * ends.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/timerfd.h>

#include "args.h"
#include "clock.h"
#include "dist.h"
#include "flow.h"
#include "help.h"
#include "netns.h"
#include "report.h"

#define DEFAULT_T0_DELAY	(100 * NSEC_PER_MSEC)
#define DEFAULT_SAMPLE_MS	"100"
#define MAX_SAMPLE_MS		3600000
#define DEFAULT_DRAWS		10
#define MAX_DRAWS		1000000000
#define MAX_NAME		32	/* of a flow, in error messages */
#define THREAD_STACK_BYTES	(128 << 10)
#define MAX_FDS			65536	/* connections under way at a time */

struct run run = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.until = TIME_NEVER,
};

static struct flow *flows;
static int flow_count;
static const char *out_path;
static volatile sig_atomic_t stopped;

/* What --draw prints. */
static struct {
	const char *text;
	int64_t seed;
	int64_t count;
} draws = { .count = DEFAULT_DRAWS };

static void use_options(const char *t0, const char *sample_ms)
{
	if (draws.text) {
		dist_print(draws.text, draws.seed, draws.count);
		exit(EXIT_SUCCESS);
	}
	run.sample_interval = NSEC_PER_MSEC *
		parse_integer("--sample-ms", sample_ms, 0, MAX_SAMPLE_MS);
	run.t0 = t0 ? parse_seconds("--t0", t0, 0, MAX_SECONDS) :
		      now_ns() + DEFAULT_T0_DELAY;
	if (!out_path)
		usage_error("--out is missing; it names the output file");
}

static void parse_options(int argc, char **argv)
{
	static const struct option options[] = {
		{ "t0", required_argument, NULL, 't' },
		{ "out", required_argument, NULL, 'o' },
		{ "sample-ms", required_argument, NULL, 's' },
		{ "until", required_argument, NULL, 'u' },
		{ "now", no_argument, NULL, 'n' },
		{ "draw", required_argument, NULL, 'd' },
		{ "seed", required_argument, NULL, 'S' },
		{ "count", required_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	const char *sample_ms = DEFAULT_SAMPLE_MS;
	const char *t0 = NULL;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 't':
			t0 = optarg;
			break;
		case 'o':
			out_path = optarg;
			break;
		case 's':
			sample_ms = optarg;
			break;
		case 'u':
			run.until = parse_seconds("--until", optarg, 0,
						  MAX_SECONDS);
			break;
		case 'n':
			printf("%.9f\n", ns_to_sec(now_ns()));
			exit(EXIT_SUCCESS);
		case 'd':
			draws.text = optarg;
			break;
		case 'S':
			draws.seed = parse_integer("--seed", optarg, 0, UINT32_MAX);
			break;
		case 'c':
			draws.count = parse_integer("--count", optarg, 1,
						    MAX_DRAWS);
			break;
		case 'h':
			fputs(flowgen_help, stdout);
			exit(EXIT_SUCCESS);
		default:
			usage_error("the options are wrong");
		}
	}
	use_options(t0, sample_ms);
}

static bool is_same(const struct flow *a, const struct flow *b)
{
	return a->id == b->id && a->role == b->role && a->proto == b->proto;
}

static void parse_flows(int count, char **texts)
{
	bool endless = true;
	int i, k;

	if (!count)
		usage_error("no FLOW is given");
	flows = allocate(count, sizeof(*flows));
	for (i = 0; i < count; i++) {
		flow_parse(&flows[i], i + 1, texts[i]);
		for (k = 0; k < i; k++)
			if (is_same(&flows[i], &flows[k]))
				usage_error("flow argument %d: id: %d is that of flow argument %d",
					    i + 1, (int)flows[i].id, k + 1);
		endless = endless && flow_is_passive(&flows[i]);
	}
	if (endless && run.until == TIME_NEVER)
		usage_error("--until is missing; receivers of UDP and workloads alone never end");
	flow_count = count;
}

/* A socket stays in the namespace where it is made, its thread need not. */
static void open_flow(struct flow *flow)
{
	char name[MAX_NAME];

	snprintf(name, sizeof(name), "flow %d: netns", (int)flow->id);
	if (flow->netns)
		netns_enter(flow->netns, name);
	flow->ops->open(flow);
	if (flow->netns)
		netns_leave();
}

static void open_flows(void)
{
	int i;

	for (i = 0; i < flow_count; i++)
		run.live += !flow_is_passive(&flows[i]);
	for (i = 0; i < flow_count; i++)
		open_flow(&flows[i]);
}

static void stop(int signal)
{
	(void)signal;
	stopped = 1;
	eventfd_write(run.changed, 1);
}

/* SIGINT and SIGTERM are as if --until were now.  Only main() gets them. */
static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = stop };
	sigset_t signals;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
}

/* The threads are not waited for: the end of the program ends them. */
static void start_thread(struct flow *flow)
{
	pthread_attr_t attr;
	pthread_t thread;
	int error;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, THREAD_STACK_BYTES);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	error = pthread_create(&thread, &attr, flow->ops->thread, flow);
	if (error)
		fatal("cannot create a thread: %s", strerror(error));
	pthread_attr_destroy(&attr);
}

/* With all signals blocked, which the threads inherit. */
static void start_threads(void)
{
	sigset_t signals;
	int i;

	sigfillset(&signals);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	for (i = 0; i < flow_count; i++)
		if (flows[i].state != FLOW_OVER)
			start_thread(&flows[i]);
}

static void __sample_flows(int64_t t)
{
	int i;

	for (i = 0; i < flow_count; i++)
		if (flows[i].state == FLOW_RUNNING)
			flows[i].ops->sample(&flows[i], t);
}

static void __stop_flow(struct flow *flow, int64_t t)
{
	bool in_time = flow->duration && flow->start + flow->duration <= t;

	if (flow->state == FLOW_CONNECTING)
		__flow_error(flow, flow->role == ROLE_SEND ? "connect" : "accept",
			     ETIMEDOUT);
	else
		__flow_end(flow, t, in_time ? "duration" : "until",
			   in_time && !flow->bytes && !flow->work.limit &&
			   !flow->work.write_count);
	if (flow->ops->abort)
		flow->ops->abort(flow);
}

static void __stop_flows(int64_t t)
{
	int i;

	for (i = 0; i < flow_count; i++)
		if (flows[i].state != FLOW_OVER &&
		    (t >= flows[i].stop_at || t >= run.until))
			__stop_flow(&flows[i], t);
}

static int64_t __next_event(int64_t next_sample)
{
	int64_t next = run.until < next_sample ? run.until : next_sample;
	int i;

	for (i = 0; i < flow_count; i++)
		if (flows[i].state != FLOW_OVER && flows[i].stop_at < next)
			next = flows[i].stop_at;
	return next;
}

/*
 * Sleep until some time or a change, without the lock.  None of these calls fails
 * when the time is up: in virtual time a call that fails takes a microsecond, in
 * which packets wait.  A time limit of poll() itself may be 0.1 % late.
 */
static void __wait_until(int64_t t)
{
	struct pollfd fds[] = {
		{ .fd = run.changed, .events = POLLIN },
		{ .fd = run.timer, .events = POLLIN },
	};
	struct itimerspec when = { 0 };
	eventfd_t count;

	if (t != TIME_NEVER)
		when.it_value = ns_to_timespec(run.t0 + t);
	pthread_mutex_unlock(&run.lock);
	timerfd_settime(run.timer, TFD_TIMER_ABSTIME, &when, NULL);
	if (poll(fds, 2, -1) > 0 && fds[0].revents)
		eventfd_read(run.changed, &count);
	pthread_mutex_lock(&run.lock);
}

/* Samples are due at the multiples of the interval, however late we are. */
static int64_t sample_after(int64_t t)
{
	if (!run.sample_interval)
		return TIME_NEVER;
	if (t < 0)
		return 0;
	return (t / run.sample_interval + 1) * run.sample_interval;
}

static void run_flows(void)
{
	int64_t next_sample = sample_after(-1);
	int64_t t;

	pthread_mutex_lock(&run.lock);
	while (!stopped && (run.live || run.until != TIME_NEVER)) {
		__wait_until(__next_event(next_sample));
		t = run_time();
		if (t >= next_sample) {
			__sample_flows(t);
			next_sample = sample_after(t);
		}
		__stop_flows(t);
		if (t >= run.until)
			break;
	}
	run.until = run_time();
	__stop_flows(run.until);
	report_close();
	/* The lock is kept: no thread writes to the output from here on. */
}

/* As many sockets as we may have: root may raise the limit, others reach it. */
static void allow_sockets(void)
{
	struct rlimit limit = { MAX_FDS, MAX_FDS };

	if (!setrlimit(RLIMIT_NOFILE, &limit) ||
	    getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int argc, char **argv)
{
	parse_options(argc, argv);
	parse_flows(argc - optind, argv + optind);
	report_open(out_path);
	allow_sockets();
	run.changed = eventfd(0, EFD_CLOEXEC);
	run.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (run.changed < 0 || run.timer < 0)
		fatal("eventfd, timerfd: %s", strerror(errno));
	/* The kernel may delay a wake-up by this much; threads inherit it. */
	prctl(PR_SET_TIMERSLACK, 1);
	open_flows();
	start_threads();
	catch_signals();
	if (run_time() > 0)
		warn("--t0 was %.3f s ago when all flows were ready",
		     ns_to_sec(run_time()));
	run_flows();
	return run.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
