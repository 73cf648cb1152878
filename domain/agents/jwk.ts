/** JSON Web Keys and sets of them (RFC 7517 §4, §5). */

/** A public JSON Web Key; members beyond these are kept as they came. */
export interface Jwk {
  readonly kty: string;
  readonly kid?: string;
  readonly use?: string;
  readonly alg?: string;
  readonly key_ops?: readonly string[];
  readonly crv?: string;
  readonly x?: string;
  readonly y?: string;
  readonly n?: string;
  readonly e?: string;
}

export interface JwkSet {
  readonly keys: readonly Jwk[];
}
