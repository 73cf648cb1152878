/** The messages between a test and the thread in which Better Auth runs. */

import type { Person } from '../people.ts';

export interface BetterAuthSetup {
  readonly port: number;
  /** Of the server, in PEM. */
  readonly certificate: { readonly cert: string; readonly key: string };
  /** The `aud` of access tokens, an absolute URI. */
  readonly audience: string;
  readonly scopes: readonly string[];
  readonly people: readonly Person[];
  /** Mandate's public host name, which the provider calls over https, and its real address. */
  readonly mandate: { readonly name: string; readonly address: string };
  /** `Service:Console:Origin`. */
  readonly consoleOrigin: string;
  /** The redirect URI of the application. */
  readonly redirectUri: string;
}

/** Sent once, when the provider serves. */
export interface BetterAuthReady {
  readonly issuer: string;
  /** The ids that Better Auth gave to the clients. */
  readonly clients: Readonly<Record<'application' | 'page' | 'authorize' | 'console' | 'poll', string>>;
  /** The `sub` of each person, by username. */
  readonly subjects: Readonly<Record<string, string>>;
}

/** `rotate`: new tokens have a new key, and the former one stays published. `replace`: it is no longer published. */
export type KeyChange = 'rotate' | 'replace';

/** The scope of the service token with which Mandate asks about people. */
export const POLL_SCOPE = 'users:read';
