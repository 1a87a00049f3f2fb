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

.PHONY: all modules modules_install clean help setup kernel kernel-patched kernels demo check check-fast check-changed \
	check-cluster check-hostile check-vm check-debug check-quic check-series check-upstream claims figures bench cost cpu-cost \
	lint matrix prove distclean dkms-install dkms-uninstall deb dist docs docs-data gauntlet wheel

all: modules

modules modules_install:
	@test -d $(KDIR) || { echo "no kernel headers in $(KDIR): $(HEADERS)" >&2; exit 1; }
	@test -w . || { echo "$(CURDIR): you cannot write here, where modules are built: copy the tree first" >&2; exit 1; }
	$(MAKE) -C $(KDIR) M=$(CURDIR) $@

dkms-install dkms-uninstall:
	@tools/packaging/dkms.sh $(@:dkms-%=%)

deb dist:
	@tools/packaging/$@.sh

wheel: setup
	@tools/packaging/wheel.sh

help:
	@echo "make                 build the modules (KDIR=...: for another kernel)"
	@echo "make modules_install install them under /lib/modules (as root; then depmod -a)"
	@echo "make dkms-install    modules and hetcc command by DKMS (as root; KVER=...: for"
	@echo "                     another kernel); make dkms-uninstall removes all of it"
	@echo "make deb             package: $(BUILD)/deb/hetcc-dkms_VERSION_all.deb"
	@echo "make dist            release: $(BUILD)/dist/hetcc-VERSION.tar.xz, SHA256SUMS"
	@echo "make wheel           Python package of the hetlab command for hosts without a"
	@echo "                     checkout: $(BUILD)/wheel (docs/cluster.md)"
	@echo "make demo            set up, build the lab's kernel, run ten congestion controls"
	@echo "                     over a lossy, an asymmetric and a satellite link (half"
	@echo "                     a minute after the kernel's four): $(BUILD)/demo/report.html;"
	@echo "                     PACK=FILE, or hetcc.tar.gz here: a pack, nothing is built"
	@echo "make check           all tests: estimators, lab, links, modules, Santa Cruz"
	@echo "                     option, linters, Debian's 6.1, 6.12 and 7.2 headers; later"
	@echo "                     what a change can touch, AGAIN=1: all (tests/README)"
	@echo "make check-fast      what needs neither kernel nor compiler: half a minute"
	@echo "make check-changed   what the changes since main (BASE=...) can touch, and why"
	@echo "make setup           Debian packages (as root) and the Python environment"
	@echo "make kernel          the lab's kernel, modules and traffic tools"
	@echo "make kernels         that, one with santacruz_opt.patch, one with KASAN"
	@echo "make check-hostile   ten million lying packets against the latter (ten minutes);"
	@echo "                     part of make check are 600,000, without KASAN"
	@echo "make check-vm        the modules on Debian's kernels 6.12 and 6.1 under QEMU:"
	@echo "                     selftests, iperf3, Mininet, agreement (docs/vm.md)"
	@echo "make check-debug     the modules under stress in QEMU, with KASAN, lockdep,"
	@echo "                     kmemleak: 15 minutes (docs/debug.md)"
	@echo "make check-series    each patch of santacruz_opt.patch: compiled in and out,"
	@echo "                     booted, its packet scripts; the lab on Linux 6.1, 7.2 (an"
	@echo "                     hour at first)"
	@echo "make check-upstream  the kernel's own packetdrill scripts and selftests, with"
	@echo "                     and without the patch, and the same bytes in all networks;"
	@echo "                     make check has the scripts and half of the networks"
	@echo "make check-cluster   one sweep here, by Dask's workers, Slurm, ssh: same bytes,"
	@echo "                     whatever breaks (docs/cluster.md): half an hour"
	@echo "make bench           CPU time of the lab, ns-3 and ns-2 for one network:"
	@echo "                     half an hour; docs/data/speed.json (docs/speed.md)"
	@echo "make check-quic      flows of quic-go, quinn and aioquic (docs/quic.md)"
	@echo "make claims          the papers' claims and thresholds of real networks, judged"
	@echo "make figures         the papers' figures and tables from our runs: $(BUILD)/figures"
	@echo "make gauntlet        quick cases of hetlab judge for the kernel's controls"
	@echo "                     and ours (half an hour): docs/data/gauntlet.jsonl and"
	@echo "                     $(BUILD)/gauntlet/scorecard.html; QUICK= for all cases,"
	@echo "                     CCS=... for some of them"
	@echo "make docs            write the numbers of docs/data into README and docs"
	@echo "make docs-data       measure them again; NAME=... one of docs/data alone"
	@echo "make cost            what the Santa Cruz option costs: bytes, merging, CPU time"
	@echo "make cpu-cost        what a congestion control costs: instructions per ACK on"
	@echo "                     Debian's 6.12 and 6.1 under QEMU (docs/cost.md)"
	@echo "make lint matrix     parts of make check"
	@echo "make prove           its proofs: no input makes estimators overflow"
	@echo "make clean distclean what the module build left here; all of $(BUILD)"
	@echo "HETCC_BUILD=DIR make ...  an absolute path instead of build, but for modules"

