// SPDX-License-Identifier: GPL-2.0
/*
 * hetprobe: samples queues and captures packets in several network namespaces.
 *
 * One thread sleeps until a sample or a look at the rings of captured packets
 * is due, which takes the fewest system calls: they are what costs in virtual
 * time.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "args.h"
#include "capture.h"
#include "clock.h"
#include "probe_args.h"
#include "queue.h"

/* How often rings are looked at: one holds half a second at 1 Gbit/s. */
#define CAPTURE_INTERVAL	(100 * NSEC_PER_MSEC)

#define DEFAULT_QUEUE_MS	"10"
#define MAX_QUEUE_MS		3600000

/*
 * A block that holds packets is handed over when two expiries of its timer find
 * it in use, so twice the time, and some jiffies.
 */
#define DRAIN_TIME		((2 * CAPTURE_BLOCK_MS + 100) * NSEC_PER_MSEC)

static struct {
	int64_t t0;
	int64_t until;		/* from t0 */
	int64_t interval;
	const char *dir;
	bool pcap;
	int64_t missed;		/* samples of the queues */
} options = { .t0 = -1, .until = -1 };

static volatile sig_atomic_t stopped;

static const char help[] =
"usage: hetprobe --t0 SECONDS --until SECONDS --out DIR [--queue-ms N] [--pcap]\n"
"                [--queue LABEL,NSPATH,IFNAME,PARENT]...\n"
"                [--capture LABEL,NSPATH,IFNAME,in|out]...\n"
"\n"
"Samples queues and captures packets in several network namespaces, and prints\n"
"\"ready\" on standard output once everything is open.\n"
"\n"
"  --t0 SECONDS     the time on CLOCK_MONOTONIC that is t = 0 of the run\n"
"  --until SECONDS  when to end, from t0\n"
"  --out DIR        directory of the output; made if it is not there\n"
"  --queue-ms N     sample all queues at t = 0, N, 2 N, ... ms (1 to 3600000,\n"
"                   default 10)\n"
"  --pcap           write DIR/LABEL.pcap for each capture, too\n"
"  --help           print this text\n"
"\n"
"LABEL is the name in the output.  NSPATH is the network namespace, such as\n"
"/proc/PID/ns/net or /run/netns/NAME.\n"
"\n"
"PARENT says which qdisc of the interface is meant; numbers are hexadecimal:\n"
"  root   the root qdisc (RTM_GETQDISC with tcm_parent = TC_H_ROOT)\n"
"  10:    the qdisc with this handle (tcm_handle = 10:)\n"
"  1:1    the qdisc below this class (tcm_parent = 1:1)\n"
"\n"
"DIR/queue.bin holds records of 40 bytes, DIR/LABEL.cap records of 48 bytes for\n"
"each TCP or UDP packet; DIR/queue.json and DIR/captures.json name the fields\n"
"and give their format in the notation of Python's struct module.  t_ns counts\n"
"from t0.\n"
"\n"
"A queue record's label is an index into \"labels\".  Its t_ns is when the sample\n"
"was due; one that would be late by N ms is left out and counted as \"missed\".\n"
"A packet's wire is the length of the IP packet, payload that of the data behind\n"
"the TCP or UDP header; src16 and dst16 are the last 16 bits of the addresses.\n"
"For UDP, seq is the counter of flowgen; in packets of others, QUIC's above all,\n"
"four bytes from the 25th of the payload on, 4294967295 in shorter ones.\n"
"\n"
"Captures see a packet on its way out after it has left the queue.  Packets that\n"
"were lost because a ring was full are reported on standard error and counted in\n"
"captures.json as \"dropped\".  Reading the last packets takes up to 2.1 s after\n"
"--until.  SIGINT and SIGTERM are as if --until were then.\n"
"\n"
"Needs CAP_SYS_ADMIN (namespaces), CAP_NET_ADMIN and CAP_NET_RAW.\n"
"Exit status: 0, 1 when something failed, 2 when the command line is wrong.\n";

static void parse_option(int option, const char *value)
{
	switch (option) {
	case 't':
		options.t0 = parse_seconds("--t0", value, 0, MAX_SECONDS);
		break;
	case 'u':
		options.until = parse_seconds("--until", value, 0, MAX_SECONDS);
		break;
	case 'o':
		options.dir = value;
		break;
	case 'm':
		options.interval = NSEC_PER_MSEC *
			parse_integer("--queue-ms", value, 1, MAX_QUEUE_MS);
		break;
	case 'q':
		queue_add(value);
		break;
	case 'c':
		capture_add(value);
		break;
	case 'p':
		options.pcap = true;
		break;
	case 'h':
		fputs(help, stdout);
		exit(EXIT_SUCCESS);
	default:
		usage_error("the options are wrong");
	}
}

