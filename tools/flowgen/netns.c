// SPDX-License-Identifier: GPL-2.0
/*
 * Opening sockets in other network namespaces.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "args.h"
#include "netns.h"

#define OWN_NETNS	"/proc/self/ns/net"

/* The namespace to come back to; -1: we are in it. */
static int home = -1;

struct netns_id netns_enter(const char *path, const char *label)
{
	struct netns_id id = { 0 };
	struct stat st;
	int fd;

	home = open(OWN_NETNS, O_RDONLY | O_CLOEXEC);
	if (home < 0)
		fatal("%s: %s: %s", label, OWN_NETNS, strerror(errno));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		fatal("%s: %s: %s", label, path, strerror(errno));
	if (setns(fd, CLONE_NEWNET))
		fatal("%s: %s: cannot enter the network namespace: %s", label,
		      path, strerror(errno));
	close(fd);
	id.device = st.st_dev;
	id.inode = st.st_ino;
	return id;
}

void netns_leave(void)
{
	if (setns(home, CLONE_NEWNET))
		fatal("cannot return to the own network namespace: %s",
		      strerror(errno));
	close(home);
	home = -1;
}
