# SPDX-License-Identifier: GPL-2.0
#
# What of the kernel's selftests/lib.mk the Makefile needs outside a kernel tree.
# TESTS="NAME..." runs some of them; what is built goes to OUTPUT.

OUTPUT ?= $(abspath $(or $(HETCC_BUILD),../../../build)/kselftest)
TESTS ?= $(TEST_PROGS)
TEST_GEN_FILES := $(addprefix $(OUTPUT)/,$(TEST_GEN_FILES))

.PHONY: all run_tests clean
all: $(TEST_GEN_FILES)

run_tests: all
	@PATH="$(OUTPUT):$$PATH" bash runner.sh $(TESTS)

clean:
	rm -rf $(OUTPUT)
