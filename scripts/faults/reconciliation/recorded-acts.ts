/** Every refusal and every act upon a person or an agent that was answered has its record; none that was not asked for. */

import { type Act, isDone, isUnknown, type Kept } from '../load/kept.ts';
import { type Evidence, grouped, type LedgerLine, type Losses } from './evidence.ts';
import { isOverload } from './overloads.ts';

interface Rule {
  readonly act: Act;
  readonly isAnswered: (kept: Kept) => boolean;
  readonly isRecord: (line: LedgerLine) => boolean;
  readonly of: 'sub' | 'agent' | 'task';
  /** Others that may have done it before, so that it had nothing left to do. */
  readonly unless?: readonly Act[];
}

const isRefused = ({ status }: Kept) => status === 400;

const record =
  (event: string, reason: string | null) =>
  (line: LedgerLine): boolean =>
    line.event === event && line.reason === reason;
/** What names a task was a renewal. */
const deniedExchange = (reason: string) => (line: LedgerLine) =>
  line.task_id === null && record('token.denied', reason)(line);

const RULES: readonly Rule[] = [
  {
    act: 'refresh',
    isAnswered: isRefused,
    isRecord: ({ event, task_id }) => event === 'token.denied' && task_id !== null,
    of: 'task',
  },
  {
    act: 'exchange for another audience',
    isAnswered: isRefused,
    isRecord: deniedExchange('audience_not_allowed'),
    of: 'sub',
  },
  {
    act: 'exchange for a blocked person',
    isAnswered: isRefused,
    isRecord: deniedExchange('sponsor_disabled'),
    of: 'sub',
  },
  {
    act: 'block',
    isAnswered: isDone,
    isRecord: record('sponsor.blocked', 'sponsor_blocked'),
    of: 'sub',
    // A repeated block has no record. A block beside another source's has one.
    unless: ['block'],
  },
  { act: 'deactivate', isAnswered: isDone, isRecord: record('sponsor.signal', 'scim_deactivated'), of: 'sub' },
  { act: 'activate', isAnswered: isDone, isRecord: record('sponsor.signal', 'scim_reactivated'), of: 'sub' },
  { act: 'log out', isAnswered: isDone, isRecord: record('sponsor.signal', 'sponsor_logged_out'), of: 'sub' },
  {
    act: 'disable by event',
    isAnswered: isDone,
    isRecord: record('sponsor.signal', 'ssf_account_disabled'),
    of: 'sub',
  },
  { act: 'register', isAnswered: isDone, isRecord: record('agent.registered', null), of: 'agent' },
  { act: 'disable an agent', isAnswered: isDone, isRecord: record('agent.updated', 'changed:enabled'), of: 'agent' },
];

const NAMED_BY = { sub: 'sponsor', agent: 'agent_id', task: 'task_id' } as const;

/** Those of tasks and tokens are held against what was asked elsewhere; and one that was not decided may be recorded so. */
const OF_TASKS = new Set(['token.issued', 'token.refreshed', 'token.revoked', 'task.revoked', 'task.expired']);
const isUndecided = ({ event, task_id, sponsor }: LedgerLine) =>
  event === 'token.denied' && task_id === null && sponsor === null;

export function recordedActs({ kept, lines, agents }: Evidence): Losses {
  const asked = new Map(
    RULES.map((rule) => [rule, new Set(kept.filter(({ act }) => act === rule.act).map((one) => one[rule.of]))]),
  );
  const isAskedFor = (line: LedgerLine): boolean =>
    (line.event === 'agent.registered' && agents.includes(line.agent_id ?? '')) ||
    RULES.some((rule) => rule.isRecord(line) && asked.get(rule)?.has(line[NAMED_BY[rule.of]] ?? undefined));
  const strangers = lines
    .filter((line) => !OF_TASKS.has(line.event) && !isUndecided(line) && !isOverload(line) && !isAskedFor(line))
    .map(({ seq, event, reason }) => `nobody asked for the record ${seq}, ${event} ${reason}`);
  const acts = RULES.flatMap((rule) => {
    const { act, isAnswered, isRecord, of, unless = [] } = rule;
    const keyOf = (one: Kept) => one[of];
    const requests = kept.filter((one) => one.act === act);
    const requestsOf = grouped(requests, keyOf);
    const othersOf = grouped(
      kept.filter((one) => unless.includes(one.act)),
      keyOf,
    );
    const recordsOf = grouped(lines.filter(isRecord), (line) => line[NAMED_BY[of]]);
    return [...new Set(requests.map(keyOf))].flatMap((key) => {
      const [answered, unknown] = [requestsOf(key).filter(isAnswered).length, requestsOf(key).filter(isUnknown).length];
      const least = unless.length > 0 && othersOf(key).length > 1 ? 0 : answered;
      const found = recordsOf(key).length;
      if (found >= least && found <= answered + unknown) return [];
      return [`"${act}" for ${key}: ${answered} answered, ${unknown} unanswered, ${found} records`];
    });
  });
  return [...acts, ...strangers];
}
