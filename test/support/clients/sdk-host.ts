/**
 * What a host gives to the official MCP clients for OAuth: a store in memory, and how a person opens an address. Both SDKs
 * take the same object.
 */

import { randomUUID } from 'node:crypto';
import type {
  OAuthClientProvider,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';

export interface SdkHost extends OAuthClientProvider {
  /** The addresses that the client wanted to open in the browser. */
  readonly opened: URL[];
  /** What the client got last. */
  stored(): {
    readonly client: StoredOAuthClientInformation | undefined;
    readonly tokens: StoredOAuthTokens | undefined;
  };
  /** A host that begins anew: the client information stays. */
  forgetTokens(): void;
}

export interface SdkHostOptions {
  readonly redirectUrl: string;
  readonly clientName?: string;
  /** Static client information. Without it and without a document the client registers itself. */
  readonly clientId?: string;
  /** The address of the client's metadata document. */
  readonly document?: string;
  /** By default as a public client. */
  readonly authenticate?: NonNullable<OAuthClientProvider['addClientAuthentication']>;
}

export function sdkHost({
  redirectUrl,
  clientName = 'Triage',
  clientId,
  document,
  authenticate,
}: SdkHostOptions): SdkHost {
  const opened: URL[] = [];
  let client: StoredOAuthClientInformation | undefined = clientId === undefined ? undefined : { client_id: clientId };
  let tokens: StoredOAuthTokens | undefined;
  let verifier = '';
  let discovered: Awaited<ReturnType<NonNullable<OAuthClientProvider['discoveryState']>>>;
  return {
    opened,
    redirectUrl,
    clientMetadata: {
      client_name: clientName,
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    ...(document !== undefined && { clientMetadataUrl: document }),
    ...(authenticate && { addClientAuthentication: authenticate }),
    // No value that a URL has as it is.
    state: () => `${randomUUID()} & more`,
    clientInformation: () => client,
    saveClientInformation: (given) => {
      client = given;
    },
    tokens: () => tokens,
    saveTokens: (given) => {
      tokens = given;
    },
    redirectToAuthorization: (address) => {
      opened.push(address);
    },
    saveCodeVerifier: (given) => {
      verifier = given;
    },
    codeVerifier: () => verifier,
    discoveryState: () => discovered,
    saveDiscoveryState: (given) => {
      discovered = given;
    },
    invalidateCredentials: (what) => {
      if (what === 'all' || what === 'client') client = clientId === undefined ? undefined : { client_id: clientId };
      if (what === 'all' || what === 'tokens') tokens = undefined;
      if (what === 'all' || what === 'discovery') discovered = undefined;
    },
    stored: () => ({ client, tokens }),
    forgetTokens: () => {
      tokens = undefined;
    },
  };
}
