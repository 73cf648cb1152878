/**
 * Servers that choose a route by the path of the request, each in its own way. Every one answers with the route that it chose:
 * `issues`, `a` or `other`.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import express, { type Express } from 'express';
import { gateways, isInstalled, startGateway } from '../gateways.ts';
import { closeServer, listen } from '../listening.ts';

export interface RoutedUpstream {
  readonly name: string;
  readonly isInstalled: boolean;
  start(): Promise<{ readonly url: string; close(): Promise<void> }>;
}

const express4: typeof express = createRequire(import.meta.url)('express4');

const ofExpress = (name: string, makeApp: () => Express, rest: string): RoutedUpstream => ({
  name,
  isInstalled: true,
  async start() {
    // A guard has to know that Express ignores letter case and a slash at the end: its routes differ in neither.
    const app = makeApp();
    app.set('case sensitive routing', true).set('strict routing', true);
    app.get(`/issues/${rest}`, (_, response) => void response.send('issues'));
    app.get('/a', (_, response) => void response.send('a'));
    app.use((_, response) => void response.send('other'));
    const server = createServer(app);
    return { url: `http://127.0.0.1:${await listen(server)}`, close: () => closeServer(server) };
  },
});

const NGINX = `
events {}
http {
  default_type text/plain;
  server {
    listen 127.0.0.1:8080;
    location /issues/ { return 200 "issues"; }
    location = /a { return 200 "a"; }
    location / { return 200 "other"; }
  }
}
`;

/** The file that Python's own server would read: it decodes and normalizes the path, and drops dot segments. */
const PYTHON = `
import http.server, os, sys
class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        path = self.translate_path(self.path)
        root = os.getcwd()
        chosen = 'issues' if path.startswith(root + '/issues/') else 'a' if path == root + '/a' else 'other'
        body = chosen.encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
`;
const PYTHON_PROGRAM = process.env.PYTHON ?? '/usr/bin/python3';

export const routedUpstreams: readonly RoutedUpstream[] = [
  ofExpress('Express 5', express, '*rest'),
  ofExpress('Express 4', express4, '*'),
  {
    name: 'nginx',
    isInstalled: isInstalled(gateways.nginx),
    start: () => startGateway(gateways.nginx, {}, NGINX),
  },
  {
    name: 'Python’s http.server',
    isInstalled: existsSync(PYTHON_PROGRAM),
    async start() {
      const folder = mkdtempSync(join(tmpdir(), 'mandate-upstream-'));
      mkdirSync(join(folder, 'issues'));
      const child = spawn(PYTHON_PROGRAM, ['-c', PYTHON], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
      const [port] = (await once(createInterface(child.stdout), 'line')) as [string];
      return {
        url: `http://127.0.0.1:${port}`,
        async close() {
          await ended(child);
          rmSync(folder, { recursive: true });
        },
      };
    },
  },
];

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}
