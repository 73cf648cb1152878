/** Changes that an owner of the database can make to a ledger, by the rows of the table in docs/auditing.md. */

import type { TestDatabase } from '../databases.ts';
import type { Mandate } from '../mandate.ts';
import type { Storage } from '../storage.ts';
import { archivingOf, departedMonth } from './archivings.ts';
import { sealAnew } from './resealing.ts';
import { makeSealingKey, type SealingKey } from './sealing-key.ts';
import type { Tampering } from './tampering.ts';

/** Tables of the log, of which a backup is kept as `…_kept`. */
export const KEPT_LOG = ['log_state', 'log_tiles', 'log_cosignatures', 'log_problems'];

/** A ledger of two records in each of three checkpoints, and one unsealed record. */
export interface Kept {
  readonly mandate: Mandate;
  readonly storage: Storage;
  readonly tampering: Tampering;
  readonly engine: TestDatabase['engine'];
  readonly hasLog: boolean;
  /** The service's real key. */
  readonly key: SealingKey;
}

type Restart =
  | 'running'
  | 'restarted'
  /** The process notices that the newest record is gone, and decides nothing more. */
  | 'halted';
/** The numbers of its records. With a log the first ones are those of its keys. */
const IN_SECOND = (column: 'first_seq' | 'last_seq') => `(select ${column} from checkpoints where checkpoint_id = 2)`;
const alter = ({ tampering }: Kept) =>
  tampering.sql(`update ledger set reason = 'harmless' where seq = ${IN_SECOND('first_seq')}`);
const remove = ({ tampering }: Kept) => tampering.sql(`delete from ledger where seq = ${IN_SECOND('last_seq')}`);
const changeUnsealed = ({ tampering }: Kept) =>
  tampering.sql("update ledger set reason = 'other' where seq = (select max(seq) from ledger)");
const insert = ({ mandate, storage }: Kept) =>
  storage.ledger.append({ at: mandate.clock.now(), event: 'token.denied', decision: 'deny', sponsor: 'ada' });
const removeCheckpoints = ({ tampering }: Kept) => tampering.sql('delete from checkpoints');
const cutOff = ({ tampering }: Kept) =>
  tampering.sql(
    'delete from ledger where seq > (select last_seq from checkpoints where checkpoint_id = 2)',
    'delete from checkpoints where checkpoint_id = 3',
  );

async function signAnewWithOwnKey({ mandate, storage, tampering, engine, hasLog }: Kept): Promise<void> {
  const own = await makeSealingKey();
  const jwk = JSON.stringify({ ...own.jwks.keys[0], kid: 'old-2025' });
  const since = engine === 'sqlite' ? '1' : "'2025-01-01Z'";
  if (hasLog) {
    await tampering.sql(
      `insert into log_keys (use, kid, thumbprint, public_key, active_from, active_to)
        values ('checkpoint', 'old-2025', '${own.signer.kid}', '${jwk}', ${since}, ${since})`,
    );
  }
  await storage.ledger.append({
    at: mandate.clock.now(),
    event: 'key.retired',
    decision: 'allow',
    reason: 'checkpoint_key',
    detail: own.signer.kid,
  });
  await sealAnew(storage, tampering, { ...own.signer, kid: 'old-2025' });
}

async function signSecondWithOwnKey({ storage, tampering }: Kept): Promise<void> {
  await sealAnew(storage, tampering, (await makeSealingKey()).signer, 2, 2);
}

const signAnewWithRealKey = ({ storage, tampering, key }: Kept) => sealAnew(storage, tampering, key.signer);
const emptyLog = ({ tampering }: Kept) => tampering.sql(...KEPT_LOG.map((table) => `delete from ${table}`));

async function restoreBackup({ tampering }: Kept): Promise<void> {
  await tampering.undo();
  await tampering.sql(
    ...KEPT_LOG.flatMap((table) => [`delete from ${table}`, `insert into ${table} select * from ${table}_kept`]),
  );
}

/** The row of an archive that never was. @param before the first instant that stays, as SQL */
async function list({ tampering, engine }: Kept, before: string, month = '2026-01'): Promise<void> {
  const at = engine === 'sqlite' ? '1' : "'2026-02-01Z'";
  await tampering.sql(
    `insert into ledger_archives
        (month, archived_before, archived_at, first_checkpoint, last_checkpoint, first_seq, last_seq)
      select '${month}', ${before}, ${at}, 1, max(checkpoint_id), 1, max(last_seq) from checkpoints`,
  );
}

const listAsArchived = (kept: Kept) => list(kept, kept.engine === 'sqlite' ? '1' : "'2026-02-01Z'");
/** In the middle of a month. A record of checkpoint 2 may then seem to be of a month that stays. */
const listMidMonth = (kept: Kept) => list(kept, `(select min(ts) from ledger where seq >= ${IN_SECOND('first_seq')})`);
const deleteSealed = ({ tampering }: Kept) =>
  tampering.sql('delete from ledger where seq <= (select max(last_seq) from checkpoints)');
