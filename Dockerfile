# The agent, its traffic and the inbox of the stack: one image, one process a container.
ARG PYTHON=python:3.11.15-slim-bookworm

FROM ${PYTHON} AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN ["python", "-m", "venv", "/opt/loopscope"]
WORKDIR /src
COPY requirements-runtime.lock ./
RUN ["/opt/loopscope/bin/python", "-m", "pip", "install", \
     "--require-hashes", "--only-binary=:all:", "-r", "requirements-runtime.lock"]
COPY pyproject.toml README.md ./
COPY agent ./agent
COPY telemetry ./telemetry
COPY dashboards ./dashboards
RUN ["/opt/loopscope/bin/python", "-m", "pip", "install", "--no-deps", "--no-build-isolation", "."]

FROM ${PYTHON}
ARG UID=10002
ENV PATH=/opt/loopscope/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
RUN groupadd --gid ${UID} loopscope \
    && useradd --uid ${UID} --gid ${UID} --home-dir /var/lib/loopscope --no-create-home \
       --shell /usr/sbin/nologin loopscope \
    && install --directory --owner=${UID} --group=${UID} /var/lib/loopscope
COPY --from=build /opt/loopscope /opt/loopscope
# The only folder it writes to; relative paths end up here.
WORKDIR /var/lib/loopscope
USER ${UID}:${UID}
EXPOSE 8000
STOPSIGNAL SIGTERM
# http.client and not urllib: a proxy set for the container must not be asked for 127.0.0.1.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import http.client as h; c = h.HTTPConnection('127.0.0.1', 8000, timeout=4); c.request('GET', '/healthz'); raise SystemExit(c.getresponse().status != 200)"]
ENTRYPOINT ["loopscope"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]
