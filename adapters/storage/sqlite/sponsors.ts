/** Blocks on SQLite. */

import type { Sponsors } from '../../../application/ports/sponsors.ts';
import type { TaskId } from '../../../domain/identifiers.ts';
import type { LedgerEntry } from '../../../domain/ledger/record.ts';
import type { SponsorBlock } from '../../../domain/sponsors/block.ts';
import { storable } from '../rows/text.ts';
import { findBlocks } from './blocks.ts';
import { bindInstant } from './column-types.ts';
import type { Connections, Run } from './connections.ts';
import { endTasks } from './ending.ts';
import { append } from './ledger.ts';

const insert = `insert into sponsor_blocks (sponsor_key, source, kind, blocked_at, stated_at) values (?, ?, ?, ?, ?)
  on conflict do nothing`;

const remove = 'delete from sponsor_blocks where sponsor_key = ? and source = ?';

const liveTasks = "select task_id from tasks where sponsor_key = ? and state = 'live'";

export function sqliteSponsors({ read, decide }: Connections): Sponsors {
  return {
    findBlocks: (sponsorKey) => read((run) => findBlocks(run, sponsorKey)),

    block: (block, reason) =>
      decide((run) => {
        if (place(run, block)) append(run, blocked(block));
        const { rows } = run<{ task_id: TaskId }>(liveTasks, [block.sponsorKey]);
        const roots = rows.map((row) => row.task_id);
        const revokedTasks = endTasks(run, roots, { at: block.blockedAt, reason });
        return { blocks: findBlocks(run, block.sponsorKey), revokedTasks };
      }),

    lift: (sponsorKey, source, entry, refusal) =>
      decide((run) => {
        const lifted = run(remove, [storable('sponsor_key', sponsorKey), source]).count === 1;
        if (!lifted && findBlocks(run, sponsorKey).length === 0) return 'not_blocked';
        append(run, lifted ? entry : refusal);
        return lifted ? 'lifted' : 'not_owned';
      }),
  };
}

/** False where this source has blocked the person before. */
function place(run: Run, { sponsorKey, source, kind, blockedAt }: SponsorBlock): boolean {
  const at = bindInstant(blockedAt);
  return run(insert, [storable('sponsor_key', sponsorKey), source, kind, at, at]).count === 1;
}

function blocked({ sponsorKey, blockedAt }: SponsorBlock): LedgerEntry {
  return {
    at: blockedAt,
    event: 'sponsor.blocked',
    sponsor: sponsorKey,
    decision: 'allow',
    reason: 'sponsor_blocked',
  };
}
