/**
 * Hands the new records of the ledger to listeners, in the order of their numbers. One loop reads for all of them: every
 * record once, after all records with lower numbers are committed. A listener that continues from an earlier number first
 * gets the records up to the loop's position by itself.
 */

import type { LedgerRecord } from '../../domain/ledger/record.ts';
import type { Checkpoints } from '../ports/checkpoints.ts';
import type { Ledger } from '../ports/ledger.ts';
import type { TimeLimit, Turn } from '../ports/runtime.ts';
import { recordPages } from './record-pages.ts';

export interface RecordListener {
  /** Does not wait for the client. */
  take(records: readonly LedgerRecord[]): void;
  /** Resolves when the client has been sent everything taken so far, or is gone. */
  drained(): Promise<void>;
  /** A later connection of the same person has taken the slot: the listener leaves, and `gone` is aborted. */
  displaced(): void;
  /** Aborted when the client is gone. */
  readonly gone: AbortSignal;
}

/**
 * The listener. Listeners of the console and of the API are counted separately, so that neither can use up the other's
 * slots.
 */
export interface Holder {
  readonly surface: 'api' | 'console';
  /** `undefined` for the holder of the admin key, which names no person. */
  readonly person: string | undefined;
}

export type Opened =
  /** `feed` must be called. It hands over records until the listener is gone or the stream closes. */
  | { readonly kind: 'opened'; feed(listener: RecordListener): Promise<void> }
  /** The surface has its maximum of listeners, or the service is stopping. */
  | { readonly kind: 'full' }
  /** No record has this number yet. */
  | { readonly kind: 'unknown_record' };

export interface RecordStream {
  /**
   * A person has a few slots. Their next connection takes the slot of their oldest one, so their own connections never
   * make it fail.
   *
   * @param after the number of the last record that the client has; `undefined` begins after the newest
   * @param more with `after` undefined, so many of the newest records come first
   */
  open(after: number | undefined, holder: Holder, more?: number): Promise<Opened>;
  /** Hands the records since the last call to all listeners. Without listeners it does nothing. */
  advance(): Promise<void>;
  /** Ends all listeners, and refuses later ones. */
  close(): void;
}

/** Each listener is a connection, and gets every record. Both surfaces together have 50. */
export const MAX_LISTENERS: Readonly<Record<Holder['surface'], number>> = { api: 25, console: 25 };

/** Without a limit, one person or one script in a person's browser could take all slots. */
export const LISTENERS_OF_A_PERSON = 5;

/** About 200 KiB as JSON, so two unread pages fit the buffer of a listener (1 MiB). */
const PAGE_SIZE = 500;

/** The time that listeners get to read a page before the next one is handed over. */
const PAGE_LIMIT_MS = 1_000;

interface RecordStreaming {
  readonly ledger: Pick<Ledger, 'settledThrough' | 'numberBefore'>;
  readonly checkpoints: Pick<Checkpoints, 'records'>;
  readonly turn: Turn;
  readonly timeLimit: TimeLimit;
}

/** A listener that is fed. */
interface Fed {
  /** The listener has the records up to this number, or does not want them. */
  through: number;
  readonly listener: RecordListener;
  end(): void;
}

interface Slot {
  readonly holder: Holder;
  isDisplaced: boolean;
  /** `undefined` until `feed` is called. */
  listener: RecordListener | undefined;
}

interface State extends RecordStreaming {
  /** The listeners that have all records up to `position`. */
  readonly live: Set<Fed>;
  position: number;
  /** The oldest first. */
  readonly taken: Set<Slot>;
  isClosed: boolean;
}

export function recordStream({ ledger, checkpoints, turn, timeLimit }: RecordStreaming): RecordStream {
  const state: State = {
    ledger,
    checkpoints,
    turn,
    timeLimit,
    live: new Set(),
    position: 0,
    taken: new Set(),
    isClosed: false,
  };
  return {
    open: (after, holder, more = 0) => open(state, after, holder, more),
    advance: () => advance(state),
    close() {
      state.isClosed = true;
      for (const { end } of state.live) end();
    },
  };
}

