/** The condition of a SQLite database, asked in its thread. */

import type { SealingCondition, StorageCondition } from '../../../application/ports/storage.ts';
import { outboxBacklog, sealingBacklog } from './backlog.ts';
import { findBlocks } from './blocks.ts';
import type { Connections } from './connections.ts';
import { isLoggedOut } from './logouts.ts';
import { readSchemaStatus } from './schema-status.ts';

/** What the migrations put on each of these, in front of every change. */
const GUARDED = ['ledger', 'ledger_archives', 'checkpoints'] as const;
const GUARDS = ['no_update', 'no_delete', 'no_replace'] as const;

const selectVersion = 'select sqlite_version() as version';
const selectTriggers =
  "select name from sqlite_master where type = 'trigger' and sql like '%begin select raise(abort, %'";
const selectSigners = 'select distinct kid from checkpoints';

/** Arguments and answers are plain data. */
export function sqliteCondition(connections: Connections): Omit<StorageCondition, 'close'> {
  const { read } = connections;
  return {
    server: () => read((run) => `SQLite ${run<{ version: string }>(selectVersion).rows[0]?.version ?? ''}`),
    schema: () => readSchemaStatus(connections),
    link: async () => undefined,
    // It is ours.
    now: async () => undefined,
    role: async () => undefined,
    guards: () =>
      read((run) => {
        const there = run<{ name: string }>(selectTriggers).rows.map(({ name }) => name);
        return {
          tables: GUARDED.length,
          missing: GUARDED.flatMap((table) =>
            GUARDS.map((guard) => `${table}_${guard}`)
              .filter((name) => !there.includes(name))
              .map((name) => ({ table, what: `the trigger ${name} is not there, or does not refuse` })),
          ),
        };
      }),
    months: async () => undefined,
    // It numbers by itself, and never a record as an earlier one.
    isSetBack: async () => false,
    sealing: () =>
      read((run): SealingCondition => {
        return {
          ...sealingBacklog(run),
          signers: run<{ kid: string }>(selectSigners).rows.map(({ kid }) => kid),
        };
      }),
    outbox: () => read(outboxBacklog),
    findBlocks: (sponsorKey) => read((run) => findBlocks(run, sponsorKey)),
    isLoggedOut: (token, at) => read((run) => isLoggedOut(run, token, at)),
  };
}
