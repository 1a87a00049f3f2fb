// SPDX-License-Identifier: GPL-2.0
/*
 * Capturing packets in network namespaces.
 */
#include <errno.h>
#include <linux/filter.h>
#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "args.h"
#include "capture.h"
#include "clock.h"
#include "netns.h"
#include "packet.h"
#include "probe_args.h"

#define MAX_FILTER	64
#define RING_BYTES	(8 << 20)
#define MAX_FILE_NAME	(MAX_LABEL + 8)

struct capture {
	struct target target;
	pcap_direction_t direction;
	pcap_t *pcap;
	int link;
	FILE *output;
	pcap_dumper_t *dump;	/* NULL: not wanted */
	uint64_t packets;	/* that are in the output */
	uint32_t received;	/* by the kernel's filter */
	uint32_t dropped;	/* of these, because the ring was full */
	bool failed;
};

static struct capture captures[MAX_TARGETS];
static int captures_used;

/* What turns a packet's CLOCK_REALTIME into the time from t0. */
static int64_t time_offset;
static int64_t last_time;

int capture_count(void)
{
	return captures_used;
}

void capture_add(const char *argument)
{
	struct capture *capture = &captures[captures_used];
	struct target *target = &capture->target;
	int i;

	if (captures_used == MAX_TARGETS)
		usage_error("--capture is given more than %d times", MAX_TARGETS);
	target_parse(target, "--capture", argument);
	if (!strcmp(target->last, "in"))
		capture->direction = PCAP_D_IN;
	else if (!strcmp(target->last, "out"))
		capture->direction = PCAP_D_OUT;
	else
		usage_error("--capture: %s: direction \"%s\": allowed are in and out",
			    target->label, target->last);
	for (i = 0; i < captures_used; i++)
		if (!strcmp(captures[i].target.label, target->label))
			usage_error("--capture: label \"%s\" is given twice",
				    target->label);
	captures_used++;
}

/*
 * Both clocks run at the same rate.  The monotonic one is read on either side
 * of the other, so that the error is half the time that this takes.
 */
static int64_t realtime_offset(void)
{
	int64_t before = now_ns();
	int64_t realtime = clock_ns(CLOCK_REALTIME);
	int64_t after = now_ns();

	return realtime - (before + (after - before) / 2);
}

static void __attribute__((noreturn)) fail(const struct capture *capture,
					   const char *what)
{
	fatal("%s: %s: %s: %s", capture->target.label, capture->target.ifname,
	      what, pcap_geterr(capture->pcap));
}

static void activate(struct capture *capture)
{
	pcap_t *pcap = capture->pcap;

	if (pcap_set_snaplen(pcap, PACKET_SNAPLEN) ||
	    pcap_set_promisc(pcap, 0) ||
	    pcap_set_timeout(pcap, CAPTURE_BLOCK_MS) ||
	    pcap_set_immediate_mode(pcap, 0) ||
	    pcap_set_buffer_size(pcap, RING_BYTES) ||
	    pcap_set_tstamp_precision(pcap, PCAP_TSTAMP_PRECISION_NANO))
		fail(capture, "cannot set up the capture");
	if (pcap_activate(pcap) < 0)
		fail(capture, "cannot start the capture");
	capture->link = pcap_datalink(pcap);
	if (!packet_link_known(capture->link))
		fatal("%s: %s: link type %d is neither Ethernet nor raw IP",
		      capture->target.label, capture->target.ifname,
		      capture->link);
}

static void compile(struct capture *capture, const char *direction,
		    struct bpf_program *program)
{
	char filter[MAX_FILTER];

	snprintf(filter, sizeof(filter), "(tcp or udp)%s", direction);
	if (pcap_compile(capture->pcap, program, filter, 1,
			 PCAP_NETMASK_UNKNOWN))
		fail(capture, "cannot compile the filter");
}

/*
 * Have the kernel sort out the other direction, which spares the ring as much.
 * It is not for pcap_setfilter(), which runs the filter itself on the first
 * block: outside the kernel a filter with a direction matches nothing.
 */
static void set_kernel_filter(struct capture *capture)
{
	struct bpf_program program;
	struct sock_fprog kernel;

	compile(capture, capture->direction == PCAP_D_IN ? " and inbound" :
							   " and outbound",
		&program);
	kernel.len = program.bf_len;
	kernel.filter = (struct sock_filter *)program.bf_insns;
	if (setsockopt(pcap_get_selectable_fd(capture->pcap), SOL_SOCKET,
		       SO_ATTACH_FILTER, &kernel, sizeof(kernel)))
		fatal("%s: %s: cannot set the filter: %s",
		      capture->target.label, capture->target.ifname,
		      strerror(errno));
	pcap_freecode(&program);
}

static void set_filter(struct capture *capture)
{
	char error[PCAP_ERRBUF_SIZE];
	struct bpf_program program;

	compile(capture, "", &program);
	if (pcap_setfilter(capture->pcap, &program))
		fail(capture, "cannot set the filter");
	pcap_freecode(&program);
	if (pcap_setdirection(capture->pcap, capture->direction))
		fail(capture, "cannot set the direction");
	set_kernel_filter(capture);
	if (pcap_setnonblock(capture->pcap, 1, error))
		fatal("%s: %s", capture->target.label, error);
}