const deleteSecond = ({ tampering }: Kept) =>
  tampering.sql(`delete from ledger where seq between ${IN_SECOND('first_seq')} and ${IN_SECOND('last_seq')}`);

/** The record of an archive that never was. The service seals it as any other. */
async function recordAsArchived({ mandate, storage }: Kept): Promise<void> {
  const third = await storage.checkpoints.newest();
  if (third === undefined) throw new Error('nothing was sealed');
  const { checkpointId, lastSeq } = third;
  await storage.ledger.append({
    ...archivingOf('2026-01-01T00:00:00Z', departedMonth('2026-01', [1, checkpointId], [1, lastSeq])),
    at: mandate.clock.now(),
  });
}

/** The same record, in the place of a sealed one. */
async function putAsArchived({ mandate, storage, tampering, engine }: Kept): Promise<void> {
  const second = (await storage.checkpoints.page(1, 1))[0];
  const at = mandate.clock.now();
  const { detail } = archivingOf('2026-01-01T00:00:00Z', departedMonth('2026-01', [1, 1], [1, second?.firstSeq ?? 0]));
  const ts = engine === 'sqlite' ? String(at) : `to_timestamp(${at / 1e6})`;
  await tampering.sql(
    `update ledger set event = 'audit.archived', ts = ${ts}, detail = '${detail}' where seq = ${IN_SECOND('last_seq')}`,
    `delete from ledger where seq < ${IN_SECOND('first_seq')}`,
  );
}

/** No checkpoint's range has it. */
const insertOutside = ({ tampering }: Kept) =>
  tampering.sql(
    "insert into ledger (seq, ts, event, sponsor, decision) select -9007199254740995, ts, event, 'ceo', 'allow' from ledger where seq = 1",
  );

const changeAll = ({ tampering }: Kept) => tampering.sql("update ledger set reason = 'harmless'");

/** By the first cell of each row. */
export const CHANGES: Readonly<Record<string, readonly [Restart, ...((kept: Kept) => Promise<unknown>)[]]>> = {
  Nothing: ['running'],
  'A sealed record changed': ['running', alter],
  'A sealed record deleted': ['running', remove],
  'Records inserted, an unsealed record changed': ['running', insert, changeUnsealed],
  'A record inserted with a number below 1': ['running', insertOutside],
  'Sealed records deleted, and marked as archived; service restarted': ['restarted', listAsArchived, deleteSealed],
  'Records of one checkpoint deleted, and marked as archived': ['running', listAsArchived, deleteSecond],
  'A sealed record changed, the other deleted, and all marked as archived': ['running', alter, remove, listAsArchived],
  'The same, marked with a time within a month': ['running', alter, remove, listMidMonth],
  'Sealed records deleted, and a sealed one replaced by one that says they were archived; service restarted': [
    ...(['restarted', putAsArchived] as const),
  ],
  'Sealed records deleted, and a record inserted that says they were archived; service restarted': [
    ...(['restarted', recordAsArchived, deleteSealed] as const),
  ],
  'A sealed record changed, the other deleted, and a record inserted that says they were archived': [
    ...(['running', alter, remove, recordAsArchived] as const),
  ],
  'The end cut off, with its checkpoint': ['halted', cutOff],
  'The end cut off; service restarted': ['restarted', cutOff],
  'Records rewritten, all checkpoints deleted': ['running', alter, remove, removeCheckpoints],
  'Records rewritten, all checkpoints deleted; service restarted': ['restarted', alter, remove, removeCheckpoints],
  'Own key: records rewritten, all checkpoints signed anew with a key of the owner, which a record names': [
    ...(['running', alter, remove, signAnewWithOwnKey] as const),
  ],
  'Own key, and the log emptied; service restarted': ['restarted', alter, remove, signAnewWithOwnKey, emptyLog],
  'Own key for checkpoint 2 alone, and the log emptied; service restarted': [
    ...(['restarted', alter, signSecondWithOwnKey, emptyLog] as const),
  ],
  'Real key: records rewritten, all checkpoints signed anew with a copy of the real key': [
    ...(['running', alter, remove, signAnewWithRealKey] as const),
  ],
  'Real key; service restarted': ['restarted', alter, remove, signAnewWithRealKey],
  'Real key, records of the marked checkpoint too; service restarted': ['restarted', changeAll, signAnewWithRealKey],
  'Real key, and the log emptied; service restarted': ['restarted', alter, remove, signAnewWithRealKey, emptyLog],
  'A backup restored; service restarted': ['restarted', restoreBackup],
};
