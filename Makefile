# longhaul. `make help` lists the targets; `make` builds build/longhaul.
#
# ---- Settings: give them on the command line, as in `make REAL=double CC=clang` ----------------
O        ?= build#               where everything that is made goes
V        ?= 0#                   1: show the commands
WERROR   ?=#                     1: warnings and banned functions are errors (make test sets it)
SANITIZE ?=#                     e.g. address,undefined
REAL     ?= float#               double: the build of the gradient checks
COVERAGE ?=#                     1: instrument for gcov
OPTIMIZE ?= -O3
OBJCOPY  ?= objcopy
PREFIX   ?= /usr/local
DESTDIR  ?=
DEPS     ?=#                     a folder with include/ and lib/ to build from first
CUDA     ?=#                     1: with the CUDA kernels; 0: without; sim: with tests/cudasim in place
#                                of a GPU; empty: 1 where there are both nvcc and a GPU
CUDA_ARCHITECTURES ?= 80 90#     compiled for; newer cards translate the last one
CUOBJDUMP ?=#                    reads machine code for make cuda; default: beside nvcc or in the path; no: leave that out
# Probes, each found by itself; `no` leaves a part out, flags or a program are taken as given:
# OPENMP BLAS LUA CSV CJSON ZLIB XXHASH ONEDNN PCRE2 SENTENCEPIECE GNUPLOT CURL NVCC MPI
PROBES   := CC CXX DEPS OPENMP BLAS LUA CSV CJSON ZLIB XXHASH ONEDNN PCRE2 SENTENCEPIECE GNUPLOT CURL NVCC MPI
# What the targets work on:
PAPER    ?=#                     reproduce-table1 (default: the first), studies (all): a paper's folder of experiments/
SCALE    ?= small#               smoke, small, study, medium, gpu, paper
DEVICE   ?= cpu
SEEDS    ?=#                     how many; default: what the experiment says
ROUNDS   ?= 3#                   studies: idle rounds of step times; three or more decide a claim about time
JOBS     ?=#                     reproduce-table1, studies: rows side by side, a number or auto
FROM     ?= reference#           figures: from the committed runs; own: from those in results/
BACKEND  ?= cpu#                 conformance: cpu, cudasim or cuda
KERNEL   ?=#                     conformance: one kernel; default: all
CORPUS   ?= enwik8#              data-fetch
FUZZ_SECONDS ?= 20#              of the processor, for each reader
SOAK_SECONDS ?= 600
SAMPLE   ?= 4#                   test: of the longest kernels on the simulator one case in so many; 1: all, as test-long
# -------------------------------------------------------------------------------------------------

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --no-print-directory
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 2)
endif
ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := $(if $(findstring clang,$(CC)),$(subst clang,clang++,$(CC)),g++)
endif

# Lists of files hold no path with a blank: make O="my build" clean would take away my and build.
$(foreach name,O DEPS,$(if $(word 2,$($(name))),$(error $(name)=$($(name)): a path without blanks is needed, such as a \
    link to it)))
$(if $(O),,$(error O= names no folder))

# The bundle's own Lua interpreter, before the system's.
ifneq ($(DEPS),)
override DEPS := $(abspath $(DEPS))
export PATH := $(DEPS)/bin:$(PATH)
endif

comma := ,
space := $(subst ,, )
Q := $(if $(filter 1,$(V)),,@)
say = @printf '  %-5s %s\n' '$(1)' '$(2)'

# ---- Every combination of settings has its own folder, so that switching never mixes ------------
compiler_folder := $(O)$(if $(filter-out gcc,$(CC)),/$(notdir $(firstword $(CC))))
variant = $(strip $(filter double,$(REAL)) $(1) $(subst $(comma),+,$(SANITIZE)) $(if $(COVERAGE),coverage) \
    $(if $(WERROR),werror))
folder_of = $(compiler_folder)$(if $(variant),/$(subst $(space),-,$(variant)))
# B has the objects; D the programs, and the few objects that ask which devices there are. So the simulator
# shares all others with the build without it, except under the thread sanitizer, which then sees CUDA sources alone.
D := $(call folder_of,$(filter sim,$(CUDA)))
B := $(if $(filter thread,$(SANITIZE)),$(D),$(call folder_of))
config := $(compiler_folder)/config.mk
program := $(D)/longhaul

# A file of the quoted lines $(2), touched only when they change: what depends on it follows settings.
remember = $(shell mkdir -p $(dir $(1)); printf '%s\n' $(2) | cmp -s - $(1) || printf '%s\n' $(2) >$(1))

no_build := help clean format lint uninstall install-headers
needs_build := $(if $(MAKECMDGOALS),$(filter-out $(no_build),$(MAKECMDGOALS)),all)
# These install missing packages first; the others say what to install.
installs := $(filter test test-% reproduce-%,$(MAKECMDGOALS))

