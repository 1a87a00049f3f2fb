/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the hostile peer does on an open connection.
 */
#ifndef SCFUZZ_MOVES_H
#define SCFUZZ_MOVES_H

#include "conn.h"

/* Queue one packet; at its end the connection is wound up in some way. */
void move(struct conn *conn);

#endif /* SCFUZZ_MOVES_H */
