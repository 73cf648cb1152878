/**
 * After the database went back in time (`mandate after-restore`), on Postgres, as the role that owns the schema: the serving
 * role may not move the sequence. Functions are written with their schema, as in `archives.ts`.
 */

import type { RestoreOutcome, RestoreRequest } from '../../../application/ports/storage.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
import { RESTORE_REFUSES_SECONDS } from '../../../domain/agents/assertion.ts';
import { plusSeconds } from '../../../domain/instant.ts';
import { movedOn, restoredEntry } from '../../../domain/ledger/restoring.ts';
import { VOID_RESTORED } from '../queries/authorizations.ts';
import { EXPIRE_UNUSED } from '../rows/approval-row.ts';
import { appendEntries } from './append.ts';
import { bindInstant } from './column-types.ts';
import { LOCK } from './locks.ts';
import { openAuditing } from './pool/pool.ts';
import { usedTwice } from './used-twice.ts';

/** Every append holds it shared: none takes a number until this transaction ends. */
const takeFence = { name: 'restore_fence', text: `select pg_advisory_xact_lock(${LOCK.ledgerFence}, 0)` };
const highest = {
  name: 'restore_highest',
  text: `select greatest((select case when is_called then last_value else last_value - 1 end from ledger_seq),
    (select pg_catalog.max(seq) from ledger), (select pg_catalog.max(last_seq) from checkpoints), 0) as seq`,
};
const moveSequence = {
  name: 'restore_sequence',
  text: `select pg_catalog.setval('ledger_seq'::regclass, $1::bigint)`,
};
/** The row that counts for every assertion issued before (`facts.ts`). The sweeper deletes it like any other. */
const refuseEarlier = {
  name: 'restore_refuses',
  text: `insert into spent_assertions as s (agent_id, jti, forget_at) values ('', '', $1)
    on conflict (agent_id, jti) do update set forget_at = greatest(s.forget_at, excluded.forget_at)`,
};
const expireUnused = { name: 'restore_expires', text: EXPIRE_UNUSED };
const voidRestored = { name: 'restore_voids', text: VOID_RESTORED };

/**
 * @param uri of the role that owns the schema
 * @throws DatabaseRefusal, StorageUnavailable
 */
export async function afterRestore(
  uri: string,
  { at, latest, above }: RestoreRequest,
  log: Log,
): Promise<RestoreOutcome> {
  const connections = await openAuditing(uri, 'migrating', 1, log);
  try {
    return await connections.transact(async (run): Promise<RestoreOutcome> => {
      await run(takeFence);
      const twice = await usedTwice(run);
      if (twice !== undefined) return { kind: 'used_twice', twice };
      const from = (await run<{ seq: number }>(highest)).rows[0]?.seq ?? 0;
      const to = movedOn(from, above);
      if (to === undefined) return { kind: 'beyond' };
      await run(moveSequence, [to]);
      await run(refuseEarlier, [bindInstant(plusSeconds(latest, RESTORE_REFUSES_SECONDS))]);
      await run(expireUnused);
      await run(voidRestored);
      const appended = appendEntries([restoredEntry(at, from, to)]);
      await run(appended.query, appended.values);
      return { kind: 'moved', from, to };
    });
  } finally {
    await connections.close();
  }
}
