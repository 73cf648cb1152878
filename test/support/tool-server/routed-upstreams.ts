/**
 * Servers that choose a route by the path of the request, each in its own way. Every one answers with the route that it chose:
 * `issues`, `a` or `other`.
 */

import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import express, { type Express } from 'express';
import { gateways, isInstalled, startGateway } from '../gateways.ts';
import { closeServer, listen } from '../listening.ts';
import { isPythonInstalled, startPython } from './python-upstream.ts';

interface RoutedUpstream {
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
os.mkdir('issues')
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
`;
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
    isInstalled: isPythonInstalled,
    start: () => startPython(PYTHON),
  },
];
