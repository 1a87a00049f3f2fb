// SPDX-License-Identifier: GPL-2.0
/*
 * reldelay.h and santacruz_law.h closed into a loop over one bottleneck,
 * packet by packet: the queue comes to the operating point and stays.
 */
#include <string.h>

#include "hetcc/santacruz_law.h"
#include "tap.h"

#define ONE		QUEUE_PKTS_ONE
#define N_OP		(3 * ONE)
#define DELTA		(ONE / 2)
#define FLIGHT_MAX	16384
#define WINDOW_MIN	2U

enum mode { HOLD, RAISE, LOWER };

/**
 * struct loop - a sender, one FIFO bottleneck and a receiver
 * @rd: estimator
 * @service_ns: time the bottleneck takes for a packet
 * @rtt_ns: of the empty path, service included
 * @tick_us: of the receiver's clock
 * @phase_us: both clocks' distance
 * @ack_ns: when the ACK of a packet arrives, by its number
 * @send_ns: when the last packet was sent
 * @free_ns: when the bottleneck has sent all packets
 * @sent: packets sent so far
 * @window: packets
 * @cwnd_end: window at the end of the last and of the last but one interval
 * @before: window before the run of lowering
 * @first_us: delay at the first of the run
 * @mode: what the window does
 * @run: intervals in this mode before the current one
 * @rerouted: times that a queue passed for a path
 */
struct loop {
	struct reldelay rd;
	u64 service_ns;
	u64 rtt_ns;
	u32 tick_us;
	u32 phase_us;
	u64 ack_ns[FLIGHT_MAX];
	u64 send_ns;
	u64 free_ns;
	u64 sent;
	u32 window;
	u32 cwnd_end[2];
	u32 before;
	u32 first_us;
	enum mode mode;
	u32 run;
	u32 rerouted;
};

static struct loop loop;

static double bdp(void)
{
	return (double)loop.rtt_ns / (double)loop.service_ns;
}

/* What would stand in the queue in the long run, packets */
static double queue(void)
{
	return fmax(loop.window - bdp(), 0);
}

static double op(void)
{
	return (double)santacruz_law_op(loop.window, N_OP) / ONE;
}

/* As the kernel does it in congestion avoidance: 120 % of window per round trip */
static u64 paced_ns(void)
{
	u64 busy_ns = max(loop.free_ns, loop.send_ns) - loop.send_ns;

	return (loop.rtt_ns + busy_ns) * 5 / 6 / loop.window;
}

static void send_packet(void)
{
	u64 start_ns, r_us;

	loop.send_ns += paced_ns();
	if (loop.sent >= loop.window)
		loop.send_ns = max(loop.send_ns, loop.ack_ns[
				   (loop.sent - loop.window) % FLIGHT_MAX]);
	start_ns = max(loop.send_ns, loop.free_ns);
	loop.free_ns = start_ns + loop.service_ns;
	loop.ack_ns[loop.sent++ % FLIGHT_MAX] = loop.free_ns + loop.rtt_ns -
						loop.service_ns;
	r_us = loop.free_ns / 1000 / loop.tick_us * loop.tick_us;
	reldelay_sample(&loop.rd, (u32)(loop.send_ns / 1000),
			(u32)r_us + loop.phase_us, (u32)loop.sent);
}

static s32 predicted(void)
{
	s64 sent = (s64)loop.cwnd_end[1] * ONE;
	s64 step = (s64)loop.window * ONE - sent;

	if (!santacruz_law_shows(loop.rd.n, santacruz_law_op(loop.window, N_OP)))
		return loop.rd.n;
	return (s32)(loop.rd.n + step);
}

static enum mode choose(s32 point, s32 n)
{
	s32 tolerance = DELTA;

	if (loop.rd.n > point + tolerance)
		return LOWER;
	if (loop.rd.n >= point - tolerance)
		tolerance += ONE / 2;
	if (n > point + tolerance)
		return LOWER;
	return n < point - tolerance ? RAISE : HOLD;
}

static bool rerouted(void)
{
	struct santacruz_law_lowering d = {
		.before = loop.before,
		.sent = loop.cwnd_end[1],
		.first_us = loop.first_us,
		.now_us = (u32)max(reldelay_delay_us(&loop.rd), 0),
		.jump_us = (1U << loop.rd.jump) / 2,
		.pkts_ns = loop.rd.pkts_ns,
		.tick_us = loop.tick_us,
	};

	if (!loop.run || santacruz_law_delay_grows(&d)) {
		loop.before = loop.window;
		loop.first_us = d.now_us;
		return false;
	}
	return santacruz_law_path_changed(&d);
}

static void lower(s32 excess)
{
	if (rerouted()) {
		loop.rerouted++;
		loop.rd.base_us += (u32)reldelay_delay_us(&loop.rd);
		loop.window = max(loop.window, loop.before);
	} else if (excess > DELTA) {
		loop.window -= santacruz_law_lower(loop.window, excess);
		loop.window = max(loop.window, WINDOW_MIN);
	}
}

