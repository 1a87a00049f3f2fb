// SPDX-License-Identifier: GPL-2.0
/*
 * scfuzz: a hostile TCP peer that speaks the Santa Cruz option.
 *
 * It has no socket: it writes and reads Ethernet frames on one end of a pair of
 * devices, whose other end belongs to the kernel, and runs the programs on the
 * kernel's sockets as well. Everything happens in turns, and the only clock is
 * virtual, so that a seed always gives the same run.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "app.h"
#include "args.h"
#include "backlog.h"
#include "conn.h"
#include "counters.h"
#include "moves.h"
#include "option.h"
#include "probe.h"
#include "ring.h"
#include "rng.h"
#include "watch.h"

#define MAX_COUNT	1000000000LL
#define BURST		16
#define OPENINGS	4	/* in a batch */
#define WORKS		20
#define DUMPED		24
#define SETTLE_STEP_US	1000000
#define SETTLE_STEPS	1200
#define MEMORY_SLACK	256	/* pages that the protocol keeps for the CPU */

enum role { ROLE_SEND, ROLE_RECV, ROLE_BOTH, ROLES };

static const char *const role_names[ROLES] = { "send", "recv", "both" };

static struct {
	uint64_t count, seed;
	enum role role;
	bool progress;
	const char *device;
} options = { .count = 100000, .seed = 1, .role = ROLE_BOTH, .device = "peer" };

static struct {
	uint64_t packets, batches, held;
	uint64_t virtual_us;
	bool stalled, reported, untransferred, unmoved, leaked;
} run;

uint64_t rng_state;

static const char help[] =
"usage: scfuzz [OPTION...]\n"
"\n"
"Plays a hostile peer of the Santa Cruz option against the kernel, on a device\n"
"that tests/option/fuzz/hostile.sh sets up, and prints what came of it as JSON.\n"
"\n"
"  --count N            packets to inject (default 100000)\n"
"  --seed S             of the random numbers (default 1)\n"
"  --ip 4|6             IP version (default 4)\n"
"  --role send|recv|both  whether the kernel sends data, receives it, or each on\n"
"                       half of the connections (default both)\n"
"  --device NAME        the peer's end (default peer)\n"
"  --progress           tell on standard error how far it is\n"
"  --help               print this text\n"
"\n"
"Exit status: 0; 1 when the kernel stalled, leaked, sent something wrong, did\n"
"not count or reported an error of its own; 2 when the command line is wrong.\n";

static enum role parse_role(const char *text)
{
	unsigned int i;

	for (i = 0; i < ROLES; i++)
		if (!strcmp(text, role_names[i]))
			return i;
	usage_error("--role: \"%s\" is none of send, recv, both", text);
}

