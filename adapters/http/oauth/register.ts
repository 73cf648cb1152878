/**
 * `POST /oauth2/register` (RFC 7591 §3), with `Service:Authorize:Registration`. It reads two members, and ignores all others:
 * a program cannot ask for anything that the registration of its agent does not have.
 */

import type { RequestListener } from 'node:http';
import type {
  ClientRegistration,
  FoundRegistration,
  RegistrationRefusal,
} from '../../../application/authorization/register-client.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
import type { Agent } from '../../../domain/agents/agent.ts';
import type { DenialReason } from '../../../domain/denial.ts';
import { formatScope } from '../../../domain/scope.ts';
import { isJsonObject, isTextList, member } from '../../../domain/tokens/strict-json.ts';
import type { Trace } from '../../../domain/trace-context.ts';
import { discardRest, parseJson, readTypedBody } from '../message/body.ts';
import { faultAnswer } from '../message/faults.ts';
import { type OptionalPath, REGISTERED } from '../routes.ts';
import type { ServedRequest, ServedResponse } from '../server/message-classes.ts';
import { answerFault, answerMethod, answerUnavailable, neverCached, sendJson } from './answers.ts';

export const REGISTRATION_PATH = '/oauth2/register';

export interface ClientRegistrationSurface {
  register(request: ClientRegistration): Promise<FoundRegistration>;
  /** Records a refusal before it is answered. */
  refuse(reason: DenialReason, trace: Trace | undefined): Promise<void>;
  readonly log: Log;
}

/** As many as a registration may have. */
const MOST_REDIRECTS = 16;

/** RFC 7591 §3.2.2. */
interface Fault {
  readonly error: 'invalid_redirect_uri' | 'invalid_client_metadata';
  readonly sentence: string;
  /** That of the record. */
  readonly reason: DenialReason;
}

const metadata = (sentence: string): Fault => ({
  error: 'invalid_client_metadata',
  sentence,
  reason: 'invalid_request',
});
const REDIRECTS: Fault = {
  error: 'invalid_redirect_uri',
  sentence: `redirect_uris must be an array of 1 to ${MOST_REDIRECTS} strings.`,
  reason: 'invalid_request',
};

export function registrationPath(surface: ClientRegistrationSurface): OptionalPath {
  const answerError = faultAnswer(surface.log, { unavailable: answerUnavailable, fault: answerFault });
  const listener: RequestListener = (request: ServedRequest, response: ServedResponse) => {
    neverCached(response);
    serve(surface, request, response).catch((error: unknown) => {
      if (response.headersSent) request.socket.destroy();
      else answerError(error, request, response);
    });
  };
  return {
    path: REGISTRATION_PATH,
    isExact: true,
    route: REGISTERED,
    serve: listener,
    advertisedAs: 'registration_endpoint',
  };
}

async function serve(
  surface: ClientRegistrationSurface,
  request: ServedRequest,
  response: ServedResponse,
): Promise<void> {
  const refuse = async ({ error, sentence, reason }: Fault) => {
    await surface.refuse(reason, request.trace);
    response.reason = reason;
    sendJson(response, 400, { error, error_description: sentence });
  };
  if (request.method !== 'POST') {
    discardRest(request);
    await surface.refuse('invalid_request', request.trace);
    return answerMethod(response);
  }
  const body = await readTypedBody(request, ['application/json'], 'The body must be application/json, in UTF-8.');
  if (body.kind === 'aborted') return;
  if (body.kind === 'refused') return refuse(metadata(body.sentence));
  const asked = readRegistration(body.bytes);
  if ('error' in asked) return refuse(asked);
  const found = await surface.register(asked);
  if (found.kind === 'refused') return refuse({ ...FAULTS[found.refusal], sentence: found.sentence });
  sendJson(response, 201, presentClient(found.agent, asked));
}

const FAULTS: Readonly<Record<RegistrationRefusal, Omit<Fault, 'sentence'>>> = {
  no_redirect: { error: 'invalid_redirect_uri', reason: 'redirect_uri_not_registered' },
  no_name: { error: 'invalid_client_metadata', reason: 'client_unknown' },
  several_names: { error: 'invalid_client_metadata', reason: 'client_unknown' },
  several_nameless: { error: 'invalid_client_metadata', reason: 'client_unknown' },
};

function readRegistration(bytes: Uint8Array): ClientRegistration | Fault {
  const body = parseJson(bytes);
  if (!isJsonObject(body)) return metadata('The body must be a JSON object in UTF-8, without a member named twice.');
  const redirectUris = member(body, 'redirect_uris');
  if (!isTextList(redirectUris) || redirectUris.length < 1 || redirectUris.length > MOST_REDIRECTS) return REDIRECTS;
  const clientName = member(body, 'client_name') ?? undefined;
  if (clientName !== undefined && typeof clientName !== 'string') return metadata('client_name must be a string.');
  return { redirectUris, clientName };
}

/**
 * RFC 7591 §3.2.1: what is registered, in place of what was asked for. The redirect URIs are those of the request: the program
 * reads from them at which port it must listen.
 */
function presentClient({ agentId, displayName, allowedScopes }: Agent, { redirectUris }: ClientRegistration) {
  return {
    client_id: agentId,
    client_name: displayName,
    redirect_uris: redirectUris,
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    scope: formatScope(allowedScopes),
  };
}
