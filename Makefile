# One command each; `make help` lists them. CI calls the same ones.
PYTHON ?= python3
BIN := .venv/bin
export PORT ?= 8000
# Some containers set it; every command would compile all modules again, which takes seconds.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run setup test test-fast one check same-answers boundscheck parity extremes fuzz soak lint lint-page format openapi warm-requests vendor screenshots chart chart-tools bench demo pipeline-demo pipeline-proof lock clean
.DEFAULT_GOAL := help

help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-11s %s\n", $$1, $$2}'

run: .venv/.installed ## set up and serve on :8000 (PORT=… for another)
	@exec $(BIN)/partition-allocator serve

setup: .venv/.compiled ## set up an environment for tests, with the kernels compiled

test: .venv/.compiled ## set up and run every test, on two cores (two of four workers have the tests that wait)
	$(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder --durations 25

test-fast: .venv/.compiled ## run the fast tests
	$(BIN)/python -m pytest -m 'not slow'

one: .venv/.tests ## run tests of one function or endpoint (FILE=tests/core/partitioners/test_hashes.py), a minute after a clone
	$(BIN)/python -m pytest $(or $(FILE),$(error FILE=… names the tests))

check: .venv/.compiled ## run what one runs while changing something, three minutes: answers, doors, one test each of Spark and of the page
	$(BIN)/python -m pytest -n 2 --dist loadfile -m 'not slow' tests/test_layers.py tests/test_names.py tests/api \
	    --ignore tests/api/test_memory.py --ignore tests/api/test_rebalances_limits.py tests/contract/test_examples.py \
	    tests/contract/test_openapi_yaml.py tests/contract/test_vectors.py tests/core/assignors tests/core/partitioners tests/core/placers \
	    tests/decisions tests/library/test_doors.py tests/cli/test_decisions.py \
	    tests/pipeline/spark/skew/test_skew.py::test_each_path_gives_the_same tests/page/test_page.py::test_the_state_is_in_the_link

# Numba does not keep checked and unchecked kernels apart in its cache, hence a cache of their own.
boundscheck: .venv/.dev ## run the kernels' property tests with every array index checked, some minutes
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=.numba_boundscheck \
	    $(BIN)/python -m pytest -n 2 --dist loadfile -p no:cacheprovider -m 'hypothesis and not slow' tests/core tests/clients tests/planner tests/http

same-answers: .venv/.compiled ## ask some thousand questions, compare the digest of each family's answers with the recorded one
	$(BIN)/python -m tests.runs.same_answers

parity: .venv/.compiled ## compare 100,000 random rebalances with Kafka's assignors, 80,000 with the seven other libraries, 3,000 groups each with Connect's and Streams', a quarter of an hour (docs/evidence.md)
	$(BIN)/python -m tests.runs.long_parity
	$(BIN)/python -m tests.runs.client_parity
	$(BIN)/python -m tests.runs.task_parity

extremes: .venv/.compiled ## post 20,000 extreme values to all endpoints, each in a process of its own
	$(BIN)/python -m tests.runs.extremes

fuzz: .venv/.compiled ## post a million altered captures to /v1/decodings, ten minutes
	$(BIN)/python -m tests.runs.fuzz

soak: .venv/.compiled ## send 100,000 requests beside hostile clients, check answers and memory, some minutes (docs/evidence.md)
	$(BIN)/python -m tests.runs.soak

lint: .venv/.dev ## run ruff, mypy --strict, the import contracts, deptry and hadolint
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry service partition_allocator
	$(BIN)/hadolint Dockerfile
	@if command -v npm >/dev/null || [ -n "$$CI" ]; then $(MAKE) --no-print-directory lint-page; \
	else echo "Node.js is not installed: the modules of the planner page are not checked."; fi

lint-page: node_modules/.package-lock.json ## run tsc, ESLint and Prettier on the planner page (needs Node.js)
	npm run -s lint

format: .venv/.dev ## format and fix with ruff
	$(BIN)/ruff format
	$(BIN)/ruff check --fix
	@if [ -d node_modules ]; then npm run -s format; fi

openapi: .venv/.installed ## generate openapi.yaml from the schemas
	$(BIN)/python -c 'from service.app import create_app; print(create_app().extensions["openapi_yaml"](), end="")' > openapi.yaml

warm-requests: .venv/.compiled ## record the requests that load every kernel before a server forks
	$(BIN)/python -m tests.support.warm_requests

vendor: node_modules/.package-lock.json .venv/.dev ## copy the planner page's libraries from npm, as package-lock.json pins them
	$(BIN)/python -m tests.support.vendor

screenshots: .venv/.dev ## take the pictures of the planner page in docs/page
	SCREENSHOTS=docs/page $(BIN)/python -m pytest -q tests/page -k screenshots

chart: .venv/.dev ## generate the chart's schema, tables and dashboards from values.yaml and the code
	$(BIN)/python -m helm.documents

chart-tools: .venv/.chart-tools ## build Helm and a Kubernetes API server for the tests, five minutes

bench: .venv/.compiled ## run all benchmarks, results in benchmarks/results.json
	$(BIN)/python -m benchmarks

demo: .venv/.dev ## answer the three questions for 336,776 real flights
	$(BIN)/python -m demo

pipeline-demo: .venv/.dev ## run skew on the flights and on 50 million keys on Spark (needs a JDK)
	$(BIN)/python -m demo.pipeline

pipeline-proof: .venv/.dev ## run the pipeline on ten billion keys, on one and two cores, and under faults, some hours (docs/pipeline.md)
	$(BIN)/python -m benchmarks.pipeline_proof

lock: ## resolve the dependencies again (needs uv)
	uv pip compile --universal --generate-hashes --no-annotate --no-header -q pyproject.toml --group build -o requirements.lock
	uv pip compile --universal --generate-hashes --no-annotate --no-header -q pyproject.toml --extra kafka --extra pipeline --extra tracing --group build --group dev \
	    -c requirements.lock -o requirements-dev.lock
	uv pip compile --universal --generate-hashes --no-annotate --no-header -q pyproject.toml --extra kafka --extra tracing \
	    -c requirements-dev.lock -o requirements-image.lock
	uv pip compile --universal --generate-hashes --no-annotate --no-header -q pyproject.toml --extra pipeline \
	    -c requirements-dev.lock -o requirements-pipeline.lock
	uv pip compile --universal --generate-hashes --no-annotate --no-header -q --group test -c requirements-dev.lock -o requirements-test.lock

clean: ## remove generated files
	rm -rf .venv build dist brokers/java/target clients/java/target .pytest_cache .mypy_cache .ruff_cache .hypothesis .numba_boundscheck
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or later is needed (PYTHON=… names it)"; exit 1; }
	@$(PYTHON) -m venv .venv || { rm -rf .venv; echo "On Debian: apt install python3-venv"; exit 1; }

# Python compiles what is imported; pip would compile all of it, which takes 20 s.
.venv/.installed: requirements.lock pyproject.toml | .venv/bin/python
	$(BIN)/pip install -q --disable-pip-version-check --no-compile --require-hashes -r requirements.lock
	$(BIN)/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

node_modules/.package-lock.json: package-lock.json package.json .npmrc
	npm ci
	@touch $@

# There are no wheels of these; go.sum pins their sources. The version is the one that the server reports.
.venv/.chart-tools: helm/tools/go.mod helm/tools/go.sum .venv/.dev
	cd helm/tools && export GOTOOLCHAIN=local && \
	../../$(BIN)/go build -o ../../$(BIN)/etcd go.etcd.io/etcd/server/v3 && \
	../../$(BIN)/go build -o ../../$(BIN)/ -ldflags '-s -X k8s.io/component-base/version.gitVersion=v1.34.1' \
	    helm.sh/helm/v3/cmd/helm k8s.io/kubernetes/cmd/kube-apiserver
	@touch $@

.venv/.tests: requirements-test.lock .venv/.installed
	$(BIN)/pip install -q --disable-pip-version-check --no-compile --require-hashes -r requirements-test.lock
	@touch $@

.venv/.dev: requirements-dev.lock .venv/.installed
	$(BIN)/pip install -q --disable-pip-version-check --no-compile --require-hashes -r requirements-dev.lock
	@touch $@

# With the kernels compiled, which a server would do after its start. Where none has changed, this takes four seconds.
.venv/.compiled: .venv/.dev $(shell find service -name '*.py')
	$(BIN)/python -m service.server.warm
	@touch $@
