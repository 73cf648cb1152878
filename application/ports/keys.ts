/** The keys by their use: those that verify tokens, and those that sign tokens, checkpoints and notes. */

import type { Agent, AgentKeySource } from '../../domain/agents/agent.ts';
import type { Jwk, JwkSet } from '../../domain/agents/public-key.ts';
import type { Permit } from '../../domain/concurrency-limiter.ts';
import type { Instant } from '../../domain/instant.ts';
import type { VerifierKey } from '../../domain/log/verifier-key.ts';
import type { CompactJws } from '../../domain/tokens/compact-jws.ts';
import type { JsonObject } from '../../domain/tokens/strict-json.ts';
import type { Trace } from '../../domain/trace-context.ts';
import type { ProviderDescription } from './identity-provider.ts';
import type { Problem } from './network.ts';

/** Why a signature did not verify, in the order of the checks. */
export type SignatureFault =
  /** This surface does not accept the algorithm. */
  | 'unsupported_algorithm'
  /** The key set has no usable key. */
  | 'no_registered_keys'
  /** The keys could not be fetched, and none are cached. */
  | 'keys_unavailable'
  /** No key has the token's `kid`. */
  | 'unknown_key'
  /** The named key does not fit the token's algorithm; without a `kid`, no key does. */
  | 'key_mismatch'
  | 'invalid_signature';

/**
 * Maps a signature fault of a provider's token to the fault that its denial reason names. In a key set without a usable
 * key, the provider's signing keys are missing: they are unavailable.
 */
export function providerFault(fault: SignatureFault): Exclude<SignatureFault, 'no_registered_keys'> {
  return fault === 'no_registered_keys' ? 'keys_unavailable' : fault;
}

type SignatureVerdict = { readonly kind: 'verified' } | { readonly kind: SignatureFault };

/** The service's own keys: all are published, one signs. */
export interface SigningKeys {
  /** Signs claims as a compact JWS, ES256, with the active key's `kid` and this `typ`. */
  sign(type: string, claims: JsonObject): Promise<string>;
  /** Whether one of the published keys made this ES256 signature. */
  verify(jws: CompactJws): Promise<boolean>;
  /** Public members only. */
  published(): JwkSet;
  /** Signs checkpoints, also with the active key. */
  readonly checkpoints: CheckpointSigner;
}

/**
 * The permit of a request, of the concurrency limiter. A caller must not hold it while keys are fetched, because its token may be
 * forged. Each `verify` below therefore gets the permit, and pauses it during the wait.
 */
export type HeldPermit = Pick<Permit, 'pause'> | undefined;

export interface AgentKeys {
  /**
   * Verifies an assertion with the agent's keys, inline or fetched. ES256, RS256, PS256.
   *
   * @param published those of the agent's client metadata document, in place of the registered ones
   */
  verify(
    agent: Agent,
    assertion: CompactJws,
    trace?: Trace,
    permit?: HeldPermit,
    published?: AgentKeySource,
  ): Promise<SignatureVerdict>;
  /** Whether a key can be imported; for example, its EC point must lie on the curve. */
  isUsable(key: Jwk): Promise<boolean>;
}

/** The keys of the tool servers that may ask for approvals (`Service:Approvals:Resources`). */
export interface ApprovalKeys {
  /**
   * Verifies a request with the keys of the tool server. ES256.
   *
   * @param audience that of the tool server. `unknown_issuer`: no tool server with it may ask
   */
  verify(
    audience: string,
    request: CompactJws,
    trace?: Trace,
    permit?: HeldPermit,
  ): Promise<SignatureVerdict | { readonly kind: 'unknown_issuer' }>;
}

type ProviderSignature = { readonly kind: 'verified' } & Pick<ProviderDescription, 'issuer' | 'accessTokenIssuer'>;

/** The keys of the upstream identity provider or of a signal transmitter, from its metadata and key set. */
export interface ProviderKeys {
  /** Verifies a token with the provider's published keys. The issuers are those to which the keys belong. */
  verify(
    jws: CompactJws,
    trace?: Trace,
    permit?: HeldPermit,
  ): Promise<ProviderSignature | { readonly kind: SignatureFault }>;
  /** When keys were last fetched successfully; `undefined` before the first fetch. */
  lastFetchedAt(): Instant | undefined;
}

/** Signs checkpoints with the service's active key (specification "Ledger and seal"). */
export interface CheckpointSigner {
  /** The active key's id, which is part of the signed text. */
  readonly kid: string;
  /** ES256 over the text's UTF-8 bytes: r and s, 64 bytes, in lowercase hex. */
  sign(text: string): Promise<string>;
}

/** Signs the notes of the transparency log (`Service:Audit:Log:Key`). */
export interface NoteSigner {
  /** Its name is the origin of the log. */
  readonly key: VerifierKey;
  /** RFC 7638. */
  readonly thumbprint: string;
  /** Ed25519: 64 bytes. */
  sign(message: Uint8Array): Uint8Array;
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

/** The keys that a replica publishes, compared with those that it should publish. */
export interface ReplicaAnswer {
  readonly server: string;
  /** The published kids, or why no key set was received. */
  readonly published: readonly string[] | Problem;
  /** Kids of configured keys that this replica does not publish. A kid in both lists names another key there. */
  readonly missing: readonly string[];
  /** Kids of keys that this replica publishes and that are not configured. */
  readonly surplus: readonly string[];
}
