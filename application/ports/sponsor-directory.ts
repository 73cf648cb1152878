/** The identity provider's status of a person (specification "Sponsor check", mode `poll`). */

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
  status(subject: string, maxAge: number): Promise<SponsorStatus>;
}
