/**
 * Mandate as it runs in earnest: real processes on one database, with one signing key and one name. An identity
 * provider and a transmitter are there to sign what people, sessions and accounts come to.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { asProgram } from '../../../scripts/from-source.ts';
import { type MandateProcess, startMandate } from '../../../scripts/mandate-process.ts';
import { type Outside, outsideOf, type TestDatabase } from '../databases.ts';
import { type IdentityProvider, startIdentityProvider } from '../identity-provider/identity-provider.ts';
import {
  ADMIN_KEY,
  environmentOf,
  type LedgerLine,
  type RegisteredAgent,
  recordsOf,
  registerAgent,
} from '../mandate.ts';
import { movedClock } from '../moved-clock.ts';
import { scimSettings } from '../scim-client.ts';
import { sharedSigningKey } from '../shared-signing-key.ts';
import { startTransmitter, type Transmitter } from '../transmitter.ts';
import { type Connection, connectionTo } from './connection.ts';

export interface Replicas {
  readonly count: number;
  readonly provider: IdentityProvider;
  readonly transmitter: Transmitter;
  /** One of them, whatever the number. */
  at(nth: number): Connection;
  /** Asks each of them. */
  each<Result>(ask: (replica: Connection) => Promise<Result>): Promise<readonly Result[]>;
  agent(): Promise<RegisteredAgent>;
  /** The records that `act` adds, in the order of their numbers. */
  recorded(act: () => Promise<unknown>): Promise<readonly LedgerLine[]>;
  /** The database beside the service, as its owner. */
  readonly outside: Outside;
  stop(): Promise<void>;
}

/** Where people are known by another claim than `sub`, an exchange and what ends its task have more to agree about. */
export const PERSON_CLAIM = 'oid';

const ISSUER = 'https://mandate.test';

export async function startReplicas(kind: TestDatabase, count: number): Promise<Replicas> {
  const database = await kind.fresh();
  const outside = await outsideOf(database);
  // Signing with P-256 takes a tenth of what RSA does.
  const [provider, transmitter] = await Promise.all([
    startIdentityProvider({ algorithm: 'ES256' }),
    startTransmitter(),
  ]);
  const settings = {
    ...database.settings,
    ...sharedSigningKey(),
    ...scimSettings,
    ...transmitter.settings,
    // Everything here comes from one address and as fast as it can: how much of that is let in is another suite's.
    'Service:RateLimit:Enabled': 'false',
    'Service:Overload:Enabled': 'false',
    'Service:Issuer': ISSUER,
    'Service:UpstreamIdp:Issuer': provider.issuer,
    'Service:UpstreamIdp:Audience': provider.audience,
    'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
    'Service:UpstreamIdp:SponsorKeyClaim': PERSON_CLAIM,
    'Service:UpstreamIdp:BackchannelLogout:Audience': provider.clientId,
    'Service:Admin:ApiKey': ADMIN_KEY,
    // Each renewal has its record, so that the ledger tells the order of all of them.
    'Service:Audit:Aggregation:Enabled': 'false',
    // A pass that waits for a lock would be taken for one of the decisions that are looked for.
    'Service:Audit:Checkpoint:Interval': 'PT1H',
    'Service:Tasks:SweepInterval': 'PT1H',
    NODE_ENV: 'development',
  };
  const home = mkdtempSync(join(tmpdir(), 'mandate-replicas-'));
  const program = asProgram(new URL('../../../composition/main.ts', import.meta.url));
  const processes: MandateProcess[] = [];
  const leaveNoneBehind = () => processes.forEach(kill);
  process.once('exit', leaveNoneBehind);
  // One after the other: a machine that is busy with other suites may take too long over several at once.
  while (processes.length < count) {
    processes.push(
      await startMandate(environmentOf(settings), mkdtempSync(join(home, 'replica-')), program, 'applied'),
    );
  }

  const connections = processes.map(({ issuer }) => connectionTo(issuer));
  const at = (nth: number): Connection => {
    const connection = connections[nth % count];
    if (connection === undefined) throw new Error('there is no replica');
    return connection;
  };
  const registrar = { admin: at(0).admin, post: at(0).post, issuer: ISSUER, provider, clock: movedClock() };
  return {
    count,
    provider,
    transmitter,
    outside,
    at,
    each: (ask) => Promise.all(connections.map(ask)),
    agent: () => registerAgent(registrar, {}),
    async recorded(act) {
      const from = new Date().toISOString();
      await act();
      return (await recordsOf(at(0).admin, `&from=${from}`)).toSorted((one, other) => one.seq - other.seq);
    },
    async stop() {
      for (const connection of connections) connection.close();
      await Promise.all(processes.map((replica) => replica.stop()));
      process.off('exit', leaveNoneBehind);
      await outside.close();
      await Promise.all([provider.stop(), transmitter.stop(), database.drop()]);
      rmSync(home, { recursive: true });
    },
  };
}

function kill({ pid }: MandateProcess): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It is gone already.
  }
}
