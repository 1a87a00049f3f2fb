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
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "args.h"
#include "clock.h"
#include "flow.h"
#include "netns.h"
#include "report.h"

#define DEFAULT_T0_DELAY	(100 * NSEC_PER_MSEC)
#define DEFAULT_SAMPLE_MS	"100"
#define MAX_SAMPLE_MS		3600000
#define MAX_NAME		32	/* of a flow, in error messages */
#define THREAD_STACK_BYTES	(128 << 10)

struct run run = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.until = TIME_NEVER,
};

static struct flow *flows;
static int flow_count;
static const char *out_path;
static volatile sig_atomic_t stopped;

static const char help[] =
"usage: flowgen [--t0 SECONDS] --out FILE [--sample-ms N] [--until SECONDS] FLOW...\n"
"       flowgen --now\n"
"\n"
"Makes TCP and UDP flows at given times and writes what the kernel tells about\n"
"them, one JSON object a line.\n"
"\n"
"  --t0 SECONDS     the time on CLOCK_MONOTONIC that is t = 0 of the run\n"
"                   (default: 0.1 s from now)\n"
"  --out FILE       the output; - is standard output\n"
"  --sample-ms N    sample all flows at t = 0, N, 2 N, ... ms; 0: never\n"
"                   (0 to 3600000, default 100)\n"
"  --until SECONDS  when to end the flows and the program, from t0 (default:\n"
"                   when all flows are over, UDP receivers aside)\n"
"  --now            print the time on CLOCK_MONOTONIC, in seconds\n"
"  --help           print this text\n"
"\n"
"A FLOW is a list of key=value with commas between them.  Times are in seconds\n"
"from t0, fractions allowed.  All flows:\n"
"  role=send|recv   needed\n"
"  proto=tcp|udp    (default tcp)\n"
"  id=N             name in the output, needed (0 to 65535)\n"
"  port=N           of the receiver, needed (1 to 65535)\n"
"  addr=IP          send: destination, needed; recv: where to listen (default:\n"
"                   all addresses)\n"
"  netns=PATH       network namespace, such as /run/netns/NAME (default: that of\n"
"                   the program); both ends in one flowgen is what costs least\n"
"Senders:\n"
"  src=IP, sport=N  own address and port (default: the kernel's choice)\n"
"  start=S          when to connect or send (default 0)\n"
"  duration=S       end at start + duration exactly (default 0: no limit)\n"
"  sndbuf=BYTES     SO_SNDBUF\n"
"TCP senders, which need duration, bytes or both:\n"
"  bytes=N          send so much, then a FIN (default 0: no limit)\n"
"  cc=NAME          congestion control (default: the system's)\n"
"  write=BYTES      size of each write (default 262144)\n"
"  notsent_lowat=BYTES, pace_mbit=R   TCP_NOTSENT_LOWAT, SO_MAX_PACING_RATE\n"
"TCP receivers, which accept one connection:\n"
"  rcvlowat=BYTES   wake up for so much data only (default: 1/16 of the\n"
"                   receive buffer, 1/8 of clamp, 200000, whichever is least);\n"
"                   a value near the window stalls the sender\n"
"  rcvbuf=BYTES, clamp=BYTES          SO_RCVBUF, TCP_WINDOW_CLAMP; the kernel\n"
"                   raises the clamp again unless rcvbuf is given, too\n"
"UDP senders, constant bit rate, which need duration or --until:\n"
"  rate_mbit=R      of IP packets, needed (0.001 to 100000)\n"
"  packet_bytes=N   length of an IP packet (36, IPv6: 56, to 65535; default 1000)\n"
"  on_s=S, off_s=S  pause for off_s after each on_s (default on_s=0: no pause)\n"
"UDP receivers:\n"
"  rcvbuf=BYTES     (default 8388608)\n"
"\n"
"Records, by their \"type\"; \"t\" is always from t0:\n"
"  start    a sender began to send\n"
"  sample   TCP sender     rsample  TCP receiver\n"
"  usent    UDP sender     usample  UDP receiver\n"
"  end      the last values; \"complete\" is true when all bytes are acknowledged,\n"
"           when the duration is over (without bytes), when the FIN came (recv);\n"
"           \"reason\" is bytes, duration, fin, reset, until or error\n"
"  error    a system call failed; a flow that never started has no end record\n"
"TCP counters are the kernel's: bytes_acked counts SYN and FIN, bytes_received\n"
"the FIN as one byte each.  Rates (_bps) are in bits per second.  UDP bytes are\n"
"those of IP packets.  null: not known or no limit.\n"
"\n"
"A flow that is ended by its duration or by --until is reset, so that no data is\n"
"sent after that; acknowledgments that still arrive are answered by further\n"
"resets.  A receiver waits for ever when all of them are lost, unless --until is\n"
"given.  SIGINT and SIGTERM end the run in good order.\n"
"\n"
"Exit status: 0, 1 when a system call failed, 2 when the command line is wrong.\n";

static void parse_options(int argc, char **argv)
{
	static const struct option options[] = {
		{ "t0", required_argument, NULL, 't' },
		{ "out", required_argument, NULL, 'o' },
		{ "sample-ms", required_argument, NULL, 's' },
		{ "until", required_argument, NULL, 'u' },
		{ "now", no_argument, NULL, 'n' },
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
		case 'h':
			fputs(help, stdout);
			exit(EXIT_SUCCESS);
		default:
			usage_error("the options are wrong");
		}
	}
	run.sample_interval = NSEC_PER_MSEC *
		parse_integer("--sample-ms", sample_ms, 0, MAX_SAMPLE_MS);
	run.t0 = t0 ? parse_seconds("--t0", t0, 0, MAX_SECONDS) :
		      now_ns() + DEFAULT_T0_DELAY;
	if (!out_path)
		usage_error("--out is missing; it names the output file");
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
		usage_error("--until is missing; UDP receivers alone never end");
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
	sem_post(&run.changed);
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
			   in_time && !flow->bytes);
	if (flow->ops->abort && flow->fd >= 0)
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
 * Sleep until some time or a change, without the lock.  A semaphore needs one
 * system call for that, a condition variable two.
 */
static void __wait_until(int64_t t)
{
	struct timespec ts;

	pthread_mutex_unlock(&run.lock);
	if (t == TIME_NEVER) {
		sem_wait(&run.changed);
	} else {
		ts = ns_to_timespec(run.t0 + t);
		sem_clockwait(&run.changed, CLOCK_MONOTONIC, &ts);
	}
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

int main(int argc, char **argv)
{
	parse_options(argc, argv);
	parse_flows(argc - optind, argv + optind);
	report_open(out_path);
	sem_init(&run.changed, 0, 0);
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