setup:
	@tools/setup.sh

kernel: setup
	@$(HETLAB) kernel

kernel-patched: kernel
	@$(HETLAB) kernel --patched

kernels: kernel-patched
	@$(HETLAB) kernel --patched --debug

# Every congestion control of the kernel and of this tree, and a rank for the next one: quick cases and two long ones;
# QUICK= for all cases (hours), CCS= for some congestion controls: the others' verdicts stay
QUICK ?= --quick --case l-85 --case g-starlink
IN_TREE := reno cubic bbr bic cdg dctcp highspeed htcp hybla illinois lp nv scalable vegas veno westwood yeah
OURS := santacruz westwood_fr westwood_gfr hybla_ext hybla_paper
CCS ?= $(IN_TREE) $(OURS)
gauntlet: kernel
	@mkdir -p $(BUILD)/gauntlet
	@$(HETLAB) judge $(CCS) $(QUICK) --out $(BUILD)/gauntlet --json > $(BUILD)/gauntlet/verdicts || \
		[ $$? = 1 ]  # 1: some case is failed by somebody
	@$(BUILD)/venv/bin/python tools/docs/make_docs.py verdicts $(BUILD)/gauntlet/verdicts

# The lab as one file (hetlab pack), if it lies here: nothing is set up or built then
PACK ?= $(wildcard hetcc.tar.gz)
PACKED := $(BUILD)/pack/hetcc/tools/hetlab
demo: $(if $(PACK),$(PACKED),kernel)
	@rm -rf $(BUILD)/demo
	@$(if $(PACK),sed -n 's|^ "commit": "\(.*\)".$$|with the lab in $(PACK): commit \1|p' \
		$(BUILD)/pack/hetcc/build/pack.json)
	@$(if $(PACK),$(PACKED),$(HETLAB)) run $(DEMO) --set 'sweep={}' $(DEMO_CCS:%=--cc %) --out $(BUILD)/demo
	@$(if $(PACK),$(PACKED),$(HETLAB)) report $(BUILD)/demo \
		--title "hetcc: ten congestion controls on three links"

ifneq ($(PACK),)
$(PACKED): $(PACK)
	@rm -rf $(BUILD)/pack && mkdir -p $(BUILD)/pack
	@tar -xzf $< -C $(BUILD)/pack --no-same-owner
	@touch $@
endif

check:
	@tools/setup.sh --check --vm --room 12
	@$(MAKE) --no-print-directory kernel-patched
	@$(if $(AGAIN),rm -f $(BUILD)/passed.json)
	@$(BUILD)/venv/bin/python -m pytest -n auto --dist loadfile --no-loadscope-reorder --not-again \
		--durations 20 --durations-min 20

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

check-cluster: kernel
	@tools/setup.sh --check --cluster
	@$(BUILD)/venv/bin/python -m pytest -m cluster

bench: kernel
	@tools/setup.sh --bench
	@tools/bench/speed.py

check-series: setup
	@$(BUILD)/venv/bin/python -m pytest -m series

check-upstream: kernel-patched
	@$(BUILD)/venv/bin/python -m pytest -m 'virtual or series' \
		tests/option/test_upstream.py tests/option/test_kernel_selftests.py tests/option/test_unchanged.py

check-debug:
	@tools/setup.sh --check --vm
	@$(BUILD)/venv/bin/python -m pytest -s -m debug

claims figures: kernel-patched
	@$(HETLAB) $@

docs: setup
	@$(BUILD)/venv/bin/python tools/docs/make_docs.py write

docs-data: kernel-patched
	@$(BUILD)/venv/bin/python tools/docs/make_docs.py data $(NAME)

cost: kernel-patched
	@$(BUILD)/venv/bin/python tools/bench/option_cost.py

cpu-cost:
	@tools/setup.sh --vm
	@$(BUILD)/venv/bin/python tools/bench/cpu_cost.py --kernel 6.12 --kernel 6.1

prove:
	@tools/setup.sh --check
	@$(BUILD)/venv/bin/python tools/ci/prove.py

lint matrix:
	@tools/setup.sh --check
	@tools/ci/$(if $(filter lint,$@),lint,build_matrix).sh

# What the module build left here; the kernel's own clean would go through $(BUILD) as well
clean:
	@find . -maxdepth 1 -type f \( -name '*.ko' -o -name '*.o' -o -name '*.mod' -o -name '*.mod.c' -o -name '.*.cmd' \
		-o -name '.*.d' -o -name Module.symvers -o -name modules.order -o -name modules.livepatch \) -delete

distclean:
	rm -rf $(BUILD)
