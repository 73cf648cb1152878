/**
 * Authenticates an agent by its client assertion (RFC 7523 §2.2; specification "Client assertion rules").
 *
 * The order of the checks is a security property. Until the signature has verified, no record names the agent, and a
 * refusal does not show whether the agent exists. Only after that may the caller learn that the agent is disabled. One
 * exception: if an agent's key set can't be fetched, the response asks the caller to retry (supplement "Reasons").
 * Otherwise a fault at the agent's host would look like a wrong key.
 *
 * This folder finds out who asks, and for whom. The other files validate tokens of people (validate-subject-token.ts,
 * validate-me-token.ts, validate-operator.ts), and check whether an agent may act for the person (check-sponsor.ts).
 */

import type { Agent } from '../../domain/agents/agent.ts';
import { isAssertionType, judgeAssertion } from '../../domain/agents/assertion.ts';
import { parseAgentId } from '../../domain/identifiers.ts';
import { type CompactJws, readCompactJws } from '../../domain/tokens/compact-jws.ts';
import type { Trace } from '../../domain/trace-context.ts';
import type { SpentAssertion } from '../decisions/assertion.ts';
import { allowed, type DenialSubject, denied, type Outcome } from '../outcome.ts';
import type { Agents } from '../ports/agents.ts';
import type { AgentKeys, HeldPermit, SignatureFault } from '../ports/keys.ts';
import type { Clock, SharedTime } from '../ports/runtime.ts';
import type { ClientSource } from './find-client.ts';

/** The algorithms an assertion may be signed with (supplement "Client assertions"). */
export const ASSERTION_ALGORITHMS = ['ES256', 'PS256', 'RS256'] as const;

export interface AgentAuthentication {
  readonly agents: Pick<Agents, 'find'>;
  readonly agentKeys: AgentKeys;
  readonly clock: Clock;
  /** An assertion is past when the later of two clocks says so (supplement "Clocks"). */
  readonly sharedTime: SharedTime;
  /** The issuer, its token endpoint and, at revocation alone, that endpoint: the assertion's `aud` must be one of them. */
  readonly audiences: readonly string[];
  /** `undefined` without `Service:Authorize:ClientId`: then only its id names an agent, and only its registration has its keys. */
  readonly clients?: AuthorizationClients | undefined;
}

/** The clients of `/oauth2/authorize` (`Service:Authorize`). */
export interface AuthorizationClients extends Omit<ClientSource, 'agents'> {
  readonly findByDocument: Agents['findByDocument'];
}

/**
 * Which keys of an agent with a client metadata document count. If the assertion names the URL of the document, the document's
 * keys do. If it names the agent's id:
 *
 * - `registration`: those of the registration, as at an exchange.
 * - `document`: those of the document, for a code.
 * - `either`, for what came from an exchange or a code.
 */
export type KeyChoice = 'registration' | 'document' | 'either';

export interface Credentials {
  /** The compact JWS; `undefined` if none was sent. */
  readonly assertion: string | undefined;
  /** The `client_id` parameter, if one was sent. */
  readonly clientId: string | undefined;
}

export interface AuthenticatedAgent {
  readonly agent: Agent;
  /** The assertion is not spent yet: the decision on the request spends it. */
  readonly assertion: SpentAssertion;
  /** Whose keys verified the assertion. */
  readonly provedBy: Exclude<KeyChoice, 'either'>;
  readonly instance: string | undefined;
}

/**
 * @param options.about further fields for the record of a refusal that names the agent
 * @param options.disabledToo accepts disabled agents: they may still revoke their tokens (supplement "Token endpoint")
 */
