// SPDX-License-Identifier: GPL-2.0
/*
 * The thread that is stopped. Thread and main program take turns, so that a
 * run repeats.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "args.h"
#include "backlog.h"

#define PAGE_BYTES	4096

struct order {
	int fd;
	bool writes;
};

static int faults = -1;		/* userfaultfd */
static int orders[2], answers[2];
static char *page;

/* Both copies run into the page that is not there. */
static void *serve(void *unused)
{
	struct order order;

	(void)unused;
	while (read(orders[0], &order, sizeof(order)) == sizeof(order)) {
		ssize_t done;

		if (order.writes)
			done = send(order.fd, page, PAGE_BYTES,
				    MSG_DONTWAIT | MSG_NOSIGNAL);
		else
			done = recv(order.fd, page, PAGE_BYTES, MSG_DONTWAIT);
		if (write(answers[1], &done, sizeof(done)) != sizeof(done))
			break;
	}
	return NULL;
}

static bool take_over(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register region = {
		.range = { (unsigned long)page, PAGE_BYTES },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	faults = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	return faults >= 0 && !ioctl(faults, UFFDIO_API, &api) &&
	       !ioctl(faults, UFFDIO_REGISTER, &region);
}

void backlog_open(void)
{
	pthread_t thread;

	page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		fatal("memory: %s", strerror(errno));
	if (!take_over()) {
		warn("no userfaultfd, so no backlog: %s", strerror(errno));
		faults = -1;
		return;
	}
	if (pipe2(orders, O_CLOEXEC) || pipe2(answers, O_CLOEXEC) ||
	    pthread_create(&thread, NULL, serve, NULL))
		fatal("thread: %s", strerror(errno));
}

static void await_answer(void)
{
	ssize_t done;

	if (read(answers[0], &done, sizeof(done)) != sizeof(done))
		fatal("thread: %s", strerror(errno));
}

bool backlog_hold(int fd, bool writes)
{
	struct order order = { .fd = fd, .writes = writes };
	struct pollfd ready[] = { { .fd = faults, .events = POLLIN },
				  { .fd = answers[0], .events = POLLIN } };
	struct uffd_msg message;

	if (faults < 0)
		return false;
	if (write(orders[1], &order, sizeof(order)) != sizeof(order) ||
	    poll(ready, 2, -1) < 0)
		fatal("thread: %s", strerror(errno));
	if (ready[0].revents & POLLIN &&
	    read(faults, &message, sizeof(message)) == sizeof(message))
		return true;
	await_answer();
	return false;
}

void backlog_release(void)
{
	struct uffdio_zeropage fill = {
		.range = { (unsigned long)page, PAGE_BYTES },
	};

	if (ioctl(faults, UFFDIO_ZEROPAGE, &fill))
		fatal("userfaultfd: %s", strerror(errno));
	await_answer();
	madvise(page, PAGE_BYTES, MADV_DONTNEED);
}
