// SPDX-License-Identifier: GPL-2.0
/*
 * Reading the workload of a FLOW argument.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "clock.h"
#include "flow.h"
#include "sender.h"
#include "workload_args.h"

#define MAX_NAME	96
#define MAX_LINE	256
#define MAX_BYTES	1e12
#define MAX_DRAWN_S	1e6
#define MAX_RATE	1e5	/* Mbit/s */

#define DEFAULT_LADDER	"0.3/0.75/1.2/1.85/2.85/4.3"
#define DEFAULT_PARALLEL	6
#define DEFAULT_SEGMENT	(4 * NSEC_PER_SEC)
#define DEFAULT_BUFFER	(60 * NSEC_PER_SEC)
#define DEFAULT_FACTOR	10

static const struct workload *const kinds[] = {
	&requests_workload, &web_workload, &onoff_workload, &video_workload,
	&messages_workload, &replay_workload, &connections_workload,
};

#define KINDS	(sizeof(kinds) / sizeof(kinds[0]))

/* Streams of random numbers of a flow. */
enum purpose {
	DRAW_SIZE, DRAW_THINK, DRAW_OBJECTS, DRAW_ON, DRAW_OFF, DRAW_ARRIVALS,
};

/* Which texts a workload takes: the distributions, with what they are for. */
struct drawn {
	const char *key;
	size_t text, dist;	/* in struct workload_args */
	enum purpose purpose;
	double min, max;
	const char *needed;	/* by these workloads, between blanks */
	const char *allowed;
};

#define DRAWN(_key, _purpose, _min, _max, _needed, _allowed)		\
	{ #_key, offsetof(struct workload_args, _key##_text),		\
	  offsetof(struct workload_args, _key), _purpose, _min, _max,	\
	  _needed, _allowed }

static const struct drawn drawn[] = {
	DRAWN(size, DRAW_SIZE, 1, MAX_BYTES,
	      " requests web messages connections ", ""),
	DRAWN(think, DRAW_THINK, 0, MAX_DRAWN_S, "", " requests web "),
	DRAWN(objects, DRAW_OBJECTS, 1, 10000, " web ", ""),
	DRAWN(on, DRAW_ON, 1e-3, MAX_DRAWN_S, " onoff ", ""),
	DRAWN(off, DRAW_OFF, 0, MAX_DRAWN_S, " onoff ", ""),
	DRAWN(arrivals, DRAW_ARRIVALS, 0, MAX_DRAWN_S, " connections ", ""),
};

struct reader {
	struct flow *flow;
	struct workload_args *args;
	int number;
};

