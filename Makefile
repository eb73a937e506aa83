# Thin: every target sets up what it needs, then hands over to CMake, CTest or the program. `make help` lists them.
.NOTPARALLEL:
.PHONY: help demo test quick test-full build bench bench-gates bench-step bench-lm bench-generate bench-eigen bench-solver bench-foreign bench-tokens bench-torch bench-mpi peers-check performance format asan tsan fuzz install clean program python wheel test-python-full test-notebooks
.DEFAULT_GOAL := help

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 30
GLINT := build/release/glint
PEERS := build/peers/venv/bin/python

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | while IFS='	' read -r t d; do printf '  make %-14s %s\n' "$$t" "$$d"; done

demo: ## build, get data, train an SQS model and look at it; leaves its files in demo/
	@scripts/setup build demo
	@$(MAKE) --no-print-directory program
	@mkdir -p demo
	@echo "the gates drawn: $(GLINT) gates --plot demo/gates.svg"
	@$(GLINT) gates --plot demo/gates.svg
	@scripts/demo $(GLINT) demo

test: ## build and run every test
	@scripts/setup build test
	@scripts/setup-python
	@$(MAKE) --no-print-directory check-release

quick: ## build and run the fast tests, under a minute after the build
	@scripts/setup build test
	@$(MAKE) --no-print-directory build/release/build.ninja
	@scripts/step build/build-quick.log "build the programs of the fast tests" cmake --build --preset release --target quick_tests -j $(JOBS)
	@scripts/step build/test-quick.log "run the fast tests" ctest --preset release -L quick -j $(JOBS)
	@sed -n '/tests passed/,$$p' build/test-quick.log

