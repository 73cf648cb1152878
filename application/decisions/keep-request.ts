/**
 * Keeps a request at `/oauth2/authorize` whose person came back from the identity provider: it now waits for their answer
 * (answer-request.ts).
 */

import type { Agent } from '../../domain/agents/agent.ts';
import {
  type Authorization,
  type EndCounts,
  KEPT_SECONDS,
  MOST_OPEN_REQUESTS,
  type VoidReason,
} from '../../domain/authorization/authorization.ts';
import { type Instant, plusSeconds } from '../../domain/instant.ts';
import { decision, type Judgement } from './decision.ts';
import { voidAuthorizations } from './ending.ts';
import { type AuthorizationEnds, ask } from './fact.ts';
import { exclusive, shared } from './lock.ts';
import { isLoggedOut, logoutQuestions } from './logged-out.ts';
import { findObstacle, type Obstacle } from './obstacle.ts';

export interface RequestKeeping {
  /** In the state `open`. */
  readonly authorization: Authorization;
  /** The ends when the request began (`Authorizations.countEnds`). */
  readonly ends: EndCounts;
  /** The revision against which the request was checked. */
  readonly agentRevision: Agent['revision'];
  /** Set if remembered logouts refuse tasks: the time by which a logout is forgotten, the earlier of two clocks. */
  readonly refuseLoggedOut?: { readonly earliest: Instant } | undefined;
}

/**
 * Nothing is written unless the request is kept.
 * - `ended`: its agent, or everything, was ended after the request began.
 * - `logged_out`: a remembered logout covers the person's session, or the person.
 */
export type KeepVerdict =
  | { readonly kind: 'kept' }
  | { readonly kind: 'ended'; readonly reason: VoidReason }
  | { readonly kind: 'logged_out' }
  | Exclude<Obstacle, { readonly kind: 'replayed' }>;

/**
 * The locks are those of an exchange, so that an end that comes later finds the row. That of the person is exclusive: concurrent
 * requests keep to the limit.
 */
export const keepRequest = decision({
  name: 'keep_request',
  transaction: 'own',

  locks: ({ authorization: { person, agentId } }: RequestKeeping) => [
    exclusive('sponsor', person.sponsorKey),
    ...(person.subject === person.sponsorKey ? [] : [shared('subject', person.subject)]),
    ...(person.sessionId === undefined ? [] : [shared('session', person.sessionId)]),
    shared('agent', agentId),
    shared('authorizing', ''),
  ],

  asks: ({ authorization: { person, agentId }, refuseLoggedOut }) => ({
    revision: ask('agent_revision', agentId),
    blocks: ask('blocks', person.sponsorKey),
    logouts: refuseLoggedOut === undefined ? [] : logoutQuestions(person),
    ends: ask('authorization_ends', agentId),
    open: ask('open_authorizations', person.sponsorKey),
  }),

  judge: ({ authorization, ends, agentRevision, refuseLoggedOut }, facts): Judgement<KeepVerdict> => {
    const refused = (verdict: KeepVerdict): Judgement<KeepVerdict> => ({ verdict, effects: [] });
    const obstacle = findObstacle(agentRevision, { ...facts, spent: [] });
    if (obstacle !== undefined && obstacle.kind !== 'replayed') return refused(obstacle);
    const { issuedAt } = authorization.person;
    if (refuseLoggedOut && isLoggedOut(facts.logouts, issuedAt, refuseLoggedOut.earliest)) {
      return refused({ kind: 'logged_out' });
    }
    const reason = endedSince(ends, facts.ends);
    if (reason !== undefined) return refused({ kind: 'ended', reason });
    const surplus = facts.open.slice(0, Math.max(0, facts.open.length + 1 - MOST_OPEN_REQUESTS));
    const replaced = { at: authorization.cameAt, reason: 'request_expired' } as const;
    return {
      verdict: { kind: 'kept' },
      effects: [
        ...(surplus.length === 0 ? [] : voidAuthorizations({ kind: 'requests', requestIds: surplus }, replaced)),
        {
          effect: 'insert_authorization',
          ...authorization,
          forgetAt: plusSeconds(authorization.expiresAt, KEPT_SECONDS),
        },
      ],
    };
  },
});

/**
 * A row counts for longer than a request may take. So without a row there was no end, and any other count means one. Clocks are
 * not compared: those of two instances differ.
 */
function endedSince(began: EndCounts, { everything, agent }: AuthorizationEnds): VoidReason | undefined {
  if (everything !== undefined && everything.count !== began.everything) return everything.reason;
  return agent !== undefined && agent.count !== began.agent ? agent.reason : undefined;
}
