/** The person's answer to a request at `/oauth2/authorize`: one, once. */

import type { Agent } from '../../domain/agents/agent.ts';
import {
  type Authorization,
  type AuthorizationState,
  answerDetail,
  type IssuedCode,
  KEPT_SECONDS,
  type VoidReason,
  voidDetail,
} from '../../domain/authorization/authorization.ts';
import type { DenialReason } from '../../domain/denial.ts';
import { type Instant, plusSeconds } from '../../domain/instant.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { formatScope, isWithin } from '../../domain/scope.ts';
import { blockDenial } from '../../domain/sponsors/block.ts';
import type { ClientLabel } from '../../domain/tasks/task-authorization.ts';
import { decision, type Judgement } from './decision.ts';
import { recorded } from './effect.ts';
import { ask } from './fact.ts';
import { exclusive, shared } from './lock.ts';
import { findObstacle, type Obstacle } from './obstacle.ts';

export interface RequestAnswer {
  /** As the caller read it. These values never change. */
  readonly request: Pick<Authorization, 'requestId' | 'agentId' | 'person'>;
  /** SHA-256 of the browser's secret. */
  readonly browserHash: string;
  /** As the page showed the client: its registration or document may have changed since the request was stored. */
  readonly client: ClientLabel;
  /** *Allow* may have a purpose, if the client stated none. */
  readonly answer:
    | { readonly kind: 'allow'; readonly code: IssuedCode; readonly purpose?: string | undefined }
    | { readonly kind: 'refuse' };
  /** The revision of the agent that the page showed. */
  readonly agentRevision: Agent['revision'];
  /** Dates the record. */
  readonly at: Instant;
  /** The later of two clocks: by it the time of the request is up. */
  readonly latest: Instant;
}

/**
 * `allowed` and `refused` are recorded, and so are `expired`, `ended` and `sponsor_blocked`. Otherwise nothing is written.
 * - `not_found`: no such request is stored, or it is another browser's.
 * - `answered`: the person has answered before, or the code is spent.
 * - `ended`: a stop, a block or a logout came first.
 * - `agent_changed`, only of *Allow*: check the request again.
 */
export type AnswerVerdict =
  | { readonly kind: 'allowed' | 'refused' | 'not_found' | 'expired' }
  | { readonly kind: 'answered'; readonly as: Exclude<AuthorizationState, 'open' | 'void'> }
  | { readonly kind: 'ended'; readonly reason: VoidReason }
  | Exclude<Obstacle, { readonly kind: 'replayed' }>;

/** Of two answers, or of an answer and an end, the first one decides. */
export const answerRequest = decision({
  name: 'answer_request',
  transaction: 'own',

  locks: ({ request: { requestId, person, agentId } }: RequestAnswer) => [
    shared('sponsor', person.sponsorKey),
    ...(person.subject === person.sponsorKey ? [] : [shared('subject', person.subject)]),
    ...(person.sessionId === undefined ? [] : [shared('session', person.sessionId)]),
    shared('agent', agentId),
    exclusive('authorization', requestId),
  ],

  asks: ({ request: { requestId, person, agentId } }) => ({
    authorization: ask('authorization', requestId),
    revision: ask('agent_revision', agentId),
    blocks: ask('blocks', person.sponsorKey),
  }),

  judge: (input, { authorization, ...facts }): Judgement<AnswerVerdict> => {
    const { browserHash, client, answer, agentRevision, at, latest } = input;
    const unchanged = (verdict: AnswerVerdict): Judgement<AnswerVerdict> => ({ verdict, effects: [] });
    if (authorization?.browserHash !== browserHash) return unchanged({ kind: 'not_found' });
    const denied = (verdict: AnswerVerdict, detail?: string): Judgement<AnswerVerdict> => {
      const reason = denialReasonOf(verdict);
      const entry = entryOf('authorization.denied', authorization, at);
      return { verdict, effects: recorded([{ ...entry, decision: 'deny', reason, ...(detail && { detail }) }]) };
    };
    const { requestId, state, voidReason, purpose } = authorization;
    if (state === 'void') {
      const reason = voidReason ?? 'request_expired';
      return denied({ kind: 'ended', reason }, voidDetail(requestId, reason));
    }
    if (state !== 'open') return unchanged({ kind: 'answered', as: state });
    if (authorization.expiresAt <= latest) return denied({ kind: 'expired' });
    const forgetAt = plusSeconds(authorization.expiresAt, KEPT_SECONDS);
    if (answer.kind === 'refuse') {
      const entry = entryOf('authorization.refused', { ...authorization, client }, at);
      return {
        verdict: { kind: 'refused' },
        effects: [
          {
            effect: 'answer_authorization',
            requestId,
            state: 'refused',
            client,
            at,
            code: undefined,
            purpose,
            forgetAt,
          },
          ...recorded([{ ...entry, decision: 'deny', reason: 'consent_refused' }]),
        ],
      };
    }
    const obstacle = findObstacle(agentRevision, { ...facts, spent: [] });
    if (obstacle?.kind === 'sponsor_blocked') return denied(obstacle);
    if (obstacle?.kind === 'agent_changed') return unchanged(obstacle);
    const { code } = answer;
    if (!isWithin(code.scope, authorization.offered)) throw new Error('a code would have more scope than was offered');
    return {
      verdict: { kind: 'allowed' },
      effects: [
        {
          effect: 'answer_authorization',
          requestId,
          state: 'allowed',
          client,
          at,
          code,
          purpose: purpose ?? answer.purpose,
          forgetAt: plusSeconds(code.expiresAt, KEPT_SECONDS),
        },
        ...recorded([
          {
            ...entryOf('authorization.allowed', { ...authorization, client }, at),
            taskId: code.taskId,
            scope: formatScope(code.scope),
            decision: 'allow',
          },
        ]),
      ],
    };
  },

  denial: (_, verdict) => {
    const reason = denialReasonOf(verdict);
    if (reason === undefined) return undefined;
    return { event: verdict.kind === 'refused' ? 'authorization.refused' : 'authorization.denied', reason };
  },
});

/** The reason on record; `undefined` for a verdict that refuses nothing. */
function denialReasonOf(verdict: AnswerVerdict): DenialReason | undefined {
  switch (verdict.kind) {
    case 'refused':
      return 'consent_refused';
    case 'expired':
    case 'ended':
      return 'request_expired';
    case 'sponsor_blocked':
      return blockDenial(verdict.block);
    default:
      return undefined;
  }
}

function entryOf<Event extends LedgerEntry['event']>(
  event: Event,
  { requestId, client, agentId, person, audience, offered }: Authorization,
  at: Instant,
) {
  const detail = answerDetail({ requestId, client });
  return { at, event, agentId, sponsor: person.subject, audience, scope: formatScope(offered), detail };
}
