/** The denials of the last ten minutes: by minute and reason, and by agent. */

import type { AgentId } from '../../domain/identifiers.ts';
import { type Instant, MICROS_PER_SECOND, plusSeconds, secondsBetween } from '../../domain/instant.ts';
import type { DenialsOfAgent, Ledger } from '../ports/ledger.ts';

export interface RecentDenials {
  /** The beginnings of the minutes, oldest first. The last one is not over. */
  readonly minutes: readonly Instant[];
  /** Most frequent first. `counts` are in the order of the minutes. */
  readonly reasons: readonly DeniedFor[];
  /** The most denials first. Those that name no agent are not here. */
  readonly agents: readonly DenialsOfAgent[];
  /** The first minute that was counted completely; `undefined` if all were. */
  readonly completeFrom: Instant | undefined;
}

interface DeniedFor {
  /** `undefined` for records without a reason. */
  readonly reason: string | undefined;
  readonly counts: readonly number[];
  readonly total: number;
}

const MINUTES = 10;
const MINUTE = 60;
/** 10,000 a minute: more need no other reaction. They are counted in less than a second. */
const MOST_READ = 100_000;

/** How many agents are named, unless the question names them. A longer list does not tell who is wrong. */
const MOST_AGENTS = 10;

interface RecentDenialsQuestion {
  readonly now: Instant;
  /** Counts the denials of these agents alone beside those by reason; `undefined`: those with the most. */
  readonly agents?: readonly AgentId[] | undefined;
  readonly most?: number;
}

export async function recentDenials(
  { denials }: Pick<Ledger, 'denials'>,
  { now, agents, most = MOST_READ }: RecentDenialsQuestion,
): Promise<RecentDenials> {
  const minute = MINUTE * MICROS_PER_SECOND;
  const current = (now - (now % minute)) as Instant;
  const from = plusSeconds(current, -MINUTE * (MINUTES - 1));
  const minutes = Array.from({ length: MINUTES }, (_, nth) => plusSeconds(from, nth * MINUTE));
  const counted = await denials({ from, most, agents, mostAgents: agents?.length ?? MOST_AGENTS });
  const reasons = new Map<string | undefined, number[]>();
  for (const { minute, reason, denials } of counted.reasons) {
    // A replica whose clock is ahead dates its records into a later minute.
    const nth = Math.min(MINUTES - 1, Math.floor(secondsBetween(from, minute) / MINUTE));
    const counts = reasons.get(reason) ?? minutes.map(() => 0);
    counts[nth] = (counts[nth] ?? 0) + denials;
    reasons.set(reason, counts);
  }
  const isCut = counted.reasons.reduce((sum, { records }) => sum + records, 0) >= most;
  const oldest = Math.min(...counted.reasons.map(({ minute }) => minute)) as Instant;
  const completeFrom = isCut ? plusSeconds(oldest, MINUTE) : undefined;
  return { minutes, reasons: byTotal(reasons), agents: counted.agents, completeFrom };
}

function byTotal(reasons: ReadonlyMap<string | undefined, readonly number[]>): readonly DeniedFor[] {
  return [...reasons]
    .map(([reason, counts]) => ({ reason, counts, total: counts.reduce((sum, each) => sum + each, 0) }))
    .sort((one, other) => other.total - one.total || ((one.reason ?? '') < (other.reason ?? '') ? -1 : 1));
}
