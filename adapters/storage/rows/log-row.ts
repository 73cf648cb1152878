/** Converts between the transparency log and rows of its tables, and builds the statements that both engines share. */

import type {
  LogGrowth,
  LogKey,
  LogState,
  StoredCosignature,
  TilePlace,
  WitnessProblem,
} from '../../../application/ports/transparency-log.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { StoredTile } from '../../../domain/log/growing-tree.ts';
import type { RowOf, tables } from '../tables.ts';
import { type BindInstant, type Bound, storable } from './column.ts';

export const STATE_COLUMNS = `origin, size, root, note, published_size, published_note, halted,
  coalesce(contradicted_size >= size, false) as is_withheld`;

export interface LogStateRow {
  readonly origin: string;
  readonly size: number;
  readonly root: string;
  readonly note: string | null;
  readonly published_size: number | null;
  readonly published_note: string | null;
  readonly halted: string | null;
  readonly is_withheld: boolean | number;
}

export function toLogState(row: LogStateRow): LogState {
  const { origin, size, root, note, published_size, published_note, halted, is_withheld } = row;
  return {
    ...{ origin, size, root },
    note: note ?? undefined,
    published:
      published_size === null || published_note === null ? undefined : { size: published_size, note: published_note },
    isWithheld: Boolean(is_withheld),
    halted: halted ?? undefined,
  };
}

export interface LogTileRow {
  readonly level: number;
  readonly tile_index: number;
  /** Base64. */
  readonly hashes: string;
}

export function toStoredTiles(
  places: readonly TilePlace[],
  rows: readonly LogTileRow[],
): readonly (StoredTile | undefined)[] {
  return places.map(({ level, index }) => {
    const row = rows.find((each) => each.level === level && each.tile_index === index);
    return row && { level, index, hashes: new Uint8Array(Buffer.from(row.hashes, 'base64')) };
  });
}

/** The tiles as a JSON array of rows. */
export function tileRows(tiles: readonly StoredTile[]): string {
  return JSON.stringify(
    tiles.map(({ level, index, hashes }) => ({
      ...{ level, tile_index: index },
      hashes: Buffer.from(hashes).toString('base64'),
    })),
  );
}

/** New state, then the state that it replaces: the parameters of the statement that lets the log grow. */
export function growthValues({ origin, from, to }: LogGrowth): readonly Bound[] {
  return [to.size, to.root, storable('note', to.note), storable('origin', origin), from.size, from.root];
}

export interface CosignatureRow {
  readonly witness: string;
  readonly size: number;
  readonly line: string;
  readonly at: Instant;
}

export function cosignatureValues(cosignature: StoredCosignature, instant: BindInstant): readonly Bound[] {
  const { witness, size, line, at } = cosignature;
  return [storable('witness', witness), size, storable('line', line), instant(at)];
}

export interface ProblemRow {
  readonly witness: string;
  readonly kind: WitnessProblem['kind'];
  readonly detail: string | null;
  readonly since: Instant;
}

export function problemValues(
  { witness, kind, detail, since }: WitnessProblem,
  instant: BindInstant,
): readonly Bound[] {
  return [storable('witness', witness), kind, detail === undefined ? null : storable('detail', detail), instant(since)];
}

export function toProblem({ detail, ...row }: ProblemRow): WitnessProblem {
  return { ...row, detail: detail ?? undefined };
}

export interface LogKeyRow {
  readonly use: LogKey['use'];
  readonly kid: string;
  readonly thumbprint: string;
  readonly public_key: string;
  readonly active_from: Instant;
  readonly active_to: Instant | null;
}

export function toLogKey({ use, kid, thumbprint, public_key, active_from, active_to }: LogKeyRow): LogKey {
  return { use, kid, thumbprint, publicKey: public_key, from: active_from, to: active_to ?? undefined };
}

export function logKeyRow(key: LogKey): RowOf<typeof tables.log_keys> {
  return {
    use: key.use,
    kid: storable('kid', key.kid),
    thumbprint: key.thumbprint,
    public_key: storable('public_key', key.publicKey),
    active_from: key.from,
    active_to: key.to ?? null,
  };
}
