// SPDX-License-Identifier: GPL-2.0
/*
 * The output of flowgen: one JSON object on each line.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "json.h"
#include "report.h"
#include "tcp_stats.h"

#define ENDPOINT_BYTES	(INET6_ADDRSTRLEN + sizeof("[]:65535"))

void report_open(const char *path)
{
	run.out = strcmp(path, "-") ? open_output(path) : stdout;
	if (!run.out)
		fatal("--out %s: %s", path, strerror(errno));
}

void report_close(void)
{
	bool bad = ferror(run.out);

	if (fclose(run.out) || bad)
		fatal("--out: the output is not complete: %s", strerror(errno));
}

void record_begin(const char *type, const struct flow *flow, int64_t t)
{
	fprintf(run.out, "{\"type\":\"%s\",\"id\":%" PRId64, type, flow->id);
	json_time("t", t);
}

void record_finish(void)
{
	fputs("}\n", run.out);
}

static void print_endpoint(char *text, const union address *address)
{
	char ip[INET6_ADDRSTRLEN] = "?";

	if (address->sa.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &address->in6.sin6_addr, ip, sizeof(ip));
		snprintf(text, ENDPOINT_BYTES, "[%s]:%u", ip,
			 ntohs(address->in6.sin6_port));
	} else {
		inet_ntop(AF_INET, &address->in.sin_addr, ip, sizeof(ip));
		snprintf(text, ENDPOINT_BYTES, "%s:%u", ip,
			 ntohs(address->in.sin_port));
	}
}

static void record_cc(const struct flow *flow)
{
	char name[TCP_CC_NAME_BYTES];

	if (flow->proto == PROTO_TCP) {
		tcp_cc_name(flow->fd, name);
		json_string("cc", name);
	} else {
		json_null("cc");
	}
}

void report_start(struct flow *flow)
{
	union address local = { 0 };
	socklen_t size = sizeof(local);
	char text[ENDPOINT_BYTES];

	record_begin("start", flow, flow->t_start);
	json_time("t_connect", flow->t_connect);
	record_cc(flow);
	getsockname(flow->fd, &local.sa, &size);
	print_endpoint(text, &local);
	json_string("src", text);
	print_endpoint(text, &flow->addr);
	json_string("dst", text);
	record_finish();
}

void report_error(const struct flow *flow, int64_t t, const char *what,
		  int error)
{
	const char *name = strerrorname_np(error);

	record_begin("error", flow, t);
	json_string("what", what);
	json_string("errno", name ? name : "unknown");
	json_string("text", strerror(error));
	record_finish();
}

void record_begin_end(const struct flow *flow, int64_t t, const char *reason,
		      bool complete)
{
	record_begin("end", flow, t);
	json_string("role", flow->role == ROLE_SEND ? "send" : "recv");
	if (flow->role == ROLE_SEND)
		json_time("t_connect", flow->t_connect);
	json_time("t_start", flow->t_start);
	json_bool("complete", complete);
	json_string("reason", reason);
}
