/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the kernel tells about a TCP connection.
 */
#ifndef FLOWGEN_TCP_STATS_H
#define FLOWGEN_TCP_STATS_H

#include <linux/inet_diag.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * struct tcp_info of Linux 6.12.  The headers of the C library and of older
 * kernels end earlier; the length that the kernel returns tells what it filled.
 */
struct tcp_info_ext {
	uint8_t state;
	uint8_t ca_state;
	uint8_t retransmits;
	uint8_t probes;
	uint8_t backoff;
	uint8_t options;
	uint8_t wscales;
	uint8_t flags;

	uint32_t rto;			/* us */
	uint32_t ato;
	uint32_t snd_mss;
	uint32_t rcv_mss;

	uint32_t unacked;		/* packets */
	uint32_t sacked;
	uint32_t lost;
	uint32_t retrans;
	uint32_t fackets;

	uint32_t last_data_sent;
	uint32_t last_ack_sent;
	uint32_t last_data_recv;
	uint32_t last_ack_recv;

	uint32_t pmtu;
	uint32_t rcv_ssthresh;
	uint32_t rtt;			/* us, smoothed */
	uint32_t rttvar;
	uint32_t snd_ssthresh;		/* packets */
	uint32_t snd_cwnd;
	uint32_t advmss;
	uint32_t reordering;

	uint32_t rcv_rtt;
	uint32_t rcv_space;

	uint32_t total_retrans;

	uint64_t pacing_rate;		/* bytes per second */
	uint64_t max_pacing_rate;
	uint64_t bytes_acked;
	uint64_t bytes_received;
	uint32_t segs_out;
	uint32_t segs_in;

	uint32_t notsent_bytes;
	uint32_t min_rtt;
	uint32_t data_segs_in;
	uint32_t data_segs_out;

	uint64_t delivery_rate;		/* bytes per second */

	uint64_t busy_time;		/* us */
	uint64_t rwnd_limited;
	uint64_t sndbuf_limited;

	uint32_t delivered;		/* packets */
	uint32_t delivered_ce;

	uint64_t bytes_sent;
	uint64_t bytes_retrans;
	uint32_t dsack_dups;
	uint32_t reord_seen;

	uint32_t rcv_ooopack;

	uint32_t snd_wnd;
	uint32_t rcv_wnd;

	uint32_t rehash;

	uint16_t total_rto;
	uint16_t total_rto_recoveries;
	uint32_t total_rto_time;	/* ms */
};

#define TCP_CC_NAME_BYTES	17	/* TCP_CA_NAME_MAX and a final zero */

struct tcp_stats {
	struct tcp_info_ext info;
	socklen_t info_bytes;		/* of info that the kernel filled */
	union tcp_cc_info cc;
	socklen_t cc_bytes;		/* 0: the module tells nothing */
	bool is_dctcp;
};

/* The name of a connection's congestion control; "" when that is not known. */
void tcp_cc_name(int fd, char name[TCP_CC_NAME_BYTES]);

/* Ask the kernel about a connection; what it does not tell is 0. */
void tcp_info_read(int fd, struct tcp_stats *stats);

/* The same, and about its congestion control. */
void tcp_stats_read(int fd, struct tcp_stats *stats);

/* Add the fields of a sample, for either end, to the current record. */
void record_sender_stats(const struct tcp_stats *stats);
void record_receiver_stats(const struct tcp_stats *stats);

#endif /* FLOWGEN_TCP_STATS_H */