static const char *file_name(char *name, const struct capture *capture,
			     const char *suffix)
{
	snprintf(name, MAX_FILE_NAME, "%.*s.%s", MAX_LABEL,
		 capture->target.label, suffix);
	return name;
}

static void open_files(struct capture *capture, const char *dir, bool pcap)
{
	char name[MAX_FILE_NAME];

	capture->output = output_open(dir, file_name(name, capture, "cap"));
	if (!pcap)
		return;
	capture->dump = pcap_dump_fopen(capture->pcap,
					output_open(dir, file_name(name, capture,
								   "pcap")));
	if (!capture->dump)
		fail(capture, "cannot write the pcap file");
}

static void open_capture(struct capture *capture)
{
	char error[PCAP_ERRBUF_SIZE];

	netns_enter(capture->target.netns, capture->target.label);
	capture->pcap = pcap_create(capture->target.ifname, error);
	if (!capture->pcap)
		fatal("%s: %s: %s", capture->target.label,
		      capture->target.ifname, error);
	activate(capture);
	set_filter(capture);
	netns_leave();
}

void capture_open(const char *dir, bool pcap, int64_t t0, int64_t until)
{
	int i;

	time_offset = realtime_offset() + t0;
	last_time = until;
	for (i = 0; i < captures_used; i++) {
		open_capture(&captures[i]);
		open_files(&captures[i], dir, pcap);
	}
}

/* With nanosecond precision, tv_usec holds nanoseconds. */
static void take_packet(u_char *argument, const struct pcap_pkthdr *header,
			const u_char *data)
{
	struct capture *capture = (struct capture *)argument;
	struct capture_record record;
	int64_t t = header->ts.tv_sec * NSEC_PER_SEC + header->ts.tv_usec -
		    time_offset;

	if (t > last_time)
		return;
	if (capture->dump)
		pcap_dump((u_char *)capture->dump, header, data);
	if (!packet_read(capture->link, data, header->caplen, &record))
		return;
	record.t_ns = t;
	fwrite(&record, sizeof(record), 1, capture->output);
	capture->packets++;
}

/* Read all that there is, block by block. */
static void read_all(struct capture *capture)
{
	int count;

	do {
		count = pcap_dispatch(capture->pcap, -1, take_packet,
				      (u_char *)capture);
	} while (count > 0);
	if (!count)
		return;
	capture->failed = true;
	warn("%s: %s: %s", capture->target.label, capture->target.ifname,
	     pcap_geterr(capture->pcap));
}

void capture_read(void)
{
	int i;

	for (i = 0; i < captures_used; i++)
		if (!captures[i].failed)
			read_all(&captures[i]);
}

static void read_drops(struct capture *capture)
{
	struct pcap_stat stats = { 0 };

	if (pcap_stats(capture->pcap, &stats))
		fail(capture, "cannot tell how many packets were lost");
	capture->received = stats.ps_recv;
	capture->dropped = stats.ps_drop;
	if (capture->dropped)
		warn("%s: %u packets are missing, the ring was full",
		     capture->target.label, capture->dropped);
}

static void close_capture(struct capture *capture, const char *dir)
{
	char name[MAX_FILE_NAME];

	if (!capture->failed)
		read_all(capture);
	read_drops(capture);
	output_close(capture->output, dir, file_name(name, capture, "cap"));
	if (capture->dump) {
		if (pcap_dump_flush(capture->dump))
			fatal("%s/%s is not complete", dir,
			      file_name(name, capture, "pcap"));
		pcap_dump_close(capture->dump);
	}
	pcap_close(capture->pcap);
}

static void write_capture(FILE *json, const struct capture *capture)
{
	fprintf(json,
		"{\"label\":\"%s\",\"interface\":\"%s\",\"direction\":\"%s\","
		"\"packets\":%llu,\"received\":%u,\"dropped\":%u,\"failed\":%s}",
		capture->target.label, capture->target.ifname,
		capture->target.last, (unsigned long long)capture->packets,
		capture->received, capture->dropped,
		capture->failed ? "true" : "false");
}

static void write_json(const char *dir)
{
	FILE *json = output_open(dir, "captures.json");
	int i;

	fprintf(json, "{\"record\":\"%s\",\"record_bytes\":%zu,\"fields\":[%s],"
		"\"captures\":[", CAPTURE_RECORD_FORMAT,
		sizeof(struct capture_record), CAPTURE_RECORD_FIELDS);
	for (i = 0; i < captures_used; i++) {
		if (i)
			fputc(',', json);
		write_capture(json, &captures[i]);
	}
	fputs("]}\n", json);
	output_close(json, dir, "captures.json");
}

int capture_close(const char *dir)
{
	int i, result = 0;

	if (!captures_used)
		return 0;
	for (i = 0; i < captures_used; i++) {
		close_capture(&captures[i], dir);
		if (captures[i].failed)
			result = -1;
	}
	write_json(dir);
	return result;
}
