# The image of the service (docs/deploying.md). Every command of `mandate` is in it; without one it serves.
#
#   docker build -t mandate .
#
# Nothing in it is writable, and nothing has to be: what it keeps is in Postgres. With SQLite, or to export the ledger,
# mount a folder that user 1000 may write to.

# One release of one system, whole to build with and slim to run on: better-sqlite3 is machine code. Pin the digests of
# both where builds have to be repeatable to the byte. Node 22 has the headers that better-sqlite3 12 was made for; 24.19
# changed them (adapters/storage/sqlite/kept-alive.ts lives with that).
ARG BUILD_IMAGE=node:22-bookworm
ARG RUN_IMAGE=node:22-bookworm-slim

# What runs: production packages, of which better-sqlite3 is compiled here, against the headers of this very Node.
FROM ${BUILD_IMAGE} AS packages
WORKDIR /build
ENV npm_config_build_from_source=true npm_config_nodedir=/usr/local
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev \
    && rm -rf node_modules/better-sqlite3/deps node_modules/better-sqlite3/src \
    && find node_modules/better-sqlite3/build -type f ! -path '*/Release/better_sqlite3.node' -delete \
    && node -e "new (require('better-sqlite3'))(':memory:').close()"

# The sources, compiled to dist. No package's install script is needed for that.
FROM ${BUILD_IMAGE} AS compiled
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY domain domain
COPY application application
COPY adapters adapters
COPY composition composition
RUN npm run build && chmod 0755 dist/composition/main.js

FROM ${RUN_IMAGE}
LABEL org.opencontainers.image.title="mandate" \
      org.opencontainers.image.description="The control plane that lets software agents act for a human with bounded, traceable authority." \
      org.opencontainers.image.licenses="Apache-2.0"
# Not a development host: without a signing key it does not start.
ENV NODE_ENV=production
WORKDIR /app
# Readable, and not writable, whatever they are where the image is built.
COPY --chmod=0644 package.json LICENSE ./
COPY --from=packages /build/node_modules node_modules
COPY --from=compiled /build/dist dist
# For `docker exec` and `kubectl exec`: `mandate doctor`, `mandate keys show`.
RUN ln -s /app/dist/composition/main.js /usr/local/bin/mandate
# The image's user `node`, by number, so that a cluster can see that it is not root. It owns nothing of the above.
USER 1000:1000
EXPOSE 5100
# Asks this process only; whether the database answers is /readyz, and no reason to restart anything.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
    CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.PORT || 5100) + '/healthz').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# SIGTERM, which is what a stop sends, lets requests under way finish: 10 seconds at most, so give it 20.
ENTRYPOINT ["node", "/app/dist/composition/main.js"]
CMD ["serve"]
