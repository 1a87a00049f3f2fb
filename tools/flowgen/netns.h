/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Opening sockets in other network namespaces.
 */
#ifndef FLOWGEN_NETNS_H
#define FLOWGEN_NETNS_H

#include <sys/types.h>

/* A network namespace, whatever path led to it. */
struct netns_id {
	dev_t device;
	ino_t inode;
};

/*
 * Go into the namespace of a path, and back to that of the program.  Both exit
 * when that fails; the message begins with the label.
 */
struct netns_id netns_enter(const char *path, const char *label);
void netns_leave(void);

#endif /* FLOWGEN_NETNS_H */
