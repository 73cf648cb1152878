/**
 * Judging again. A decision names what it was judged on (the agent's revision, the grant's scope); when that changed
 * before it could commit, nothing was written and the whole request is judged anew on what holds now.
 */

import type { AgentsAtHand } from '../authentication/remembered-agents.ts';
import { denied, type Outcome } from '../outcome.ts';

/** A round is lost only when another change was stored meanwhile: as many as this in one request are a storm. */
const MAX_ROUNDS = 8;

const KEPT_CHANGING = 'What the request was judged on changed in every round. Retry the request.';

/** Denied with `overloaded` once no round is left; nothing is written then but the record, and no assertion is spent. */
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
  return denied('overloaded', { detail: KEPT_CHANGING });
}
