// SPDX-License-Identifier: GPL-2.0
/*
 * UDP senders of constant bit rate, on all the time or on and off, and
 * receivers that count.
 */
#include <errno.h>
#include <linux/sock_diag.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "clock.h"
#include "flow.h"
#include "json.h"
#include "media.h"
#include "proto.h"
#include "report.h"
#include "udp.h"

/*
 * The receiver wakes up once for all packets of such a period.  The buffer
 * holds what comes meanwhile at 1 Gbit/s and 1000 bytes a packet, for which
 * the kernel accounts 2304 bytes.
 */
#define DRAIN_PERIOD		(20 * NSEC_PER_MSEC)
#define DEFAULT_RCVBUF		(8 << 20)

/* Packets that one system call takes. */
#define DRAIN_BATCH		128

static int open_socket(struct flow *flow)
{
	static const int off;

	flow->fd = socket(flow->addr.sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (flow->fd < 0) {
		flow_error(flow, "socket", errno);
		return -1;
	}
	if (flow->addr.sa.sa_family == AF_INET6)
		setsockopt(flow->fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	return 0;
}

/* A packet too long for the path is an error; fragments would distort. */
static int forbid_fragments(struct flow *flow)
{
	if (flow->addr.sa.sa_family == AF_INET6)
		return flow_set_option(flow, flow->fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER,
				       "IPV6_MTU_DISCOVER", IPV6_PMTUDISC_DO);
	return flow_set_option(flow, flow->fd, IPPROTO_IP, IP_MTU_DISCOVER,
			       "IP_MTU_DISCOVER", IP_PMTUDISC_DO);
}

static int open_sender(struct flow *flow)
{
	if (open_socket(flow) || forbid_fragments(flow))
		return -1;
	if (flow_set_option(flow, flow->fd, SOL_SOCKET, SO_SNDBUF, "sndbuf", flow->sndbuf))
		return -1;
	if ((flow->src_text || flow->sport) && flow_bind(flow, flow->fd, &flow->src))
		return -1;
	if (connect(flow->fd, &flow->addr.sa, address_length(&flow->addr))) {
		flow_error(flow, "connect", errno);
		return -1;
	}
	return 0;
}

int udp_header_bytes(const union address *address)
{
	if (address->sa.sa_family != AF_INET6 ||
	    IN6_IS_ADDR_V4MAPPED(&address->in6.sin6_addr))
		return IPV4_UDP_BYTES;
	return IPV6_UDP_BYTES;
}

int udp_send_packet(struct flow *flow, struct flowgen_header *packet,
		    int64_t ip_bytes)
{
	size_t size = ip_bytes - udp_header_bytes(&flow->addr);
	ssize_t done;

	packet->counter = htonl(flow->packets);
	done = send(flow->fd, packet, size, MSG_NOSIGNAL);
	if (done < 0 && errno == ECONNREFUSED) {
		flow->refused++;
		done = send(flow->fd, packet, size, MSG_NOSIGNAL);
	}
	if (done < 0 && errno != ECONNREFUSED)
		return -1;
	pthread_mutex_lock(&run.lock);
	flow->highest = flow->packets++;
	flow->ip_bytes += ip_bytes;
	pthread_mutex_unlock(&run.lock);
	return 0;
}

static bool is_over(const struct flow *flow)
{
	bool over;

	pthread_mutex_lock(&run.lock);
	over = flow->state == FLOW_OVER;
	pthread_mutex_unlock(&run.lock);
	return over;
}

/*
 * The packets of a burst leave at absolute times, packet_bytes / rate apart, so
 * that no error adds up.  Returns -1 after an error and when the time is up.
 */
static int send_burst(struct flow *flow, struct flowgen_header *packet,
		      int64_t begin, int64_t length)
{
	double interval = flow->packet_bytes * BITS_PER_BYTE * NSEC_PER_SEC /
			  (flow->rate_mbit * BITS_PER_MBIT);
	int64_t n, offset;

	for (n = 0; (offset = n * interval) < length; n++) {
		if (begin + offset >= flow->stop_at)
			return -1;
		sleep_until(run.t0 + begin + offset);
		if (is_over(flow))
			return -1;
		if (udp_send_packet(flow, packet, flow->packet_bytes)) {
			flow_error(flow, "send", errno);
			return -1;
		}
	}
	return 0;
}

/* The main thread ends the flow, at start + duration. */
static void *sender_thread(void *argument)
{
	struct flow *flow = argument;
	struct flowgen_header *packet = allocate(1, flow->packet_bytes);
	int64_t length = flow->on ? flow->on : TIME_NEVER;
	int64_t begin = flow->start;

	packet->magic = htonl(FLOWGEN_MAGIC);
	sleep_until(run.t0 + begin);
	if (flow_advance(flow, FLOW_CONNECTING) &&
	    flow_advance(flow, FLOW_RUNNING))
		while (!send_burst(flow, packet, begin, length))
			begin += flow->on + flow->off;
	free(packet);
	return NULL;
}

static void record_sent(const struct flow *flow)
{
	json_integer("packets", flow->packets);
	json_integer("bytes", flow->ip_bytes);
	json_integer_if(flow->highest >= 0, "highest", flow->highest);
	json_integer("refused", flow->refused);
}

static void sample_sender(struct flow *flow, int64_t t)
{
	record_begin("usent", flow, t);
	record_sent(flow);
	record_finish();
}

static void end_sender(struct flow *flow, int64_t t, const char *reason,
		       bool complete)
{
	record_begin_end(flow, t, reason, complete);
	record_sent(flow);
	record_finish();
}

/* The system's limit does not bind those who may configure the network. */
static int set_receive_buffer(struct flow *flow)
{
	int size = flow->rcvbuf ? flow->rcvbuf : DEFAULT_RCVBUF;

	if (!setsockopt(flow->fd, SOL_SOCKET, SO_RCVBUFFORCE, &size,
			sizeof(size)))
		return 0;
	return flow_set_option(flow, flow->fd, SOL_SOCKET, SO_RCVBUF, "rcvbuf", size);
}

static int open_receiver(struct flow *flow)
{
	if (open_socket(flow) || set_receive_buffer(flow))
		return -1;
	return flow_bind(flow, flow->fd, &flow->addr);
}

/* The start of each packet of a batch, and who sent it. */
struct batch {
	struct mmsghdr messages[DRAIN_BATCH];
	struct iovec vectors[DRAIN_BATCH];
	struct frame_header headers[DRAIN_BATCH];
	union address senders[DRAIN_BATCH];
};

/* Receive as many packets as there are, DRAIN_BATCH at most. */
static int receive_batch(struct flow *flow, struct batch *batch, int flags)
{
	int i;

	for (i = 0; i < DRAIN_BATCH; i++) {
		batch->vectors[i] = (struct iovec){
			.iov_base = &batch->headers[i],
			.iov_len = sizeof(batch->headers[i]),
		};
		batch->messages[i].msg_hdr = (struct msghdr){
			.msg_name = &batch->senders[i],
			.msg_namelen = sizeof(batch->senders[i]),
			.msg_iov = &batch->vectors[i],
			.msg_iovlen = 1,
		};
	}
	return recvmmsg(flow->fd, batch->messages, DRAIN_BATCH,
			flags | MSG_TRUNC, NULL);
}

static void count_packet(struct flow *flow, const struct frame_header *header,
			 unsigned int payload, const union address *sender)
{
	int64_t counter = ntohl(header->packet.counter);

	if (payload < sizeof(header->packet) ||
	    ntohl(header->packet.magic) != FLOWGEN_MAGIC) {
		flow->foreign++;
		return;
	}
	if (flow->work.name && payload >= sizeof(*header))
		frame_note(flow, header);
	flow->packets++;
	flow->ip_bytes += payload + udp_header_bytes(sender);
	if (counter > flow->highest)
		flow->highest = counter;
}

static void __count_batch(struct flow *flow, const struct batch *batch,
			  int count)
{
	int i;

	for (i = 0; i < count; i++)
		count_packet(flow, &batch->headers[i],
			     batch->messages[i].msg_len, &batch->senders[i]);
}

/* Count what waits in the socket, so that a sample is up to date. */
static int __drain(struct flow *flow)
{
	static struct batch batch;	/* guarded by run.lock */
	int count, total = 0;

	do {
		count = receive_batch(flow, &batch, MSG_DONTWAIT);
		__count_batch(flow, &batch, count);
		total += count > 0 ? count : 0;
	} while (count == DRAIN_BATCH);
	return total;
}

/* Wait for the first packet after a silence. */
static int wait_packet(struct flow *flow, struct batch *batch)
{
	int count = receive_batch(flow, batch, MSG_WAITFORONE);

	if (count < 0 && errno != EINTR) {
		flow_error(flow, "recv", errno);
		return -1;
	}
	pthread_mutex_lock(&run.lock);
	__count_batch(flow, batch, count);
	pthread_mutex_unlock(&run.lock);
	return 0;
}

/*
 * Looks for packets once in each period, as long as it finds some; of messages,
 * whose latency counts, at each packet.
 */
static void *receiver_thread(void *argument)
{
	struct batch *batch = allocate(1, sizeof(*batch));
	struct flow *flow = argument;
	int count = 0;

	flow_advance(flow, FLOW_RUNNING);
	while (count || !wait_packet(flow, batch)) {
		if (flow->work.name)
			continue;
		sleep_until(now_ns() + DRAIN_PERIOD);
		pthread_mutex_lock(&run.lock);
		count = __drain(flow);
		pthread_mutex_unlock(&run.lock);
	}
	free(batch);
	return NULL;
}

/* Packets that came while the socket's buffer was full. */
static uint64_t buffer_drops(int fd)
{
	uint32_t meminfo[SK_MEMINFO_DROPS + 1] = { 0 };
	socklen_t size = sizeof(meminfo);

	getsockopt(fd, SOL_SOCKET, SO_MEMINFO, meminfo, &size);
	return meminfo[SK_MEMINFO_DROPS];
}

static void record_received(const struct flow *flow)
{
	json_integer("packets", flow->packets);
	json_integer("bytes", flow->ip_bytes);
	json_integer_if(flow->highest >= 0, "highest", flow->highest);
	json_integer("foreign", flow->foreign);
	json_integer("buffer_drops", buffer_drops(flow->fd));
}

static void sample_receiver(struct flow *flow, int64_t t)
{
	__drain(flow);
	record_begin("usample", flow, t);
	record_received(flow);
	record_finish();
}

static void end_receiver(struct flow *flow, int64_t t, const char *reason,
			 bool complete)
{
	__drain(flow);
	record_begin_end(flow, t, reason, complete);
	record_received(flow);
	record_finish();
	if (buffer_drops(flow->fd))
		warn("flow %d: the receive buffer was full; set rcvbuf",
		     (int)flow->id);
}

const struct flow_ops udp_send_ops = {
	.open = open_sender,
	.thread = sender_thread,
	.sample = sample_sender,
	.end = end_sender,
};

const struct flow_ops udp_recv_ops = {
	.open = open_receiver,
	.thread = receiver_thread,
	.sample = sample_receiver,
	.end = end_receiver,
};
