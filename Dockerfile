# The image of the connector: compiled code, only the packages of production, and a user without rights.
#
#   docker build --tag structured-products-connect .
#   docker run --read-only --cap-drop ALL --init --env-file .env --volume ./secrets:/run/secrets:ro structured-products-connect
#
# .env is a filled-in copy of .env.example, with KAFKA_BROKERS and SCHEMA_REGISTRY_URL. To see the status page from outside, add
# --env ADMIN_HOST=0.0.0.0 --publish 127.0.0.1:8083:8083

FROM node:24.21.0-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json .tsconfig-build.json ./
COPY src src
RUN npm run build
COPY LICENSE ./
COPY schemas schemas
COPY config/connector.yaml config/connector.schema.json config/
COPY config/simulator config/simulator
# The files have the rights of the clone. After a strict umask, only the owner could read them.
RUN mkdir app && cp -R package.json LICENSE config schemas dist app/ && chmod -R a+rX,go-w app

FROM node:24.21.0-slim AS dependencies
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional --ignore-scripts
# The list of packages in the image, for scanners. The development packages leave package.json first: with --omit=dev, npm would
# also omit a package that both kinds need.
RUN npm pkg delete devDependencies optionalDependencies && npm sbom --sbom-format=cyclonedx > sbom.cdx.json
# Two thirds of the packages' bytes are types, source maps, documents and tests. The connector never reads them.
RUN find node_modules -regextype posix-extended -type f -regex '.*\.([cm]?ts|map|flow|md)' -delete && \
    find node_modules -regextype posix-extended -type d \
      -regex '(.*/)?node_modules/(@[^/]+/)?[^/]+/(test|tests|docs|examples?|benchmarks?|\.github)' -prune -exec rm -r {} +

FROM node:24.21.0-slim
# docker build --build-arg REVISION="$(git rev-parse HEAD)" .
ARG REVISION=unknown
LABEL org.opencontainers.image.title="structured-products-connect" \
      org.opencontainers.image.description="Exactly-once connector from a structured-products provider's HTTP interfaces to Apache Kafka" \
      org.opencontainers.image.version="0.3.14" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name="docker.io/library/node:24.21.0-slim"
ENV NODE_ENV=production
# glibc returns freed buffers to the system at once instead of keeping them. `npm start` has the same variables.
ENV MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=36864 MALLOC_TOP_PAD_=32768
WORKDIR /app
COPY --from=dependencies /build/node_modules node_modules
COPY --from=dependencies /build/sbom.cdx.json ./
COPY --from=build /build/app ./
# A number shows Kubernetes that the user is not root. No account is necessary, because nothing is written.
USER 65532:65532
EXPOSE 8083
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["node", "dist/commands/shell/health-probe.js"]
# Without a shell, a signal reaches the process itself. `npm start` has the same flags.
ENTRYPOINT ["node", "--min-semi-space-size=6", "--max-semi-space-size=6", "--heap-growing-percent=100", "dist/main.js"]
CMD ["run"]
