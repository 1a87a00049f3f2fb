/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A sender, one FIFO bottleneck, a receiver and the way of its ACKs, event by
 * event in floating point. It feeds bw_busy.h with what a sender knows: when
 * an ACK came, what it delivered, and the round trip of its newest packet.
 *
 * Packets are counted by transmission. The order of the path is kept, so a
 * transmission is lost once three later ones are acknowledged. An ACK that
 * acknowledges repaired data has no round trip (Karn).
 */
#ifndef HETCC_BOTTLENECK_H
#define HETCC_BOTTLENECK_H

#include <math.h>
#include <string.h>

#include "hetcc/bw_busy.h"
#include "prng.h"

#define NET_MSS		1448
#define NET_PKTS	(1U << 17)
#define NET_DUPTHRESH	3
#define NET_ACK_BYTES	66
/* Two segments make an ACK, one waits so long (Linux: 40 ms) */
#define NET_DELAYED_US	40000.0
/* Stacks gather a bunch for so long */
#define NET_GATHER_US	1000.0
#define NET_BUNCH	44
/* Nothing came back: the sender gives all up */
#define NET_RTO_US	1e6

enum net_acks { ACK_EACH, ACK_DELAYED, ACK_HELD, ACK_THINNED, ACK_MERGED,
		ACK_REVERSE, ACK_KINDS };

/* One ACK on its way: it arrives at @at_us for all up to @newest */
struct net_ack {
	double at_us;
	u32 newest;
	u32 received;
};

/* A transmission; @dropped: of all before it and itself */
struct net_pkt {
	double sent_us;
	u32 dropped;
	bool repair;
};

/**
 * struct net - the path and what is on it; times in microseconds
 * @rate: of the bottleneck, bytes per second
 * @prop_us: round trip without queue and service
 * @buffer_us: longest queue
 * @loss: part of the packets that is lost at random
 * @loss_every: and each so many-th; 0: none
 * @acks: what becomes of ACKs
 * @hold_us: ACK_HELD: released at multiples; ACK_REVERSE: bursts of others
 * @segment: bytes of a packet
 * @window: packets in flight at most
 * @window_max: slow start until there
 * @pace_us: packets are so far apart at least; 0: not paced
 * @app_pkts: the application writes so many ...
 * @app_us: ... so often; 0: always more
 * @train_permille: shortest train, of the minimum round trip
 * @alpha_permille: of the filter
 * @clock_us: sender's clock at time 0
 */
struct net {
	double rate;
	double prop_us;
	double buffer_us;
	double loss;
	u32 loss_every;
	enum net_acks acks;
	double hold_us;
	u32 segment;
	u32 window;
	u32 window_max;
	double pace_us;
	u32 app_pkts;
	double app_us;
	u32 train_permille;
	u32 alpha_permille;
	u32 clock_us;

	/* bottleneck, receiver and the ACKs' way */
	double free_us;
	double reverse_us;
	double burst_us;
	double last_ack_us;
	double deadline_us;
	u32 received;
	u32 newest;
	u32 pending;
	u32 bunch;
	struct net_ack ack[NET_PKTS];
	u32 ack_in;
	u32 ack_out;

	/* sender */
	struct net_pkt pkt[NET_PKTS];
	double now_us;
	double write_us;
	double pace_next_us;
	u32 sent;
	u32 delivered;
	u32 lost;
	u32 repairs;
	u32 backlog;
	u32 limited_until;
	u32 acked_newest;
	u32 rtt_min_us;

	/* what is measured */
	struct bw_busy busy;
	u64 low;
	u64 high;
	u32 taken;
};

static struct net net;

static double net_service_us(void)
{
	return net.segment / net.rate * 1e6;
}

/* Packets that fill the empty path */
static double net_bdp(void)
{
	return net.prop_us / net_service_us() + 1;
}

static u64 net_estimate(void)
{
	return bw_busy_get(&net.busy);
}

/* The extremes of the estimate count from here on */
static void net_watch(void)
{
	net.low = net_estimate();
	net.high = net_estimate();
	net.taken = 0;
}

/* An estimate that was made elsewhere */
static void net_believe(double rate, bool proven)
{
	net.busy.avg.scaled = (u64)rate << EWMA_SHIFT;
	net.busy.proven = proven;
	net_watch();
}

