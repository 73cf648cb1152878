/** Queries and changes of the transparency log. */

import type {
  CheckpointKeyUse,
  LogGrowth,
  LogState,
  StoredCosignature,
  TilePlace,
  TransparencyLog,
  WitnessProblem,
} from '../../../application/ports/transparency-log.ts';
import type { StoredTile } from '../../../domain/log/growing-tree.ts';
import type { LogKey } from '../../../domain/log/log-key.ts';
import { type ReadRow, storable } from '../rows/column.ts';
import { type LogKeyRow, toLogKey } from '../rows/log-key-row.ts';
import { columnsOf, type otherTables, tables } from '../tables.ts';
import { type Ask, type Change, type Command, type Query, step } from './query.ts';

interface LogStateRow extends ReadRow<typeof otherTables.log_state> {
  readonly is_withheld: boolean | number;
}

export const logState: Query<undefined, LogState | undefined> = {
  name: 'log_state',
  text: `select origin, size, root, note, published_size, published_note, halted,
      coalesce(contradicted_size >= size, false) as is_withheld
    from log_state`,
  read: ([row]: readonly LogStateRow[]) =>
    row && {
      origin: row.origin,
      size: row.size,
      root: row.root,
      note: row.note ?? undefined,
      published:
        row.published_size === null || row.published_note === null
          ? undefined
          : { size: row.published_size, note: row.published_note },
      isWithheld: Boolean(row.is_withheld),
      halted: row.halted ?? undefined,
    },
};

export const beginLog: Command<{ readonly origin: string; readonly root: string }> = {
  name: 'log_begin',
  text: `insert into log_state (only_row, origin, size, root) values (true, :origin, 0, :root)
    on conflict do nothing`,
  values: ({ origin, root }) => ({ origin: storable('origin', origin), root }),
};

export const renameLog: Command<string> = {
  name: 'log_adopt',
  text: `update log_state set origin = :origin, note = null, published_size = null, published_note = null,
    previous_size = null, previous_note = null, contradicted_size = null, halted = null`,
  values: (origin) => ({ origin: storable('origin', origin) }),
};

interface LogTileRow {
  readonly level: number;
  readonly tile_index: number;
  /** Base64. */
  readonly hashes: string | null;
}

/** A look-up for each place: for a join Postgres could read the whole table. */
export const findTiles: Query<readonly TilePlace[], readonly (StoredTile | undefined)[]> = {
  name: 'log_tiles',
  text: ({ jsonRows }) => `select q.level, q.tile_index, (
      select t.hashes from log_tiles t where t.level = q.level and t.tile_index = q.tile_index
    ) as hashes
    from ${jsonRows(':places', { level: 'integer', tile_index: 'bigint' })} q`,
  values: (places) => ({
    places: JSON.stringify(places.map(({ level, index }) => ({ level, tile_index: index }))),
  }),
  read: (rows: readonly LogTileRow[], places) =>
    places.map(({ level, index }) => {
      const row = rows.find((each) => each.level === level && each.tile_index === index);
      return row?.hashes ? { level, index, hashes: new Uint8Array(Buffer.from(row.hashes, 'base64')) } : undefined;
    }),
};

/** A second instance waits for the row. By then the row has another size, and its update changes nothing. */
export const growLog: Command<LogGrowth> = {
  name: 'log_grow',
  text: `update log_state set size = :size, root = :root, note = :note
    where origin = :origin and size = :from_size and root = :from_root and halted is null`,
  values: ({ origin, from, to }) => ({
    size: to.size,
    root: to.root,
    note: storable('note', to.note),
    origin: storable('origin', origin),
    from_size: from.size,
    from_root: from.root,
  }),
};

export const putTiles: Command<readonly StoredTile[]> = {
  name: 'log_put_tiles',
  text: ({ jsonRows }) => `insert into log_tiles (level, tile_index, hashes)
    select level, tile_index, hashes
      from ${jsonRows(':tiles', { level: 'integer', tile_index: 'bigint', hashes: 'text' })} q where true
    on conflict (level, tile_index) do update set hashes = excluded.hashes`,
  values: (tiles) => {
    const rows = tiles.map(({ level, index, hashes }) => {
      return { level, tile_index: index, hashes: Buffer.from(hashes).toString('base64') };
    });
    return { tiles: JSON.stringify(rows) };
  },
};

interface Note {
  readonly origin: string;
  readonly size: number;
  readonly note: string;
}

export const publishNote: Command<Note> = {
  name: 'log_publish',
  text: `update log_state set
      previous_size = case when published_size < :size then published_size else previous_size end,
      previous_note = case when published_size < :size then published_note else previous_note end,
      published_size = :size, published_note = :note
    where origin = :origin and coalesce(published_size, 0) <= :size and coalesce(contradicted_size, -1) < :size
      and halted is null`,
  values: ({ origin, size, note }) => ({ origin, size, note: storable('note', note) }),
};

/** All expressions read the row as it was before. */
export const withdrawNote: Command<Pick<Note, 'origin' | 'size'>> = {
  name: 'log_withdraw',
  text: `update log_state set
      contradicted_size = case when contradicted_size > :size then contradicted_size else :size end,
      published_size = case when published_size = :size then previous_size else published_size end,
      published_note = case when published_size = :size then previous_note else published_note end,
      previous_size = case when :size in (published_size, previous_size) then null else previous_size end,
      previous_note = case when :size in (published_size, previous_size) then null else previous_note end
    where origin = :origin`,
  values: ({ origin, size }) => ({ origin, size }),
};

