/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Makes the kernel hold a socket while packets for it arrive, so that they go
 * to its backlog: a thread that reads or writes stops at a page fault in the
 * middle of the copy, which userfaultfd leaves to us to resolve.
 */
#ifndef SCFUZZ_BACKLOG_H
#define SCFUZZ_BACKLOG_H

#include <stdbool.h>

/* Without userfaultfd in the kernel no socket is ever held. */
void backlog_open(void);

/* Stop a thread within a call on a socket; false if the call did not stop. */
bool backlog_hold(int fd, bool writes);

/* Let it go on, and the kernel work through the backlog. */
void backlog_release(void);

#endif /* SCFUZZ_BACKLOG_H */
