/** Requests at `/oauth2/authorize` that a person has allowed, without a browser: the decisions of the way store them. */

import { createHash, randomBytes } from 'node:crypto';
import { systemRandomness } from '../../../adapters/platform/system-crypto.ts';
import { type AnswerVerdict, answerRequest } from '../../../application/decisions/answer-request.ts';
import { keepRequest } from '../../../application/decisions/keep-request.ts';
import { type Authorization, CODE_SECRET_BYTES, makeCode } from '../../../domain/authorization/authorization.ts';
import { makeRequestId, makeTaskId, parseSponsorKey } from '../../../domain/identifiers.ts';
import { type Instant, instantFromSeconds, plusSeconds, toSeconds } from '../../../domain/instant.ts';
import { agentIdOf } from '../domain-fixtures.ts';
import { type Form, JIRA, type Mandate } from '../mandate.ts';

const randomness = systemRandomness();

export const REDIRECT = 'http://127.0.0.1:33418/callback';

export interface AllowedRequest {
  readonly requestId: string;
  readonly code: string;
  /** The parameters with which a public client redeems the code. Given ones replace them; `undefined` removes one. */
  form(changes?: Form): Form;
}

/** What the request and its answer say. By default Ada allows two scopes of an agent for ten minutes. */
export interface RequestTerms extends Partial<Omit<Authorization, 'person' | 'code' | 'agentId'>> {
  readonly sub?: string;
  readonly sessionId?: string;
  readonly issuedAt?: Instant;
  /** The scopes of the person's token. */
  readonly held?: readonly string[];
  /** Of the code. */
  readonly chosen?: readonly string[];
  /** Seconds. */
  readonly codeTtl?: number;
  /** Seconds from now. */
  readonly endsIn?: number;
}

type Service = Pick<Mandate, 'storage' | 'clock'>;

/** The person has come back from the provider, and is on the page. */
export async function keptRequest(
  { storage, clock }: Service,
  agentId: string,
  terms: RequestTerms = {},
): Promise<{ readonly authorization: Authorization; readonly verifier: string; answer: Answering }> {
  const agent = await storage.agents.find(agentIdOf(agentId));
  if (agent === undefined) throw new Error(`not registered: ${agentId}`);
  const { sub = 'ada', sessionId, issuedAt, held, chosen, codeTtl = 60, endsIn = 600, ...changes } = terms;
  const sponsorKey = parseSponsorKey(sub);
  if (sponsorKey === undefined) throw new Error(`not a sponsor key: ${sub}`);
  const at = clock.now();
  const verifier = randomBytes(32).toString('base64url');
  const offered = ['jira:read', 'jira:comment'];
  const authorization: Authorization = {
    requestId: makeRequestId(randomness.ulid()),
    browserHash: randomBytes(32).toString('hex'),
    agentId: agent.agentId,
    client: agent.keys.kind === 'none' ? 'public' : 'key',
    redirectUri: REDIRECT,
    clientState: undefined,
    challenge: createHash('sha256').update(verifier).digest('base64url'),
    audience: JIRA,
    offered,
    asked: ['jira:comment', 'jira:read', 'wiki:read'],
    purpose: undefined,
    person: {
      subject: sub,
      sponsorKey,
      sessionId,
      issuedAt: issuedAt ?? instantFromSeconds(toSeconds(at)),
      authenticatedAt: undefined,
      scope: held ?? ['jira:read', 'jira:comment', 'mail:send'],
    },
    beganAt: at,
    cameAt: at,
    expiresAt: plusSeconds(at, 600),
    state: 'open',
    answeredAt: undefined,
    voidReason: undefined,
    code: undefined,
    ...changes,
  };
  const agentRevision = agent.revision;
  const ends = await storage.authorizations.countEnds(agent.agentId);
  const kept = await storage.decide(keepRequest, { authorization, ends, agentRevision });
  if (kept.kind !== 'kept') throw new Error(`the request was not kept: ${kept.kind}`);
  const code = makeCode(randomness.secret(CODE_SECRET_BYTES));
  return {
    authorization,
    verifier,
    async answer() {
      const now = clock.now();
      const verdict = await storage.decide(answerRequest, {
        request: authorization,
        browserHash: authorization.browserHash,
        client: authorization.client,
        answer: {
          kind: 'allow',
          code: {
            hash: createHash('sha256').update(code).digest('hex'),
            expiresAt: plusSeconds(now, codeTtl),
            scope: chosen ?? authorization.offered,
            taskEndsAt: instantFromSeconds(toSeconds(now) + endsIn),
            taskId: makeTaskId(randomness.ulid()),
          },
        },
        agentRevision,
        at: now,
        latest: now,
      });
      return { verdict, code };
    },
  };
}

/** *Allow*. */
type Answering = () => Promise<{ readonly verdict: AnswerVerdict; readonly code: string }>;

export async function allowedRequest(
  service: Service,
  agentId: string,
  terms: RequestTerms = {},
): Promise<AllowedRequest> {
  const { authorization, verifier, answer } = await keptRequest(service, agentId, terms);
  const { verdict, code } = await answer();
  if (verdict.kind !== 'allowed') throw new Error(`the request was not allowed: ${verdict.kind}`);
  return {
    requestId: authorization.requestId,
    code,
    form: (changes = {}) => ({
      grant_type: 'authorization_code',
      code,
      code_verifier: verifier,
      redirect_uri: authorization.redirectUri,
      client_id: agentId,
      ...changes,
    }),
  };
}