export const haltLog: Command<string> = {
  name: 'log_halt',
  text: 'update log_state set halted = coalesce(halted, :reason)',
  values: (reason) => ({ reason: storable('halted', reason) }),
};

export const resumeLog: Command<undefined> = { name: 'log_resume', text: 'update log_state set halted = null' };

export const putCosignature: Command<StoredCosignature> = {
  name: 'log_put_cosignature',
  text: `insert into log_cosignatures (witness, size, line, at) values (:witness, :size, :line, :at)
    on conflict (witness) do update set size = excluded.size, line = excluded.line, at = excluded.at
      where log_cosignatures.size <= excluded.size`,
  values: ({ witness, size, line, at }, { instant }) => ({
    witness: storable('witness', witness),
    size,
    line: storable('line', line),
    at: instant(at),
  }),
};

export const listCosignatures: Query<undefined, readonly StoredCosignature[]> = {
  name: 'log_cosignatures',
  text: 'select witness, size, line, at from log_cosignatures order by witness',
  read: (rows: readonly StoredCosignature[]) => rows,
};

export const forgetCosignatures: Command<undefined> = {
  name: 'log_forget_cosignatures',
  text: 'delete from log_cosignatures',
};

export const putProblem: Command<WitnessProblem> = {
  name: 'log_put_problem',
  text: `insert into log_problems (witness, kind, detail, since) values (:witness, :kind, :detail, :since)
    on conflict (witness) do update set kind = excluded.kind, detail = excluded.detail, since = excluded.since`,
  values: ({ witness, kind, detail, since }, { instant }) => ({
    witness: storable('witness', witness),
    kind,
    detail: detail === undefined ? null : storable('detail', detail),
    since: instant(since),
  }),
};

export const forgetProblem: Command<string> = {
  name: 'log_forget_problem',
  text: 'delete from log_problems where witness = :witness',
  values: (witness) => ({ witness: storable('witness', witness) }),
};

export const forgetProblems: Command<undefined> = { name: 'log_forget_problems', text: 'delete from log_problems' };

interface ProblemRow extends ReadRow<typeof otherTables.log_problems> {
  readonly kind: WitnessProblem['kind'];
}

export const listProblems: Query<undefined, readonly WitnessProblem[]> = {
  name: 'log_problems',
  text: 'select witness, kind, detail, since from log_problems order by witness',
  read: (rows: readonly ProblemRow[]) =>
    rows.map(({ witness, kind, detail, since }) => ({ witness, kind, detail: detail ?? undefined, since })),
};

export const listLogKeys: Query<undefined, readonly LogKey[]> = {
  name: 'log_keys',
  text: `select ${columnsOf(tables.log_keys).join(', ')} from log_keys order by active_from, use, kid`,
  read: (rows: readonly LogKeyRow[]) => rows.map(toLogKey),
};

export const listSigners: Query<number, readonly CheckpointKeyUse[]> = {
  name: 'log_signers',
  text: `select kid, min(closed_at) as first, max(closed_at) as last, max(checkpoint_id) as "lastId"
    from checkpoints where checkpoint_id > :after
    group by kid order by 2, kid`,
  values: (after) => ({ after }),
  read: (rows: readonly CheckpointKeyUse[]) => rows,
};

export function transparencyLog(ask: Ask, change: Change): TransparencyLog {
  const run = async <Input>(command: Command<Input>, input: Input): Promise<void> => {
    await change(function* () {
      yield step(command, input);
    });
  };
  return {
    state: () => ask(logState, undefined),

    async begin(origin, emptyRoot) {
      await run(beginLog, { origin, root: emptyRoot });
      const begun = await ask(logState, undefined);
      if (begun === undefined) throw new Error('The state of the log was deleted.');
      return begun;
    },

    adoptOrigin: (origin) =>
      change(function* () {
        yield step(renameLog, origin);
        yield step(forgetCosignatures, undefined);
        yield step(forgetProblems, undefined);
      }),

    tiles: (places) => ask(findTiles, places),

    grow: (growth) =>
      change(function* () {
        if ((yield step(growLog, growth)) === 0) return 'overtaken';
        if (growth.tiles.length > 0) yield step(putTiles, growth.tiles);
        const { origin, to } = growth;
        if (growth.publish) yield step(publishNote, { origin, size: to.size, note: to.note });
        return 'grown';
      }),

    publish: (origin, { size, note }) => run(publishNote, { origin, size, note }),
    withdraw: (origin, size) => run(withdrawNote, { origin, size }),
    halt: (reason) => run(haltLog, reason),
    resume: () => run(resumeLog, undefined),
    keepCosignature: (cosignature) => run(putCosignature, cosignature),
    cosignatures: () => ask(listCosignatures, undefined),
    keepProblem: (witness, problem) => (problem === undefined ? run(forgetProblem, witness) : run(putProblem, problem)),
    problems: () => ask(listProblems, undefined),
    keys: () => ask(listLogKeys, undefined),
    signers: (after) => ask(listSigners, after),
  };
}
