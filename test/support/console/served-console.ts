/** The console's routes over a real database, with sessions that the test decides about: for the screens of auditors. */

import { createServer } from 'node:http';
import express from 'express';
import type { AdminSurface } from '../../../adapters/http/admin/admin-router.ts';
import type { AuditSurface } from '../../../adapters/http/admin/audit-router.ts';
import { assets } from '../../../adapters/http/console/assets.ts';
import { type ConsoleSurface, consoleRouter } from '../../../adapters/http/console/console-router.ts';
import type { Screen } from '../../../adapters/http/console/context.ts';
import { renderLiveRecords } from '../../../adapters/http/console/screens/now.ts';
import { screens } from '../../../adapters/http/console/screens.ts';
import { eventLoopTurn, timeLimit } from '../../../adapters/platform/system-clock.ts';
import { sha256, sha256Bytes } from '../../../adapters/platform/system-crypto.ts';
import type { NamedFinding } from '../../../application/doctor/examine.ts';
import { sharedExamination } from '../../../application/doctor/shared-examination.ts';
import { findArchivedPart } from '../../../application/ledger/find-archived-part.ts';
import { proveRecord } from '../../../application/ledger/prove.ts';
import { listCheckpoints, queryLedger } from '../../../application/ledger/query.ts';
import { recordStream } from '../../../application/ledger/record-stream.ts';
import { sealedTrees } from '../../../application/ledger/sealed-trees.ts';
import type { CheckpointVerifier } from '../../../application/ports/keys.ts';
import { type Instant, plusSeconds } from '../../../domain/instant.ts';
import type { OperatorRole } from '../../../domain/operators/operator.ts';
import { capturedLog } from '../captured-log.ts';
import { closeServer, listen } from '../listening.ts';
import type { Storage } from '../storage.ts';

export interface ServedConsole {
  readonly origin: string;
  readonly port: number;
  /** Paths of refused requests, with the routes of the API under which they are recorded. */
  readonly refused: string[];
  /** The roles of the session. `undefined`: there is none. */
  roles: readonly OperatorRole[] | undefined;
  /** How often a request counted as a use of the session. */
  uses(): number;
  /** Breaks all connections, as a process that dies. */
  stop(): Promise<void>;
}

interface ServedOptions {
  readonly storage: Storage;
  readonly now: () => Instant;
  readonly port?: number;
  readonly roles?: readonly OperatorRole[];
  readonly findings?: readonly NamedFinding[];
  readonly heartbeatMs?: number;
}

/** A key that the service does not know: it can still prove. */
const NO_KEYS: CheckpointVerifier = { verify: async () => 'unknown_key' };
const ADVANCE_MS = 100;
const NO_TASK = { kind: 'page', items: [], nextCursor: undefined } as const;

/** *Now* shows the stream of records alone. */
const elsewhere: Screen['show'] = async () => ({ body: renderLiveRecords(), scripts: [assets.stream] });

export async function serveConsole(options: ServedOptions): Promise<ServedConsole> {
  const { storage, now, port = 0, findings = [], heartbeatMs = 15_000 } = options;
  const { ledger, checkpoints } = storage;
  const log = capturedLog();
  const clock = { now };
  const stream = recordStream({ ledger, checkpoints, turn: eventLoopTurn, timeLimit });
  const trees = sealedTrees({ checkpoints, verifier: NO_KEYS, hash: sha256Bytes, clock, turn: eventLoopTurn });
  const archivedPart = findArchivedPart({ checkpoints, trees, hash: sha256Bytes, verifier: undefined });
  const audit: AuditSurface = {
    apiKey: undefined,
    refuse: async () => undefined,
    query: (question) => queryLedger({ ledger, archivedPart, clock, digest: sha256 }, question),
    checkpoints: (question) => listCheckpoints({ checkpoints }, question),
    prove: (seq, memory) => proveRecord({ checkpoints, trees, archivedPart, hash: sha256Bytes }, seq, memory),
    streaming: {
      stream,
      clock,
      refuseFull: async () => undefined,
      streamTimes: { heartbeatMs, lifetimeMs: 10 * 60_000 },
    },
    log,
  };
  let uses = 0;
  const served = {
    refused: [] as string[],
    roles: 'roles' in options ? options.roles : (['auditor'] as readonly OperatorRole[]),
  };
  const session = () =>
    served.roles && {
      holder: {
        ...({ kind: 'person', issuer: 'https://login.example', subject: 'olga', sponsorKey: 'olga' } as const),
        roles: served.roles,
      },
      formToken: 'form-token',
    };
  const asTheyAre: readonly Screen[] = [screens.ledger, screens.checkpoints, screens.doctor];
  const shown = Object.values<Screen>(screens).map((screen) =>
    asTheyAre.includes(screen) ? screen : { ...screen, show: elsewhere },
  );
  const examine = sharedExamination(async () => findings, clock);
  const app = express();
  app.set('query parser', false);
  app.use(
    consoleRouter(
      {
        origin: 'http://127.0.0.1',
        admin: { listTasks: async () => NO_TASK } as unknown as AdminSurface,
        views: { ports: { checkpoints } } as unknown as ConsoleSurface['views'],
        overview: {} as ConsoleSurface['overview'],
        audit,
        sessions: {
          async find() {
            uses += 1;
            return session();
          },
          peek: async () => session(),
        },
        async refuseRole(_operator, route) {
          served.refused.push(route);
        },
        refuse: async () => undefined,
        clock,
        log,
        examine,
      },
      shown,
    ),
  );
  const server = createServer(app);
  const actual = await listen(server, port);
  const advancing = setInterval(() => void stream.advance(), ADVANCE_MS);
  return Object.assign(served, {
    origin: `http://127.0.0.1:${actual}`,
    port: actual,
    uses: () => uses,
    async stop() {
      clearInterval(advancing);
      stream.close();
      await closeServer(server);
    },
  });
}

/** Shortly after the newest record. */
export function shortlyAfter({ now }: { now(): Instant }): () => Instant {
  return () => plusSeconds(now(), 10);
}
