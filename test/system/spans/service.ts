/** A service with spans, as a process, and what is around it. */

import { randomBytes } from 'node:crypto';
import { freePort } from '../../../scripts/free-port.ts';
import { type ClientAt, clientAt } from '../../support/client-at.ts';
import { type CommandProcess, startCommand } from '../../support/command-process.ts';
import type { FreshDatabase, TestDatabase } from '../../support/databases.ts';
import { type IdentityProvider, startIdentityProvider } from '../../support/identity-provider/identity-provider.ts';
import { answering } from '../../support/loopback.ts';
import { ADMIN_KEY, registerAgent } from '../../support/mandate.ts';
import { movedClock } from '../../support/moved-clock.ts';
import { startUserDirectory, type UserDirectory } from '../../support/user-directory.ts';

/** The span of the caller. */
export const PARENT = '00f067aa0ba902b7';

export const newTrace = () => randomBytes(16).toString('hex');
export const traceparent = (traceId: string) => ({ traceparent: `00-${traceId}-${PARENT}-01` });

export interface Running extends ClientAt {
  readonly process: CommandProcess;
  lines(): Promise<readonly Readonly<Record<string, unknown>>[]>;
  stop(): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }>;
}

export interface Surroundings {
  readonly database: FreshDatabase;
  readonly provider: IdentityProvider;
  readonly directory: UserDirectory;
}

export async function startService(
  { database, provider, directory }: Surroundings,
  settings: Readonly<Record<string, string>>,
): Promise<Running> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const process = startCommand(['serve'], {
    ...database.settings,
    ...directory.settings,
    'Service:Issuer': url,
    'Service:UpstreamIdp:Issuer': provider.issuer,
    'Service:UpstreamIdp:Audience': provider.audience,
    'Service:Admin:ApiKey': ADMIN_KEY,
    'Service:RateLimit:Enabled': 'false',
    'Service:Audit:Checkpoint:Interval': 'PT1S',
    NODE_ENV: 'development',
    HOST: '127.0.0.1',
    PORT: String(port),
    ...settings,
  });
  let out = '';
  process.child.stdout?.on('data', (chunk) => {
    out += chunk;
  });
  await process.said('listening');
  return {
    ...clientAt(url),
    process,
    lines: async () =>
      out
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line)),
    async stop() {
      process.child.kill('SIGTERM');
      return process.ended;
    },
  };
}

export const agentOf = (service: Running, { provider }: Surroundings, changes = {}) =>
  registerAgent({ ...service, issuer: service.url, provider, clock: movedClock() }, changes);

export async function surroundingsOn(database: TestDatabase): Promise<Surroundings> {
  return {
    database: await database.fresh(),
    provider: await startIdentityProvider(),
    directory: await startUserDirectory(answering({ id: 'ada', enabled: true })),
  };
}

export async function endAll({ database, provider, directory }: Surroundings): Promise<void> {
  await Promise.all([provider.goDown(), directory.server.close()]);
  await database.drop();
}