static void steer(void)
{
	s32 point = santacruz_law_op(loop.window, N_OP), n = predicted();
	enum mode mode = choose(point, n);

	loop.run = loop.mode == mode ? min(loop.run + 1, 15U) : 0;
	loop.mode = mode;
	if (mode == RAISE)
		loop.window += santacruz_law_raise(loop.window, loop.rd.n, point,
						   loop.run);
	else if (mode == LOWER)
		lower(n - point);
}

/* An interval: packets in flight when it begins, all of them received */
static void run_round(void)
{
	u32 i, pkts = loop.window;

	for (i = 0; i < pkts; i++)
		send_packet();
	reldelay_interval(&loop.rd, (u32)loop.sent);
	reldelay_settle(&loop.rd, (u32)(op() * loop.rd.pkts_ns / 1000));
	steer();
	loop.cwnd_end[1] = loop.cwnd_end[0];
	loop.cwnd_end[0] = loop.window;
	reldelay_restart(&loop.rd, loop.mode == LOWER);
}

/* Packets one by one have shown the empty path, at any phase of the tick */
static void learn_base(void)
{
	int i;

	for (i = 0; i < 400; i++) {
		send_packet();
		loop.send_ns += loop.rtt_ns + prng_u64() % 20000000;
	}
	reldelay_interval(&loop.rd, (u32)loop.sent);
	reldelay_restart(&loop.rd, false);
	loop.rd.steady = 1;
	loop.rd.n = 0;
}

static void start_loop(u32 pipe, u32 from, u64 service_ns, u32 tick_us)
{
	memset(&loop, 0, sizeof(loop));
	loop.service_ns = service_ns;
	loop.rtt_ns = pipe * service_ns + prng_u64() % service_ns;
	loop.tick_us = tick_us;
	loop.phase_us = prng_u32();
	loop.rd.tick_us = tick_us;
	reldelay_init(&loop.rd, false);
	loop.window = 1;
	learn_base();
	loop.window = from;
	loop.cwnd_end[0] = from;
	loop.cwnd_end[1] = from;
	loop.send_ns += loop.rtt_ns;
	loop.free_ns = 0;
}

#define STAYS	50

/*
 * Singly up to 32 packets, then by a 24th at least, and as long again for clumps
 * that pass for a queue to even out; down by half or the excess.
 */
static u32 rounds_bound(u32 pipe, u32 from)
{
	double up = from < pipe ? fmin(pipe - from, 32) +
		    fmax(log((double)pipe / max(from, 32U)), 0) * 24 : 0;

	return (u32)(2 * up) + 60;
}

/* A tick, and a microsecond for either clock, may be queue or not */
static double tolerance_pkts(void)
{
	double off_us = loop.tick_us > 1 ? loop.tick_us + 2 : 2;

	return 1 + off_us * 1000 / (double)loop.service_ns;
}

static void settle_run(u32 pipe, u32 from, u64 service_ns, u32 tick_us)
{
	u32 i, last = 0, bound = rounds_bound(pipe, from);

	start_loop(pipe, from, service_ns, tick_us);
	for (i = 1; i <= bound + STAYS; i++) {
		run_round();
		if (fabs(queue() - op()) > tolerance_pkts())
			last = i;
	}
	EXPECT_IN(last, 0, bound,
		  "pipe %u from %u, %llu ns a packet, tick %u us: rounds", pipe,
		  from, service_ns, tick_us);
	EXPECT_EQ(loop.rerouted, 0, "pipe %u from %u: paths", pipe, from);
}

/*
 * Of a round trip of one block, the level is that of its beginning: a queue that
 * grows shows a round later than the law counts on, and may swing.
 */
#define TWO_BLOCKS_NS	12000000ULL

static void settle_runs(u64 fastest_ns, u32 tick_us)
{
	int i;

	for (i = 0; i < 100; i++) {
		u32 pipe = prng_log32(5, 5000);
		u32 from = prng_log32(WINDOW_MIN, 2 * pipe);

		u64 least_ns = max(fastest_ns, TWO_BLOCKS_NS / pipe);

		settle_run(pipe, from, prng_log(least_ns, 10000000), tick_us);
	}
	settle_run(5, WINDOW_MIN, 3000000, tick_us);
	settle_run(5000, WINDOW_MIN, fastest_ns, tick_us);
	settle_run(5000, 10000, fastest_ns, tick_us);
}

/* A packet of 12000 bits takes 20 us at 600 Mbit/s */
static void test_settles(void)
{
	settle_runs(20000, 1);
}

/* Half the operating point is more than a tick */
static void test_settles_in_ticks(void)
{
	settle_runs(2000000, 1000);
}

static const struct tap_case cases[] = {
	{ "the queue comes to the point and stays, pipes of 5 to 5000",
	  test_settles },
	{ "the same, read in ticks of 1 ms", test_settles_in_ticks },
};

TAP_MAIN(cases)
