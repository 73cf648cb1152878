/** Examines the status lists (`Service:StatusLists`): how full they are, and how old one is at the public address. */

import { durationInWords } from '../../domain/duration.ts';
import { type Instant, toSeconds } from '../../domain/instant.ts';
import {
  STATUS_LIST_PATH,
  STATUS_LIST_TYPE,
  statusListEntries,
  statusListUri,
} from '../../domain/tasks/status-list.ts';
import { type CompactJws, hasType, readCompactJws } from '../../domain/tokens/compact-jws.ts';
import { isJsonObject, isTextList, member, parseStrictJson } from '../../domain/tokens/strict-json.ts';
import type { Problem } from '../ports/network.ts';
import type { Clock } from '../ports/runtime.ts';
import type { StatusListUsage } from '../ports/status-lists.ts';
import { ago, type Examination, type Finding, NOTEWORTHY_SECONDS, ok, warning } from './examine.ts';
import { describeProblem } from './problem.ts';

/** More lists than this of one audience cost each of its tool servers as many polls. */
const FEW_LISTS = 4;
const FULLEST = 3;
/** A longer audience is cut, so that the line stays readable. */
const MAX_AUDIENCE = 80;

/** @param entries `Service:StatusLists:Entries` */
export function judgeUsage(lists: readonly StatusListUsage[], now: Instant, entries: number): Finding {
  const [oldest] = lists;
  if (oldest === undefined) return ok('There is no status list yet: the first task of an audience opens one.');
  const counts = new Map<string, number>();
  // A list from before the setting was raised is deleted once no task uses it.
  for (const list of lists) {
    if (list.entries >= entries) counts.set(list.audience, (counts.get(list.audience) ?? 0) + 1);
  }
  const [audience, count] = [...counts].reduce((most, next) => (next[1] > most[1] ? next : most), ['', 0]);
  if (count > FEW_LISTS && entries < statusListEntries.max) {
    return warning(
      `${cut(audience)} has ${count} status lists, and each of its tool servers polls all of them.`,
      `Raise Service:StatusLists:Entries, to ${statusListEntries.max} at most: new lists have room for more tasks.`,
    );
  }
  const sum = (of: 'held' | 'entries') => lists.reduce((total, list) => total + list[of], 0);
  const fullest = lists
    .toSorted((a, b) => b.held / b.entries - a.held / a.entries)
    .slice(0, FULLEST)
    .map((list) => `${list.held} of ${list.entries} for ${cut(list.audience)}`);
  return ok(
    `Tasks hold ${sum('held')} of ${sum('entries')} indices; lists: ${lists.length}, the oldest opened ${ago(oldest.createdAt, now)}. The fullest: ${fullest.join(', ')}.`,
  );
}

function cut(audience: string): string {
  return audience.length <= MAX_AUDIENCE ? audience : `${audience.slice(0, MAX_AUDIENCE)}…`;
}

interface PublishedLists {
  readonly issuer: string;
  /** Seconds: `Service:StatusLists:Ttl`. */
  readonly ttl: number;
  readonly clock: Clock;
  /** The body of a 200 answer, or the problem. */
  readonly ask: (url: string) => Promise<string | Problem>;
  /** Whether a configured key signed it; `undefined` if none is configured, or they cannot be loaded. */
  readonly verify: (jws: CompactJws) => Promise<boolean | undefined>;
}

/** Never `failed`, as for the service's own address: some networks do not route a host's public address back to it. */
export function publishedListsExamination(published: PublishedLists): Examination {
  return { check: 'published status lists', examine: () => examinePublished(published) };
}

async function examinePublished({ issuer, ttl, clock, ask, verify }: PublishedLists): Promise<Finding> {
  const index = await ask(`${issuer}${STATUS_LIST_PATH}`);
  if (typeof index !== 'string') return notPublished(index);
  const uris = urisIn(index);
  if (uris?.every((uri) => uri.startsWith(statusListUri(issuer, ''))) !== true) return STRANGE;
  const newest = uris.at(-1);
  if (newest === undefined) return ok('Service:Issuer answers that there is no status list yet.');
  const list = await ask(newest);
  if (typeof list !== 'string') return notPublished(list);
  const jws = readCompactJws(list);
  const madeAt = jws && hasType(jws, [STATUS_LIST_TYPE]) ? jws.claims.issuedAt : undefined;
  // A tool server refuses a list of another address, so that no list can be served in place of another.
  if (jws === undefined || madeAt === undefined || jws.claims.subject !== newest) return STRANGE;
  if ((await verify(jws)) === false) return FOREIGN;
  const age = toSeconds(clock.now()) - madeAt;
  if (age <= ttl + NOTEWORTHY_SECONDS) return ok('Service:Issuer answers with a current status list.');
  return warning(
    `Service:Issuer answers with a status list that is ${durationInWords(age)} old; ${durationInWords(ttl)} are allowed. A kill reaches tool servers that much later.`,
    'See which cache keeps /status for longer than its max-age, and whether the clocks of all machines agree.',
  );
}

const FOREIGN = warning(
  'What answers at Service:Issuer has a status list that no key configured here has signed.',
  'See what the address leads to, and whether the replicas have the same Service:Signing settings as this command.',
);

const STRANGE = warning(
  'What answers at Service:Issuer has no status lists of this service.',
  'See what the address leads to.',
);

function notPublished(problem: Problem): Finding {
  const { sentence, remedy } = describeProblem(problem);
  return warning(
    `Service:Issuer could not be asked for its status lists. ${sentence}`,
    remedy ?? 'See that each replica runs with Service:StatusLists:Enabled, and that the proxy forwards /status.',
  );
}

function urisIn(text: string): readonly string[] | undefined {
  const body = parseStrictJson(text);
  const uris = isJsonObject(body) ? member(body, 'status_lists') : undefined;
  return isTextList(uris) ? uris : undefined;
}
