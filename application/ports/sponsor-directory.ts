/** The identity provider's own word on a person (specification "Sponsor check", mode `poll`). */

export type SponsorStatus =
  | 'active'
  | 'sponsor_disabled'
  | 'sponsor_not_found'
  /** Nobody could be asked, or the answer about this person was unusable: never read as a yes. */
  | 'sponsor_status_unavailable';

export interface SponsorDirectory {
  /**
   * Asks by `sub`. `maxAge` seconds is how old a remembered answer may be: 0 asks as of now and remembers nothing
   * (an exchange); above it, an answer is remembered for later refreshes.
   */
  status(subject: string, maxAge: number): Promise<SponsorStatus>;
}
