// SPDX-License-Identifier: GPL-2.0
/*
 * Reading a FLOW argument: a list of key=value.
 */
#include <netdb.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "clock.h"
#include "flow.h"
#include "proto.h"

#define MAX_NAME	64	/* of an argument, in error messages */
#define MAX_COMPLAINT	256
#define MIN_UDP_PACKET	(IPV4_UDP_BYTES + (int)sizeof(struct flowgen_header))

/* To which flows a key applies: bits of combination(). */
#define SEND_TCP	1u
#define RECV_TCP	2u
#define SEND_UDP	4u
#define RECV_UDP	8u
#define SEND		(SEND_TCP | SEND_UDP)
#define RECV		(RECV_TCP | RECV_UDP)
#define ANY		(SEND | RECV)

enum kind { TEXT, INTEGER, REAL, SECONDS };

struct key {
	const char *name;
	unsigned int applies;
	enum kind kind;
	size_t offset;		/* into struct flow */
	double min, max;	/* of numbers */
};

#define KEY(_name, _applies, _kind, _member, _min, _max)		\
	{ _name, _applies, _kind, offsetof(struct flow, _member), _min, _max }

#define OPTION_KEY(_name, _applies, _level, _option, _min, _max)	\
	KEY(#_name, _applies, INTEGER, _name, _min, _max),

static const struct key keys[] = {
	KEY("role", ANY, TEXT, role_text, 0, 0),
	KEY("proto", ANY, TEXT, proto_text, 0, 0),
	KEY("id", ANY, INTEGER, id, 0, 65535),
	KEY("addr", ANY, TEXT, addr_text, 0, 0),
	KEY("port", ANY, INTEGER, port, 1, 65535),
	KEY("netns", ANY, TEXT, netns, 0, 0),
	KEY("sport", SEND, INTEGER, sport, 1, 65535),
	KEY("src", SEND, TEXT, src_text, 0, 0),
	KEY("start", SEND, SECONDS, start, 0, MAX_SECONDS),
	KEY("duration", SEND, SECONDS, duration, 0, MAX_SECONDS),
	KEY("cc", SEND_TCP, TEXT, cc, 0, 0),
	KEY("bytes", SEND_TCP, INTEGER, bytes, 0, 1e15),
	KEY("write", SEND_TCP, INTEGER, write, 1, 64 << 20),
	KEY("pace_mbit", SEND_TCP, REAL, pace_mbit, 0.001, 1e6),
	KEY("rcvlowat", RECV_TCP, INTEGER, rcvlowat, 1, 1 << 30),
	SENDER_OPTIONS(OPTION_KEY)
	RECEIVER_OPTIONS(OPTION_KEY)
	KEY("rate_mbit", SEND_UDP, REAL, rate_mbit, 0.001, 1e5),
	KEY("packet_bytes", SEND_UDP, INTEGER, packet_bytes, MIN_UDP_PACKET,
	    65535),
	KEY("on_s", SEND_UDP, SECONDS, on, 0, MAX_SECONDS),
	KEY("off_s", SEND_UDP, SECONDS, off, 0, MAX_SECONDS),
	KEY("workload", ANY, TEXT, work.name, 0, 0),
	KEY("seed", SEND, INTEGER, work.seed, 0, UINT32_MAX),
	KEY("size", SEND, TEXT, work.size_text, 0, 0),
	KEY("think", SEND_TCP, TEXT, work.think_text, 0, 0),
	KEY("objects", SEND_TCP, TEXT, work.objects_text, 0, 0),
	KEY("parallel", SEND_TCP, INTEGER, work.parallel, 1, 256),
	KEY("on", SEND_TCP, TEXT, work.on_text, 0, 0),
	KEY("off", SEND_TCP, TEXT, work.off_text, 0, 0),
	KEY("ladder", SEND_TCP, TEXT, work.ladder_text, 0, 0),
	KEY("segment", SEND_TCP, SECONDS, work.segment, 0.1, 60),
	KEY("buffer", SEND_TCP, SECONDS, work.buffer, 1, 3600),
	KEY("abr", SEND_TCP, TEXT, work.abr_text, 0, 0),
	KEY("period", SEND, SECONDS, work.period, 0.0001, 3600),
	KEY("key_every", SEND, INTEGER, work.key_every, 1, 1000000),
	KEY("key_factor", SEND, REAL, work.key_factor, 1, 1000),
	KEY("file", SEND_TCP, TEXT, work.file, 0, 0),
	KEY("writes", SEND_TCP, TEXT, work.writes_text, 0, 0),
	KEY("arrivals", SEND_TCP, TEXT, work.arrivals_text, 0, 0),
	KEY("limit", SEND, INTEGER, work.limit, 1, 1000000000),
};

#define KEYS	(sizeof(keys) / sizeof(keys[0]))

/* A FLOW argument while it is read. */
struct parser {
	struct flow *flow;
	int number;		/* which FLOW of the command line */
	bool given[KEYS];
};

/* usage_error() about the argument that is read. */
static void PRINTF_LIKE(2, 3) __attribute__((noreturn))
complain(const struct parser *parser, const char *fmt, ...)
{
	char text[MAX_COMPLAINT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	usage_error("flow argument %d: %s", parser->number, text);
}

static unsigned int combination(const struct flow *flow)
{
	if (flow->proto == PROTO_TCP)
		return flow->role == ROLE_SEND ? SEND_TCP : RECV_TCP;
	return flow->role == ROLE_SEND ? SEND_UDP : RECV_UDP;
}

static bool is_given(const struct parser *parser, const char *name)
{
	size_t i;

	for (i = 0; i < KEYS; i++)
		if (!strcmp(keys[i].name, name))
			return parser->given[i];
	return false;
}

static void store(struct parser *parser, const struct key *key,
		  const char *value)
{
	char *member = (char *)parser->flow + key->offset;
	char name[MAX_NAME];

	snprintf(name, sizeof(name), "flow argument %d: %s", parser->number,
		 key->name);
	switch (key->kind) {
	case TEXT:
		*(char **)member = copy_string(value);
		break;
	case INTEGER:
		*(int64_t *)member = parse_integer(name, value, key->min,
						   key->max);
		break;
	case REAL:
		*(double *)member = parse_real(name, value, key->min, key->max);
		break;
	case SECONDS:
		*(int64_t *)member = parse_seconds(name, value, key->min,
						   key->max);
		break;
	}
}

static void parse_pair(struct parser *parser, char *pair)
{
	char *value = strchr(pair, '=');
	size_t i;

	if (!value || !value[1])
		complain(parser, "\"%s\" is not key=value", pair);
	*value++ = '\0';
	for (i = 0; i < KEYS; i++)
		if (!strcmp(keys[i].name, pair))
			break;
	if (i == KEYS)
		complain(parser, "unknown key \"%s\"", pair);
	if (parser->given[i])
		complain(parser, "%s is given twice", pair);
	parser->given[i] = true;
	store(parser, &keys[i], value);
}

static int parse_choice(const struct parser *parser, const char *name,
			const char *text, const char *first, const char *second)
{
	if (!strcmp(text, first))
		return 0;
	if (!strcmp(text, second))
		return 1;
	complain(parser, "%s: unknown value \"%s\"; allowed are %s and %s",
		 name, text, first, second);
}

static void parse_type(struct parser *parser)
{
	static const struct flow_ops *const ops[2][2] = {
		[ROLE_SEND] = { &tcp_send_ops, &udp_send_ops },
		[ROLE_RECV] = { &tcp_recv_ops, &udp_recv_ops },
	};
	struct flow *flow = parser->flow;

	if (!flow->role_text)
		complain(parser, "role is missing; allowed are send and recv");
	flow->role = parse_choice(parser, "role", flow->role_text, "send",
				  "recv");
	if (flow->proto_text)
		flow->proto = parse_choice(parser, "proto", flow->proto_text,
					   "tcp", "udp");
	flow->ops = ops[flow->role][flow->proto];
}

static void check_keys(const struct parser *parser)
{
	const struct flow *flow = parser->flow;
	size_t i;

	for (i = 0; i < KEYS; i++)
		if (parser->given[i] && !(keys[i].applies & combination(flow)))
			complain(parser, "%s does not apply to role=%s,proto=%s",
				 keys[i].name,
				 flow->role == ROLE_SEND ? "send" : "recv",
				 flow->proto == PROTO_TCP ? "tcp" : "udp");
	if (!is_given(parser, "id"))
		complain(parser, "id is missing; allowed are 0 to 65535");
	if (!is_given(parser, "port"))
		complain(parser, "port is missing; allowed are 1 to 65535");
}

/* Numeric addresses only, those with an IPv6 zone included. */
static void parse_address(const struct parser *parser, const char *name,
			  const char *text, union address *address)
{
	static const struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST,
		.ai_socktype = SOCK_STREAM,
	};
	struct addrinfo *found;

	if (getaddrinfo(text, NULL, &hints, &found))
		complain(parser, "%s: \"%s\" is not an IPv4 or IPv6 address",
			 name, text);
	memcpy(address, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
}

static void set_port(union address *address, int64_t port)
{
	if (address->sa.sa_family == AF_INET6)
		address->in6.sin6_port = htons(port);
	else
		address->in.sin_port = htons(port);
}

/* A host without IPv6 has no socket that listens on both. */
static sa_family_t default_family(void)
{
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return AF_INET;
	close(fd);
	return AF_INET6;
}

static void parse_addresses(struct parser *parser)
{
	struct flow *flow = parser->flow;

	if (flow->addr_text)
		parse_address(parser, "addr", flow->addr_text, &flow->addr);
	else if (flow->role == ROLE_RECV)
		flow->addr.sa.sa_family = default_family();
	else
		complain(parser, "addr is missing; role=send needs a destination");
	if (flow->src_text)
		parse_address(parser, "src", flow->src_text, &flow->src);
	else
		flow->src.sa.sa_family = flow->addr.sa.sa_family;
	if (flow->src.sa.sa_family != flow->addr.sa.sa_family)
		complain(parser, "src and addr are of different IP versions");
	set_port(&flow->addr, flow->port);
	set_port(&flow->src, flow->sport);
}

static void check_tcp_sender(const struct parser *parser)
{
	if (!parser->flow->bytes && !parser->flow->duration &&
	    !parser->flow->work.limit && !parser->flow->work.file &&
	    !parser->flow->work.writes_text)
		complain(parser, "a TCP sender needs duration or bytes above 0, or a limit of its workload");
}

static void check_udp_sender(const struct parser *parser)
{
	const struct flow *flow = parser->flow;
	int min = MIN_UDP_PACKET;

	if (flow->addr.sa.sa_family == AF_INET6)
		min += IPV6_UDP_BYTES - IPV4_UDP_BYTES;
	if (flow->work.name && is_given(parser, "rate_mbit"))
		complain(parser, "rate_mbit does not apply to a workload");
	if (!flow->work.name && !is_given(parser, "rate_mbit"))
		complain(parser, "rate_mbit is missing; allowed are 0.001 to 100000");
	if (flow->packet_bytes < min)
		complain(parser, "packet_bytes: %d is out of range; allowed are %d to 65535",
			 (int)flow->packet_bytes, min);
	if (flow->work.name && (flow->on || flow->off))
		complain(parser, "on_s and off_s do not apply to a workload");
	if (flow->off && !flow->on)
		complain(parser, "off_s needs an on_s above 0");
	if (!flow->duration && run.until == TIME_NEVER)
		complain(parser, "a UDP sender needs duration above 0 or --until");
}

static void set_defaults(struct flow *flow)
{
	flow->fd = -1;
	flow->highest = -1;
	flow->write = DEFAULT_WRITE;
	flow->packet_bytes = DEFAULT_PACKET_BYTES;
}

static void set_stop(struct parser *parser)
{
	struct flow *flow = parser->flow;

	flow->stop_at = flow->duration ? flow->start + flow->duration :
					 TIME_NEVER;
	if (flow->stop_at > run.until)
		flow->stop_at = run.until;
	if (flow->start >= run.until)
		complain(parser, "start: %g is not before --until %g",
			 ns_to_sec(flow->start), ns_to_sec(run.until));
}

static void set_workload_ops(struct flow *flow)
{
	if (flow->proto == PROTO_TCP)
		flow->ops = flow->role == ROLE_SEND ? &work_send_ops :
						      &work_recv_ops;
	else if (flow->role == ROLE_SEND)
		flow->ops = &media_send_ops;
}

static void parse_workload(struct parser *parser)
{
	static const char *const own[] = {
		"size", "think", "objects", "parallel", "on", "off", "ladder",
		"segment", "buffer", "abr", "period", "key_every", "key_factor",
		"file", "writes", "arrivals", "limit", "seed",
	};
	struct flow *flow = parser->flow;
	size_t i;

	if (flow->work.name) {
		workload_parse(flow, parser->number);
		set_workload_ops(flow);
		return;
	}
	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (is_given(parser, own[i]))
			complain(parser, "%s needs a workload", own[i]);
}

void flow_parse(struct flow *flow, int number, const char *text)
{
	struct parser parser = { .flow = flow, .number = number };
	char *copy = copy_string(text);
	char *rest = copy;
	char *pair;

	set_defaults(flow);
	while ((pair = strsep(&rest, ",")))
		parse_pair(&parser, pair);
	free(copy);
	parse_type(&parser);
	check_keys(&parser);
	parse_addresses(&parser);
	if (combination(flow) == SEND_TCP)
		check_tcp_sender(&parser);
	if (combination(flow) == SEND_UDP)
		check_udp_sender(&parser);
	parse_workload(&parser);
	set_stop(&parser);
}
