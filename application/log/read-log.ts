/** The parts of the transparency log that readers get: the note, tiles, entries and keys (C2SP tlog-tiles). */

import { type Instant, secondsBetween } from '../../domain/instant.ts';
import { HASH_BYTES } from '../../domain/ledger/merkle-tree.ts';
import { logEntry } from '../../domain/log/log-entry.ts';
import type { LogKey } from '../../domain/log/log-key.ts';
import { encodeEntries, TILE_WIDTH, type TilePath, tileWidth } from '../../domain/log/tiles.ts';
import type { Checkpoints } from '../ports/checkpoints.ts';
import type { Clock } from '../ports/runtime.ts';
import type { LogState, TransparencyLog } from '../ports/transparency-log.ts';

export interface LogReader {
  /** The stored state, at most a second old; `undefined` before the first pass. */
  state(): Promise<LogState | undefined>;
  /** The bytes of a tile or bundle; `undefined` if the published tree does not have it. */
  tile(path: TilePath): Promise<Uint8Array | undefined>;
  /** In the order of their first use. */
  keys(): Promise<readonly LogKey[]>;
}

/** An instance reads the state at most once in this time, however many readers ask. */
const STATE_SECONDS = 1;

interface LogReading {
  readonly log: Pick<TransparencyLog, 'state' | 'tiles'>;
  readonly keys: LogReader['keys'];
  readonly checkpoints: Pick<Checkpoints, 'page'>;
  readonly clock: Clock;
}

export function logReader({ log, keys, checkpoints, clock }: LogReading): LogReader {
  let read: { readonly at: Instant; readonly state: Promise<LogState | undefined> } | undefined;
  return {
    state() {
      const now = clock.now();
      const age = read === undefined ? undefined : secondsBetween(read.at, now);
      if (read !== undefined && age !== undefined && age >= 0 && age < STATE_SECONDS) return read.state;
      const state = log.state();
      const begun = { at: now, state };
      read = begun;
      state.catch(() => {
        if (read === begun) read = undefined;
      });
      return state;
    },

    async tile({ level, index, width, isEntries }) {
      // Not the remembered state: another instance may just have published the note that leads to this tile.
      const [state, [stored]] = await Promise.all([log.state(), log.tiles([{ level, index }])]);
      // A full tile may be cached for ever, so none is shown of a tree that a witness may still contradict.
      if (tileWidth(state?.published?.size ?? 0, level, index) < width) return undefined;
      const hashes = stored?.hashes.subarray(0, width * HASH_BYTES);
      if (hashes?.length !== width * HASH_BYTES) return undefined;
      if (!isEntries) return hashes;
      const entries = await checkpoints.page(index * TILE_WIDTH, width);
      return entries.length === width ? encodeEntries(entries.map(logEntry)) : undefined;
    },

    keys,
  };
}
