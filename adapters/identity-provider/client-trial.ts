/**
 * Tries whether the provider accepts the client of a sign-in, without a person. If sign-ins push their request, the
 * provider gets one, which stays unused (RFC 9126). The token endpoint gets a code that was never issued: RFC 6749
 * §5.2 has `invalid_client` for the client, and `invalid_grant` for the code.
 */

import type { ClientTrial } from '../../application/ports/identity-provider.ts';
import {
  isDocument,
  type Network,
  type NetworkAnswer,
  NetworkFailure,
  type NetworkRequest,
} from '../../application/ports/network.ts';
import type { Randomness } from '../../application/ports/runtime.ts';
import { Secret } from '../../domain/secret.ts';
import { PUSHED_REQUEST_ENDPOINT, pushesRequest } from '../../domain/sessions/provider-demands.ts';
import { isJsonObject, type JsonObject, member, parseStrictJson, textMember } from '../../domain/tokens/strict-json.ts';
import { authorizationAddress } from './authorization-request.ts';
import { statusSentence } from './error-code.ts';
import { sendAgainIfCut } from './send-again-if-cut.ts';
import { type Assertion, clientAuthentication, configurationOf, type SignInClient } from './sign-in-client.ts';
import { PUSHED_REQUEST, throughNetwork } from './through-network.ts';
import {
  CLIENT_ERRORS,
  CODE_ERRORS,
  demandsDpop,
  isPassing,
  PASSING_ERRORS,
  secretsIn,
  TOKEN_REQUEST,
} from './token-endpoint.ts';

interface TrialParts {
  readonly network: Network;
  readonly assertion: Assertion;
  readonly randomness: Pick<Randomness, 'secret'>;
  /** Whether the metadata was read over plain http. */
  readonly isPlain: boolean;
}

/** RFC 7636 §4.1: a verifier of 32 bytes. The code has as many. */
const RANDOM_BYTES = 32;

/** @param document the provider's metadata, with usable endpoints */
export async function tryClient(client: SignInClient, document: JsonObject, parts: TrialParts): Promise<ClientTrial> {
  const pushes = pushesRequest(document, client.pushedAuthorization);
  const pushed = pushes ? await push(client, document, parts) : undefined;
  if (pushed !== undefined && pushed !== 'taken') return pushed;
  const trial = await send(client, document, parts);
  if (trial !== 'refused_code') return trial;
  const { wrong, wrongly } = withWrongAuthentication(client, parts);
  // Some providers look at the code first. They refuse it with any authentication, and then it proves nothing.
  const control = await send(wrong, document, wrongly);
  // A limit of requests, for example, refuses any authentication, so it does not show that ours is accepted.
  if (control !== 'refused_code' && control.kind === 'refused') return { kind: 'accepted', pushed: pushes };
  // A pushed request has no code: the provider can only look at its authentication, which is the same (RFC 9126 §2).
  const pushedWrongly = pushes ? await push(wrong, document, wrongly) : undefined;
  if (pushedWrongly !== undefined && pushedWrongly !== 'taken' && pushedWrongly.kind === 'refused') {
    return { kind: 'accepted', pushed: true };
  }
  if (control === 'refused_code') return { kind: 'code_first' };
  return {
    kind: 'unclear',
    problem: 'It gave no clear answer to a wrong authentication, with which this is compared.',
  };
}

function withWrongAuthentication(client: SignInClient, parts: TrialParts) {
  const clientSecret = client.clientSecret && new Secret(parts.randomness.secret(RANDOM_BYTES));
  return { wrong: { ...client, clientSecret }, wrongly: { ...parts, assertion: withOtherSignature(parts.assertion) } };
}

