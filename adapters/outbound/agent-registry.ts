/** Reads and changes the agents of a running service over its admin API (specification "Admin API"). */

import { type AgentRegistry, RegistryFailure } from '../../application/ports/agent-registry.ts';
import { type Network, NetworkFailure } from '../../application/ports/network.ts';
import type { Registration } from '../../domain/agents/agent.ts';
import type { RegistrationPatch } from '../../domain/agents/registration-patch.ts';
import type { FieldError } from '../../domain/field-error.ts';
import type { AgentId } from '../../domain/identifiers.ts';
import type { Secret } from '../../domain/secret.ts';
import { isJsonObject, type JsonObject, member, parseStrictJson } from '../../domain/tokens/strict-json.ts';
import { visibleText } from '../../domain/visible.ts';
import { presentFields, readAgent } from './registration-json.ts';

interface AdminAccess {
  /** The service's address, without a trailing slash. */
  readonly server: string;
  readonly adminKey: Secret;
  readonly network: Network;
  /** Resolves after that many milliseconds. */
  readonly pause: (milliseconds: number) => Promise<unknown>;
}

/** For a request with its response. A healthy service decides about one agent faster. */
const TIMEOUT_MS = 10_000;
/** A registration is at most 64 KiB. With escapes the response may be several times as long. */
const MAX_BYTES = 1_048_576;
/** In this time the main bucket refills twenty permits (specification "Rate limiting"). */
const PAUSE_MS = 2000;
/** A minute and a half. A request succeeds earlier even with the lowest rate and a busy service. */
const MAX_ATTEMPTS = 45;

interface ReadAnswer {
  readonly status: number;
  readonly body: JsonObject;
}

export function adminApiAgents(access: AdminAccess): AgentRegistry {
  return {
    async find(agentId) {
      const answer = await ask(access, 'GET', `/admin/agents/${agentId}`);
      if (answer.status === 404) return undefined;
      if (answer.status === 200) return agentIn(answer, agentId);
      throw unexpected(answer);
    },
    async register(fields) {
      const answer = await ask(access, 'POST', '/admin/agents', fields);
      if (answer.status === 201) return { kind: 'registered' };
      if (answer.status === 409) return { kind: 'already_exists' };
      return refusal(answer);
    },
    async change(agentId, fields) {
      const answer = await ask(access, 'PATCH', `/admin/agents/${agentId}`, fields);
      if (answer.status === 200) return { kind: 'changed' };
      if (answer.status === 404) return { kind: 'not_found' };
      return refusal(answer);
    },
  };
}

/**
 * Retries while the service is busy. A request that got 503 may have taken effect. The retried registration then finds the
 * agent, and the retried change changes nothing.
 */
async function ask(
  access: AdminAccess,
  method: 'GET' | 'POST' | 'PATCH',
  path: string,
  fields?: RegistrationPatch,
): Promise<ReadAnswer> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await askOnce(access, method, path, fields);
    const isBusy = answer.status === 429 || (answer.status === 503 && isTemporary(answer.body));
    if (!isBusy) return answer;
    if (attempt === MAX_ATTEMPTS) {
      throw new RegistryFailure('The service was too busy for too long. Run the command again later.');
    }
    await access.pause(PAUSE_MS);
  }
}

async function askOnce(
  { server, adminKey, network }: AdminAccess,
  method: 'GET' | 'POST' | 'PATCH',
  path: string,
  fields: RegistrationPatch | undefined,
): Promise<ReadAnswer> {
  const body = fields === undefined ? {} : { body: JSON.stringify(presentFields(fields)) };
  const type: Readonly<Record<string, string>> = fields === undefined ? {} : { 'content-type': 'application/json' };
  try {
    const answer = await network.send({
      method,
      url: `${server}${path}`,
      headers: { authorization: `Bearer ${adminKey.reveal()}`, accept: 'application/json', ...type },
      ...body,
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
    });
    return understood(answer.status, answer.body);
  } catch (error) {
    if (!(error instanceof NetworkFailure)) throw error;
    throw new RegistryFailure(`The service could not be reached. ${error.message}`);
  }
}

/** @throws RegistryFailure for a response that does not come from the admin API */
function understood(status: number, text: string): ReadAnswer {
  if (status >= 300 && status < 400) {
    throw new RegistryFailure(
      `The answer was a redirect (status ${status}), which is not followed: use the address that it names.`,
    );
  }
  const body = parseStrictJson(text);
  // It may be a sign-in page, or an error page of a proxy. Its text is untrusted, so it is not shown.
  if (!isJsonObject(body) || (status >= 400 && member(body, 'status') !== status)) {
    throw new RegistryFailure(
      `The response (status ${status}) is not from the admin API, but from another program at this address or from a proxy.`,
    );
  }
  return { status, body };
}

function isTemporary(body: JsonObject): boolean {
  return member(body, 'error') === 'temporarily_unavailable';
}

function agentIn(answer: ReadAnswer, agentId: AgentId): Registration {
  const agent = readAgent(answer.body);
  if (agent?.agentId !== agentId)
    throw new RegistryFailure('The response is not from the admin API: it did not contain the agent.');
  return agent;
}

function refusal(answer: ReadAnswer): { readonly kind: 'refused'; readonly errors: ReturnType<typeof readProblem> } {
  const errors = answer.status === 400 ? readProblem(answer.body) : [];
  if (errors.length === 0) throw unexpected(answer);
  return { kind: 'refused', errors };
}

function unexpected({ status }: ReadAnswer): RegistryFailure {
  switch (status) {
    case 401:
      return new RegistryFailure('The service does not accept this admin key.');
    case 503:
      return new RegistryFailure('The admin API is disabled there: the service has no admin key.');
    default:
      return new RegistryFailure(`The admin API answered with status ${status}.`);
  }
}

/** Longer than every sentence of the service. Longer text comes from another program. */
const MAX_SENTENCE = 500;
const MAX_FIELDS = 100;
const MAX_SENTENCES = 20;

/**
 * The errors of a refusal by the admin API (specification "Validation errors"), made safe for a terminal. A refusal
 * without fields gives one error without a field. Returns an empty list if the response has no sentence.
 */
function readProblem(problem: JsonObject): readonly FieldError[] {
  const errors = member(problem, 'errors');
  if (isJsonObject(errors)) {
    return Object.entries(errors)
      .slice(0, MAX_FIELDS)
      .flatMap(([field, sentences]) =>
        (Array.isArray(sentences) ? sentences : [])
          .filter((sentence) => typeof sentence === 'string')
          .slice(0, MAX_SENTENCES)
          .map((sentence) => ({ field: showable(field), sentence: showable(sentence) })),
      );
  }
  const detail = member(problem, 'detail');
  return typeof detail === 'string' ? [{ field: '', sentence: showable(detail) }] : [];
}

function showable(text: string): string {
  return visibleText(text.slice(0, MAX_SENTENCE));
}
