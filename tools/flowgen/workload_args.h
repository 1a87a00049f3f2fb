/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the command line says of a flow's workload.
 */
#ifndef FLOWGEN_WORKLOAD_ARGS_H
#define FLOWGEN_WORKLOAD_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dist.h"

#define MAX_LADDER	32

/* Bytes at the start of an item that tell the receiver what it is. */
#define ITEM_HEADER_BYTES	24

/* Rates of a video are chosen by its buffer or by the throughput seen. */
enum abr { ABR_BUFFER, ABR_THROUGHPUT };

/* A write of a replayed list. */
struct replayed {
	int64_t t;		/* from the start of the flow */
	int64_t bytes;
};

/* As given (texts are NULL: not given), then as read.  Times in ns. */
struct workload_args {
	char *name;
	int64_t seed;
	char *size_text;
	char *think_text;
	char *objects_text;
	char *on_text;
	char *off_text;
	char *arrivals_text;
	int64_t parallel;
	char *ladder_text;
	int64_t segment;
	int64_t buffer;
	char *abr_text;
	int64_t period;
	int64_t key_every;
	double key_factor;
	char *file;
	char *writes_text;
	int64_t limit;

	const struct workload *kind;
	struct dist size, think, objects, on, off, arrivals;
	double ladder[MAX_LADDER];	/* Mbit/s, rising */
	int rungs;
	enum abr abr;
	struct replayed *writes;
	size_t write_count;
};

struct flow;

/*
 * Read the workload of a flow, whose other keys are read; number: which FLOW of
 * the command line.  Exits when it is wrong.
 */
void workload_parse(struct flow *flow, int number);

/*
 * Read the writes of a replay, from file (t_s,bytes a line) or from the text of
 * writes (t_s:bytes/...); exits when they are wrong.
 */
void replay_read(struct workload_args *args, const char *name);

#endif /* FLOWGEN_WORKLOAD_ARGS_H */
