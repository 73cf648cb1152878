/** PgBouncer in front of a Postgres server, where it is installed. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../scripts/free-port.ts';
import { serverAccount } from './postgres-server.ts';

const PGBOUNCER = '/usr/sbin/pgbouncer';

export const pgbouncerIsInstalled = (): boolean => existsSync(PGBOUNCER);

interface Pgbouncer {
  /** The same connection string, with the pooler's port. */
  through(connectionString: string): string;
  close(): Promise<void>;
}

/**
 * @param roles may connect, without a password
 * @param settings further settings, by name
 */
export async function startPgbouncer(
  mode: 'transaction' | 'session',
  server: number,
  roles: readonly string[],
  settings: Readonly<Record<string, string | number>> = {},
): Promise<Pgbouncer> {
  const port = await freePort();
  const home = mkdtempSync(join(tmpdir(), 'mandate-pgbouncer-'));
  chmodSync(home, 0o755);
  const users = join(home, 'users.txt');
  writeFileSync(users, roles.map((role) => `"${role}" ""\n`).join(''));
  const file = join(home, 'pgbouncer.ini');
  writeFileSync(
    file,
    `[databases]
* = host=127.0.0.1 port=${server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = ${mode}
${Object.entries({ default_pool_size: 40, max_client_conn: 200, ...settings })
  .map(([name, value]) => `${name} = ${value}\n`)
  .join('')}`,
  );
  const child = spawn(PGBOUNCER, [file], { ...serverAccount(), stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  await new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (chunk) => {
      said += chunk;
      if (said.includes('process up')) resolve();
    });
    child.once('exit', () => reject(new Error(`PgBouncer ended: ${said}`)));
  });
  return {
    through(connectionString) {
      const uri = new URL(connectionString);
      uri.port = String(port);
      return uri.href;
    },
    async close() {
      if (child.exitCode === null) {
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
      rmSync(home, { recursive: true });
    },
  };
}
