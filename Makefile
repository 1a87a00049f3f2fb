# SPDX-License-Identifier: GPL-2.0
# People's targets; what the kernel builds is in Kbuild.
KDIR ?= /lib/modules/$(shell uname -r)/build
BUILD := $(or $(HETCC_BUILD),build)
ifneq ($(words $(CURDIR)$(BUILD)),1)
$(error the path "$(if $(word 2,$(CURDIR)),$(CURDIR),$(BUILD))" has a blank, at which make and the kernel's build split it: \
	choose one without)
endif
# The release in a path as the kernel's packages make it; another path says nothing about a package
release := $(patsubst /lib/modules/%/build,%,$(KDIR))
HEADERS := $(if $(findstring /,$(release)),,apt-get install linux-headers-$(release) (Debian), or )name others with KDIR=...
HETLAB := tools/hetlab
DEMO := real_networks-loss santacruz-asym geo
DEMO_CCS := santacruz westwood_fr westwood_gfr hybla_ext reno cubic bbr vegas westwood hybla

.PHONY: all modules modules_install clean help setup kernel kernels demo check check-fast check-changed \
	check-hostile check-vm check-debug check-quic claims figures cost cpu-cost lint matrix distclean dkms-install \
	dkms-uninstall deb dist docs docs-data

all: modules

modules modules_install:
	@test -d $(KDIR) || { echo "no kernel headers in $(KDIR): $(HEADERS)" >&2; exit 1; }
	@test -w . || { echo "$(CURDIR): you cannot write here, where modules are built: copy the tree first" >&2; exit 1; }
	$(MAKE) -C $(KDIR) M=$(CURDIR) $@

dkms-install dkms-uninstall:
	@tools/packaging/dkms.sh $(@:dkms-%=%)

deb dist:
	@tools/packaging/$@.sh

help:
	@echo "make                 build the modules for the running kernel (KDIR=... for another)"
	@echo "make modules_install install them under /lib/modules (as root; then depmod -a)"
	@echo "make dkms-install    install modules and hetcc command by DKMS (as root; KVER=... for a kernel"
	@echo "                     that is not running); make dkms-uninstall removes all of it"
	@echo "make deb             Debian package: $(BUILD)/deb/hetcc-dkms_VERSION_all.deb"
	@echo "make dist            release: $(BUILD)/dist/hetcc-VERSION.tar.xz, SHA256SUMS"
	@echo "make demo            set up, build the lab's kernel, run ten congestion controls over"
	@echo "                     a lossy, an asymmetric and a satellite link; $(BUILD)/demo/report.html"
	@echo "make check           all tests: estimators, lab, links, modules and the Santa Cruz option"
	@echo "                     in the lab, linters, Debian's 6.1, 6.12 and 7.2 headers"
	@echo "make check-fast      what needs neither kernel nor compiler: less than 30 s on two idle cores"
	@echo "make check-changed   what the changes since main (BASE=...) can touch, and why each is run"
	@echo "make setup           Debian packages (as root) and the Python environment"
	@echo "make kernel          the lab's kernel, modules and traffic tools"
	@echo "make kernels         that, one with santacruz_opt.patch, one more under KASAN and UBSAN"
	@echo "make check-hostile   ten million lying packets against the latter (ten minutes); part"
	@echo "                     of make check are 600,000"
	@echo "make check-vm        the modules on Debian's own kernels 6.12 and 6.1 under QEMU: selftests,"
	@echo "                     iperf3, Mininet, agreement with virtual time (docs/vm.md)"
	@echo "make check-debug     the modules under stress in QEMU, in a kernel with KASAN, UBSAN, lockdep and"
	@echo "                     kmemleak: 10 minutes of virtual time, 90 s on parallel CPUs (docs/debug.md)"
	@echo "make check-quic      flows of quic-go, quinn and aioquic, which it builds (docs/quic.md)"
	@echo "make claims          the papers' claims and thresholds of real networks, judged on today's kernel"
	@echo "make figures         the papers' figures and tables from our runs: $(BUILD)/figures"
	@echo "make docs            write the numbers of docs/data into README and docs (a test compares)"
	@echo "make docs-data       measure them again, with NAME=... one file of docs/data (tools/docs/tables.toml)"
	@echo "make cost            what the Santa Cruz option costs: bytes, merging, CPU time"
	@echo "make cpu-cost        what a congestion control costs: instructions per ACK on Debian's 6.12"
	@echo "                     and 6.1 under QEMU, which counts them (docs/cost.md)"
	@echo "make lint matrix     parts of make check"
	@echo "HETCC_BUILD=DIR make ...  an absolute path: all but the module build goes there, not to build"
	@echo "make clean distclean what the module build left here; all of $(BUILD)"

setup:
	@tools/setup.sh

kernel: setup
	@$(HETLAB) kernel

kernels: kernel
	@$(HETLAB) kernel --patched
	@$(HETLAB) kernel --patched --debug

demo: kernel
	@rm -rf $(BUILD)/demo
	@$(HETLAB) run $(DEMO) --set 'sweep={}' $(DEMO_CCS:%=--cc %) --out $(BUILD)/demo
	@$(HETLAB) report $(BUILD)/demo --title "hetcc: ten congestion controls on three links"

check:
	@tools/setup.sh --check --vm
	@$(MAKE) --no-print-directory kernels
	@$(BUILD)/venv/bin/python -m pytest -n auto --dist loadfile

check-fast:
	@tools/setup.sh --check
	@$(BUILD)/venv/bin/python -m pytest -n auto --dist worksteal -m fast

BASE ?= main
check-changed:
	@tools/setup.sh --check --vm
	@$(BUILD)/venv/bin/python tools/ci/changed.py --base $(BASE)

check-hostile: kernels
	@$(BUILD)/venv/bin/python tests/option/fuzz/campaign.py

check-vm: kernel
	@tools/setup.sh --vm
	@$(BUILD)/venv/bin/python -m pytest -m vm

check-quic: kernel
	@tools/setup.sh --check --quic
	@$(BUILD)/venv/bin/python -m pytest -m quic

check-debug:
	@tools/setup.sh --check --vm
	@$(BUILD)/venv/bin/python -m pytest -s -m debug

claims figures: kernels
	@$(HETLAB) $@

docs: setup
	@$(BUILD)/venv/bin/python tools/docs/make_docs.py write

docs-data: kernels
	@$(BUILD)/venv/bin/python tools/docs/make_docs.py data $(NAME)

cost: kernels
	@$(BUILD)/venv/bin/python tools/bench/option_cost.py

cpu-cost:
	@tools/setup.sh --vm
	@$(BUILD)/venv/bin/python tools/bench/cpu_cost.py --kernel 6.12 --kernel 6.1

lint matrix:
	@tools/setup.sh --check
	@tools/ci/$(if $(filter lint,$@),lint,build_matrix).sh

# What the module build left here; the kernel's own clean would go through $(BUILD) as well
clean:
	@find . -maxdepth 1 -type f \( -name '*.ko' -o -name '*.o' -o -name '*.mod' -o -name '*.mod.c' -o -name '.*.cmd' \
		-o -name '.*.d' -o -name Module.symvers -o -name modules.order -o -name modules.livepatch \) -delete

distclean:
	rm -rf $(BUILD)