/** Pushes the request of a sign-in. */
async function push(
  client: SignInClient,
  document: JsonObject,
  { network, assertion, randomness, isPlain }: TrialParts,
): Promise<ClientTrial | 'taken'> {
  const secret = () => randomness.secret(RANDOM_BYTES);
  const attempt = { state: secret(), nonce: secret(), codeVerifier: secret(), maxAge: undefined };
  const request = throughNetwork(network, PUSHED_REQUEST);
  try {
    const configuration = configurationOf(client, document, isPlain, assertion);
    await authorizationAddress(client, { configuration, document }, attempt, request);
    return 'taken';
  } catch (error) {
    const [answer, failure] = [request.answer(), request.failure()];
    const endpoint = PUSHED_REQUEST_ENDPOINT;
    if (failure !== undefined)
      return { kind: 'no_endpoint', endpoint, problem: failure.message, status: failure.status };
    // Before the request is sent, an error is a fault of this program.
    if (answer === undefined) throw error;
    const isTaken = isDocument(answer.status) || answer.status === PUSHED_REQUEST.status;
    const problem = isTaken
      ? 'The answer has no usable request_uri.'
      : statusSentence('answer', answer, [client.clientSecret?.reveal() ?? '', ...request.secrets()]);
    const judged = judgeRefusal(answer, problem);
    if (judged !== undefined) return judged;
    return answer.status === 400
      ? { kind: 'request_refused', problem }
      : { kind: 'no_endpoint', endpoint, problem, status: answer.status };
  }
}

async function send(
  client: SignInClient,
  document: JsonObject,
  { network, assertion, randomness }: TrialParts,
): Promise<ClientTrial | 'refused_code'> {
  const url = textMember(document, TOKEN_ENDPOINT) ?? '';
  const server = { issuer: textMember(document, 'issuer') ?? '', token_endpoint: url };
  let secrets: readonly string[] = [];
  const request = async (): Promise<NetworkRequest> => {
    const body = new URLSearchParams({
      grant_type: 'authorization_code',
      code: randomness.secret(RANDOM_BYTES),
      redirect_uri: client.redirectUri,
      code_verifier: randomness.secret(RANDOM_BYTES),
    });
    const headers = new Headers({
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
    });
    await clientAuthentication(client, document, assertion)(server, { client_id: client.clientId }, body, headers);
    secrets = [client.clientSecret?.reveal() ?? '', ...secretsIn(headers, body)];
    return {
      method: 'POST',
      url,
      headers: Object.fromEntries(headers),
      body: body.toString(),
      ...TOKEN_REQUEST,
      purpose: 'sign_in',
    };
  };
  try {
    const answer = await sendAgainIfCut(network, request);
    return judge(answer, statusSentence('token endpoint', answer, secrets));
  } catch (cause) {
    if (!(cause instanceof NetworkFailure)) throw cause;
    return { kind: 'no_endpoint', endpoint: TOKEN_ENDPOINT, problem: cause.message, status: cause.status };
  }
}

const TOKEN_ENDPOINT = 'token_endpoint';

function judge(answer: NetworkAnswer, problem: string): ClientTrial | 'refused_code' {
  const { status, body } = answer;
  const said = membersOf(body);
  // Without a proof of a key, some providers say `invalid_grant` too.
  if (CODE_ERRORS.includes(member(said, 'error')) && !demandsDpop(status, said)) return 'refused_code';
  const refusal = judgeRefusal(answer, problem);
  if (refusal !== undefined) return refusal;
  return status === 400
    ? { kind: 'unclear', problem }
    : { kind: 'no_endpoint', endpoint: TOKEN_ENDPOINT, problem, status };
}

/**
 * What a refusal says of the client, at both endpoints. Some providers write the reason into `error`, and some only into the
 * status.
 */
function judgeRefusal({ status, body }: NetworkAnswer, problem: string): ClientTrial | undefined {
  const said = membersOf(body);
  const error = member(said, 'error');
  if (demandsDpop(status, said)) return { kind: 'dpop_demanded' };
  if (CLIENT_ERRORS.includes(error) || status === 401 || status === 403) return { kind: 'refused', problem };
  return isPassing(status) || PASSING_ERRORS.includes(error) ? { kind: 'unclear', problem } : undefined;
}

function membersOf(body: string): JsonObject {
  const answer = parseStrictJson(body);
  return isJsonObject(answer) ? answer : {};
}

/** Returns assertions with a wrong signature: it belongs to another assertion. */
function withOtherSignature(assertion: Assertion): Assertion {
  return async (...given) => {
    const [header, claims] = (await assertion(...given)).split('.');
    const [, , signature] = (await assertion(...given)).split('.');
    return `${header}.${claims}.${signature}`;
  };
}