test-full: ## test with its long forms (each file compiled by itself, too), fuzz, asan and tsan, one after the other
	@GLINT_FULL_TESTS=1 $(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory fuzz asan tsan

build: ## build only: build/release/glint
	@scripts/setup build
	@$(MAKE) --no-print-directory program

bench: ## the kernel benchmarks, then the comparisons with PyTorch and JAX
	@scripts/setup build bench
	@$(MAKE) --no-print-directory build-release
	@for b in build/release/bench/*_bench; do test ! -x "$$b" || "$$b" || exit 1; done
	@$(MAKE) --no-print-directory bench-gates bench-step bench-lm bench-generate bench-eigen

bench-gates: ## the gates of a GLU layer beside PyTorch's and JAX's
	@scripts/setup build bench
	@$(MAKE) --no-print-directory program
	@$(PEERS) bench/peers/bench_gates.py --json build/bench-gates.json

bench-step: ## whole training steps, and a whole job, beside the peers'
	@scripts/setup build bench demo
	@scripts/fetch-data mnist
	@$(MAKE) --no-print-directory program
	@$(PEERS) bench/peers/bench_step.py --job --json build/bench-step.json

bench-lm: ## training steps of the language model beside the peers'
	@scripts/setup build bench
	@$(MAKE) --no-print-directory program
	@$(PEERS) bench/peers/bench_lm.py --json build/bench-lm.json

bench-generate: ## stories written per second, beside the peers with a cache
	@scripts/setup build bench
	@$(MAKE) --no-print-directory program
	@$(PEERS) bench/peers/bench_generate.py --json build/bench-generate.json

bench-eigen: ## eigenpairs of ten matrices beside the peers'
	@scripts/setup build bench
	@$(MAKE) --no-print-directory build/release/build.ninja
	@scripts/step build/build-eigen.log "build the benchmark of eigenpairs" cmake --build --preset release --target eigen_bench -j $(JOBS)
	@$(PEERS) bench/peers/bench_eigen.py --json build/bench-eigen.json

bench-solver: ## the strongest eigenpairs of a layer as wide as an 8B model's, beside SciPy's eigsh
	@scripts/setup build bench
	@scripts/fetch-data stories15m --to data || true
	@$(MAKE) --no-print-directory build/release/build.ninja
	@scripts/step build/build-solver.log "build the benchmark of the solver" cmake --build --preset release --target solver_bench -j $(JOBS)
	@$(PEERS) bench/peers/bench_solver.py --json build/bench-solver.json

bench-foreign: ## stories15M, SmolLM2 and Gemma 3 beside llama.cpp and PyTorch: text, and prompts
	@scripts/setup build bench
	@scripts/fetch-data stories15m --to data
	@for m in smollm2 gemma3-270m; do scripts/fetch-data $$m --to data || echo "left out: $$m"; done
	@$(MAKE) --no-print-directory program
	@scripts/step build/build-products.log "build the benchmarks of models and products" cmake --build --preset release --target foreign_bench products_bench -j $(JOBS)
	@$(PEERS) bench/peers/bench_foreign.py --json build/bench-foreign.json

bench-tokens: ## a megabyte of English as tokens, beside Hugging Face tokenizers and SentencePiece
	@scripts/setup build bench
	@for m in stories15m smollm2 gemma3-270m; do scripts/fetch-data $$m --to data || echo "left out: $$m"; done
	@$(MAKE) --no-print-directory python
	@PYTHONPATH=build/release/python $(PEERS) bench/peers/bench_tokens.py --json build/bench-tokens.json

bench-torch: ## glint.torch beside PyTorch's own operations and torch.compile
	@scripts/setup build bench
	@$(MAKE) --no-print-directory python
	@PYTHONPATH=build/release/python $(PEERS) bench/peers/bench_torch.py --json build/bench-torch.json

bench-mpi: ## training steps on 1, 2 and 4 ranks, then docs/scaling.md from what was measured
	@scripts/setup build mpi
	@$(MAKE) --no-print-directory program
	@scripts/step build/build-ranks.log "build the benchmark of ranks" cmake --build --preset release --target ranks_bench -j $(JOBS)
	@python3 bench/bench_mpi.py build/release/bench/ranks_bench --json docs/results/mpi.json
	@python3 bench/write_scaling.py

peers-check: ## that the peers compute the same losses and gradients
	@scripts/setup bench
	@$(PEERS) bench/peers/check_peers.py

performance: peers-check bench-gates bench-step bench-lm bench-generate bench-eigen bench-solver bench-foreign bench-tokens bench-torch ## all of these, then docs/performance.md; 15 minutes
	@for b in gates step lm generate eigen solver foreign tokens torch; do cp build/bench-$$b.json docs/results/$$b.json; done
	@python3 bench/compare_precision.py
	@python3 bench/write_performance.py

format: ## clang-format over the C++ sources
	@scripts/setup format
	@git ls-files '*.cc' '*.h' | xargs clang-format -i
	@git diff --stat

python: ## build the Python package; build/venv/bin/python can import it
	@scripts/setup build
	@scripts/setup-python --need
	@$(MAKE) --no-print-directory build/release/build.ninja
	@scripts/step build/build-python.log "build the Python package" cmake --build --preset release --target glint_python -j $(JOBS)
	@build/venv/bin/python -c 'import glint; print("build/venv/bin/python: import glint,", glint.__version__)'

wheel: ## a wheel with the program inside, in build/dist; needs PyPI
	@scripts/setup build
	@scripts/setup-python --need
	@build/venv/bin/python -m pip install --quiet --disable-pip-version-check build
	@scripts/step build/wheel.log "build the wheel" build/venv/bin/python -m build --wheel --outdir build/dist .
	@ls build/dist

test-python-full: ## the Python tests with torch, transformers, notebooks, types and the wheel; needs PyPI
	@$(MAKE) --no-print-directory python wheel
	@scripts/setup-python --full
	@scripts/step build/test-python-full.log "run all Python tests" build/venv-full/bin/python -m pytest -p no:cacheprovider tests/python
	@tail -n 1 build/test-python-full.log
	@$(MAKE) --no-print-directory test-notebooks

test-notebooks: ## run examples/notebooks; needs PyPI
	@$(MAKE) --no-print-directory python
	@scripts/setup-python --full
	@scripts/step build/test-notebooks.log "run the notebooks" build/venv-full/bin/python examples/notebooks/make_notebooks.py --check

asan: ## the tests under the address and undefined-behaviour sanitizers
	@scripts/setup build test
	@$(MAKE) --no-print-directory check-asan

tsan: ## the tests under the thread sanitizer
	@scripts/setup build test
	@$(MAKE) --no-print-directory check-tsan

fuzz: ## every fuzz target for FUZZ_SECONDS (30) seconds, from tests/fuzz/corpus
	@scripts/setup build fuzz
	@scripts/step build/configure-fuzz.log "configure build/fuzz" cmake --preset fuzz
	@scripts/step build/build-fuzz.log "build build/fuzz" cmake --build --preset fuzz --target fuzzers -j $(JOBS)
	@scripts/fuzz build/fuzz/tests/fuzz build/fuzz/found $(FUZZ_SECONDS)

install: ## build and install under PREFIX (/usr/local)
	@scripts/setup build
	@$(MAKE) --no-print-directory program
	@scripts/step build/install.log "install under $(PREFIX)" cmake --install build/release --prefix "$(PREFIX)"

clean: ## remove build/ and demo/
	rm -rf build demo

# The steps that the targets share. CMake configures once; after that ninja knows when to configure again. It must
# see a new environment for Python, though.
build/%/build.ninja: CMakePresets.json $(wildcard build/venv/ready)
	@scripts/step build/configure-$*.log "configure build/$*" cmake --preset $*

# The program and the library without the tests: what a first look needs.
program: build/release/build.ninja
	@scripts/step build/build-program.log "build $(GLINT)" cmake --build --preset release --target glint_cli -j $(JOBS)

build-%: build/%/build.ninja
	@scripts/step build/build-$*.log "build build/$*" cmake --build --preset $* -j $(JOBS)

check-%: build-%
	@scripts/step build/test-$*.log "test build/$*" ctest --preset $* -j $(JOBS)
	@sed -n '/tests passed/,$$p' build/test-$*.log

.PRECIOUS: build/%/build.ninja