export async function authenticateAgent(
  { agents, agentKeys, clock, sharedTime, audiences, clients }: AgentAuthentication,
  { assertion, clientId }: Credentials,
  options: {
    readonly about?: DenialSubject;
    readonly disabledToo?: boolean;
    readonly keys?: KeyChoice;
    readonly trace?: Trace | undefined;
    readonly permit?: HeldPermit;
  } = {},
): Promise<Outcome<AuthenticatedAgent>> {
  // 1. The assertion is well-formed, and made by one agent about itself.
  const jws = assertion === undefined ? undefined : readCompactJws(assertion);
  if (jws === undefined || !isAssertionType(jws)) return denied('actor_malformed');
  if (!isOneOf(ASSERTION_ALGORITHMS, jws.algorithm)) return denied('actor_unsupported_algorithm');
  const { issuer, subject } = jws.claims;
  if (issuer === undefined || issuer !== subject) return denied('actor_issuer_subject_mismatch');
  if (clientId !== undefined && clientId !== issuer) return denied('actor_client_id_mismatch');

  // 2. One of that agent's keys signed it.
  const agentId = parseAgentId(issuer);
  const agent = agentId === undefined ? await clients?.findByDocument(issuer) : await agents.find(agentId);
  if (agent === undefined) return denied('actor_unknown_agent');
  const choice = agentId === undefined ? 'document' : (options.keys ?? 'registration');
  const signature: Proof =
    clients === undefined || agent.clientIdDocument === undefined || choice === 'registration'
      ? await agentKeys.verify(agent, jws, options.trace, options.permit)
      : await verifyDescribed({ agentKeys, clients }, { agent, jws, uri: agent.clientIdDocument, choice }, options);
  if (signature.kind !== 'verified') return denied(`actor_${signature.kind}`);

  // 3. The assertion is meant for this service, and valid now. From here on, records of refusals name the agent.
  const about = { ...options.about, agentId: agent.agentId };
  const [latest, undoubted] = [await sharedTime.latest(), await sharedTime.undoubted()];
  const verdict = judgeAssertion(jws.claims, { audiences, now: clock.now(), latest, undoubted });
  if (verdict.kind === 'refused') return denied(verdict.reason, { about });
  const { jti, forgetAt, latestForgetAt } = verdict;
  const spent = { agentId: agent.agentId, jti, forgetAt, latestForgetAt };

  // 4. The agent is enabled. This check comes last: a stolen assertion, or one made for another audience, must not reveal
  // that the agent is disabled.
  if (!agent.enabled && options.disabledToo !== true) return denied('agent_disabled', { about, assertion: spent });
  return allowed({
    agent,
    assertion: spent,
    provedBy: signature.provedBy ?? 'registration',
    instance: verdict.instance,
  });
}

interface Proof {
  readonly kind: 'verified' | SignatureFault;
  readonly provedBy?: AuthenticatedAgent['provedBy'];
}

/** Verifies with the keys of the client's document. With `either`, those of the registration count too. */
async function verifyDescribed(
  { agentKeys, clients }: { readonly agentKeys: AgentKeys; readonly clients: AuthorizationClients },
  signed: { readonly agent: Agent; readonly jws: CompactJws; readonly uri: string; readonly choice: KeyChoice },
  { trace, permit }: { readonly trace?: Trace | undefined; readonly permit?: HeldPermit },
): Promise<Proof> {
  const { agent, jws, uri, choice } = signed;
  const described = await clients.documents.read(uri, trace, permit);
  const { kind } =
    described.kind === 'read'
      ? await agentKeys.verify(agent, jws, trace, permit, described.document.keys)
      : ({ kind: described.kind === 'unavailable' ? 'keys_unavailable' : 'no_registered_keys' } as const);
  if (kind === 'verified') return { kind, provedBy: 'document' };
  if (choice === 'document') return { kind };
  const registered = await agentKeys.verify(agent, jws, trace, permit);
  if (registered.kind === 'verified') return registered;
  // The same request may succeed once the document can be fetched.
  return kind === 'keys_unavailable' ? { kind } : registered;
}

function isOneOf(list: readonly string[], value: string): boolean {
  return list.includes(value);
}
