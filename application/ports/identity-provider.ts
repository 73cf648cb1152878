/** The identity provider: its status of a person, and its metadata. */

import type { Instant } from '../../domain/instant.ts';
import type { SignedInPerson } from '../../domain/sponsors/session.ts';
import type { JsonObject } from '../../domain/tokens/strict-json.ts';
import type { Trace } from '../../domain/trace-context.ts';

/** A person's status (specification "Sponsor check", mode `poll`). */
export type SponsorStatus =
  | 'active'
  | 'sponsor_disabled'
  | 'sponsor_not_found'
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

/** The metadata document of the upstream identity provider, or of a signal transmitter. */
export interface ProviderMetadata {
  /** The cached metadata, fetched first if there is none. `undefined` if it could not be fetched. */
  current(trace?: Trace): Promise<ProviderDescription | undefined>;
  /** Fetches the metadata again; on failure the cached one stays. Concurrent callers share one fetch. */
  refresh(trace?: Trace): Promise<ProviderDescription | undefined>;
  /** The `Retry-After` of the last answer in seconds, if that was a failure with such a header. */
  retryAfter(): number | undefined;
  /** The document that `current` describes, with all its members. */
  document(trace?: Trace): Promise<JsonObject | undefined>;
  /** Whether the address of the document is plain http. What the document itself says about http then does no more harm. */
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
}

export type SignInDenial =
  /** The provider, its metadata or its keys did not answer. */
  | 'provider_unavailable'
  /** The person, or the provider for them, did not agree. */
  | 'sign_in_cancelled'
  /** The answer is not one to this attempt, or its ID token is refused. */
  | 'sign_in_refused'
  /** The ID token does not say when the person proved who they are, or that was too long ago. */
  | 'sign_in_too_old';

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
    }
  | { readonly kind: 'refused'; readonly reason: SignInDenial };

/** What the provider's token endpoint answered to this service's client with a code that was never issued. */
export type ClientTrial =
  /** It refused the code. The same request with a wrong authentication is answered otherwise. */
  | { readonly kind: 'accepted' }
  /** It refused the code, and did so with a wrong authentication too: that says nothing about the client. */
  | { readonly kind: 'code_first' }
  /** It refused the client. `problem` is a fixed sentence with at most the provider's error code. */
  | { readonly kind: 'refused'; readonly problem: string }
  /** It answered something else, such as an error that passes. */
  | { readonly kind: 'unclear'; readonly problem: string }
  /** There was no answer, or one that no token endpoint gives. */
  | { readonly kind: 'no_token_endpoint'; readonly problem: string; readonly status: number | undefined };

/** The sign-in of people, or of operators, at their provider (OpenID Connect Core 1.0 §3.1, RFC 7636). */
export interface SignIn {
  /** The address to which the browser is sent. `undefined` if the provider is unavailable. */
  begin(attempt: SignInAttempt, trace?: Trace): Promise<string | undefined>;
  /** @param query the query of the return address, with `?` */
  finish(attempt: SignInAttempt, query: string, trace?: Trace): Promise<SignInOutcome>;
  /** The address at which the provider ends its own session; `undefined` if it has none or is unavailable. */
  signOutAddress(trace?: Trace): Promise<string | undefined>;
}
