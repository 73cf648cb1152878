/** The gateways of docs/examples/gateways and of docs/examples/guard, where they are installed. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, chmodSync, constants, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../scripts/free-port.ts';

export interface StartedGateway {
  readonly url: string;
  close(): Promise<void>;
}

export interface Gateway {
  readonly name: string;
  /** In either of both folders. */
  readonly file: string;
  readonly program: string;
  /** @param file the configuration @param home a folder for what it writes */
  argumentsFor(file: string, home: string): readonly string[];
  /** @returns the configuration with what Debian sets elsewhere */
  complete?(configuration: string, home: string): string;
}

/** What /etc/apache2 sets, with files of the test. */
const apacheSettings = (home: string) => `
ServerRoot ${home}
DefaultRuntimeDir ${home}
PidFile ${home}/apache2.pid
ErrorLog ${home}/error.log
ServerName localhost
${['mpm_event', 'authz_core', 'proxy', 'proxy_http', 'headers']
  .map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`)
  .join('\n')}
<IfModule unixd_module>
  User www-data
  Group www-data
</IfModule>
`;

export const gateways = {
  nginx: {
    name: 'nginx',
    file: 'nginx.conf',
    program: process.env.NGINX ?? '/usr/sbin/nginx',
    argumentsFor: (file, home) => [
      ...['-c', file, '-p', home, '-e', 'stderr'],
      ...['-g', `daemon off; pid ${home}/nginx.pid; error_log stderr;`],
    ],
    // Debian's nginx keeps bodies in /var/lib/nginx, which only its own user may write.
    complete(configuration, home) {
      const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((one) => `${one}_temp_path ${home};`);
      return configuration.replace('http {', `http { ${folders.join(' ')} access_log off;`);
    },
  },
  caddy: {
    name: 'Caddy',
    file: 'Caddyfile',
    program: process.env.CADDY ?? '/usr/bin/caddy',
    argumentsFor: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
  },
  haproxy: {
    name: 'HAProxy',
    file: 'haproxy.cfg',
    program: process.env.HAPROXY ?? '/usr/sbin/haproxy',
    argumentsFor: (file) => ['-db', '-f', file],
  },
  apache: {
    name: 'Apache',
    file: 'apache.conf',
    program: process.env.APACHE ?? '/usr/sbin/apache2',
    argumentsFor: (file) => ['-D', 'FOREGROUND', '-f', file],
    complete: (configuration, home) => `${apacheSettings(home)}${configuration}`,
  },
} as const satisfies Readonly<Record<string, Gateway>>;

export function isInstalled({ program }: Gateway): boolean {
  try {
    accessSync(program, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export const gatewayFile = ({ file }: Gateway): string =>
  readFileSync(new URL(`../../docs/examples/gateways/${file}`, import.meta.url), 'utf8');

/** @param changes addresses in the configuration, and those of the test; 127.0.0.1:8080 becomes a free port */
export async function startGateway(
  gateway: Gateway,
  changes: Readonly<Record<string, string>>,
  configuration = gatewayFile(gateway),
): Promise<StartedGateway> {
  const port = await freePort();
  const home = mkdtempSync(join(tmpdir(), 'mandate-gateway-'));
  chmodSync(home, 0o755);
  const text = Object.entries({ ...changes, '127.0.0.1:8080': `127.0.0.1:${port}` }).reduce(
    (so, [from, to]) => so.replaceAll(from, to),
    configuration,
  );
  const file = join(home, gateway.file);
  writeFileSync(file, gateway.complete?.(text, home) ?? text);
  const child = spawn(gateway.program, gateway.argumentsFor(file, home), {
    env: { PATH: process.env.PATH, HOME: home },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (chunk) => {
    said += chunk;
  });
  await listening(child, port, () => said);
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      if (child.exitCode === null) {
        child.kill('SIGTERM');
        await once(child, 'exit');
      }
      rmSync(home, { recursive: true });
    },
  };
}

async function listening(child: ChildProcess, port: number, said: () => string): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`The gateway ended: ${said()}`);
    const socket = connect(port, '127.0.0.1');
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
    socket.destroy();
    if (isOpen) return;
    await sleep(50);
  }
}
