/** Agents that are clients of `/oauth2/authorize`, at a service with that door. */

import { allowedRequest, REDIRECT, type RequestTerms } from '../../support/authorize/allowed-request.ts';
import type { TestDatabase } from '../../support/databases.ts';
import {
  type Answer,
  type Form,
  type Mandate,
  type MandateOptions,
  type RegisteredAgent,
  startMandate,
} from '../../support/mandate.ts';

/** Each refusal has its own record. */
export const DOOR = {
  'Service:Me:ClientId': 'the-page',
  'Service:Authorize:ClientId': 'the-door',
  'Service:Authorize:PublicClients': 'true',
  'Service:Audit:Aggregation:Enabled': 'false',
};

export function startDoor(database: TestDatabase, options: Partial<MandateOptions> = {}): Promise<Mandate> {
  return startMandate({ ...options, database, settings: { ...DOOR, ...options.settings } });
}

type Changes = Readonly<Record<string, unknown>>;

/** Without keys: only its `client_id` authenticates it. */
export function publicAgent(mandate: Mandate, changes: Changes = {}): Promise<RegisteredAgent> {
  return mandate.agent({ jwks: undefined, public_client: true, redirect_uris: [REDIRECT], ...changes });
}

export function keyAgent(mandate: Mandate, changes: Changes = {}): Promise<RegisteredAgent> {
  return mandate.agent({ redirect_uris: [REDIRECT], ...changes });
}

/** How the agent authenticates with its key. */
export function keyOf(agent: RegisteredAgent): Form {
  return {
    client_id: undefined,
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: agent.assertion(),
  };
}

export function token(mandate: Mandate, form: Form): Promise<Answer> {
  return mandate.post('/oauth2/token', form);
}

/** The answer to a code that the person has just allowed. @throws unless it is 200 */
export async function redeemed(
  mandate: Mandate,
  agent: RegisteredAgent,
  terms: RequestTerms = {},
  changes: Form = {},
): Promise<Answer> {
  const allowed = await allowedRequest(mandate, agent.id, terms);
  const answer = await token(mandate, allowed.form(changes));
  if (answer.status !== 200) throw new Error(`the code was refused: ${answer.text}`);
  return answer;
}

/** A refresh by `client_id` alone. */
export function publicRefresh(mandate: Mandate, agent: RegisteredAgent, grant: unknown, form: Form = {}) {
  return token(mandate, {
    grant_type: 'refresh_token',
    refresh_token: String(grant),
    client_id: agent.id,
    ...form,
  });
}