ifneq ($(needs_build),)
probe_values := $(foreach name,$(PROBES),$(name)="$($(name))")
$(call remember,$(compiler_folder)/probes,'$(probe_values)')
include $(config)
ifneq ($(and $(installs),$(MISSING_PACKAGES)),)
ifeq ($(MAKE_RESTARTS),)
$(config): always
endif
endif
endif

$(config): scripts/configure.sh scripts/install-packages.sh $(compiler_folder)/probes
	$(Q)$(probe_values) INSTALL=$(if $(installs),yes) scripts/configure.sh $@

# ---- CUDA ---------------------------------------------------------------------------------------
# The sources of kernels/cuda go through nvcc, or as plain C++ through tests/cudasim.
cuda := $(if $(CUDA),$(filter-out 0 no,$(subst yes,1,$(CUDA))),$(if $(filter yes,$(GPU_FOUND)),$(if $(NVCC_PATH),1)))
ifeq ($(REAL),double)
cuda :=
endif
ifeq ($(filter-out 1 sim,$(cuda)),)
else
$(error CUDA=$(CUDA): give 0, 1 or sim)
endif
ifneq ($(and $(filter 1,$(cuda)),$(needs_build),$(wildcard $(config))),)
ifeq ($(NVCC_PATH),)
$(error CUDA=1, but no nvcc was found: install the CUDA toolkit, or give NVCC=/path/to/nvcc)
endif
endif
cuda_home := $(patsubst %/bin/nvcc,%,$(NVCC_PATH))
nccl := $(if $(filter 1,$(cuda)),$(filter yes,$(NCCL_FOUND)))
cuda_libraries := $(if $(filter 1,$(cuda)),$(if $(nccl),$(foreach folder,lib64 lib,-L$(cuda_home)/$(folder)) -lnccl) $(CUDA_LDLIBS))
ifeq ($(cuda),sim)
CPU_ISAS := scalar# what is tested there is not the CPU
endif
cuda_sources := $(if $(cuda),$(wildcard kernels/cuda/*.cu))
simulator_sources := $(if $(filter sim,$(cuda)),$(wildcard tests/cudasim/*.cc))

# ---- Flags --------------------------------------------------------------------------------------
# No -ffast-math: not-a-number rules and bit reproducibility matter. Reductions that may be
# reordered say so themselves, with `#pragma omp simd reduction`.
warnings := -Wall -Wextra -Wshadow -Wundef -Wpedantic $(if $(WERROR),-Werror)
warnings_c := -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wdouble-promotion
maths := -fno-math-errno -fno-trapping-math -ffp-contract=fast
ifeq ($(COMPILER),clang)
warnings += -Wno-pass-failed# a loop that stays scalar in one instruction set is no mistake
endif
# Races of GPU threads are looked for in kernels/cuda alone.
races := $(and $(filter sim,$(cuda)),$(filter thread,$(SANITIZE)))
race_flags := $(if $(races),-fsanitize=thread$(comma)alignment -fno-sanitize-recover=alignment)
instrument := $(if $(SANITIZE),$(if $(races),,-fsanitize=$(SANITIZE) -fno-sanitize-recover=all) -fno-omit-frame-pointer) \
    $(if $(COVERAGE),--coverage)
optimize := $(if $(SANITIZE)$(COVERAGE),-O1,$(OPTIMIZE))

cppflags := -I. -D_POSIX_C_SOURCE=200809L $(if $(filter double,$(REAL)),-DLH_REAL_DOUBLE) \
    $(if $(filter yes,$(SENTENCEPIECE_FOUND)),-DLH_HAVE_SENTENCEPIECE) \
    $(if $(filter yes,$(PCRE2_FOUND)),-DLH_HAVE_PCRE2) \
    $(LIB_CPPFLAGS) $(CPPFLAGS)
device_cppflags := $(if $(filter avx2,$(CPU_ISAS)),-DLH_HAVE_AVX2) $(if $(filter avx512,$(CPU_ISAS)),-DLH_HAVE_AVX512) \
    $(if $(cuda),-DLH_HAVE_CUDA) $(if $(filter sim,$(cuda)),-DLH_CUDASIM) $(if $(races),-DLH_CUDASIM_RACES)
both := -g $(optimize) $(maths) $(OPENMP_FLAGS) $(instrument) -MMD -MP
cflags := -std=c11 $(both) $(warnings) $(warnings_c) $(if $(WERROR),-include tests/lint/banned.h) $(CFLAGS)
cxxflags := -std=c++17 $(both) $(warnings) $(CXXFLAGS)
# Of an access that is aligned and one that need not be gcc 12 makes one of the former kind, where the latter is a vector.
simflags = $(cppflags) $(device_cppflags) -Itests/cudasim/include $(cxxflags) -fno-tree-slp-vectorize $(race_flags) -x c++
nvccflags := -std=c++17 -O3 --extended-lambda -lineinfo -I. $(CUDA_CPPFLAGS) -MMD -MP -ccbin $(CXX) \
    $(foreach number,$(CUDA_ARCHITECTURES),-gencode arch=compute_$(number)$(comma)code=sm_$(number)) \
    $(foreach number,$(lastword $(CUDA_ARCHITECTURES)),-gencode arch=compute_$(number)$(comma)code=compute_$(number)) \
    -Xcompiler -Wall$(comma)-Wextra$(comma)-Wshadow$(if $(WERROR),$(comma)-Werror -Werror all-warnings) $(NVCCFLAGS)
linker := $(if $(filter yes,$(SENTENCEPIECE_FOUND))$(cuda),$(CXX),$(CC))
link = $(linker) $(both) $(race_flags) -rdynamic $(LIB_LDFLAGS) $(LDFLAGS) -o $@ $^ $(LIB_LDLIBS) $(cuda_libraries) \
    -ldl -lm $(LDLIBS)
compile = $(CC) $(cppflags) $(cflags)
ifneq ($(needs_build),)
$(call remember,$(B)/flags,'$(compile)' '$(CXX) $(cxxflags)' '$(LIB_LDLIBS) $(LDFLAGS)')
$(call remember,$(D)/device.flags,'$(device_cppflags)' '$(if $(filter 1,$(cuda)),$(NVCC_PATH) $(nvccflags),$(if $(cuda),$(simflags)))')
version := $(shell scripts/version.sh)
build_flags := $(strip $(optimize) $(maths) $(OPENMP_FLAGS) $(instrument) $(if $(filter double,$(REAL)),-DLH_REAL_DOUBLE) \
    $(CFLAGS) $(if $(filter 1,$(cuda)),nvcc -O3 $(CUDA_ARCHITECTURES:%=sm_%)))
$(call remember,$(B)/version.h,'#define LH_VERSION "$(word 1,$(version))"' '#define LH_DIRTY "$(word 2,$(version))"' \
    '#define LH_BUILD_FLAGS "$(subst ',,$(subst ",,$(build_flags)))"' \
    '#define LH_DATA_DIR "$(PREFIX)/share/longhaul"')
endif

# ---- Sources: whatever lies in these folders ----------------------------------------------------
folders := kernels kernels/cost $(addprefix harness/,engine ops train tasks infer run bench lua) \
    models $(patsubst %/,%,$(wildcard models/*/)) datasets $(patsubst %/,%,$(wildcard datasets/*/))
mpi := $(filter yes,$(MPI_FOUND))
onednn := $(if $(filter double,$(REAL)),,$(filter yes,$(ONEDNN_FOUND)))
left_out := $(if $(filter yes,$(PCRE2_FOUND)),,$(addprefix datasets/tokens/,bpe.c bpe_train.c tokens_bpe.c tokens_subwords.c)) \
    kernels/$(if $(onednn),product_none.c,product.c) \
    harness/run/$(if $(mpi),ranks_none.c,ranks_mpi.c) harness/run/$(if $(and $(mpi),$(nccl)),nccl_none.c,nccl.c)
sources := $(filter-out $(left_out),$(wildcard $(folders:=/*.c)))
sources_cxx := $(if $(filter yes,$(SENTENCEPIECE_FOUND)),$(wildcard datasets/tokens/*.cc))
# The CPU kernels are compiled once per instruction set, and the objects of one set joined into one
# that shows only its table; kernels/backends.c chooses at start-up.
sources_isa := $(wildcard kernels/cpu/*.c)
isa_objects := $(foreach isa,$(CPU_ISAS),$(sources_isa:%.c=$(B)/%.$(isa).o))
# These alone ask which devices there are, beside CUDA sources and the simulator.
of_devices := kernels/backends.c tests/harness/ops/test_loss.c tests/kernels/call.c tests/kernels/data.c
objects_of = $(patsubst %.c,$(D)/%.o,$(filter $(of_devices),$(1))) $(patsubst %.c,$(B)/%.o,$(filter-out $(of_devices),$(1)))
kernel_objects := $(call objects_of,$(filter kernels/%,$(sources))) $(CPU_ISAS:%=$(B)/kernels/cpu.%.o) \
    $(cuda_sources:%.cu=$(D)/%.o) $(simulator_sources:%.cc=$(D)/%.o)
objects := $(sort $(call objects_of,$(sources)) $(sources_cxx:%.cc=$(B)/%.o) $(kernel_objects))
library := $(D)/liblonghaul.a

# The Lua half of the library travels inside the program.
lua_sources := $(wildcard harness/lua/longhaul/*.lua harness/lua/longhaul/*/*.lua \
    $(foreach room,run bench report report/charts,harness/$(room)/*.lua) datasets/*.lua)
objects += $(B)/harness/lua/embedded.o

.PHONY: all cuda machine-code
all: $(program) ## Build build/longhaul

cuda: ## Compile the CUDA kernels too, warnings as errors, and check their machine code; needs nvcc, but no GPU
	$(Q)+$(MAKE) CUDA=1 WERROR=1 all machine-code

# cuobjdump comes with a whole toolkit, and not with every nvcc; a new table is left beside the objects.
cuobjdump = $(or $(CUOBJDUMP),$(wildcard $(cuda_home)/bin/cuobjdump),$(shell command -v cuobjdump))
read_machine_code = lua5.4 scripts/machine-code.lua $(cuobjdump) sm_90 $(nvcc_release) kernels/cuda/machine_code.csv \
    kernels/cuda/dynamic_shared.csv $^ >$(D)/machine_code.csv
left_unread = echo "machine code is not checked, as asked"
no_cuobjdump = echo "machine code was not checked: no cuobjdump in $(cuda_home)/bin or in the path (CUOBJDUMP=file, or no)" >&2; exit 1
nvcc_release = $(shell $(NVCC_PATH) --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')
machine-code: $(cuda_sources:%.cu=$(D)/%.o)
	$(Q)$(if $(filter no,$(CUOBJDUMP)),$(left_unread),$(if $(cuobjdump),$(read_machine_code),$(no_cuobjdump)))

define object_rules
$(1)/%.o: %.c $(B)/flags
	@mkdir -p $$(@D)
	$$(call say,CC,$$<)
	$$(Q)$$(compile) -c $$< -o $$@

$(1)/%.o: %.cc $(B)/flags
	@mkdir -p $$(@D)
	$$(call say,CXX,$$<)
	$$(Q)$$(CXX) $$(cppflags) $$(cxxflags) -c $$< -o $$@
endef
$(foreach folder,$(sort $(B) $(D)),$(eval $(call object_rules,$(folder))))

$(D)/%.o: %.cu $(B)/flags $(D)/device.flags
	@mkdir -p $(@D)
	$(call say,$(if $(filter sim,$(cuda)),SIM,NVCC),$<)
	$(Q)$(if $(filter sim,$(cuda)),$(CXX) $(simflags),$(NVCC_PATH) $(nvccflags)) \
	    -c $< -o $@

device_objects := $(of_devices:%.c=$(D)/%.o) $(simulator_sources:%.cc=$(D)/%.o)
$(device_objects): $(D)/device.flags
$(device_objects): cppflags += $(device_cppflags)

# What the contract says of each kernel, as a module.
kernels_module := $(B)/harness/lua/kernels.lua
$(kernels_module): scripts/kernels-module.lua $(wildcard kernels/contract/*.h)
	@mkdir -p $(@D)
	$(Q)lua5.4 $< $@ $(wildcard kernels/contract/*.h)

$(B)/harness/lua/embedded.c: scripts/embed.lua $(lua_sources) $(kernels_module)
	@mkdir -p $(@D)
	$(call say,EMBED,Lua)
	$(Q)lua5.4 scripts/embed.lua $@ $(lua_sources) $(kernels_module)

$(B)/harness/lua/embedded.o: $(B)/harness/lua/embedded.c $(B)/flags
	$(Q)$(compile) -c $< -o $@

define isa_rule
$(B)/kernels/cpu/%.$(1).o: kernels/cpu/%.c $(B)/flags
	@mkdir -p $$(@D)
	$$(call say,CC,$$< for $(1))
	$$(Q)$$(compile) -DLH_CPU_ISA=$(1) $(CPU_FLAGS_$(1)) -c $$< -o $$@

$(B)/kernels/cpu.$(1).o: $(sources_isa:%.c=$(B)/%.$(1).o)
	$$(Q)$(CC) -r -nostdlib -o $$@ $$^
	$$(Q)$(OBJCOPY) --keep-global-symbol=lh_cpu_$(1)_table $$@
endef
$(foreach isa,$(CPU_ISAS),$(eval $(call isa_rule,$(isa))))

$(B)/harness/run/nccl.o: cppflags += -isystem $(cuda_home)/include
$(B)/tests/harness/run/test_nccl.o: cppflags += -Itests/nccl# in place of NCCL and CUDA

# Who we are and where we are installed: only one file hears of it, so only it is rebuilt.
$(B)/harness/run/version.o: $(B)/version.h
$(B)/harness/run/version.o: cppflags += -include $(B)/version.h

$(library): $(objects)
	@rm -f $@
	$(Q)ar rcs $@ $^

# The program takes every object, used or not: models loaded at run time may call any of them.
$(program): $(B)/harness/main.o $(objects)
	$(call say,LINK,$@)
	$(Q)$(link)

# ---- Tests --------------------------------------------------------------------------------------
# tests/<folder>/test_x.c is one program, linked with the other .c files of its folder and of the one
# above; test_x.lua and test_x.sh are run as they are; long_x.* run in test-long only.
# tests/gradients is built with REAL=double only; tests/kernels, but for its test_x.c, is the one
# program `conformance`.
tests_named = $(sort $(wildcard $(foreach folders,* */* */*/*,tests/$(folders)/$(1))))
test_sources := $(filter-out tests/gradients/% $(if $(mpi),,tests/harness/run/test_ranks_mpi.c),$(call tests_named,test_*.c))
long_sources := $(call tests_named,long_*.c)
gradient_sources := $(wildcard tests/gradients/test_*.c)
fuzz_sources := $(wildcard tests/fuzz/fuzz_*.c)
conformance_sources := $(filter-out $(test_sources),$(wildcard tests/kernels/*.c \
    tests/kernels/cases/*.c))
# tests/kernels/reference is compiled twice: as what is right, and as the same loops in the type of
# the kernels.
define reference_rule
$(B)/tests/kernels/reference/%.$(1).o: tests/kernels/reference/%.c $(B)/flags
	@mkdir -p $$(@D)
	$$(call say,CC,$$< ($(1)))
	$$(Q)$$(compile) $(2) -c $$< -o $$@
endef
$(eval $(call reference_rule,precise,-DREFERENCE_PRECISE))
$(eval $(call reference_rule,naive))
reference_sources := $(wildcard tests/kernels/reference/*.c)
reference_objects := $(foreach type,precise naive,$(reference_sources:%.c=$(B)/%.$(type).o))
# tests are compiled for short builds
$(B)/tests/%.o $(D)/tests/%.o: cflags += $(if $(filter -O3,$(optimize)),-O2)
scripts = $(call tests_named,$(1)_*.lua) $(call tests_named,$(1)_*.sh)

programs_of = $(patsubst %.c,$(D)/%,$(1))
conformance := $(if $(conformance_sources),$(D)/tests/kernels/conformance)
matrix_rate := $(D)/tests/gpu/matrix_rate
race := $(if $(races),$(D)/tests/cudasim/race)
simulator_tests := $(if $(filter sim,$(cuda)),$(patsubst %.cu,$(D)/%,$(wildcard tests/cudasim/test_*.cu)))
# The instruction sets differ in nothing but flags of the compiler: what one reads out of bounds they
# all do, and the sanitizers take the last, which is the widest.
isas_to_test := $(filter $(CPU_ISAS_HERE),$(CPU_ISAS))
isas_to_test := $(if $(SANITIZE),$(lastword $(isas_to_test)),$(isas_to_test))
plugins := $(patsubst %.c,$(B)/%.so,$(wildcard tests/plugins/*.c))
fuzzers := $(call programs_of,$(fuzz_sources))
slow_disk := $(B)/tests/soak/slow_disk.so

single_sources := $(test_sources) $(long_sources) $(gradient_sources)
helpers_in = $(filter-out $(1)test_% $(1)long_% tests/kernels/%,$(wildcard $(1)*.c $(dir $(1:%/=%))*.c))
define test_rule
$(call programs_of,$(1)): $(call objects_of,$(1) $(call helpers_in,$(dir $(1)))) $(library)
endef
$(foreach source,$(single_sources),$(eval $(call test_rule,$(source))))
ifneq ($(conformance),)
# with the engine for gradients of ops, but not the table of models
$(conformance): $(call objects_of,$(conformance_sources)) $(reference_objects) $(kernel_objects) \
    $(filter-out %/plugin.o,$(filter $(B)/harness/engine/% $(B)/harness/ops/%,$(objects)))
endif
$(simulator_tests): %: %.o $(B)/harness/engine/error.o $(kernel_objects)
$(race): %: %.o $(simulator_sources:%.cc=$(D)/%.o)
# A fuzz program brings its own main with clang; elsewhere replay.c feeds it the corpus once.
fuzz_main := $(if $(filter yes,$(FUZZER_FOUND)),,$(B)/tests/fuzz/replay.o)
$(fuzzers): LDFLAGS += $(if $(fuzz_main),,-fsanitize=fuzzer)
$(fuzzers): $(D)/%: $(B)/%.o $(B)/tests/fuzz/scratch.o $(fuzz_main) $(library)
$(matrix_rate): $(D)/tests/gpu/matrix_rate.o
$(call programs_of,$(single_sources)) $(conformance) $(simulator_tests) $(race) $(matrix_rate) $(fuzzers):
	$(call say,LINK,$@)
	$(Q)$(link) $(TEST_LINKER)

$(B)/tests/%.so: tests/%.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(compile) -fPIC -shared $< -o $@

# Lists of commands for tests/run.sh, one a line, of this combination of settings.
write_list = $(Q)printf '%s\n' $(1) | grep . >$(O)/$@ || test $$? -eq 1# which says that it is empty

.PHONY: tests.list long.list gradients.list sim.list races.list run-tests
tests.list: $(call programs_of,$(test_sources)) $(conformance) $(fuzzers) $(plugins) $(program)
	$(call write_list,$(call programs_of,$(test_sources)) 'tests/fuzz/run.sh corpus 0 $(fuzzers)' \
	    $(if $(conformance),$(isas_to_test:%='LH_CPU_ISA=% $(conformance)')) $(call scripts,test))
long.list: $(call programs_of,$(long_sources)) $(program) $(slow_disk)
	$(call write_list,$(call programs_of,$(long_sources)) $(call scripts,long))
gradients.list: $(call programs_of,$(gradient_sources)) $(conformance)
	$(call write_list,$(call programs_of,$(gradient_sources)) \
	    $(if $(conformance),'$(conformance) --mode grad'))
# Of the programs of the other list those that ask every device there is.
of_every_device := $(addprefix $(D)/tests/harness/ops/test_,loss shared)
# The CUDA sources on the simulator (CUDA=sim), kernel by kernel; of those with the longest cases one in SAMPLE.
kernels = $(or $(shell $(conformance) --list),$(error $(conformance) lists no kernel))
slow_kernels := attention_forward attention_backward lsh_attention_backward
sample_of = $(if $(filter $(1),$(slow_kernels)),--sample $(SAMPLE))
sim.list: $(conformance) $(simulator_tests) $(of_every_device) $(program)
	$(call write_list,$(simulator_tests) $(of_every_device) \
	    $(foreach kernel,$(kernels),'$(conformance) --backend cudasim --mode test --kernel $(kernel) $(call sample_of,$(kernel))') \
	    'LONGHAUL_BIN=$(program) tests/cudasim/sim_train.sh' 'LONGHAUL_BIN=$(program) tests/cudasim/shared.sh')
# Of test-races (CUDA=sim SANITIZE=thread) what fits test-long: mistakes that were put in, and attention on tensor
# cores, whose copies come while others work; its backward pass alone takes longer than all of it.
races_in_long := attention_forward lsh_attention_forward lsh_attention_backward
races.list: $(conformance) $(race)
	$(call write_list,$(if $(shell command -v setarch),'tests/cudasim/races.sh $(D) planted' \
	    $(races_in_long:%='tests/cudasim/races.sh $(D) %')))
LISTS ?= tests
run-tests: $(addsuffix .list,$(filter-out gradients sim races,$(LISTS)))
	$(Q)LONGHAUL_BIN=$(program) LH_TEST_PLUGINS=$(B)/tests/plugins $(if $(SANITIZE),LH_TEST_CPU=1200) \
	    tests/run.sh $(LISTS:%=$(O)/%.list)

again = $(Q)+$(MAKE) $(1)
# Gradients are those of the formulas, whatever instructions compute them: one set will do.
in_double = WERROR=1 REAL=double CPU_ISAS=scalar

.PHONY: test test-long test-double test-sanitize test-faults run-faults test-threads run-threads test-races run-races test-soak run-soak mutants fuzz run-fuzz conformance run-conformance syntax lint
test: ## The whole suite: gradient checks in double and the CUDA sources on the simulator included
	$(call again,$(in_double) gradients.list)
	$(call again,WERROR=1 CUDA=sim sim.list)
	$(call again,WERROR=1 LISTS="tests gradients sim" run-tests)

test-long: ## The tests that take minutes too: all cases on the simulator, and races there
	$(call again,$(in_double) gradients.list)
	$(call again,WERROR=1 CUDA=sim SAMPLE=1 sim.list)
	$(call again,CUDA=sim SANITIZE=thread races.list)
	$(call again,WERROR=1 LISTS="tests gradients sim long races" run-tests)

test-double: ## Gradient checks of kernels, ops and models, in double
	$(call again,$(in_double) gradients.list)
	$(call again,WERROR=1 LISTS=gradients run-tests)

test-sanitize: ## The suite under the address, undefined-behaviour and leak sanitizers
	$(call again,SANITIZE=address$(comma)undefined run-tests)

test-faults: ## Fail every fallible call once, one after the other
	$(call again,SANITIZE=address$(comma)undefined run-faults)
run-faults: $(program)
	$(Q)LONGHAUL_BIN=$(program) tests/faults.sh

# Each in a copy of the tree under $(O)/mutants; what was caught there is not run again.
mutants: ## Seed small mistakes and see that tests notice; ONLY=pattern, JOBS=2, FRESH=1
	$(call again,WERROR=1 tests.list)
	$(call again,$(in_double) gradients.list)
	$(call again,WERROR=1 CUDA=sim SAMPLE=1 sim.list)
	$(Q)tests/mutants/run.sh $(O)/mutants

test-threads: ## Every kernel and some training under the thread sanitizer; needs clang and libomp-dev
	$(call again,CC=clang SANITIZE=thread run-threads)
thread_race := $(D)/tests/threads/race
$(thread_race): $(thread_race).o
	$(Q)$(link)
run-threads: $(program) $(conformance) $(thread_race)
	$(Q)tests/threads/threads.sh $(D)

test-races: ## The CUDA sources on the simulator under the thread sanitizer, KERNEL or all; needs setarch
	$(call again,CUDA=sim SANITIZE=thread run-races)
run-races: $(conformance) $(race)
	$(Q)tests/cudasim/races.sh $(D) $(KERNEL)

test-soak: ## Disturb a sweep in every way for SOAK_SECONDS; SOAK_SEED=, SOAK_ROUND= replay
	$(call again,WERROR=1 run-soak)
run-soak: $(program) $(slow_disk)
	$(Q)LONGHAUL_BIN=$(program) SOAK_SECONDS=$(SOAK_SECONDS) tests/soak/soak.sh

fuzz: ## Fuzz every reader, FUZZ_SECONDS each
	$(call again,$(if $(shell command -v clang),CC=clang SANITIZE=fuzzer-no-link$(comma),SANITIZE=)address$(comma)undefined run-fuzz)
run-fuzz: $(fuzzers)
	$(Q)tests/fuzz/run.sh $(if $(fuzz_main),replay,fuzzer) $(FUZZ_SECONDS) $(fuzzers)

conformance: ## Kernels of BACKEND against the reference: cpu, cudasim, or cuda on a GPU
ifeq ($(BACKEND),cpu)
	$(call again,run-conformance)
else ifeq ($(BACKEND),cudasim)
	$(call again,CUDA=sim SANITIZE=address run-conformance)
else ifeq ($(BACKEND),cuda)
	$(call again,CUDA=1 run-conformance)
else
	@echo "conformance: there is no backend '$(BACKEND)'; there are cpu, cudasim and cuda" >&2; exit 1
endif
run-conformance: $(conformance)
	$(Q)$(conformance) --backend $(BACKEND) $(if $(KERNEL),--kernel $(KERNEL))

# ---- Style --------------------------------------------------------------------------------------
c_files = $(shell find kernels harness models datasets tests -name '*.[ch]' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh')

# With CC=clang, part of `make lint`: what only gcc takes comes out here, not in a fuzzer's build.
syntax: $(filter-out $(left_out),$(wildcard $(folders:=/*.c) kernels/cpu/*.c tests/*/*.c tests/*/*/*.c))
	$(Q)printf '%s\n' $^ | xargs -P 2 -n 32 $(filter-out -MMD -MP,$(compile)) \
	    -include $(B)/version.h -DLH_CPU_ISA=scalar -w -fsyntax-only

lint: ## Format, includes, sizes, comments, words, reference results, Lua syntax, shell
	$(Q)tests/lint/lint.sh

.PHONY: format
format: ## Reformat all C and CUDA
	$(Q)clang-format -i $(c_files)

# ---- Use ----------------------------------------------------------------------------------------
# A paper is a folder of experiments/ with the script of a table; of several the first leads its evaluation.
papers := $(sort $(patsubst experiments/%/,%,$(dir $(wildcard experiments/*/table*.lua))))
asked := $(or $(if $(filter all,$(PAPER)),$(papers),$(PAPER)),$(firstword $(papers)))
main_table = $(firstword $(sort $(wildcard experiments/$(1)/table*.lua)))
# one recipe line per paper, so that they run one after the other
define reproduce
$(Q)$(if $(main_table),$(program) run $(main_table) --scale $(SCALE) --device $(DEVICE) \
    $(if $(SEEDS),--seeds $(SEEDS)) $(if $(JOBS),--jobs $(JOBS)),echo "$(1): no folder of experiments/ with a table; there are: $(papers)" >&2; exit 1)

endef

.PHONY: reproduce-table1 figures site claims bench data data-fetch deps-bundle
reproduce-table1: $(program) ## Measure the main table of PAPER at SCALE
	$(foreach paper,$(asked),$(call reproduce,$(paper)))

# Experiments that decide claims of the papers, most of them for an hour first (the table of hours in docs/studies.md).
STUDIES := reformer/table1 reformer/table3 rsa/table7 rsa/figure9 rsa/figure7 rsa/figure8 rsa/table3a reformer/table2 \
    reformer/figure3 reformer/figure4 reformer/figure5 rsa/table6 gpt2_recurrent/table1 gpt2_recurrent/table2 \
    staircase/table1 staircase/table2 brt/table1 gpt2_recurrent/figure4 gpt2_recurrent/figure5 rsa/table1 \
    staircase/table3 rsa/table3 rsa/readings rsa/table2 rsa/figure4 reformer/table4 brt/ablations brt/equal
studies_of = $(or $(filter $(1)/%,$(STUDIES)),$(error no study of $(1); there are: $(STUDIES)))
studies_asked = $(if $(filter-out all,$(PAPER)),$(foreach paper,$(PAPER),$(call studies_of,$(paper))),$(STUDIES))
# On a card one run is trained after the other.
study_jobs = $(if $(or $(JOBS),$(filter cpu,$(DEVICE))),--jobs $(or $(JOBS),auto))
.PHONY: studies
studies: SCALE := study
studies: $(program) ## Run what decides the papers' claims at scale study: many hours; PAPER=, JOBS=, ROUNDS=
	$(Q)failed=; for name in $(studies_asked); do \
	    $(program) run experiments/$$name.lua --scale $(SCALE) --device $(DEVICE) $(study_jobs) --rounds $(ROUNDS) || failed="$$failed $$name"; \
	done; if [ -n "$$failed" ]; then echo "studies with runs that failed:$$failed" >&2; exit 1; fi

# What the C sources include of others.
bundled_headers := cblas.h openblas_config.h lua.h lauxlib.h lualib.h csv.h cjson/cJSON.h zlib.h xxhash.h \
    $(if $(filter yes,$(PCRE2_FOUND)),pcre2.h) \
    $(if $(filter yes,$(SENTENCEPIECE_FOUND)),sentencepiece_processor.h sentencepiece_trainer.h)
deps-bundle: $(program) ## Gather what is linked into $(O)/deps, for make DEPS= on a machine without it
	$(Q)printf '%s\n' $(bundled_headers) | CC='$(CC)' CXX='$(CXX)' \
	    scripts/deps-bundle.sh $(O)/deps $(program) '$(LIB_CPPFLAGS) -DPCRE2_CODE_UNIT_WIDTH=8'

figures: $(program) ## Draw the papers' figures, and every other chart, from the runs of FROM, with a page
	$(Q)$(program) figures --from $(FROM)

site: $(program) ## The documents, reference, figures and report of committed runs as a static site in $(O)/site
	$(Q)command -v lowdown >/dev/null || scripts/install-packages.sh lowdown
	$(Q)rm -rf $(O)/site && $(program) lua scripts/site.lua $(program) $(O)/site

claims: $(program) ## Check the papers' claims against the results at SCALE
	$(Q)$(program) run experiments/claims.lua --scale $(SCALE)

bench: $(program) ## Measure training steps and matrix products
	$(Q)$(program) bench

data: $(program) ## List the corpora, and which are here
	$(Q)$(program) data list
data-fetch: $(program) ## Download CORPUS
	$(Q)$(program) data fetch $(CORPUS)

# ---- Install ------------------------------------------------------------------------------------
# The scripts keep the folders of the source tree, so that the program finds them the same way.
# Paths stand in quotes below: one of them may have blanks.
root := $(DESTDIR)$(PREFIX)
share := $(root)/share/longhaul
documents := $(root)/share/doc/longhaul
manuals := $(root)/share/man/man1
# a shell and where it looks
completions := bash:bash-completion/completions/longhaul zsh:zsh/site-functions/_longhaul \
    fish:fish/vendor_completions.d/longhaul.fish
headers := $(root)/include/longhaul
shared_files = .luarc.json $(wildcard harness/lua/meta/*.lua) $(lua_sources) $(wildcard experiments/*.lua experiments/*/*.lua plots/*.gp results/published/*.csv)
header_files = $(wildcard kernels/*.h kernels/contract/*.h kernels/kernels.def harness/engine/*.h harness/ops/*.h models/*.h models/*/*.h) \
    $(addprefix harness/,train/task.h train/communicator.h train/metrics.h tasks/documents.h tasks/batcher.h tasks/order.h) \
    $(addprefix datasets/,digest.h tokens/tokenizer.h text/corpus_class.h text/corpus_config.h text/document_store.h)
install_tree = for file in $(1); do install -D -m 644 "$$file" "$(2)/$$file" || exit 1; done

.PHONY: install install-headers uninstall clean help always
install: $(program) install-headers ## Install under PREFIX: program, headers, scripts, documents, manual page, completions
	$(Q)install -D -m 755 $(program) "$(root)/bin/longhaul"
	$(Q)$(call install_tree,$(shared_files),$(share))
	$(Q)$(call install_tree,README.md CHANGELOG.md CITATION.cff $(wildcard docs/*.md),$(documents))
	$(Q)mkdir -p "$(manuals)" && $(program) manual >"$(manuals)/longhaul.1"
	$(Q)set -e; for line in $(completions); do file="$(root)/share/$${line#*:}"; mkdir -p "$${file%/*}"; \
	    $(program) completion "$${line%%:*}" >"$$file"; done

install-headers: ## Install only what plug-ins include
	$(Q)$(call install_tree,$(header_files),$(headers))

# Of the day of the commit, so that a later one is newer.
deb_version = 0~$(or $(shell git log -1 --format=%cd.%h --date=format:%Y%m%d 2>/dev/null),unknown)
.PHONY: deb
deb: $(program) ## Make a Debian package of this build, for the release that it was made on
	$(Q)rm -rf $(O)/deb
	$(Q)$(MAKE) -s -o $(program) program=$(program) install DESTDIR=$(O)/deb PREFIX=/usr
	$(Q)scripts/deb.sh $(O)/deb $(deb_version) $(O)

uninstall: ## Remove what install put there
	$(Q)rm -rf "$(root)/bin/longhaul" "$(share)" "$(headers)" "$(documents)" "$(manuals)/longhaul.1"
	$(Q)for line in $(completions); do rm -f "$(root)/share/$${line#*:}"; done

clean: ## Remove everything that was built
	$(Q)rm -rf $(O)

help: ## Show this list
	@echo "make [TARGET] [SETTING=VALUE]; the settings stand at the top of the Makefile."
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' Makefile

-include $(simulator_tests:%=%.d) $(race:%=%.d) $(patsubst %.o,%.d,$(objects) $(isa_objects) $(reference_objects) \
    $(B)/harness/main.o $(call objects_of,$(wildcard tests/*/*.c tests/*/*/*.c tests/*/*/*/*.c)))
