/** Blocks on Postgres; placing one is the function `block_sponsor` of `migrations/0005-decisions.ts`. */

import type { Sponsors } from '../../../application/ports/sponsors.ts';
import { BLOCK_COLUMNS, type BlockRow, OLDEST_FIRST, toBlocks } from '../rows/block-row.ts';
import { storable } from '../rows/text.ts';
import { bindInstant } from './column-types.ts';
import type { Connections } from './connections.ts';
import { append } from './ledger.ts';
import { LOCK } from './locks.ts';

const find = {
  name: 'find_blocks',
  text: `select ${BLOCK_COLUMNS} from sponsor_blocks where sponsor_key = $1 ${OLDEST_FIRST}`,
};

const block = {
  name: 'block_sponsor',
  text: `select ${BLOCK_COLUMNS}, revoked_tasks
    from (select $1::text as sponsor_key) who, block_sponsor($1, $2, $3, $4, $5) ${OLDEST_FIRST}`,
};

const lock = { name: 'lock_sponsor', text: `select pg_advisory_xact_lock(${LOCK.sponsor}, hashtext($1))` };

const remove = { name: 'remove_block', text: 'delete from sponsor_blocks where sponsor_key = $1 and source = $2' };

/** @param stopping connections with time for ending very many tasks */
export function postgresSponsors({ run, transact }: Connections, stopping: Pick<Connections, 'run'>): Sponsors {
  return {
    async findBlocks(sponsorKey) {
      return toBlocks((await run<BlockRow>(find, [sponsorKey])).rows);
    },

    async block({ sponsorKey, source, kind, blockedAt }, reason) {
      const key = storable('sponsor_key', sponsorKey);
      const { rows } = await stopping.run<BlockRow & { revoked_tasks: number }>(block, [
        key,
        source,
        kind,
        bindInstant(blockedAt),
        reason,
      ]);
      const revokedTasks = rows[0]?.revoked_tasks;
      if (revokedTasks === undefined) throw new Error('a block was placed without an answer');
      return { blocks: toBlocks(rows), revokedTasks };
    },

    lift: (sponsorKey, source, entry, refusal) =>
      transact(async (run) => {
        const key = storable('sponsor_key', sponsorKey);
        await run(lock, [key]);
        const lifted = await run(remove, [key, source]);
        if (lifted.count === 0 && (await run(find, [key])).count === 0) return 'not_blocked';
        await append(run, lifted.count === 1 ? entry : refusal);
        return lifted.count === 1 ? 'lifted' : 'not_owned';
      }),
  };
}
