/** What the admin API of Glewlwyd is sent: the plugin for OpenID Connect, and the clients. */

import type { SigningKey } from '../signing-key.ts';
import { SESSION_COOKIE } from './glewlwyd-sign-in.ts';
import type { Person } from './people.ts';

export type Json = Readonly<Record<string, unknown>>;

export interface GlewlwydSetup {
  /** The resource for which applications request access tokens. */
  readonly audience: string;
  /** All scopes other than `openid`. */
  readonly scopes: readonly string[];
  readonly people: readonly Person[];
  readonly clients: readonly Json[];
}

export const pluginInstance = { module: 'oidc', name: 'oidc', display_name: 'OpenID Connect', order_rank: 0 };

/** The module of its users, which here have the property `roles`. */
export const users = {
  ...{ module: 'database', name: 'database', display_name: 'Database', order_rank: 0, readonly: false, enabled: true },
  parameters: {
    'use-glewlwyd-connection': true,
    'data-format': { roles: { multiple: true, read: true, write: true, 'profile-read': true, 'profile-write': false } },
  },
};

export function asUser({ username, name, scopes, claims = {} }: Person): Json {
  return { username, name, scope: ['openid', ...scopes], ...claims };
}

/** @param keys it signs with the first one */
export function oidcPlugin({ audience, scopes }: GlewlwydSetup, iss: string, keys: readonly SigningKey[]): Json {
  return {
    iss,
    'jwks-private': JSON.stringify({ keys: keys.map(({ privateJwk }) => privateJwk) }),
    'jwks-show': true,
    'subject-type': 'public',
    'access-token-duration': 3600,
    'refresh-token-duration': 1_209_600,
    'code-duration': 600,
    'refresh-token-rolling': true,
    // Without it, there are no client credentials.
    'allow-non-oidc': true,
    'auth-type-code-enabled': true,
    'auth-type-client-enabled': true,
    'auth-type-refresh-enabled': true,
    'pkce-allowed': true,
    // Without it, it reads no client assertions.
    'request-parameter-allow': true,
    'client-jwks_uri-parameter': 'jwks_uri',
    'client-jwks-parameter': 'jwks',
    'client-pubkey-parameter': 'pubkey',
    'request-maximum-exp': 3600,
    'resource-allowed': true,
    'resource-scope': Object.fromEntries(['openid', ...scopes].map((scope) => [scope, [audience]])),
    'session-management-allowed': true,
    'session-cookie-name': SESSION_COOKIE,
    'session-cookie-expiration': 2_419_200,
    'back-channel-logout-allowed': true,
    claims: [
      { name: 'roles', 'user-property': 'roles', type: 'string', mandatory: true, 'on-demand': false, scope: [] },
    ],
  };
}
