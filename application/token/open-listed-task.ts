/** Opens a task with an index in a status list of its audience, and a list if none has a free index (`Service:StatusLists`). */

import { STATUS_LIST_ID_BYTES } from '../../domain/tasks/status-list.ts';
import { openStatusList } from '../decisions/open-status-list.ts';
import { type OpenVerdict, openTask, type TaskOpening } from '../decisions/open-task.ts';
import type { Decisions } from '../ports/decisions.ts';
import type { Clock, Monotonic, Randomness } from '../ports/runtime.ts';

interface ListOpening {
  readonly decisions: Decisions;
  readonly randomness: Pick<Randomness, 'secret'>;
  readonly clock: Clock;
  /** How many entries a new list has: `Service:StatusLists:Entries`. */
  readonly entries: number;
}

/** Opens a list if the audience needs one. */
export type OpenList = (audience: string) => Promise<unknown>;

/** Exchanges that need a list of one audience at the same time share one decision: each decision locks out the others. */
export function listOpener({ decisions, randomness, clock, entries }: ListOpening): OpenList {
  const underWay = new Map<string, Promise<unknown>>();
  return (audience) => {
    const listId = randomness.secret(STATUS_LIST_ID_BYTES);
    const opening =
      underWay.get(audience) ??
      decisions
        .decide(openStatusList, { audience, listId, entries, at: clock.now() })
        .finally(() => underWay.delete(audience));
    underWay.set(audience, opening);
    return opening;
  };
}

/** The list that had a free index for an audience, as this process knows it. */
interface KnownList {
  readonly listId: string;
  readonly entries: number;
  readonly readAtMs: number;
  /** How many tasks still ask the database for free indices, because the drawn ones were taken. */
  searches: number;
}

/** The key is the audience of the list. */
export type KnownLists = Map<string, KnownList>;

interface Opening {
  readonly decisions: Decisions;
  readonly randomness: Pick<Randomness, 'draws'>;
  readonly openList: OpenList;
  readonly knownLists: KnownLists;
  readonly monotonic: Monotonic;
}

/** A list that is full or unused is closed meanwhile: an unused one is deleted an hour later. */
const KNOWN_FOR_MS = 60_000;
/** Smaller lists are not drawn from without the database: two concurrent transactions would often draw one index. */
const MIN_KNOWN_ENTRIES = 2 ** 14;
const CANDIDATES = 2;
/**
 * After both candidates of a task were taken, this many later tasks ask the database without drawing candidates. The
 * fuller a list, the more often both are taken, and each such decision runs a second time.
 */
const SEARCHES = 16;

/**
 * All are taken for one exchange in 65,536 on a list that is half full (0.5^16), for 3% on one that is 80% full, and for
 * 18.5% on one that is 90% full. For these exchanges the database searches the next free index.
 */
const STATUS_DRAWS = 16;

/**
 * A new list may fill up before the next attempt. And while transactions that hold the last free indices are under way, the
 * list is not full yet, but has no index to give: milliseconds, on a busy disk more. That changes nothing that was checked
 * before, so only the decision is repeated.
 */
const ATTEMPTS = 32;

/** The maximum number of attempts before the verdict is `no_status_index`. */
export async function openListedTask(service: Opening, opening: TaskOpening): Promise<OpenVerdict> {
  const { decisions, randomness, openList, knownLists, monotonic } = service;
  const { audience } = opening.task;
  const known = currentList(service, audience);
  if (known !== undefined && known.searches === 0) {
    const { listId, entries } = known;
    const statusCandidates = { listId, indices: randomness.draws(CANDIDATES).map((draw) => draw % entries) };
    const opened = await decisions.decide(openTask, { ...opening, statusCandidates });
    if (opened.kind !== 'no_status_index') return opened;
    known.searches = SEARCHES;
  } else if (known !== undefined) {
    known.searches -= 1;
  }
  for (let attempt = 1; ; attempt += 1) {
    const opened = await decisions.decide(openTask, { ...opening, statusDraws: randomness.draws(STATUS_DRAWS) });
    if (opened.kind === 'opened' && opened.status !== undefined && (opened.entries ?? 0) >= MIN_KNOWN_ENTRIES) {
      const { listId } = opened.status;
      if (currentList(service, audience)?.listId !== listId) {
        knownLists.set(audience, { listId, entries: opened.entries ?? 0, readAtMs: monotonic(), searches: 0 });
      }
    }
    if (opened.kind !== 'no_status_index' || attempt === ATTEMPTS) return opened;
    await openList(audience);
  }
}

function currentList({ knownLists, monotonic }: Opening, audience: string): KnownList | undefined {
  const known = knownLists.get(audience);
  return known !== undefined && monotonic() - known.readAtMs < KNOWN_FOR_MS ? known : undefined;
}
