/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Generator of hostile options, and a reader of the kernel's.
 */
#ifndef SCFUZZ_OPTION_H
#define SCFUZZ_OPTION_H

#include "conn.h"

#define SC_KIND		254
#define SC_EXID		0x5343

/* Options of a segment; each points to its kind, NULL if it is not there. */
struct option_view {
	const uint8_t *sc;
	const uint8_t *ts;
	bool good;		/* all lengths are right, none is there twice */
};

struct option_totals {
	uint64_t packets;	/* with hostile options */
	uint64_t lively;	/* of them, while data of the kernel is out */
	uint64_t options;	/* of Santa Cruz in them, good or bad */
};

extern struct option_totals option_totals;

void option_view(const uint8_t *p, unsigned int bytes, struct option_view *view);

/* Options of our SYN or SYN-ACK */
void option_syn(struct conn *conn, struct segment *segment);

/* Queue the last step of a handshake that the kernel answered. */
void option_first_ack(struct conn *conn);

/* Hostile options of a segment; may change its length, flags, header length. */
void option_hostile(struct conn *conn, struct segment *segment);

/* A valid option of a healthy peer: Data.copy 1, and an echo if copy is not 0 */
void option_valid(struct segment *segment, uint8_t copy, uint32_t sn);

#endif /* SCFUZZ_OPTION_H */