/* The ACK leaves the receiver */
static void net_release(double at_us)
{
	struct net_ack *a = &net.ack[net.ack_in++ % NET_PKTS];

	net.pending = 0;
	net.last_ack_us = fmax(net.last_ack_us, at_us + net.prop_us);
	*a = (struct net_ack){ net.last_ack_us, net.newest, net.received };
}

/* Bursts of the reverse traffic are whole: an ACK waits for the end of one */
static double net_reverse(double at_us)
{
	while (net.burst_us <= at_us) {
		net.reverse_us = fmax(net.reverse_us, net.burst_us) +
				 net.hold_us * prng_unit();
		net.burst_us += 4 * net.hold_us * prng_unit();
	}
	net.reverse_us = fmax(net.reverse_us, at_us) +
			 NET_ACK_BYTES / net.rate * 1e6;
	return net.reverse_us;
}

static void net_await(double at_us, u32 pkts, double wait_us)
{
	if (++net.pending >= pkts)
		net_release(at_us);
	else if (net.pending == 1)
		net.deadline_us = at_us + wait_us;
}

static void net_thin(double at_us)
{
	if (prng_u32() & 1)
		net_release(at_us);
	else
		net_await(at_us, NET_PKTS, 5 * NET_DELAYED_US);
}

static void net_gather(double at_us)
{
	if (!net.pending)
		net.bunch = prng_range(1, NET_BUNCH);
	net_await(at_us, net.bunch, NET_GATHER_US);
}

static void net_expire(double at_us)
{
	if (net.pending && net.deadline_us <= at_us)
		net_release(net.deadline_us);
}

static void net_receive(double at_us, u32 number)
{
	net_expire(at_us);
	net.received++;
	net.newest = number;
	switch (net.acks) {
	case ACK_DELAYED:
		return net_await(at_us, 2, NET_DELAYED_US);
	case ACK_HELD:
		return net_release(ceil(at_us / net.hold_us) * net.hold_us);
	case ACK_THINNED:
		return net_thin(at_us);
	case ACK_MERGED:
		return net_gather(at_us);
	case ACK_REVERSE:
		return net_release(net_reverse(at_us));
	default:
		return net_release(at_us);
	}
}

static u32 net_dropped(u32 number)
{
	return net.pkt[number % NET_PKTS].dropped;
}

/* Return: the stack repairs a loss before it sends new data */
static bool net_is_repair(void)
{
	bool repair = net.repairs > 0;

	net.repairs -= repair;
	return repair;
}

static bool net_is_lost(u32 number)
{
	return prng_unit() < net.loss ||
	       (net.loss_every && number % net.loss_every == 0);
}

static void net_transmit(void)
{
	double wait_us = fmax(net.free_us - net.now_us, 0);
	u32 number = ++net.sent;
	bool drop = net_is_lost(number) || wait_us > net.buffer_us;
	struct net_pkt *p = &net.pkt[number % NET_PKTS];

	p->sent_us = net.now_us;
	p->dropped = net_dropped(number - 1) + drop;
	p->repair = net_is_repair();
	net.pace_next_us = fmax(net.pace_next_us, net.now_us) + net.pace_us;
	if (net.app_us)
		net.backlog--;
	if (drop)
		return;
	net.free_us = net.now_us + wait_us + net_service_us();
	net_receive(net.free_us, number);
}

static u32 net_in_flight(void)
{
	return net.sent - net.delivered - net.lost;
}

static bool net_has_data(void)
{
	return (!net.app_us || net.backlog) && net_in_flight() < net.window;
}

static void net_send(void)
{
	while (net_has_data() && net.pace_next_us <= net.now_us)
		net_transmit();
}

static u32 net_stamp(double at_us)
{
	return net.clock_us + (u32)(u64)at_us;
}

/* Return: round trip of the newest packet, 0 if repaired data is among it */
static u32 net_rtt_us(u32 newest)
{
	u32 i;

	for (i = net.acked_newest + 1; i <= newest; i++)
		if (net.pkt[i % NET_PKTS].repair)
			return 0;
	return net_stamp(net.now_us) -
	       net_stamp(net.pkt[newest % NET_PKTS].sent_us);
}

static void net_estimator(u32 pkts, u32 lost, u32 rtt_us)
{
	struct bw_busy_ack a = {
		.now_us = net_stamp(net.now_us),
		.bytes = pkts * net.segment,
		.lost = lost * net.segment,
		.rtt_us = rtt_us,
		.limited = net.limited_until > 0,
	};

	if (rtt_us)
		net.rtt_min_us = min(net.rtt_min_us, rtt_us);
	a.rtt_min_us = net.rtt_min_us;
	a.train_us = fixed_mul_div(net.rtt_min_us, net.train_permille, 1000);
	a.alpha_permille = net.alpha_permille;
	net.taken += bw_busy_add(&net.busy, &a);
	net.low = min(net.low, net_estimate());
	net.high = max(net.high, net_estimate());
	if (!net_in_flight())
		bw_busy_pause(&net.busy);
}

