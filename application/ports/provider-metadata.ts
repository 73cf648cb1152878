/** The upstream identity provider, or a transmitter of signals, as its metadata document describes it. */

export interface ProviderDescription {
  /** The `iss` of what it signs. */
  readonly issuer: string;
  /** Where its public keys are: absolute, http or https. */
  readonly jwksUri: string;
}

export interface ProviderMetadata {
  /** What is held; read first when nothing is. `undefined` when it could not be read. */
  current(): Promise<ProviderDescription | undefined>;
  /** Reads it anew; what is held stays when that fails. Questions asked meanwhile share the reading. */
  refresh(): Promise<ProviderDescription | undefined>;
}
