/**
 * Services that put headers into variables, each in its own way: PHP, WSGI and CGI. Every one answers with its variables as JSON.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../../scripts/free-port.ts';
import { isPythonInstalled, startPython } from './python-upstream.ts';

export interface HeaderReader {
  readonly name: string;
  /** The programs that it needs and that are not installed. */
  readonly missing: readonly string[];
  start(): Promise<{ readonly url: string; close(): Promise<void> }>;
}

const PHP = '/usr/bin/php';
const LIGHTTPD = '/usr/sbin/lighttpd';
const PYTHON_PROGRAM = '/usr/bin/python3';

const WSGI = `
import json, wsgiref.simple_server as s
class Quiet(s.WSGIRequestHandler):
    def log_message(self, *args):
        pass
def app(environ, start):
    body = json.dumps({k: v for k, v in environ.items() if isinstance(v, str)}).encode()
    start('200 OK', [('Content-Type', 'application/json'), ('Content-Length', str(len(body)))])
    return [body]
server = s.make_server('127.0.0.1', 0, app, handler_class=Quiet)
print(server.server_address[1], flush=True)
server.serve_forever()
`;

const CGI = `import json, os
print('Content-Type: application/json')
print()
print(json.dumps(dict(os.environ)))
`;

/** It reads each sign of a name but letters and digits as an underscore, and by default refuses some names. */
const lighttpd = (port: number, folder: string) => `
server.document-root = "${folder}"
server.port = ${port}
server.bind = "127.0.0.1"
server.modules = ("mod_rewrite", "mod_cgi")
server.http-parseopts = ("header-strict" => "disable")
url.rewrite-once = ("" => "/environment.py")
cgi.assign = (".py" => "${PYTHON_PROGRAM}")
`;

export const headerReaders: readonly HeaderReader[] = [
  {
    name: 'PHP',
    missing: absent(PHP),
    start: () =>
      startProgram((port, folder) => {
        const file = join(folder, 'environment.php');
        writeFileSync(file, '<?php echo json_encode($_SERVER);');
        return [PHP, ['-S', `127.0.0.1:${port}`, file]];
      }),
  },
  {
    name: 'WSGI',
    missing: isPythonInstalled ? [] : [PYTHON_PROGRAM],
    start: () => startPython(WSGI),
  },
  {
    name: 'CGI',
    missing: absent(LIGHTTPD, PYTHON_PROGRAM),
    start: () =>
      startProgram((port, folder) => {
        writeFileSync(join(folder, 'environment.py'), CGI);
        writeFileSync(join(folder, 'lighttpd.conf'), lighttpd(port, folder));
        return [LIGHTTPD, ['-D', '-f', join(folder, 'lighttpd.conf')]];
      }),
  },
];

function absent(...programs: readonly string[]): readonly string[] {
  return programs.filter((program) => !existsSync(program));
}

async function startProgram(
  lineOf: (port: number, folder: string) => readonly [program: string, args: readonly string[]],
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'mandate-reader-'));
  const [program, args] = lineOf(port, folder);
  const child = spawn(program, args, { stdio: 'ignore' });
  for (let isListening = false; !isListening; ) {
    if (child.exitCode !== null) throw new Error(`${program} ended.`);
    const socket = connect(port, '127.0.0.1');
    isListening = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
    socket.destroy();
    if (!isListening) await sleep(50);
  }
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      if (child.exitCode === null) {
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
      rmSync(folder, { recursive: true });
    },
  };
}
