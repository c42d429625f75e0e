# The connector as an image: compiled, production dependencies alone, and nobody's rights.
#
#   docker build --tag structured-products-connect .
#   docker run --read-only --cap-drop ALL --init --env-file .env --volume ./secrets:/run/secrets:ro structured-products-connect
#
# .env is .env.example, filled in, with KAFKA_BROKERS and SCHEMA_REGISTRY_URL. For the status page from outside, besides:
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
# Files come with the rights of the clone, which after a strict umask are its owner's alone.
RUN mkdir app && cp -R package.json LICENSE config schemas dist app/ && chmod -R a+rX,go-w app

FROM node:24.21.0-slim AS dependencies
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional --ignore-scripts
# What is in the image, for scanners. Without the packages of developers in package.json: with --omit=dev, npm leaves out
# whatever such a package needs too.
RUN npm pkg delete devDependencies optionalDependencies && npm sbom --sbom-format=cyclonedx > sbom.cdx.json
# Two thirds of what the packages bring is for those who develop with them: types, source maps, documents, their own tests.
RUN find node_modules -regextype posix-extended -type f -regex '.*\.([cm]?ts|map|flow|md)' -delete && \
    find node_modules -regextype posix-extended -type d \
      -regex '(.*/)?node_modules/(@[^/]+/)?[^/]+/(test|tests|docs|examples?|benchmarks?|\.github)' -prune -exec rm -r {} +

FROM node:24.21.0-slim
# docker build --build-arg REVISION="$(git rev-parse HEAD)" .
ARG REVISION=unknown
LABEL org.opencontainers.image.title="structured-products-connect" \
      org.opencontainers.image.description="Exactly-once connector from a structured-products provider's HTTP interfaces to Apache Kafka" \
      org.opencontainers.image.version="0.3.4" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name="docker.io/library/node:24.21.0-slim"
ENV NODE_ENV=production
# Buffers are given back to the system when they are freed: glibc would keep them for later. As in `npm start`.
ENV MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=36864 MALLOC_TOP_PAD_=32768
WORKDIR /app
COPY --from=dependencies /build/node_modules node_modules
COPY --from=dependencies /build/sbom.cdx.json ./
COPY --from=build /build/app ./
# A number, so that Kubernetes can see that it is not root; no account is needed, as nothing is written.
USER 65532:65532
EXPOSE 8083
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["node", "dist/commands/shell/health-probe.js"]
# No shell stands between: the signal reaches the process itself. The flags are those of `npm start`.
ENTRYPOINT ["node", "--min-semi-space-size=6", "--max-semi-space-size=6", "--heap-growing-percent=100", "dist/main.js"]
CMD ["run"]
