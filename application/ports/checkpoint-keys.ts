/** Signs checkpoints with the service's active key (specification "Ledger and seal"). */
export interface CheckpointSigner {
  /** The active key's id, which is part of the signed text. */
  readonly kid: string;
  /** ES256 over the text's UTF-8 bytes: r and s, 64 bytes, in lowercase hex. */
  sign(text: string): Promise<string>;
}

export type CheckpointVerdict =
  | 'verified'
  /** No published key has this id, so the signature cannot be checked. */
  | 'unknown_key'
  | 'invalid_signature';

/** Verifies checkpoints with published keys: the service's own, or a key set from an auditor. */
export interface CheckpointVerifier {
  /** @param signature lowercase hex; any other form is an invalid signature */
  verify(kid: string, text: string, signature: string): Promise<CheckpointVerdict>;
}