static void PRINTF_LIKE(2, 3) __attribute__((noreturn))
complain(const struct reader *reader, const char *fmt, ...)
{
	char text[MAX_LINE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	usage_error("flow argument %d: %s", reader->number, text);
}

static const struct workload *find_kind(const struct reader *reader)
{
	size_t i;

	for (i = 0; i < KINDS; i++)
		if (!strcmp(kinds[i]->name, reader->args->name))
			return kinds[i];
	complain(reader, "workload: unknown value \"%s\"; allowed are requests, web, onoff, video, messages, replay, connections",
		 reader->args->name);
}

static bool is_listed(const char *names, const char *name)
{
	char word[MAX_NAME];

	snprintf(word, sizeof(word), " %s ", name);
	return strstr(names, word);
}

static void parse_drawn(const struct reader *reader, const struct drawn *of)
{
	char *base = (char *)reader->args;
	const char *text = *(char **)(base + of->text);
	struct dist *dist = (struct dist *)(base + of->dist);
	const char *name = reader->args->name;
	char label[MAX_NAME];
	bool needed = is_listed(of->needed, name);

	if (!text && needed)
		complain(reader, "%s is missing; workload=%s needs it", of->key,
			 name);
	if (text && !needed && !is_listed(of->allowed, name))
		complain(reader, "%s does not apply to workload=%s", of->key,
			 name);
	snprintf(label, sizeof(label), "flow argument %d: %s", reader->number,
		 of->key);
	if (text)
		dist_parse(dist, label, text, of->min, of->max);
	rng_seed(&dist->rng, reader->args->seed, reader->flow->id, of->purpose);
}

static void parse_ladder(const struct reader *reader)
{
	struct workload_args *args = reader->args;
	char *copy = copy_string(args->ladder_text ? args->ladder_text :
						     DEFAULT_LADDER);
	char *rest = copy;
	char label[MAX_NAME];
	char *value;

	snprintf(label, sizeof(label), "flow argument %d: ladder",
		 reader->number);
	while ((value = strsep(&rest, "/"))) {
		if (args->rungs == MAX_LADDER)
			complain(reader, "ladder: at most %d rates", MAX_LADDER);
		args->ladder[args->rungs] = parse_real(label, value, 0.001,
						       MAX_RATE);
		if (args->rungs &&
		    args->ladder[args->rungs] <= args->ladder[args->rungs - 1])
			complain(reader, "ladder: %s is not above the rate before it",
				 value);
		args->rungs++;
	}
	free(copy);
}

static void check_video(const struct reader *reader)
{
	struct workload_args *args = reader->args;

	parse_ladder(reader);
	if (!args->segment)
		args->segment = DEFAULT_SEGMENT;
	if (!args->buffer)
		args->buffer = DEFAULT_BUFFER;
	if (args->buffer < 2 * args->segment)
		complain(reader, "buffer: %g is less than two segments of %g s",
			 ns_to_sec(args->buffer), ns_to_sec(args->segment));
	if (!args->abr_text || !strcmp(args->abr_text, "buffer"))
		args->abr = ABR_BUFFER;
	else if (!strcmp(args->abr_text, "throughput"))
		args->abr = ABR_THROUGHPUT;
	else
		complain(reader, "abr: unknown value \"%s\"; allowed are buffer and throughput",
			 args->abr_text);
}

/* Keys without a distribution: which workload has each. */
static void check_owners(const struct reader *reader)
{
	const struct workload_args *args = reader->args;
	const struct {
		const char *key;
		bool given;
		const struct workload *owner;
	} keys[] = {
		{ "parallel", args->parallel, &web_workload },
		{ "ladder", args->ladder_text, &video_workload },
		{ "segment", args->segment, &video_workload },
		{ "buffer", args->buffer, &video_workload },
		{ "abr", args->abr_text, &video_workload },
		{ "period", args->period, &messages_workload },
		{ "key_every", args->key_every, &messages_workload },
		{ "key_factor", args->key_factor, &messages_workload },
		{ "file", args->file, &replay_workload },
		{ "writes", args->writes_text, &replay_workload },
	};
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].given && args->kind != keys[i].owner)
			complain(reader, "%s does not apply to workload=%s",
				 keys[i].key, args->name);
	if (args->limit && args->kind == &replay_workload)
		complain(reader, "limit does not apply to workload=replay");
}

static void check_kind(const struct reader *reader)
{
	struct workload_args *args = reader->args;
	char label[MAX_NAME];

	snprintf(label, sizeof(label), "flow argument %d: %s", reader->number,
		 args->file ? "file" : "writes");
	if (args->kind == &video_workload)
		check_video(reader);
	if (args->kind == &messages_workload && !args->period)
		complain(reader, "period is missing; workload=messages needs it");
	if (args->kind == &replay_workload && !args->file == !args->writes_text)
		complain(reader, "workload=replay needs file or writes, one of them");
	if (args->kind == &replay_workload)
		replay_read(args, label);
	if (args->kind == &onoff_workload && !reader->flow->notsent_lowat)
		reader->flow->notsent_lowat = 128 << 10;
	if (!args->parallel)
		args->parallel = DEFAULT_PARALLEL;
	if (args->key_factor == 0)
		args->key_factor = DEFAULT_FACTOR;
}

void workload_parse(struct flow *flow, int number)
{
	struct reader reader = {
		.flow = flow,
		.args = &flow->work,
		.number = number,
	};
	size_t i;

	reader.args->kind = find_kind(&reader);
	if (flow->role == ROLE_RECV)
		return;
	if (flow->proto == PROTO_UDP && reader.args->kind != &messages_workload)
		complain(&reader, "workload=%s needs proto=tcp", flow->work.name);
	if (flow->bytes)
		complain(&reader, "bytes does not apply to a workload; limit does");
	check_owners(&reader);
	for (i = 0; i < sizeof(drawn) / sizeof(drawn[0]); i++)
		parse_drawn(&reader, &drawn[i]);
	check_kind(&reader);
}
