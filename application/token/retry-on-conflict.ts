/**
 * Retry on conflict. A decision names the versions it was judged on (the agent's revision, the grant's scope). If one
 * changed before the decision could commit, nothing was written, and the whole request is judged again.
 */

import type { CachedAgents } from '../authentication/agent-cache.ts';
import { denied, type Outcome } from '../outcome.ts';

/** Each conflict means that another change was committed. So many within one request mean a storm of changes. */
const MAX_ATTEMPTS = 8;

const KEPT_CHANGING = 'What the request was judged on changed in every round. Retry the request.';

/** Denied with `overloaded` after the last conflict. Only the record is written then, and no assertion is spent. */
export async function retryOnConflict<T>(
  agents: CachedAgents,
  judge: (agents: CachedAgents) => Promise<Outcome<T> | 'conflict'>,
): Promise<Outcome<T>> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const outcome = await judge(agents);
    if (outcome === 'conflict') agents.forget();
    // A refusal is final only if the cached agent is still current.
    else if (outcome.kind === 'allowed' || (await agents.confirm())) return outcome;
  }
  return denied('overloaded', { detail: KEPT_CHANGING });
}
