/** The metadata document of the upstream identity provider, or of a signal transmitter. */

export interface ProviderDescription {
  /** The `iss` of the tokens it signs. */
  readonly issuer: string;
  /** The URL of its public keys: absolute, http or https. */
  readonly jwksUri: string;
}

export interface ProviderMetadata {
  /** The cached metadata, fetched first if there is none. `undefined` if it could not be fetched. */
  current(): Promise<ProviderDescription | undefined>;
  /** Fetches the metadata again; on failure the cached one stays. Concurrent callers share one fetch. */
  refresh(): Promise<ProviderDescription | undefined>;
}