static void net_ack(void)
{
	struct net_ack a = net.ack[net.ack_out++ % NET_PKTS];
	u32 pkts = a.received - net.delivered, lost = net.lost, rtt_us;

	if (!pkts)
		return;
	rtt_us = net_rtt_us(a.newest);
	net.acked_newest = a.newest;
	net.delivered = a.received;
	if (a.newest > NET_DUPTHRESH)
		net.lost = max(net.lost, net_dropped(a.newest - NET_DUPTHRESH));
	net.repairs += net.lost - lost;
	net_estimator(pkts, net.lost - lost, rtt_us);
	if (net.delivered > net.limited_until)
		net.limited_until = 0;
	net.window = min(net.window + pkts, max(net.window_max, net.window));
}

/* When the next thing happens that is not an ACK */
static double net_wake_us(void)
{
	double at_us = net.app_us ? net.write_us : INFINITY;

	if (net.pending)
		at_us = fmin(at_us, net.deadline_us);
	if (net_has_data())
		at_us = fmin(at_us, net.pace_next_us);
	return at_us;
}

/* As tcp_rate_check_app_limited(): there was room, and nothing to send */
static void net_write(void)
{
	if (!net.backlog && net_in_flight() < net.window)
		net.limited_until = max(net.delivered + net_in_flight(), 1U);
	net.write_us += net.app_us;
	net.backlog += net.app_pkts;
}

static void net_wake(void)
{
	net_expire(net.now_us);
	if (net.app_us && net.write_us <= net.now_us)
		net_write();
}

/* All in flight is lost, and the sender has no word of it */
static void net_timeout(void)
{
	net.now_us += NET_RTO_US;
	net.lost = net.sent - net.delivered;
	bw_busy_pause(&net.busy);
}

/* Return: something happened before @until_us */
static bool net_step(double until_us)
{
	bool acks = net.ack_in != net.ack_out;
	double ack_us = acks ? net.ack[net.ack_out % NET_PKTS].at_us : INFINITY;
	double at_us = fmin(ack_us, net_wake_us());

	if (at_us > until_us && isfinite(at_us))
		return false;
	if (isinf(at_us)) {
		net_timeout();
	} else {
		net.now_us = at_us;
		if (ack_us <= at_us)
			net_ack();
		else
			net_wake();
	}
	net_send();
	return true;
}

static void net_run(double us)
{
	double until_us = net.now_us + us;

	net_send();
	while (net_step(until_us))
		;
	net.now_us = fmax(net.now_us, until_us);
}

/* Return: so many samples were taken within @us */
static bool net_run_samples(u32 samples, double us)
{
	double until_us = net.now_us + us;

	samples += net.taken;
	net_send();
	while (net.taken < samples && net_step(until_us))
		;
	return net.taken >= samples;
}

/* Packets of many segments, as hosts send them, where the path holds many */
static u32 net_segment(double rate, double us)
{
	double pkts = rate * us / 1e6 / NET_MSS;

	return NET_MSS * (u32)fmin(fmax(ceil(pkts / 1000), 1), NET_BUNCH);
}

/**
 * net_start() - an empty path
 * @rate: bytes per second
 * @rtt_us: round trip without queue and service
 * @acks: what becomes of ACKs
 * @hold_us: of those kinds that need it
 *
 * Sent is what the window allows; twice what fills the path.
 */
static void net_start(double rate, double rtt_us, enum net_acks acks,
		      double hold_us)
{
	memset(&net, 0, sizeof(net));
	net.rate = rate;
	net.prop_us = rtt_us;
	net.buffer_us = INFINITY;
	net.acks = acks;
	net.hold_us = hold_us;
	net.segment = net_segment(rate, rtt_us + hold_us);
	net.train_permille = 62;
	net.alpha_permille = 800;
	net.clock_us = prng_u32();
	net.rtt_min_us = U32_MAX;
	net.window = (u32)(2 * net_bdp() + 2 * hold_us / net_service_us()) +
		     2 * NET_BUNCH;
	net_watch();
}

#endif /* HETCC_BOTTLENECK_H */
