/** After the database went back in time (`mandate after-restore`), on SQLite. */

import type { RestoreOutcome, RestoreRequest } from '../../../application/ports/storage.ts';
import { RESTORE_REFUSES_SECONDS } from '../../../domain/agents/assertion.ts';
import { plusSeconds } from '../../../domain/instant.ts';
import { movedOn, restoredEntry } from '../../../domain/ledger/restoring.ts';
import { VOID_RESTORED } from '../queries/authorizations.ts';
import { EXPIRE_UNUSED } from '../rows/approval-row.ts';
import { appendEntries, lastNumber } from './append.ts';
import type { Connection } from './connection.ts';
import { usedTwice } from './used-twice.ts';

const highest = `select max(coalesce((select max(seq) from ledger), 0),
  coalesce((select max(last_seq) from checkpoints), 0)) as seq`;
const moveSequence = "update sqlite_sequence set seq = ? where name = 'ledger'";
const beginSequence = "insert into sqlite_sequence (name, seq) values ('ledger', ?)";
/** The row that counts for every assertion issued before (`facts.ts`). The sweeper deletes it like any other. */
const refuseEarlier = `insert into spent_assertions (agent_id, jti, forget_at) values ('', '', ?)
  on conflict do update set forget_at = max(forget_at, excluded.forget_at)`;

export function afterRestore(connection: Connection, { at, latest, above }: RestoreRequest): Promise<RestoreOutcome> {
  return connection.write((run): RestoreOutcome => {
    const twice = usedTwice(run);
    if (twice !== undefined) return { kind: 'used_twice', twice };
    const from = Math.max(lastNumber(run), run<{ seq: number }>(highest).rows[0]?.seq ?? 0);
    const to = movedOn(from, above);
    if (to === undefined) return { kind: 'beyond' };
    if (run(moveSequence, [to]).count === 0) run(beginSequence, [to]);
    run(refuseEarlier, [plusSeconds(latest, RESTORE_REFUSES_SECONDS)]);
    run(EXPIRE_UNUSED);
    run(VOID_RESTORED);
    appendEntries(run, [restoredEntry(at, from, to)]);
    return { kind: 'moved', from, to };
  });
}
