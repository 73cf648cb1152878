/** The identity provider: its status of a person, and its metadata. */

import type { Instant } from '../../domain/instant.ts';
import type { Scope } from '../../domain/scope.ts';
import type { Secret } from '../../domain/secret.ts';
import type { SignInDenial } from '../../domain/sign-in-denial.ts';
import type { SignedInPerson } from '../../domain/sponsors/me-person.ts';
import type { JsonObject } from '../../domain/tokens/strict-json.ts';
import type { Trace } from '../../domain/trace-context.ts';
import type { Problem } from './network.ts';

/** The provider's status of a person. */
export type KnownStatus = 'active' | 'sponsor_disabled' | 'sponsor_not_found';

/** A person's status (specification "Sponsor check", mode `poll`). */
export type SponsorStatus =
  | KnownStatus
  /** The provider was unreachable or its response about this person unusable: never treated as active. */
  | 'sponsor_status_unavailable';

export interface SponsorDirectory {
  /**
   * Queries the provider by `sub`. `maxAge` is the maximum age of a cached answer in seconds. With 0 (an exchange) the
   * provider is always queried and the answer is not cached; otherwise it is cached for later refreshes.
   */
  status(subject: string, maxAge: number, trace?: Trace): Promise<SponsorStatus>;
}

export interface ProviderDescription {
  /** The `iss` of the tokens it signs, but for access tokens if the next member names another. */
  readonly issuer: string;
  /** The `iss` of its access tokens, if that is another (AD FS; supplement "Subject tokens"). */
  readonly accessTokenIssuer?: string;
  /** The URL of its public keys: absolute, http or https. */
  readonly jwksUri: string;
}

export interface ReadMetadata {
  readonly description: ProviderDescription;
  /** The document that it describes, with all its members. */
  readonly document: JsonObject;
  /** The provider's clock, if the response had a date. */
  readonly date?: Instant | undefined;
}

export interface UnreadMetadata extends Problem {
  readonly date?: Instant | undefined;
}

/** The metadata document of the upstream identity provider, or of a signal transmitter. */
export interface ProviderMetadata {
  /** The cached metadata. An empty cache is filled first. `undefined` if it could not be fetched. */
  current(trace?: Trace): Promise<ProviderDescription | undefined>;
  /** Fetches the metadata again; on failure the cached one stays. Concurrent callers share one fetch. */
  refresh(trace?: Trace): Promise<ProviderDescription | undefined>;
  /** The `Retry-After` of the last answer in seconds, if that was a failure with such a header. */
  retryAfter(): number | undefined;
  /** Whether the last fetch ended at its time limit. */
  hasTimedOut(): boolean;
  /** The document that `current` describes, with all its members. */
  document(trace?: Trace): Promise<JsonObject | undefined>;
  /** The cached metadata, without waiting for the provider. */
  cached(): ProviderDescription | undefined;
  /** The cached document, without waiting for the provider. */
  cachedDocument(): JsonObject | undefined;
  /**
   * Whether the address of the document is plain http. If it is, plain http endpoints in the document are no further
   * risk.
   */
  readonly isPlain: boolean;
}

/** The random values of one sign-in, which only the browser that began it can present again. */
export interface SignInAttempt {
  readonly state: string;
  readonly nonce: string;
  /** RFC 7636. */
  readonly codeVerifier: string;
  /** Seconds since the person last proved who they are, at most; `undefined` if that does not matter. */
  readonly maxAge: number | undefined;
  /** The person wants to sign in as another person: the provider asks who they are. */
  readonly asksWho?: boolean;
  /** Asked for in addition to `openid`, for the access token: without the provider's prefix. */
  readonly scopes?: Scope;
  /** The provider asks the person for a proof of who they are, even with a session (OpenID Connect Core 1.0 §3.1.2.1). */
  readonly prompt?: 'login';
}

type RefusedSignIn = { readonly kind: 'refused'; readonly reason: SignInDenial };

/** `address`: where the browser is sent. */
export type SignInBeginning = { readonly kind: 'begun'; readonly address: string } | RefusedSignIn;

export type SignInOutcome =
  | {
      readonly kind: 'signed_in';
      readonly person: SignedInPerson;
      /** `iat` of the ID token. */
      readonly issuedAt: Instant | undefined;
      /** `iss` of the ID token. */
      readonly issuer: string;
      /** All claims of the ID token. */
      readonly claims: JsonObject;
      /** For the sign-out. */
      readonly idToken: Secret;
      /** Only of a client that keeps it, unread: it is judged as a subject token. `undefined` if the answer has none. */
      readonly accessToken: Secret | undefined;
    }
  | RefusedSignIn;

/**
 * The provider's answers to this service's client: the endpoint for pushed requests gets a request, if sign-ins push
 * theirs. Then the token endpoint gets a code that was never issued. `problem` is a fixed sentence with at most the
 * provider's error code.
 */
export type ClientTrial =
  /** A request with a wrong authentication is answered otherwise. `pushed`: it also accepted a pushed request. */
  | { readonly kind: 'accepted'; readonly pushed: boolean }
  /** It refused the code, and did so with a wrong authentication too: that says nothing about the client. */
  | { readonly kind: 'code_first' }
  /** It refused the client. */
  | { readonly kind: 'refused'; readonly problem: string }
  /** It refused the pushed request. */
  | { readonly kind: 'request_refused'; readonly problem: string }
  /** It demands a proof of a key (DPoP). */
  | { readonly kind: 'dpop_demanded' }
  /** It answered something else, such as an error that passes. */
  | { readonly kind: 'unclear'; readonly problem: string }
  /** There was no answer, or one that no such endpoint gives. `endpoint` is its member of the metadata. */
  | {
      readonly kind: 'no_endpoint';
      readonly endpoint: string;
      readonly problem: string;
      readonly status: number | undefined;
    };

/** The users service's answer about an id that no person has. */
export type UsersTrial =
  /** `knowsPaths`: whether it answers otherwise to a path that it cannot have. */
  | { readonly kind: 'not_found'; readonly knowsPaths: boolean }
  | { readonly kind: 'found' }
  | ({ readonly kind: 'no_token' | 'no_answer' } & Problem);

/** The sign-in of people, or of operators, at their provider (OpenID Connect Core 1.0 §3.1, RFC 7636). */
export interface SignIn {
  /** Where the browser is sent. The provider is asked first, if it takes only requests that are pushed (RFC 9126). */
  begin(attempt: SignInAttempt, trace?: Trace): Promise<SignInBeginning>;
  /** @param query the query of the return address, with `?` */
  finish(attempt: SignInAttempt, query: string, trace?: Trace): Promise<SignInOutcome>;
  /** Whether the provider can end its own session, as far as the cached metadata says. It never waits for the provider. */
  offersSignOut(): Promise<boolean>;
  /**
   * The address at which the provider ends its own session, and sends the browser back (OpenID Connect RP-Initiated Logout
   * 1.0 §2). `undefined` if it has none or is unavailable.
   *
   * @param idToken that of the session
   */
  signOutAddress(idToken: Secret | undefined, trace?: Trace): Promise<string | undefined>;
}
