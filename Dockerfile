# The image of the service (docs/deploying.md). It contains every command of `mandate`; the default is `serve`.
#
#   docker build -t mandate .
#
# The service writes to no file of the image: its data is in Postgres. For SQLite, or to export the ledger, mount a
# folder that user 1000 can write to.

# Two variants of one Debian release, because better-sqlite3 is a native module: the full one to build, the slim one to
# run. Pin the digests of both for reproducible builds. better-sqlite3 12 was made for the headers of Node 22; Node 24.19
# changed them.
ARG BUILD_IMAGE=node:22-bookworm
ARG RUN_IMAGE=node:22-bookworm-slim

# The production packages. better-sqlite3 is compiled against the headers of this Node.
FROM ${BUILD_IMAGE} AS packages
WORKDIR /build
ENV npm_config_build_from_source=true npm_config_nodedir=/usr/local
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev \
    && rm -rf node_modules/better-sqlite3/deps node_modules/better-sqlite3/src \
    && find node_modules/better-sqlite3/build -type f ! -path '*/Release/better_sqlite3.node' -delete \
    && node -e "new (require('better-sqlite3'))(':memory:').close()"

# The sources, checked by the compiler and bundled to dist. Neither needs an install script of a package.
FROM ${BUILD_IMAGE} AS compiled
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY domain domain
COPY application application
COPY adapters adapters
COPY composition composition
COPY scripts/bundle.mjs scripts/bundle.mjs
RUN npm run build && chmod 0755 dist/composition/main.js

FROM ${RUN_IMAGE}
LABEL org.opencontainers.image.title="mandate" \
      org.opencontainers.image.description="The control plane that lets software agents act for a human with bounded, traceable authority." \
      org.opencontainers.image.licenses="Apache-2.0"
# With this value the service does not start without a signing key.
ENV NODE_ENV=production
WORKDIR /app
# Readable and not writable, whatever the modes on the build machine.
COPY --chmod=0644 package.json LICENSE ./
COPY --from=packages /build/node_modules node_modules
COPY --from=compiled /build/dist dist
# For `docker exec` and `kubectl exec`: `mandate doctor`, `mandate keys show`.
RUN ln -s /app/dist/composition/main.js /usr/local/bin/mandate
# The user `node` of the base image, by number: Kubernetes can then verify that it is not root. It owns no file above.
USER 1000:1000
EXPOSE 5100
# /healthz checks only this process. /readyz also checks the database, whose outage is no reason for a restart.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
    CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.PORT || 5100) + '/healthz').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# After SIGTERM the service finishes requests under way, for 10 seconds at most. Allow it 20 seconds.
ENTRYPOINT ["node", "/app/dist/composition/main.js"]
CMD ["serve"]
