# syntax=docker/dockerfile:1
# Pin the base by digest for a reproducible image:
#   docker build --build-arg BASE=python:3.11-slim@sha256:... --tag kvtier:0.1.0 .
ARG BASE=python:3.11-slim

FROM ${BASE} AS build
WORKDIR /src
COPY requirements/runtime.txt requirements/
RUN python -m venv /opt/kvtier \
    && /opt/kvtier/bin/pip install --no-cache-dir --require-hashes --requirement requirements/runtime.txt
COPY pyproject.toml README.md ./
COPY operator operator
RUN /opt/kvtier/bin/pip install --no-cache-dir --no-deps .

FROM ${BASE}
COPY --from=build /opt/kvtier /opt/kvtier
ENV PATH=/opt/kvtier/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# A numeric user ID: the kubelet cannot verify runAsNonRoot for a user name.
USER 65532:65532
ENTRYPOINT ["kvtier"]
CMD ["run"]