async function open(state: State, after: number | undefined, holder: Holder, more: number): Promise<Opened> {
  const { ledger, taken } = state;
  if (state.isClosed || findRoom(taken, holder) === 'none') return { kind: 'full' };
  // Before the newest settled number is read: a number of that time is not above it.
  const begin = after ?? (more > 0 ? await ledger.numberBefore(more) : undefined);
  const settled = await ledger.settledThrough();
  if (after !== undefined && after > settled) return { kind: 'unknown_record' };
  // No `await` between this line and the taking of a slot: another request could take it meanwhile.
  const room = findRoom(taken, holder);
  if (state.isClosed || room === 'none') return { kind: 'full' };
  if (room !== 'free') displace(taken, room);
  const slot: Slot = { holder, isDisplaced: false, listener: undefined };
  taken.add(slot);
  return {
    kind: 'opened',
    async feed(listener) {
      slot.listener = listener;
      if (slot.isDisplaced) listener.displaced();
      await feed(state, listener, { after: begin ?? settled, settled }).finally(() => taken.delete(slot));
    },
  };
}

/** The slot that the holder can have: a free one, or that of their oldest connection. */
function findRoom(taken: ReadonlySet<Slot>, { surface, person }: Holder): 'free' | 'none' | Slot {
  const there = [...taken].filter(({ holder }) => holder.surface === surface);
  const own = there.filter(({ holder }) => person !== undefined && holder.person === person);
  const [oldest] = own;
  if (oldest !== undefined && own.length >= LISTENERS_OF_A_PERSON) return oldest;
  return there.length < MAX_LISTENERS[surface] ? 'free' : 'none';
}

function displace(taken: Set<Slot>, slot: Slot): void {
  taken.delete(slot);
  slot.isDisplaced = true;
  slot.listener?.displaced();
}

interface Start {
  readonly after: number;
  /** All records up to this number were settled when the stream was opened. */
  readonly settled: number;
}

async function feed(state: State, listener: RecordListener, { after, settled }: Start): Promise<void> {
  const { live } = state;
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const fed: Fed = { through: after, listener, end };
  // Without listeners, no listener misses the skipped records.
  if (live.size === 0) state.position = Math.max(state.position, settled);
  while (fed.through < state.position && !isOver(state, listener)) await catchUp(state, fed, state.position);
  if (isOver(state, listener)) return;
  // No `await` between the comparison and this line: the loop could hand over a page meanwhile.
  live.add(fed);
  listener.gone.addEventListener('abort', end, { once: true });
  await ended;
  live.delete(fed);
}

/** All numbers up to `target` are settled, so no record appears among them later. */
async function catchUp(state: State, fed: Fed, target: number): Promise<void> {
  for await (const page of pagesOf(state, fed.through, target)) {
    give(fed, page);
    await fed.listener.drained();
    if (isOver(state, fed.listener)) return;
  }
  fed.through = Math.max(fed.through, target);
}

async function advance(state: State): Promise<void> {
  const { live, ledger, timeLimit } = state;
  if (live.size === 0) return;
  const target = await ledger.settledThrough();
  for await (const page of pagesOf(state, state.position, target)) {
    for (const fed of live) give(fed, page);
    state.position = page.at(-1)?.seq ?? state.position;
    if (live.size === 0) return;
    await timeLimit(Promise.all([...live].map(({ listener }) => listener.drained())), PAGE_LIMIT_MS);
  }
  state.position = Math.max(state.position, target);
}

function pagesOf({ checkpoints, turn }: State, after: number, through: number) {
  return recordPages({ ledger: checkpoints, turn, pageSize: PAGE_SIZE }, { firstSeq: after + 1, lastSeq: through });
}

function give(fed: Fed, records: readonly LedgerRecord[]): void {
  const later = records.filter(({ seq }) => seq > fed.through);
  fed.through = later.at(-1)?.seq ?? fed.through;
  if (later.length > 0) fed.listener.take(later);
}

function isOver({ isClosed }: State, { gone }: RecordListener): boolean {
  return isClosed || gone.aborted;
}
