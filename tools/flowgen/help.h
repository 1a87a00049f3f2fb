/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What flowgen --help prints.
 */
#ifndef FLOWGEN_HELP_H
#define FLOWGEN_HELP_H

extern const char flowgen_help[];

#endif /* FLOWGEN_HELP_H */
