/**
 * Requests that found no turn: each surface has records of its own for them, which name nobody and are summed up, and no
 * more of them than were answered 503. Not as many, since a database that is away is answered so too, and not recorded.
 */

import { type Act, isUnknown } from '../load/kept.ts';
import type { Evidence, LedgerLine, Losses } from './evidence.ts';

const SURFACES: Readonly<Record<string, readonly Act[]>> = {
  'token.denied': [
    'exchange',
    'exchange for another audience',
    'exchange for a blocked person',
    'refresh',
    'introspect',
    'revoke a token',
    'revoke a grant',
  ],
  'admin.denied': ['kill a task', 'block', 'register', 'disable an agent'],
  'scim.denied': ['provision', 'deactivate', 'activate'],
  'signal.denied': ['log out'],
  'ssf.denied': ['disable by event'],
};

export function isOverload({ event, reason, sponsor, agent_id, task_id }: LedgerLine): boolean {
  return event in SURFACES && reason === 'overloaded' && sponsor === null && agent_id === null && task_id === null;
}

export function overloads({ kept, lines }: Evidence): Losses {
  return Object.entries(SURFACES).flatMap(([surface, acts]) => {
    const recorded = lines
      .filter((line) => line.event === surface && isOverload(line))
      .reduce((sum, { count = 1 }) => sum + count, 0);
    const answered = kept.filter((one) => acts.includes(one.act) && isUnknown(one)).length;
    return recorded <= answered ? [] : [`${surface} overloaded is recorded ${recorded} times, of ${answered} requests`];
  });
}