static void parse_options(int argc, char **argv)
{
	static const struct option known[] = {
		{ "t0", required_argument, NULL, 't' },
		{ "until", required_argument, NULL, 'u' },
		{ "out", required_argument, NULL, 'o' },
		{ "queue-ms", required_argument, NULL, 'm' },
		{ "queue", required_argument, NULL, 'q' },
		{ "capture", required_argument, NULL, 'c' },
		{ "pcap", no_argument, NULL, 'p' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int option;

	parse_option('m', DEFAULT_QUEUE_MS);
	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1)
		parse_option(option, optarg);
	if (optind < argc)
		usage_error("\"%s\" is not an option", argv[optind]);
	if (options.t0 < 0)
		usage_error("--t0 is missing; it is a time on CLOCK_MONOTONIC in seconds");
	if (options.until < 0)
		usage_error("--until is missing; it is a time from --t0 in seconds");
	if (!options.dir)
		usage_error("--out is missing; it names the output directory");
	if (!queue_count() && !capture_count())
		usage_error("no --queue and no --capture is given");
}

static void stop(int signal)
{
	(void)signal;
	stopped = 1;
}

static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = stop };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/*
 * The timer's period divides the sampling interval, and is short enough for the
 * rings.  Intervals are whole milliseconds, so the search ends soon.
 */
static int64_t timer_period(void)
{
	int64_t parts = (options.interval + CAPTURE_INTERVAL - 1) /
			CAPTURE_INTERVAL;

	if (!queue_count())
		return CAPTURE_INTERVAL;
	if (!capture_count())
		return options.interval;
	while (options.interval % parts)
		parts++;
	return options.interval / parts;
}

/* A start at 0 would mean that the timer is off. */
static int start_timer(int64_t period)
{
	struct itimerspec spec = {
		.it_value = ns_to_timespec(options.t0 ? options.t0 : 1),
		.it_interval = ns_to_timespec(period),
	};
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	if (timer < 0 ||
	    timerfd_settime(timer, TFD_TIMER_ABSTIME, &spec, NULL))
		fatal("cannot start a timer: %s", strerror(errno));
	return timer;
}

/*
 * Do what is due at time t.  A sample that was due before t is missed: it would
 * be late by a period or more.
 */
static void probe_at(int64_t t)
{
	static int64_t next_sample, next_read = CAPTURE_INTERVAL;

	if (t >= next_sample) {
		options.missed += t / options.interval + 1 -
				  next_sample / options.interval;
		if (t % options.interval == 0) {
			queue_sample(t);
			options.missed--;
		}
		next_sample = (t / options.interval + 1) * options.interval;
	}
	if (t >= next_read) {
		capture_read();
		next_read = t + CAPTURE_INTERVAL;
	}
}

/*
 * Reading the timer waits for it and tells how many periods have passed, which
 * saves asking for the time.
 */
static void probe(void)
{
	int64_t period = timer_period();
	int64_t t = -period;
	int timer = start_timer(period);
	uint64_t periods;

	while (!stopped && t + period <= options.until) {
		if (read(timer, &periods, sizeof(periods)) < 0)
			continue;
		t += periods * period;
		if (t <= options.until)
			probe_at(t);
	}
	close(timer);
	if (!stopped)
		sleep_until(options.t0 + options.until);
	if (options.missed && queue_count())
		warn("%lld samples of the queues were missed",
		     (long long)options.missed);
}

/* Packets of the last block are still with the kernel. */
static void drain(void)
{
	if (capture_count())
		sleep_until(now_ns() + DRAIN_TIME);
}

static void open_all(void)
{
	if (mkdir(options.dir, 0777) && errno != EEXIST)
		fatal("--out %s: %s", options.dir, strerror(errno));
	queue_open(options.dir);
	capture_open(options.dir, options.pcap, options.t0, options.until);
	prctl(PR_SET_TIMERSLACK, 1);
}

int main(int argc, char **argv)
{
	int failed;

	parse_options(argc, argv);
	catch_signals();
	open_all();
	puts("ready");
	fflush(stdout);
	probe();
	drain();
	failed = queue_close(options.dir, options.missed);
	failed |= capture_close(options.dir);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
