/** Stores the transparency log on SQLite. */

import type { CheckpointKeyUse, TransparencyLog } from '../../../application/ports/transparency-log.ts';
import { storable } from '../rows/column.ts';
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
import { bindInstant, type Connection } from './connection.ts';
import type { Run } from './handle.ts';

const selectState = `select ${STATE_COLUMNS} from log_state`;
const insertState = 'insert into log_state (only_row, origin, size, root) values (1, ?, 0, ?) on conflict do nothing';
const updateOrigin = `update log_state set origin = ?, note = null, published_size = null, published_note = null,
  previous_size = null, previous_note = null, contradicted_size = null, halted = null`;
const deleteCosignatures = 'delete from log_cosignatures';
const selectTiles = `select t.level, t.tile_index, t.hashes from json_each(?) q cross join log_tiles t
  where t.level = q.value ->> 'level' and t.tile_index = q.value ->> 'index'`;
const updateState = `update log_state set size = ?, root = ?, note = ?
  where origin = ? and size = ? and root = ? and halted is null`;
const putTiles = `insert into log_tiles (level, tile_index, hashes)
  select value ->> 'level', value ->> 'tile_index', value ->> 'hashes' from json_each(?) where true
  on conflict (level, tile_index) do update set hashes = excluded.hashes`;
const updatePublished = `update log_state set
  previous_size = case when published_size < ? then published_size else previous_size end,
  previous_note = case when published_size < ? then published_note else previous_note end,
  published_size = ?, published_note = ?
  where origin = ? and coalesce(published_size, 0) <= ? and coalesce(contradicted_size, -1) < ? and halted is null`;
/** All expressions read the row as it was before. */
const updateContradicted = `update log_state set
  contradicted_size = max(coalesce(contradicted_size, ?), ?),
  published_size = case when published_size = ? then previous_size else published_size end,
  published_note = case when published_size = ? then previous_note else published_note end,
  previous_size = case when ? in (published_size, previous_size) then null else previous_size end,
  previous_note = case when ? in (published_size, previous_size) then null else previous_note end
  where origin = ?`;
const updateHalted = 'update log_state set halted = coalesce(halted, ?)';
const resume = 'update log_state set halted = null';
const putCosignature = `insert into log_cosignatures (witness, size, line, at) values (?, ?, ?, ?)
  on conflict (witness) do update set size = excluded.size, line = excluded.line, at = excluded.at
    where log_cosignatures.size <= excluded.size`;
const selectCosignatures = 'select witness, size, line, at from log_cosignatures order by witness';
const putProblem = `insert into log_problems (witness, kind, detail, since) values (?, ?, ?, ?)
  on conflict (witness) do update set kind = excluded.kind, detail = excluded.detail, since = excluded.since`;
const deleteProblem = 'delete from log_problems where witness = ?';
const deleteProblems = 'delete from log_problems';
const selectProblems = 'select witness, kind, detail, since from log_problems order by witness';
const selectKeys = `select ${columnsOf(tables.log_keys).join(', ')} from log_keys order by active_from, use, kid`;
const selectSigners = `select kid, min(closed_at) as first, max(closed_at) as last, max(checkpoint_id) as "lastId"
    from checkpoints
  where checkpoint_id > ? group by kid order by 2, kid`;

export function sqliteTransparencyLog({ read, write }: Connection): TransparencyLog {
  const state = (run: Run) => {
    const row = run<LogStateRow>(selectState).rows[0];
    return row && toLogState(row);
  };
  const change = async (query: string, ...values: readonly (string | number)[]): Promise<void> => {
    await write((run) => run(query, values));
  };
  const publish = (run: Run, origin: string, size: number, note: string) =>
    run(updatePublished, [size, size, size, storable('note', note), origin, size, size]);
  return {
    state: () => read(state),

    begin: (origin, emptyRoot) =>
      write((run) => {
        run(insertState, [storable('origin', origin), emptyRoot]);
        const begun = state(run);
        if (begun === undefined) throw new Error('The state of the log was deleted.');
        return begun;
      }),

    async adoptOrigin(origin) {
      await write((run) => {
        run(updateOrigin, [storable('origin', origin)]);
        run(deleteCosignatures);
        run(deleteProblems);
      });
    },

    tiles: (places) =>
      read((run) => toStoredTiles(places, run<LogTileRow>(selectTiles, [JSON.stringify(places)]).rows)),

    grow: (growth) =>
      write((run) => {
        if (run(updateState, growthValues(growth)).count === 0) return 'overtaken';
        if (growth.tiles.length > 0) run(putTiles, [tileRows(growth.tiles)]);
        if (growth.publish) publish(run, growth.origin, growth.to.size, growth.to.note);
        return 'grown';
      }),

    async publish(origin, { size, note }) {
      await write((run) => publish(run, origin, size, note));
    },

    withdraw: (origin, size) => change(updateContradicted, size, size, size, size, size, size, origin),

    halt: (reason) => change(updateHalted, storable('halted', reason)),
    resume: () => change(resume),

    async keepCosignature(cosignature) {
      await write((run) => run(putCosignature, cosignatureValues(cosignature, bindInstant)));
    },

    cosignatures: () => read((run) => run<CosignatureRow>(selectCosignatures).rows),
    signers: (after) => read((run) => run<CheckpointKeyUse>(selectSigners, [after]).rows),

    async keepProblem(witness, problem) {
      await write((run) =>
        problem === undefined
          ? run(deleteProblem, [storable('witness', witness)])
          : run(putProblem, problemValues(problem, bindInstant)),
      );
    },

    problems: () => read((run) => run<ProblemRow>(selectProblems).rows.map(toProblem)),
    keys: () => read((run) => run<LogKeyRow>(selectKeys).rows.map(toLogKey)),
  };
}
