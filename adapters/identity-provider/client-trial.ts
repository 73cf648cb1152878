/**
 * Tries whether the provider accepts the client of a sign-in, without a person. The token endpoint gets a code that was
 * never issued: RFC 6749 §5.2 has `invalid_client` for the client, and `invalid_grant` for the code.
 */

import type { ClientTrial } from '../../application/ports/identity-provider.ts';
import {
  type Network,
  type NetworkAnswer,
  NetworkFailure,
  type NetworkRequest,
} from '../../application/ports/network.ts';
import type { Randomness } from '../../application/ports/runtime.ts';
import { Secret } from '../../domain/secret.ts';
import { isJsonObject, type JsonObject, member, parseStrictJson, textMember } from '../../domain/tokens/strict-json.ts';
import { statusSentence } from './error-code.ts';
import { sendAgainIfCut } from './send-again-if-cut.ts';
import { clientAuthentication, type SignInClient } from './sign-in.ts';
import { CODE_ERRORS, secretsIn, TOKEN_REQUEST } from './token-endpoint.ts';

export type TriedClient = Omit<SignInClient, 'signedOutUri' | 'sponsorKeyClaim' | 'moreClaims'>;
type Assertion = (clientId: string, audience: string) => Promise<string>;

interface TrialParts {
  readonly network: Network;
  readonly assertion: Assertion;
  readonly randomness: Pick<Randomness, 'secret'>;
}

/** RFC 7636 §4.1: a verifier of 32 bytes. The code has as many. */
const RANDOM_BYTES = 32;

/** Errors about the client, or about what it may do. */
const OF_CLIENT: readonly unknown[] = ['invalid_client', 'unauthorized_client'];

/** @param document the provider's metadata, with a usable token endpoint */
export async function tryClient(client: TriedClient, document: JsonObject, parts: TrialParts): Promise<ClientTrial> {
  const { assertion, randomness } = parts;
  const trial = await send(client, document, parts);
  if (trial !== 'refused_code') return trial;
  // Some providers look at the code first. They refuse it with any authentication, and then it proves nothing.
  const wrong = {
    ...client,
    clientSecret: client.clientSecret && new Secret(randomness.secret(RANDOM_BYTES)),
  };
  const control = await send(wrong, document, { ...parts, assertion: withOtherSignature(assertion) });
  if (control === 'refused_code') return { kind: 'code_first' };
  // A limit of requests, for example, refuses any authentication, so it does not show that ours is accepted.
  if (control.kind === 'refused') return { kind: 'accepted' };
  return {
    kind: 'unclear',
    problem: 'It gave no clear answer to a wrong authentication, with which this is compared.',
  };
}

async function send(
  client: TriedClient,
  document: JsonObject,
  { network, assertion, randomness }: TrialParts,
): Promise<ClientTrial | 'refused_code'> {
  const url = textMember(document, 'token_endpoint') ?? '';
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
    return { kind: 'no_token_endpoint', problem: cause.message, status: cause.status };
  }
}

/** Some providers write the reason into `error`, and some only into the status. */
function judge({ status, body }: NetworkAnswer, problem: string): ClientTrial | 'refused_code' {
  const answer = parseStrictJson(body);
  const error = isJsonObject(answer) ? member(answer, 'error') : undefined;
  if (CODE_ERRORS.includes(error)) return 'refused_code';
  if (OF_CLIENT.includes(error) || status === 401 || status === 403) return { kind: 'refused', problem };
  if (status === 400 || status === 429 || status >= 500) return { kind: 'unclear', problem };
  return { kind: 'no_token_endpoint', problem, status };
}

/** Returns assertions with a wrong signature: it belongs to another assertion. */
function withOtherSignature(assertion: Assertion): Assertion {
  return async (...given) => {
    const [header, claims] = (await assertion(...given)).split('.');
    const [, , signature] = (await assertion(...given)).split('.');
    return `${header}.${claims}.${signature}`;
  };
}
