// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions that a User-Mode Linux kernel executes between two calls of one of its
 * functions, by address. The kernel's process is stepped one instruction at a time; the
 * programs inside it run beside, uncounted. In virtual time two runs of the same
 * experiment execute the same, whatever else this computer does.
 *
 * usage: count_steps OUT ADDRESS SKIP COUNT KERNEL [ARGUMENT...]
 *	OUT	gets a line for each address that was executed: address, times
 *	ADDRESS	first instruction of the function, hexadecimal
 *	SKIP	calls before counting begins, 1 or more
 *	COUNT	calls until it ends; the kernel is killed then
 * Exit status: 0, 1 if the kernel ended before, 2 for wrong use.
 */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define INT3		0xccUL
#define LOW_BYTE	0xffUL
/* A static User-Mode Linux kernel lies within 64 MB from here on */
#define TEXT		0x60000000UL
#define TEXT_SIZE	0x4000000UL

static unsigned int counts[TEXT_SIZE];
static unsigned long address, original;
static pid_t child;

static void fail(const char *what)
{
	perror(what);
	if (child > 0)
		kill(child, SIGKILL);
	exit(1);
}

static long checked(long result, const char *what)
{
	if (result < 0)
		fail(what);
	return result;
}

static void poke(unsigned long word)
{
	checked(ptrace(PTRACE_POKETEXT, child, address, word), "POKETEXT");
}

/* Nothing is there before the kernel's own program has been started */
static void set_breakpoint(void)
{
	errno = 0;
	original = ptrace(PTRACE_PEEKTEXT, child, address, 0);
	if (!errno)
		poke((original & ~LOW_BYTE) | INT3);
}

static unsigned long instruction_pointer(void)
{
	return ptrace(PTRACE_PEEKUSER, child, offsetof(struct user_regs_struct, rip), 0);
}

/* Let the process go on to its next stop; signals of its own are passed on */
static int resume(enum __ptrace_request how, int *signal_no)
{
	int status;

	checked(ptrace(how, child, 0, *signal_no), "resume");
	checked(waitpid(child, &status, __WALL), "waitpid");
	*signal_no = 0;
	if (!WIFSTOPPED(status)) {
		fprintf(stderr, "the kernel ended before enough calls were seen\n");
		exit(1);
	}
	if (WSTOPSIG(status) != SIGTRAP)
		*signal_no = WSTOPSIG(status);
	return status;
}

/* Run at full speed up to a number of calls; it then stands at the function's beginning */
static void run_up_to(unsigned long calls)
{
	int signal_no = 0;

	while (calls) {
		int status = resume(PTRACE_CONT, &signal_no);

		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8)) {
			set_breakpoint();
			continue;
		}
		if (WSTOPSIG(status) != SIGTRAP || instruction_pointer() != address + 1)
			continue;
		calls--;
		poke(original);
		checked(ptrace(PTRACE_POKEUSER, child, offsetof(struct user_regs_struct, rip),
			       address), "POKEUSER");
		if (calls) {
			resume(PTRACE_SINGLESTEP, &signal_no);
			set_breakpoint();
		}
	}
}

static void step(unsigned long calls)
{
	int signal_no = 0;

	for (;;) {
		unsigned long at = instruction_pointer();

		if (at == address && !calls--)
			return;
		if (at - TEXT < TEXT_SIZE)
			counts[at - TEXT]++;
		resume(PTRACE_SINGLESTEP, &signal_no);
	}
}

static void start(char **argv)
{
	int status;

	child = checked(fork(), "fork");
	if (!child) {
		checked(ptrace(PTRACE_TRACEME, 0, 0, 0), "TRACEME");
		raise(SIGSTOP);
		execv(argv[0], argv);
		fail(argv[0]);
	}
	checked(waitpid(child, &status, 0), "waitpid");
	checked(ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC),
		"SETOPTIONS");
}

static void write_counts(const char *path)
{
	FILE *out = fopen(path, "w");
	unsigned long i;

	if (!out)
		fail(path);
	for (i = 0; i < TEXT_SIZE; i++)
		if (counts[i])
			fprintf(out, "%lx %u\n", TEXT + i, counts[i]);
	if (fclose(out))
		fail(path);
}

int main(int argc, char **argv)
{
	unsigned long skip, calls;

	if (argc < 6) {
		fprintf(stderr, "usage: count_steps OUT ADDRESS SKIP COUNT KERNEL [ARGUMENT...]\n");
		return 2;
	}
	address = strtoul(argv[2], NULL, 16);
	skip = strtoul(argv[3], NULL, 10);
	calls = strtoul(argv[4], NULL, 10);
	if (address - TEXT >= TEXT_SIZE || !skip || !calls) {
		fprintf(stderr, "count_steps: ADDRESS is within %lx..%lx, SKIP and COUNT 1 or more\n",
			TEXT, TEXT + TEXT_SIZE - 1);
		return 2;
	}
	start(argv + 5);
	run_up_to(skip);
	step(calls);
	write_counts(argv[1]);
	kill(child, SIGKILL);
	return 0;
}
