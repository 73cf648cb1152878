/** Stores the transparency log on Postgres. */

import type { CheckpointKeyUse, TransparencyLog } from '../../../application/ports/transparency-log.ts';
import { type Bound, storable } from '../rows/column.ts';
import {
  type CosignatureRow,
  cosignatureValues,
  growthValues,
  type LogKeyRow,
  type LogStateRow,
  type LogTileRow,
  type ProblemRow,
  problemValues,
  STATE_COLUMNS,
  tileRows,
  toLogKey,
  toLogState,
  toProblem,
  toStoredTiles,
} from '../rows/log-row.ts';
import { columnsOf, tables } from '../tables.ts';
import { bindInstant } from './column-types.ts';
import type { Connections, Prepared, Run } from './connections.ts';

const selectState = { name: 'log_state', text: `select ${STATE_COLUMNS} from log_state` };
const insertState = {
  name: 'log_begin',
  text: `insert into log_state (only_row, origin, size, root) values (true, $1, 0, $2) on conflict do nothing`,
};
const updateOrigin = {
  name: 'log_adopt',
  text: `update log_state set origin = $1, note = null, published_size = null, published_note = null,
    previous_size = null, previous_note = null, contradicted_size = null, halted = null`,
};
const deleteCosignatures = { name: 'log_forget_cosignatures', text: 'delete from log_cosignatures' };
const selectTiles = {
  name: 'log_tiles',
  text: `select t.level, t.tile_index, t.hashes from json_to_recordset($1::json) as q (level integer, index bigint)
    cross join lateral (
      select * from log_tiles where log_tiles.level = q.level and tile_index = q.index offset 0
    ) t`,
};
/** A second instance waits for the row. By then the row has another size, and its update changes nothing. */
const updateState = {
  name: 'log_grow',
  text: `update log_state set size = $1, root = $2, note = $3
    where origin = $4 and size = $5 and root = $6 and halted is null`,
};
const putTiles = {
  name: 'log_put_tiles',
  text: `insert into log_tiles (level, tile_index, hashes)
    select level, tile_index, hashes from json_populate_recordset(null::log_tiles, $1::json)
    on conflict (level, tile_index) do update set hashes = excluded.hashes`,
};
const updatePublished = {
  name: 'log_publish',
  text: `update log_state set
      previous_size = case when published_size < $2 then published_size else previous_size end,
      previous_note = case when published_size < $2 then published_note else previous_note end,
      published_size = $2, published_note = $3
    where origin = $1 and coalesce(published_size, 0) <= $2 and coalesce(contradicted_size, -1) < $2 and halted is null`,
};
/** All expressions read the row as it was before. */
const updateContradicted = {
  name: 'log_withdraw',
  text: `update log_state set
      contradicted_size = greatest(contradicted_size, $2),
      published_size = case when published_size = $2 then previous_size else published_size end,
      published_note = case when published_size = $2 then previous_note else published_note end,
      previous_size = case when $2 in (published_size, previous_size) then null else previous_size end,
      previous_note = case when $2 in (published_size, previous_size) then null else previous_note end
    where origin = $1`,
};
const updateHalted = { name: 'log_halt', text: 'update log_state set halted = coalesce(halted, $1)' };
const resume = { name: 'log_resume', text: 'update log_state set halted = null' };
const putCosignature = {
  name: 'log_put_cosignature',
  text: `insert into log_cosignatures as kept (witness, size, line, at) values ($1, $2, $3, $4)
    on conflict (witness) do update set size = excluded.size, line = excluded.line, at = excluded.at
      where kept.size <= excluded.size`,
};
const selectCosignatures = {
  name: 'log_cosignatures',
  text: 'select witness, size, line, at from log_cosignatures order by witness',
};
const putProblem = {
  name: 'log_put_problem',
  text: `insert into log_problems (witness, kind, detail, since) values ($1, $2, $3, $4)
    on conflict (witness) do update set kind = excluded.kind, detail = excluded.detail, since = excluded.since`,
};
const deleteProblem = { name: 'log_forget_problem', text: 'delete from log_problems where witness = $1' };
const deleteProblems = { name: 'log_forget_problems', text: 'delete from log_problems' };
const selectProblems = {
  name: 'log_problems',
  text: 'select witness, kind, detail, since from log_problems order by witness',
};
const selectKeys = {
  name: 'log_keys',
  text: `select ${columnsOf(tables.log_keys).join(', ')} from log_keys order by active_from, use, kid`,
};

const selectSigners = {
  name: 'log_signers',
  text: `select kid, min(closed_at) as first, max(closed_at) as last, max(checkpoint_id) as "lastId"
    from checkpoints where checkpoint_id > $1
    group by kid order by 2, kid`,
};

export function postgresTransparencyLog({ run, transact }: Connections): TransparencyLog {
  const state = async (within: Run) => {
    const { rows } = await within<LogStateRow>(selectState);
    return rows[0] && toLogState(rows[0]);
  };
  // Not `run`: while commits get no answer, writes are refused, and leave the connections to reads.
  const write = (query: Prepared, values: readonly Bound[] = []) => transact((within) => within(query, values));
  return {
    state: () => state(run),

    async begin(origin, emptyRoot) {
      await write(insertState, [storable('origin', origin), emptyRoot]);
      const begun = await state(run);
      if (begun === undefined) throw new Error('The state of the log was deleted.');
      return begun;
    },

    adoptOrigin: (origin) =>
      transact(async (within) => {
        await within(updateOrigin, [storable('origin', origin)]);
        await within(deleteCosignatures);
        await within(deleteProblems);
      }),

    async tiles(places) {
      const { rows } = await run<LogTileRow>(selectTiles, [JSON.stringify(places)]);
      return toStoredTiles(places, rows);
    },

    grow: (growth) =>
      transact(async (within) => {
        const { count } = await within(updateState, growthValues(growth));
        if (count === 0) return 'overtaken';
        if (growth.tiles.length > 0) await within(putTiles, [tileRows(growth.tiles)]);
        if (growth.publish) await within(updatePublished, [growth.origin, growth.to.size, growth.to.note]);
        return 'grown';
      }),

    async publish(origin, { size, note }) {
      await write(updatePublished, [origin, size, storable('note', note)]);
    },

    async withdraw(origin, size) {
      await write(updateContradicted, [origin, size]);
    },

    async halt(reason) {
      await write(updateHalted, [storable('halted', reason)]);
    },

    async resume() {
      await write(resume);
    },

    async keepCosignature(cosignature) {
      await write(putCosignature, cosignatureValues(cosignature, bindInstant));
    },

    async cosignatures() {
      return (await run<CosignatureRow>(selectCosignatures)).rows;
    },

    async signers(after) {
      return (await run<CheckpointKeyUse>(selectSigners, [after])).rows;
    },

    async keepProblem(witness, problem) {
      if (problem === undefined) await write(deleteProblem, [storable('witness', witness)]);
      else await write(putProblem, problemValues(problem, bindInstant));
    },

    async problems() {
      return (await run<ProblemRow>(selectProblems)).rows.map(toProblem);
    },

    async keys() {
      return (await run<LogKeyRow>(selectKeys)).rows.map(toLogKey);
    },
  };
}
