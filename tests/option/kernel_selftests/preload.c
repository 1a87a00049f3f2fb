// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded into the kernel's selftests, which know neither our sysctl nor
 * virtual time:
 *
 *   HETCC_MODE=N       every new network namespace gets net.ipv4.tcp_santacruz N
 *   HETCC_POLL_US=N    asking for the time takes N us, so that a loop which
 *                      waits for it to pass comes to an end
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const char sysctl[] = "/proc/sys/net/ipv4/tcp_santacruz";

static void set_mode(const char *mode)
{
	int fd = open(sysctl, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, mode, strlen(mode)) < 0) {
		perror(sysctl);
		abort();
	}
	close(fd);
}

int unshare(int flags)
{
	int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "unshare");
	const char *mode = getenv("HETCC_MODE");
	int result = real(flags);

	if (!result && flags & CLONE_NEWNET && mode)
		set_mode(mode);
	return result;
}

static void spend_time(void)
{
	const char *us = getenv("HETCC_POLL_US");
	int saved = errno;

	if (us)
		usleep(atoi(us));
	errno = saved;
}

int gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
	struct timespec now;

	(void)tz;
	spend_time();
	clock_gettime(CLOCK_REALTIME, &now);
	tv->tv_sec = now.tv_sec;
	tv->tv_usec = now.tv_nsec / 1000;
	return 0;
}
