# The image runs with --read-only, any user id and one writable folder: a tmpfs on /tmp.
#
#   docker build -t partition-allocator .
#   docker run --rm --read-only --tmpfs /tmp -p 127.0.0.1:8000:8000 -e ALLOCATOR_AUTH=off partition-allocator
#
# It listens on all addresses of the container, so it starts only if told who may ask (ALLOCATOR_TOKENS_FILE, ALLOCATOR_JWKS) or
# that everyone may (ALLOCATOR_AUTH=off).

ARG PYTHON=3.13-slim-trixie

# What changes seldom comes first and what changes always comes last, so that a new version is a few small layers.
FROM python:${PYTHON} AS dependencies
ENV PATH=/opt/allocator/bin:$PATH \
    PIP_DISABLE_PIP_VERSION_CHECK=1
# With the Kafka client, a small package of Python alone, so that one image serves the service and `watch`. Libraries bring their
# tests, a tenth of the image.
COPY requirements.lock requirements-image.lock /opt/allocator/
RUN --mount=type=cache,target=/root/.cache/pip \
    python -m venv /opt/allocator && \
    pip install --no-compile --require-hashes -r /opt/allocator/requirements.lock -r /opt/allocator/requirements-image.lock && \
    find /opt/allocator -type d -name tests -prune -exec rm -r {} + && \
    python -m compileall -q /opt/allocator/lib

FROM dependencies AS build
# Where the kernels will find what is compiled here: Numba looks by the source's path and content, and by the CPU.
# "generic" is the baseline of the architecture, so that what one machine has compiled fits every other.
ENV NUMBA_CACHE_DIR=/opt/kernels \
    NUMBA_CPU_NAME=generic
WORKDIR /src
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY service service
COPY partition_allocator partition_allocator
# Outside /src, where python would take the modules from there and not from where they are installed.
WORKDIR /
RUN pip wheel --no-deps --no-build-isolation --no-cache-dir --wheel-dir /wheel /src && \
    pip install --no-deps --no-cache-dir /wheel/*.whl && \
    python -m service.server.warm

FROM dependencies AS pipeline
LABEL org.opencontainers.image.title="partition-allocator-pipeline" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"
# Hadoop's libraries ask for the user's name, so this one has an entry in /etc/passwd.
# hadolint ignore=DL3008
RUN apt-get update && \
    apt-get install -y --no-install-recommends default-jre-headless && \
    rm -rf /var/lib/apt/lists/* && \
    useradd --uid 10001 --no-create-home --home-dir /tmp allocator
COPY requirements-pipeline.lock /opt/allocator/
RUN --mount=type=cache,target=/root/.cache/pip \
    pip install --no-compile --require-hashes -r /opt/allocator/requirements-pipeline.lock && \
    find /opt/allocator -type d -name tests -prune -exec rm -r {} + && \
    python -m compileall -q /opt/allocator/lib
COPY spark-entrypoint.sh /opt/spark-entrypoint.sh
# Copied, not mounted: Buildah reuses the layer of a RUN whose mounted stage has changed.
COPY --from=build /wheel /opt/allocator/wheel
# spark-submit takes a file: the module of the command `partition-allocator pipeline`, wherever this Python keeps it.
RUN pip install --no-deps --no-cache-dir /opt/allocator/wheel/*.whl && \
    ln -s "$(python -c 'from importlib.util import find_spec as f; print(f("service.cli.pipeline").origin)')" /opt/allocator/pipeline.py
COPY --from=build /opt/kernels /opt/kernels
# XDG_CACHE_HOME: no folder for the JVM's archive of classes, which would be written at the end and lost with the container.
ENV HOME=/tmp \
    NUMBA_CACHE_DIR=/tmp/kernels \
    NUMBA_CPU_NAME=generic \
    PYSPARK_PYTHON=/opt/allocator/bin/python \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONSAFEPATH=1 \
    PYTHONUNBUFFERED=1 \
    XDG_CACHE_HOME=/nonexistent
WORKDIR /tmp
USER 10001:10001
ENTRYPOINT ["/bin/sh", "/opt/spark-entrypoint.sh"]

FROM dependencies
LABEL org.opencontainers.image.title="partition-allocator" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /wheel /opt/allocator/wheel
RUN pip install --no-deps --no-cache-dir /opt/allocator/wheel/*.whl
COPY --from=build /opt/kernels /opt/kernels
ENV HOME=/tmp \
    HOST=0.0.0.0 \
    NUMBA_CACHE_DIR=/tmp/kernels \
    NUMBA_CPU_NAME=generic \
    PORT=8000 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
WORKDIR /
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import os, ssl, urllib.request as u; tls = os.environ.get('ALLOCATOR_TLS_CERT'); u.urlopen(('https' if tls else 'http') + '://127.0.0.1:' + os.environ['PORT'] + '/readyz', timeout=4, context=ssl._create_unverified_context() if tls else None)"]
# Numba takes no folder that it cannot write to, not even to read, so the kernels go where it can: some megabytes.
ENTRYPOINT ["/bin/sh", "-ec", "mkdir -p \"$NUMBA_CACHE_DIR\" && cp -R /opt/kernels/. \"$NUMBA_CACHE_DIR\" && exec partition-allocator \"$@\"", "partition-allocator"]
CMD ["serve"]
