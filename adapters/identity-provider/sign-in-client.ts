/** The client of a sign-in at the identity provider, and how it authenticates there. */

import {
  allowInsecureRequests,
  type ClientAuth,
  ClientSecretPost,
  Configuration,
  type ServerMetadata,
} from 'openid-client';
import type { Secret } from '../../domain/secret.ts';
import type { PushedAuthorization } from '../../domain/sessions/provider-demands.ts';
import { isTextList, type JsonObject, member, textMember } from '../../domain/tokens/strict-json.ts';
import { acceptsPlain } from './endpoints.ts';
import type { AssertionAudience } from './service-token.ts';

export interface SignInClient {
  readonly clientId: string;
  /** `undefined` for `private_key_jwt`. */
  readonly clientSecret: Secret | undefined;
  readonly assertionAudience: AssertionAudience;
  /** `Service:UpstreamIdp:PushedAuthorization`. */
  readonly pushedAuthorization: PushedAuthorization;
  readonly redirectUri: string;
  /** Where the provider sends the browser back after a sign-out. `undefined` for a client without a sign-out. */
  readonly signedOutUri: string | undefined;
  /** `Service:UpstreamIdp:SponsorKeyClaim`. */
  readonly sponsorKeyClaim: string;
  /** More claims that the ID token should have. The scope of a claim's name is asked for, if the provider has one. */
  readonly moreClaims?: readonly string[];
  /**
   * Seconds: the `max_age` of a sign-in without a maximum age. Without the parameter a provider may leave out `auth_time`
   * (OpenID Connect Core 1.0 §3.1.2.1). `undefined` if nothing depends on that.
   */
  readonly longestSignIn?: number;
  /** `Service:Authorize:ProviderParameters`. */
  readonly providerParameters?: Readonly<Record<string, string>>;
  /** `Service:Authorize:ScopePrefix`: before each scope of an attempt. */
  readonly scopePrefix?: string | undefined;
  /** Whether the outcome has the access token. Without it the token is dropped unread. */
  readonly keepsAccessToken?: boolean;
}

/** Makes a client assertion. */
export type Assertion = (clientId: string, audience: string) => Promise<string>;

/**
 * The library's description of the provider and of the client.
 *
 * @param document the provider's metadata
 * @param isPlain whether the metadata was read over plain http
 */
export function configurationOf(
  client: SignInClient,
  document: JsonObject,
  isPlain: boolean,
  assertion: Assertion,
): Configuration {
  const server = { ...document, issuer: textMember(document, 'issuer') ?? '' } as ServerMetadata;
  const auth = clientAuthentication(client, document, assertion);
  const configuration = new Configuration(server, client.clientId, {}, auth);
  // Only a test's or a developer's provider has no TLS.
  if (acceptsPlain(document, isPlain)) allowInsecureRequests(configuration);
  return configuration;
}

export function clientAuthentication(
  { clientSecret, clientId, assertionAudience }: Pick<SignInClient, 'clientSecret' | 'clientId' | 'assertionAudience'>,
  document: JsonObject,
  assertion: Assertion,
): ClientAuth {
  if (clientSecret !== undefined) {
    // Without the member, providers accept `client_secret_basic` only (OpenID Connect Discovery 1.0 §3).
    const methods = member(document, 'token_endpoint_auth_methods_supported');
    const isPost = isTextList(methods) && methods.includes('client_secret_post');
    return isPost ? ClientSecretPost(clientSecret.reveal()) : clientSecretBasic(clientId, clientSecret);
  }
  // RFC 7523 §2.2. The library awaits the function.
  return async (server, _client, body) => {
    body.set('client_id', clientId);
    body.set('client_assertion_type', 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
    const audience = assertionAudience === 'issuer' ? server.issuer : (server.token_endpoint ?? server.issuer);
    body.set('client_assertion', await assertion(clientId, audience));
  };
}

/**
 * RFC 6749 §2.3.1. The library's own method also encodes characters that need no encoding, and some providers do not
 * decode: they would take `mandate%2Dpage` for the client's name.
 */
function clientSecretBasic(clientId: string, clientSecret: Secret): ClientAuth {
  const credentials = `${encodeReserved(clientId)}:${encodeReserved(clientSecret.reveal())}`;
  return (_server, _client, _body, headers) => {
    headers.set('authorization', `Basic ${btoa(credentials)}`);
  };
}

/** Encodes all characters but the unreserved ones (RFC 3986 §2.3), which `encodeURIComponent` leaves with five others. */
function encodeReserved(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
}
