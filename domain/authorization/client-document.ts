/**
 * A client metadata document (draft-ietf-oauth-client-id-metadata-document §4): what a client says about itself at the URL
 * that is its `client_id`. It only ever describes an agent whose registration names the URL.
 */

import { jwksUriProblem } from '../address.ts';
import type { AgentKeySource } from '../agents/agent.ts';
import { redirectUriProblems } from '../agents/field-rules.ts';
import { checkJwkSet } from '../agents/key-set.ts';
import { isJsonObject, isTextList, type Json, member } from '../tokens/strict-json.ts';

export interface ClientDocument {
  /** 1 to 16. They count in place of the registration's. */
  readonly redirectUris: readonly string[];
  /** `none`: PKCE alone authenticates the client. Else its keys do (`private_key_jwt`). */
  readonly keys: AgentKeySource;
}

type ClientDocumentVerdict =
  | { readonly kind: 'valid'; readonly document: ClientDocument }
  /** A fixed sentence, which repeats nothing of the document. */
  | { readonly kind: 'invalid'; readonly problem: string };

/** Members that hold a shared secret: the document is public, so nothing in it can be one (§4.1). */
const SECRETS = ['client_secret', 'client_secret_expires_at'];

/**
 * @param uri the URL from which the document was fetched
 * @param issuer the control plane's URL, which holds no client's keys
 */
export function judgeClientDocument(value: Json | undefined, uri: string, issuer: string): ClientDocumentVerdict {
  if (!isJsonObject(value)) return invalid('The document must be a JSON object, without a member twice.');
  // §4.1: compared character by character.
  if (member(value, 'client_id') !== uri) return invalid('Its client_id must be the URL of the document.');
  if (SECRETS.some((name) => Object.hasOwn(value, name))) return invalid('It must have no client_secret.');

  const uris = member(value, 'redirect_uris');
  if (!isTextList(uris)) return invalid('Its redirect_uris must be an array of strings.');
  const [redirectProblem] = redirectUriProblems(uris);
  if (redirectProblem !== undefined) return invalid(`Its redirect_uris cannot be used. ${redirectProblem}`);

  const [jwksUri, jwks] = [member(value, 'jwks_uri'), member(value, 'jwks')];
  switch (member(value, 'token_endpoint_auth_method')) {
    case 'none':
      return { kind: 'valid', document: { redirectUris: uris, keys: { kind: 'none' } } };
    case 'private_key_jwt':
      break;
    default:
      // Absent means client_secret_basic (RFC 7591 §2), which a public document cannot have.
      return invalid('Its token_endpoint_auth_method must be none or private_key_jwt.');
  }
  if ((jwksUri === undefined) === (jwks === undefined)) {
    return invalid('With private_key_jwt it must have exactly one of jwks_uri and jwks.');
  }
  if (jwks !== undefined) {
    const verdict = checkJwkSet(jwks);
    if (verdict.kind === 'invalid') return invalid(`Its jwks cannot be used. ${verdict.problems[0] ?? ''}`.trim());
    return { kind: 'valid', document: { redirectUris: uris, keys: { kind: 'inline', jwks: verdict.jwks } } };
  }
  const problem = typeof jwksUri === 'string' ? jwksUriProblem(jwksUri, issuer) : 'Must be a string.';
  if (typeof jwksUri !== 'string' || problem !== undefined) return invalid(`Its jwks_uri cannot be used. ${problem}`);
  return { kind: 'valid', document: { redirectUris: uris, keys: { kind: 'remote', uri: jwksUri } } };
}

function invalid(problem: string): ClientDocumentVerdict {
  return { kind: 'invalid', problem };
}
