/** The identity provider: its status of a person, and its metadata. */

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
  /** The `iss` of the tokens it signs. */
  readonly issuer: string;
  /** The URL of its public keys: absolute, http or https. */
  readonly jwksUri: string;
}

/** The metadata document of the upstream identity provider, or of a signal transmitter. */
export interface ProviderMetadata {
  /** The cached metadata, fetched first if there is none. `undefined` if it could not be fetched. */
  current(trace?: Trace): Promise<ProviderDescription | undefined>;
  /** Fetches the metadata again; on failure the cached one stays. Concurrent callers share one fetch. */
  refresh(trace?: Trace): Promise<ProviderDescription | undefined>;
}