static void set_option(int option)
{
	switch (option) {
	case 'c':
		options.count = parse_integer("--count", optarg, 1, MAX_COUNT);
		break;
	case 's':
		options.seed = parse_integer("--seed", optarg, 0, MAX_COUNT);
		break;
	case 'i':
		wire_ip = parse_integer("--ip", optarg, 4, 6);
		break;
	case 'r':
		options.role = parse_role(optarg);
		break;
	case 'd':
		options.device = optarg;
		break;
	case 'p':
		options.progress = true;
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
	static const struct option names[] = {
		{ "count", required_argument, NULL, 'c' },
		{ "seed", required_argument, NULL, 's' },
		{ "ip", required_argument, NULL, 'i' },
		{ "role", required_argument, NULL, 'r' },
		{ "device", required_argument, NULL, 'd' },
		{ "progress", no_argument, NULL, 'p' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	static const unsigned int share[ROLES] = { 100, 0, 50 };
	int option;

	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1)
		set_option(option);
	if (optind < argc || wire_ip == 5)
		usage_error("the arguments are wrong");
	conn_send_percent = share[options.role];
}

static void nap(uint64_t us)
{
	struct timespec time = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&time, NULL);
	run.virtual_us += us;
	conn_clock();
}

/* Mostly a fraction of a round trip, sometimes until timers have gone off */
static uint64_t any_pause_us(void)
{
	unsigned int kind = below(100);

	if (kind < 55)
		return between(10, 500);
	if (kind < 85)
		return between(500, 20000);
	return kind < 96 ? between(20000, 300000) : between(300000, 3000000);
}

static struct conn *any_open(void)
{
	struct conn *conn = &conns[below(CONNS)];

	return conn->state == CONN_OPEN ? conn : NULL;
}

static void flush(void)
{
	run.packets += ring_queued();
	ring_flush();
	conn_receive();
}

/* Connections whose handshake is not answered are given up now and then. */
static void open_some(void)
{
	unsigned int openings = OPENINGS, i;

	for (i = 0; i < CONNS && openings; i++) {
		if (conns[i].state == CONN_OPEN)
			continue;
		if (conns[i].state != CONN_FREE && !permille(20))
			continue;
		conn_drop(&conns[i]);
		conn_open(&conns[i]);
		openings--;
	}
}

static void hostile_batch(unsigned int packets)
{
	while (ring_queued() < packets) {
		struct conn *conn = any_open();
		unsigned int n = between(1, BURST);

		if (!conn && permille(20))
			return;
		while (conn && n-- && conn->state == CONN_OPEN)
			move(conn);
	}
}

/* The same while the kernel holds one of the sockets: to its backlog */
static void held_batch(void)
{
	struct conn *conn = any_open();
	unsigned int n = between(1, 200);

	if (!conn || conn->fd == NO_FD || conn->ending ||
	    !backlog_hold(conn->fd, percent(50)))
		return;
	run.held++;
	while (n-- && conn->moves)
		move(conn);
	flush();
	if (percent(10))
		nap(between(1, 1000000));
	backlog_release();
}

static void work(void)
{
	unsigned int n;

	app_accept();
	for (n = 0; n < WORKS; n++)
		app_work(&conns[below(CONNS)]);
}

static void tell(void)
{
	if (options.progress && run.batches % 1000 == 0)
		fprintf(stderr, "scfuzz: seed %" PRIu64 ": %" PRIu64
			" packets, %.0f s of virtual time\n", options.seed,
			run.packets, run.virtual_us / 1e6);
}

/* One turn; false if the run is over. */
static bool turn(void)
{
	run.batches++;
	open_some();
	hostile_batch(between(1, 400));
	flush();
	work();
	if (percent(30))
		held_batch();
	conn_receive();
	nap(any_pause_us());
	conn_receive();
	run.stalled = !probe_step();
	conn_receive();
	run.reported = watch_reports();
	tell();
	return !run.stalled && !run.reported && run.packets < options.count;
}

static bool settled(const struct sockets *from, const struct sockets *to)
{
	return to->inuse <= from->inuse && to->orphan <= from->orphan &&
	       to->tw <= from->tw && to->alloc <= from->alloc &&
	       to->mem <= from->mem + MEMORY_SLACK;
}

/* Close everything, and wait until the kernel has forgotten it. */
static void wind_up(const struct sockets *from, struct sockets *to)
{
	unsigned int i;

	for (i = 0; i < CONNS; i++)
		conn_drop(&conns[i]);
	probe_close();
	app_close();
	for (i = 0; i < SETTLE_STEPS; i++) {
		sockets_read(to);
		if (settled(from, to))
			return;
		nap(SETTLE_STEP_US);
		conn_receive();
		ring_flush();
	}
	run.leaked = true;
}

/* Each counter of the option that this role is bound to move */
static bool all_moved(const struct counters *from, const struct counters *to)
{
	static const char *const names[] = {
		"TCPSCEstab", "TCPSCMalformed", "TCPSCIgnored",
		"TCPSCStripped", "TCPSCSpurious",
	};
	unsigned int count = COUNT_OF(names) - (options.role == ROLE_RECV);
	unsigned int i;

	for (i = 0; i < count; i++)
		if (counter_grown(from, to, names[i]) <= 0)
			return false;
	return true;
}

static bool is_good(void)
{
	return !run.stalled && !run.reported && !run.untransferred &&
	       !run.unmoved && !run.leaked && !complaints;
}

static const char *text(bool value)
{
	return value ? "true" : "false";
}

static void print_work(void)
{
	const struct conn_totals *c = &conn_totals;

	printf("{\"ip\": %d, \"role\": \"%s\", \"seed\": %" PRIu64
	       ", \"packets\": %" PRIu64 ", \"with_options\": %" PRIu64
	       ", \"lively\": %" PRIu64 ", \"options\": %" PRIu64 ", \"batches\": %" PRIu64
	       ", \"backlogs\": %" PRIu64, wire_ip, role_names[options.role],
	       options.seed, run.packets, option_totals.packets,
	       option_totals.lively, option_totals.options, run.batches, run.held);
	printf(", \"connections\": %" PRIu64 ", \"established\": %" PRIu64
	       ", \"negotiated\": %" PRIu64 ", \"reset_by_kernel\": %" PRIu64
	       ", \"kernel_segments\": %" PRIu64 ", \"kernel_options\": %" PRIu64
	       ", \"kernel_faults\": %" PRIu64, c->opened, c->established,
	       c->with_option, c->reset, c->kernel_segments, c->kernel_options,
	       complaints);
	printf(", \"probes\": %" PRIu64 ", \"probe_slowest_ms\": %.1f"
	       ", \"virtual_s\": %.0f", probe_totals.rounds,
	       probe_totals.slowest_us / 1e3, run.virtual_us / 1e6);
}

static void print_sockets(const char *name, const struct sockets *s)
{
	printf(", \"%s\": {\"inuse\": %" PRId64 ", \"orphan\": %" PRId64
	       ", \"tw\": %" PRId64 ", \"alloc\": %" PRId64 ", \"mem\": %" PRId64
	       "}", name, s->inuse, s->orphan, s->tw, s->alloc, s->mem);
}

static void print_verdict(void)
{
	printf(", \"stalled\": %s, \"reported\": %s, \"transfer\": %s"
	       ", \"moved\": %s, \"leaked\": %s, \"ok\": %s}\n",
	       text(run.stalled), text(run.reported), text(!run.untransferred),
	       text(!run.unmoved), text(run.leaked), text(is_good()));
}

int main(int argc, char **argv)
{
	struct sockets sockets_from, sockets_to;
	struct counters from, to;

	parse_options(argc, argv);
	rng_state = options.seed * 2 + (wire_ip == 6);
	watch_open();
	ring_open(options.device);
	backlog_open();
	sockets_read(&sockets_from);
	app_open();
	probe_open();
	counters_read(&from);
	conn_clock();
	while (turn())
		;
	if (run.reported)
		ring_dump(stderr, DUMPED);
	wind_up(&sockets_from, &sockets_to);
	run.untransferred = !probe_transfer();
	counters_read(&to);
	run.unmoved = !all_moved(&from, &to);
	run.reported = watch_reports() || run.reported;
	print_work();
	printf(", \"counters\": ");
	counters_print(stdout, &from, &to);
	print_sockets("sockets_before", &sockets_from);
	print_sockets("sockets_after", &sockets_to);
	print_verdict();
	return is_good() ? EXIT_SUCCESS : EXIT_FAILURE;
}
