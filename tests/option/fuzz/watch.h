/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Looks for reports of the kernel's checkers in its log.
 */
#ifndef SCFUZZ_WATCH_H
#define SCFUZZ_WATCH_H

#include <stdbool.h>

/* From here on; what was said before does not count. */
void watch_open(void);

/* Has a checker reported anything? Prints it, and what follows, if so. */
bool watch_reports(void);

#endif /* SCFUZZ_WATCH_H */
