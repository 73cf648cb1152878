import type { Agent } from '../../domain/agents/agent.ts';
import type { Jwk, JwkSet } from '../../domain/agents/jwk.ts';
import type { Instant } from '../../domain/instant.ts';
import type { CompactJws } from '../../domain/tokens/compact-jws.ts';
import type { JsonObject } from '../../domain/tokens/strict-json.ts';
import type { CheckpointSigner } from './checkpoint-keys.ts';

/** Why a signature did not verify, in the order in which it is found out. */
export type SignatureFault =
  /** Not an algorithm that this surface accepts. */
  | 'unsupported_algorithm'
  /** A key set that holds no usable key. */
  | 'no_registered_keys'
  /** The keys could not be fetched, and none are held. */
  | 'keys_unavailable'
  /** No key has the token's `kid`. */
  | 'unknown_key'
  /** The key named, or every key when none is named, does not fit the token's algorithm. */
  | 'key_mismatch'
  | 'invalid_signature';

type SignatureVerdict = { readonly kind: 'verified' } | { readonly kind: SignatureFault };

/** The service's own keys: every one is published, one signs. */
export interface SigningKeys {
  /** Signs claims as a compact JWS, ES256, with the active key's `kid` and this `typ`. */
  sign(type: string, claims: JsonObject): Promise<string>;
  /** Whether one of the published keys made this ES256 signature. */
  verify(jws: CompactJws): Promise<boolean>;
  /** Public members only. */
  published(): JwkSet;
  /** Signs with the active key as well, but checkpoints. */
  readonly checkpoints: CheckpointSigner;
}

export interface AgentKeys {
  /** Verifies an assertion with the agent's registered keys, inline or fetched. ES256, RS256, PS256. */
  verify(agent: Agent, assertion: CompactJws): Promise<SignatureVerdict>;
  /** Whether a structurally sound key can really be used (an EC point that is on its curve, say). */
  isUsable(key: Jwk): Promise<boolean>;
}

/** The upstream identity provider, or a transmitter of signals, as its metadata and key set show it. */
export interface ProviderKeys {
  /** Verifies a token with the provider's published keys; says which issuer those keys speak for. */
  verify(
    jws: CompactJws,
  ): Promise<{ readonly kind: 'verified'; readonly issuer: string } | { readonly kind: SignatureFault }>;
  /** When keys were last fetched successfully; `undefined` before the first time. */
  lastFetchedAt(): Instant | undefined;
}
