/**
 * Retry on conflict. A decision names the versions it was judged on (the agent's revision, the grant's scope). If one
 * changed before the decision could commit, nothing was written, and the whole request is judged again.
 */

import type { AgentsAtHand } from '../authentication/remembered-agents.ts';
import type { Outcome } from '../outcome.ts';
import { StorageUnavailable } from '../ports/storage-unavailable.ts';

/** Each conflict means that another change was committed; more than a few within one request are a storm of changes. */
const MAX_ROUNDS = 8;

export async function inRounds<T>(
  agents: AgentsAtHand,
  judge: (agents: AgentsAtHand) => Promise<Outcome<T> | 'judge_again'>,
): Promise<Outcome<T>> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const outcome = await judge(agents);
    if (outcome === 'judge_again') agents.forget();
    // A refusal is final only if the cached agent is still current.
    else if (outcome.kind === 'allowed' || (await agents.confirm())) return outcome;
  }
  throw new StorageUnavailable('what the request was judged on kept changing');
}
