/** HAProxy in front of database servers, where it is installed. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../scripts/free-port.ts';
import { listen } from './listening.ts';

const HAPROXY = '/usr/sbin/haproxy';

export const haproxyIsInstalled = (): boolean => existsSync(HAPROXY);

interface Haproxy {
  readonly port: number;
  /** The health check of this server succeeds from now on, and those of the others fail. */
  lead(port: number): void;
  close(): Promise<void>;
}

/**
 * Its health check asks for the leader, as with Patroni's `/primary`. The check's server is in this process, which may answer late
 * on a busy machine. With its usual limit, the interval, HAProxy would then end the sessions of the leader (`timeout check`).
 *
 * @param extra of each server's line
 */
export async function startHaproxy(ports: readonly number[], leader: number, extra: string): Promise<Haproxy> {
  let leading = leader;
  const checks = createServer(({ url }, response) => {
    response.writeHead(url === `/${leading}` ? 200 : 503).end();
  });
  const check = await listen(checks);
  const port = await freePort();
  const home = mkdtempSync(join(tmpdir(), 'mandate-haproxy-'));
  const file = join(home, 'haproxy.cfg');
  const backends = ports.map(
    (one) => `
backend b${one}
  option httpchk GET /${one}
  server s${one} 127.0.0.1:${one} check port ${check} inter 200ms fall 1 rise 1 ${extra}`,
  );
  const rules = ports.map((one) => `  use_backend b${one} if { nbsrv(b${one}) gt 0 }`);
  writeFileSync(
    file,
    `defaults
  mode tcp
  timeout connect 1s
  timeout check 10s
  timeout client 1h
  timeout server 1h
frontend database
  bind 127.0.0.1:${port}
${rules.join('\n')}
${backends.join('\n')}
`,
  );
  const child = spawn(HAPROXY, ['-db', '-f', file], { stdio: 'ignore' });
  return {
    port,
    lead(next) {
      leading = next;
    },
    async close() {
      if (child.exitCode === null) {
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
      checks.closeAllConnections();
      await new Promise((closed) => checks.close(closed));
      rmSync(home, { recursive: true });
    },
  };
}
