/** Signs checkpoints with the service's active key (specification "Ledger and seal"). */
export interface CheckpointSigner {
  /** The active key's id: it is part of what is signed. */
  readonly kid: string;
  /** ES256 over the text's UTF-8 bytes: r and s, 64 bytes, in lowercase hex. */
  sign(text: string): Promise<string>;
}

export type CheckpointVerdict =
  | 'verified'
  /** No published key has this id: nothing can be said of the signature. */
  | 'unknown_key'
  | 'invalid_signature';

/** Verifies checkpoints with published keys: the service's own, or a key set that an auditor brings. */
export interface CheckpointVerifier {
  /** @param signature in lowercase hex; anything else is an invalid one */
  verify(kid: string, text: string, signature: string): Promise<CheckpointVerdict>;
}
