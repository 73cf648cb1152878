/**
 * Judging again. A decision names what it was judged on (the agent's revision, the grant's scope); when that changed
 * before it could commit, nothing was written and the whole request is judged anew on what holds now.
 */

import type { AgentsAtHand } from '../authentication/remembered-agents.ts';
import type { Outcome } from '../outcome.ts';
import { StorageUnavailable } from '../ports/storage-unavailable.ts';

/** Each lost round means that somebody else's change went through; more than a few in one request is a storm. */
const MAX_ROUNDS = 8;

export async function inRounds<T>(
  agents: AgentsAtHand,
  judge: (agents: AgentsAtHand) => Promise<Outcome<T> | 'judge_again'>,
): Promise<Outcome<T>> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const outcome = await judge(agents);
    if (outcome === 'judge_again') agents.forget();
    // A refusal may have been judged on a registration that is no longer what it was.
    else if (outcome.kind === 'allowed' || (await agents.confirm())) return outcome;
  }
  throw new StorageUnavailable('what the request was judged on kept changing');
}
