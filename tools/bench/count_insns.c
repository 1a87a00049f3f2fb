// SPDX-License-Identifier: GPL-2.0
/*
 * QEMU plugin: instructions that a guest executes, by address, between the marks
 * that it sets, and those of one function with all that it calls.
 *
 * usage: qemu-system-... -plugin count_insns.so,out=FILE     (one CPU, QEMU 7.2)
 *
 * A repeated string instruction counts once, as processors count it; QEMU
 * executes it anew for every repetition. A mark is two instructions that do nothing,
 *
 *	nopl OPERATION(%rax); nopl VALUE(%rax)
 *
 * at the beginning of a block. Function addresses are the lower half of
 * kernel addresses. For every MARK_PHASE a block is written:
 *
 *	phase VALUE
 *	function CALLS INSTRUCTIONS
 *	user INSTRUCTIONS
 *	ADDRESS INSTRUCTIONS		of kernel code from here on, hexadecimal
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK_FUNCTION	0x68636300u	/* VALUE: its address */
#define MARK_END	0x68636301u	/* VALUE: address behind it */
#define MARK_PHASE	0x68636302u	/* VALUE: number of the phase that is over */
#define NOPL_BYTES	7
#define RET		0xc3
#define ADDRESS_BITS	21
#define ADDRESSES	(1u << ADDRESS_BITS)
#define DEPTH_MAX	16

/* What is used here of version 1 of the plugins' interface; Debian has no header */
typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info_t;
enum { QEMU_PLUGIN_INLINE_ADD_U64 };
enum { QEMU_PLUGIN_CB_NO_REGS };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
					   void (*cb)(qemu_plugin_id_t,
						      struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int op,
					      void *ptr, uint64_t value);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
					  void (*cb)(unsigned int, void *),
					  int flags, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb,
						 size_t index);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id,
			       const struct qemu_info_t *info, int argc,
			       char **argv);

struct counter {
	uint64_t address;
	uint64_t insns;
};

static struct counter *counters;
static uint64_t user_insns;
static uint64_t all_insns;
static FILE *out;

/* The function with all that it calls; an interrupt may lead into it again */
static struct {
	uint64_t from, to;
	uint64_t calls, insns;
	uint64_t entered[DEPTH_MAX];
	unsigned int depth;
} function;

static uint64_t *counter(uint64_t address)
{
	uint32_t i = (address * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - ADDRESS_BITS);

	while (counters[i].address && counters[i].address != address)
		i = (i + 1) % ADDRESSES;
	counters[i].address = address;
	return &counters[i].insns;
}

static void end_phase(unsigned int cpu, void *number)
{
	uint32_t i;

	(void)cpu;
	fprintf(out, "phase %" PRIuPTR "\nfunction %" PRIu64 " %" PRIu64 "\nuser %" PRIu64 "\n",
		(uintptr_t)number, function.calls, function.insns, user_insns);
	for (i = 0; i < ADDRESSES; i++) {
		if (counters[i].insns)
			fprintf(out, "%" PRIx64 " %" PRIu64 "\n",
				counters[i].address, counters[i].insns);
		counters[i].insns = 0;
	}
	user_insns = 0;
	function.calls = 0;
	function.insns = 0;
	fflush(out);
}

static void enter(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	if (function.depth < DEPTH_MAX)
		function.entered[function.depth++] = all_insns;
}

static void leave(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	if (!function.depth)
		return;
	function.depth--;
	function.calls++;
	if (!function.depth)
		function.insns += all_insns - function.entered[0];
}

static bool is_repeated(const uint8_t *code, size_t bytes)
{
	uint8_t op;

	if (bytes < 2 || (code[0] != 0xf3 && code[0] != 0xf2))
		return false;
	op = bytes > 2 && (code[1] & 0xf0) == 0x40 ? code[2] : code[1];
	return (op >= 0xa4 && op <= 0xa7) || (op >= 0xaa && op <= 0xaf);
}

static bool is_nopl(const struct qemu_plugin_insn *insn, uint32_t *value)
{
	static const uint8_t nopl[] = { 0x0f, 0x1f, 0x80 };
	const uint8_t *code = qemu_plugin_insn_data(insn);

	if (qemu_plugin_insn_size(insn) != NOPL_BYTES || memcmp(code, nopl, sizeof(nopl)))
		return false;
	memcpy(value, code + sizeof(nopl), sizeof(*value));
	return true;
}

/* The function's own marks take effect when they are translated */
static bool is_mark(struct qemu_plugin_tb *tb)
{
	uint32_t operation, value;

	if (qemu_plugin_tb_n_insns(tb) < 2 ||
	    !is_nopl(qemu_plugin_tb_get_insn(tb, 0), &operation) ||
	    !is_nopl(qemu_plugin_tb_get_insn(tb, 1), &value))
		return false;
	if (operation == MARK_FUNCTION)
		function.from = UINT64_C(0xffffffff00000000) | value;
	else if (operation == MARK_END)
		function.to = UINT64_C(0xffffffff00000000) | value;
	else if (operation == MARK_PHASE)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, end_phase, QEMU_PLUGIN_CB_NO_REGS,
						     (void *)(uintptr_t)value);
	return operation >= MARK_FUNCTION && operation <= MARK_PHASE;
}

static void watch_function(struct qemu_plugin_tb *tb, uint64_t address)
{
	size_t last = qemu_plugin_tb_n_insns(tb) - 1;
	const uint8_t *code = qemu_plugin_insn_data(qemu_plugin_tb_get_insn(tb, last));

	if (address < function.from || address >= function.to)
		return;
	if (address == function.from)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, enter, QEMU_PLUGIN_CB_NO_REGS, NULL);
	if (code[0] == RET)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, leave, QEMU_PLUGIN_CB_NO_REGS, NULL);
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	uint64_t address = qemu_plugin_tb_vaddr(tb);
	struct qemu_plugin_insn *first = qemu_plugin_tb_get_insn(tb, 0);
	size_t insns = qemu_plugin_tb_n_insns(tb);

	(void)id;
	/* One that begins a block is a repetition: the first is within another */
	if (is_mark(tb) ||
	    is_repeated(qemu_plugin_insn_data(first), qemu_plugin_insn_size(first)))
		return;
	qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64,
						 address >> 63 ? counter(address) : &user_insns,
						 insns);
	qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, &all_insns, insns);
	watch_function(tb, address);
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info,
			int argc, char **argv)
{
	(void)info;
	if (argc != 1 || strncmp(argv[0], "out=", 4)) {
		fprintf(stderr, "count_insns: the one argument is out=FILE\n");
		return 1;
	}
	out = fopen(argv[0] + 4, "w");
	counters = calloc(ADDRESSES, sizeof(*counters));
	if (!out || !counters) {
		perror(argv[0]);
		return 1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
