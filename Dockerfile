# docker build -t vancetope .
# docker run --init -p 127.0.0.1:7717:7717 -v vancetope:/data vancetope
# `--init` reaps what tools leave behind. The home, with its database and its key,
# is the volume; `docker run ... vancetope token create --home /data` makes a token.

FROM python:3.13-slim AS build
WORKDIR /src
RUN python -m venv /opt/vancetope
COPY scripts/requirements/runtime.txt scripts/requirements/runtime.txt
RUN /opt/vancetope/bin/pip install --no-cache-dir --require-hashes \
    -r scripts/requirements/runtime.txt
COPY pyproject.toml README.md LICENSE ./
COPY migrations migrations
COPY vance_sdk vance_sdk
COPY vancetope vancetope
RUN /opt/vancetope/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM python:3.13-slim
RUN useradd --system --uid 7717 --home-dir /data --shell /usr/sbin/nologin vancetope \
    && install -d -o vancetope -g vancetope -m 0700 /data
COPY --from=build /opt/vancetope /opt/vancetope
ENV PATH=/opt/vancetope/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    VANCETOPE_HOME=/data
USER vancetope
VOLUME /data
EXPOSE 7717
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:7717/readyz', timeout=4)"]
ENTRYPOINT ["vancetope"]
CMD ["serve", "--host", "0.0.0.0", "--home", "/data"]
