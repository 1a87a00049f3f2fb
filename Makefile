# SPDX-License-Identifier: GPL-2.0
# People's targets; what the kernel builds is in Kbuild.
KDIR ?= /lib/modules/$(shell uname -r)/build
BUILD := $(or $(HETCC_BUILD),build)
HETLAB := tools/hetlab
DEMO := sc-wireless sc-asym geo

.PHONY: all modules modules_install clean help setup kernel tools demo check lint matrix distclean

all: modules

modules modules_install:
	@test -d $(KDIR) || { echo "no kernel headers in $(KDIR): install them, or name others with KDIR=..." >&2; exit 1; }
	$(MAKE) -C $(KDIR) M=$(CURDIR) $@

help:
	@echo "make                 build the modules for the running kernel (KDIR=... for another)"
	@echo "make modules_install install them under /lib/modules (as root; then depmod -a)"
	@echo "make demo            set up, build the lab's kernel, run ten congestion controls over"
	@echo "                     a lossy, an asymmetric and a satellite link; $(BUILD)/demo/report.html"
	@echo "make check           all tests: estimators, lab, links, modules in the lab, linters,"
	@echo "                     modules against Debian's 6.1, 6.12 and 7.2 headers"
	@echo "make setup           Debian packages (as root) and the Python environment"
	@echo "make kernel          the lab's kernel, modules and traffic tools"
	@echo "make lint matrix     parts of make check"
	@echo "make clean distclean what the module build left here; all of $(BUILD)"

setup:
	@tools/setup.sh

kernel: setup
	@$(HETLAB) kernel

demo: kernel
	@rm -rf $(BUILD)/demo
	@$(HETLAB) run $(DEMO) --out $(BUILD)/demo
	@$(HETLAB) report $(BUILD)/demo --title "hetcc: ten congestion controls on three links"

check:
	@tools/setup.sh --check
	@$(HETLAB) kernel
	@$(BUILD)/venv/bin/python -m pytest

lint matrix:
	@tools/setup.sh --check
	@tools/ci/$(if $(filter lint,$@),lint,build_matrix).sh

clean:
	@if [ -d $(KDIR) ]; then $(MAKE) -C $(KDIR) M=$(CURDIR) clean; fi

distclean:
	rm -rf $(BUILD)
