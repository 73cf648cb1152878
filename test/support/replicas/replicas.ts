/** Processes of Mandate on one database, with one key and issuer, an identity provider and a transmitter. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { asProgram } from '../../../scripts/from-source.ts';
import { type MandateProcess, startMandate } from '../../../scripts/mandate-process.ts';
import { connectOutside, type OutsideConnection, type TestDatabase } from '../databases.ts';
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
  /** The replica for this number; the numbers go round the replicas. */
  at(nth: number): Connection;
  /** Sends a request to each replica. */
  each<Result>(ask: (replica: Connection) => Promise<Result>): Promise<readonly Result[]>;
  agent(): Promise<RegisteredAgent>;
  /** Resolves with the records that `act` adds, by sequence number. */
  recorded(act: () => Promise<unknown>): Promise<readonly LedgerLine[]>;
  /** A connection as the owner of the database. */
  readonly outside: OutsideConnection;
  stop(): Promise<void>;
}

/** The claim of the sponsor key. It is not `sub`, so that a test notices if an ending uses the wrong one. */
export const PERSON_CLAIM = 'oid';

/** The audience of access tokens for `/me`. */
export const ME_AUDIENCE = 'https://mandate.test/me';

const ISSUER = 'https://mandate.test';

/** A reading by time begins this early, so that a clock which is set back hides no record. */
const EARLIER_MS = 60_000;

export async function startReplicas(kind: TestDatabase, count: number): Promise<Replicas> {
  const database = await kind.fresh();
  const outside = await connectOutside(database);
  // Signing with P-256 takes a tenth of the CPU time of RSA.
  const [provider, transmitter] = await Promise.all([
    startIdentityProvider({ algorithm: 'ES256' }),
    startTransmitter(),
  ]);
  const settings = {
    ...database.settings,
    ...sharedSigningKey(),
    ...scimSettings,
    ...transmitter.settings,
    // All requests come from one address at full speed, and would exceed the limits.
    'Service:RateLimit:Enabled': 'false',
    'Service:Overload:Enabled': 'false',
    'Service:Issuer': ISSUER,
    'Service:UpstreamIdp:Issuer': provider.issuer,
    'Service:UpstreamIdp:Audience': provider.audience,
    'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
    'Service:UpstreamIdp:SponsorKeyClaim': PERSON_CLAIM,
    'Service:Me:Audience': ME_AUDIENCE,
    'Service:UpstreamIdp:BackchannelLogout:Audience': provider.clientId,
    'Service:Admin:ApiKey': ADMIN_KEY,
    // Each refresh has its own record, so that the ledger shows the order of refreshes.
    'Service:Audit:Aggregation:Enabled': 'false',
    // A job must not run: a test would mistake a job that waits for a lock for a decision.
    'Service:Audit:Checkpoint:Interval': 'PT1H',
    'Service:Tasks:SweepInterval': 'PT1H',
    NODE_ENV: 'development',
  };
  const home = mkdtempSync(join(tmpdir(), 'mandate-replicas-'));
  const program = asProgram(new URL('../../../composition/main.ts', import.meta.url));
  const processes: MandateProcess[] = [];
  const leaveNoneBehind = () => processes.forEach(kill);
  process.once('exit', leaveNoneBehind);
  // One after the other, because a busy machine may take too long to start several at once.
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
      const [row] = await outside.sql('select max(seq) as seq from ledger');
      const before = Number(row?.seq ?? 0);
      const from = new Date(Date.now() - EARLIER_MS).toISOString();
      await act();
      const lines = await recordsOf(at(0).admin, `&from=${from}`);
      return lines.filter(({ seq }) => seq > before).toSorted((one, other) => one.seq - other.seq);
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
    // The process has already ended.
  }
}
