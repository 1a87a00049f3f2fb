// SPDX-License-Identifier: GPL-2.0
/*
 * First process of a virtual-time machine. The host's files are the root; what
 * a running system needs besides is mounted fresh. From the environment, which
 * is the kernel's command line: HETLAB_MODULES, a directory whose *.ko are
 * loaded; HETLAB_LOAD, names of those that are (a,b), if not all; HETLAB_JOB,
 * a shell script to run. Its exit status goes to HETLAB_JOB.status, what polled
 * to HETLAB_JOB.polls, then the machine stops.
 *
 * A program, and linked statically, because each of the fifteen that a shell
 * script started for this took some 18 ms.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUN_HOSTS	"/run/hetlab-hosts"
#define RUN_RESOLV	"/run/hetlab-resolv.conf"
#define POLLS		"/proc/lab_polls"
/* A process that closes every descriptor one by one (mnexec) is slow here */
#define DESCRIPTORS	1024
#define NOT_FOUND	127

/* Say what failed on the console; the job may do without. */
static void complain(const char *what, const char *of)
{
	fprintf(stderr, "hetlab: cannot %s %s: %s\n", what, of, strerror(errno));
}

static void mounted(const char *type, const char *on, const char *options)
{
	/* EBUSY: the kernel has mounted it by itself */
	if (mount(type, on, type, 0, options) && errno != EBUSY)
		complain("mount", on);
}

/* In place of a file of the host, if it has that. */
static void covered(const char *path, const char *by)
{
	if (mount(by, path, NULL, MS_BIND, NULL) && errno != ENOENT)
		complain("cover", path);
}

static void written(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	if (!file || fputs(text, file) < 0)
		complain("write", path);
	if (file && fclose(file))
		complain("write", path);
}

static void linked(const char *to, const char *path)
{
	unlink(path);
	if (symlink(to, path))
		complain("link", path);
}

/*
 * Nobody here answers questions about names; to ask the servers of the host's
 * resolv.conf takes seconds, and how many depends on the host.
 */
static void file_systems(void)
{
	mounted("proc", "/proc", NULL);
	mounted("tmpfs", "/run", NULL);
	mounted("sysfs", "/sys", NULL);
	mounted("devtmpfs", "/dev", NULL);
	mkdir("/dev/pts", 0755);
	mounted("devpts", "/dev/pts", "ptmxmode=666");
	mkdir("/dev/shm", 0755);
	mounted("tmpfs", "/dev/shm", NULL);
	mkdir("/run/netns", 0755);
	mkdir("/run/lock", 0755);
	written(RUN_HOSTS, "127.0.0.1 localhost hetlab\n");
	written(RUN_RESOLV, "");
	covered("/etc/hosts", RUN_HOSTS);
	covered("/etc/resolv.conf", RUN_RESOLV);
	linked("/proc/self/fd", "/dev/fd");
	linked("fd/1", "/dev/stdout");
	linked("fd/2", "/dev/stderr");
}

static void loopback_up(void)
{
	struct ifreq lo = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &lo)) {
		complain("find", "lo");
		return;
	}
	lo.ifr_flags |= IFF_UP;
	if (ioctl(fd, SIOCSIFFLAGS, &lo))
		complain("start", "lo");
	close(fd);
}

/* Modules of a directory whose names fit a pattern. */
static void load_modules(const char *directory, const char *names)
{
	char pattern[4096];
	glob_t found;
	size_t i;

	snprintf(pattern, sizeof(pattern), "%s/%s.ko", directory, names);
	if (glob(pattern, GLOB_NOCHECK, NULL, &found))
		return;
	for (i = 0; i < found.gl_pathc; i++) {
		int fd = open(found.gl_pathv[i], O_RDONLY | O_CLOEXEC);

		if (fd < 0 || syscall(SYS_finit_module, fd, "", 0))
			complain("load", found.gl_pathv[i]);
		if (fd >= 0)
			close(fd);
	}
	globfree(&found);
}

static void load_each(const char *directory, char *names)
{
	char *name, *rest;

	for (name = strtok_r(names, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
		load_modules(directory, name);
}

/* Exit status of the job as a shell has it; other processes that end are ours to reap. */
static int run(const char *job)
{
	const struct rlimit limit = { DESCRIPTORS, DESCRIPTORS };
	pid_t child, ended;
	int status;

	setrlimit(RLIMIT_NOFILE, &limit);
	child = fork();
	if (!child) {
		execlp("bash", "bash", job, NULL);
		complain("run", "bash");
		_exit(NOT_FOUND);
	}
	do
		ended = wait(&status);
	while (ended != child && !(ended < 0 && errno == ECHILD));
	if (ended < 0)
		return NOT_FOUND;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* HETLAB_JOB.polls, of kernels that count. */
static void keep_polls(const char *job)
{
	char path[4096], line[512];
	FILE *from = fopen(POLLS, "r");
	FILE *to;

	if (!from)
		return;
	snprintf(path, sizeof(path), "%s.polls", job);
	to = fopen(path, "w");
	while (to && fgets(line, sizeof(line), from))
		fputs(line, to);
	if (!to || fclose(to))
		complain("write", path);
	fclose(from);
}

int main(void)
{
	const char *modules = getenv("HETLAB_MODULES"), *job = getenv("HETLAB_JOB");
	char *names = getenv("HETLAB_LOAD");
	char path[4096], status[16];

	file_systems();
	if (sethostname("hetlab", strlen("hetlab")))
		complain("name", "hetlab");
	loopback_up();
	if (modules && names)
		load_each(modules, names);
	else if (modules)
		load_modules(modules, "*");
	if (job) {
		snprintf(status, sizeof(status), "%d\n", run(job));
		keep_polls(job);
		snprintf(path, sizeof(path), "%s.status", job);
		written(path, status);
	}
	sync();
	reboot(RB_POWER_OFF);
	return 1;
}
