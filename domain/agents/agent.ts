/** A registered agent (specification "Agent registration"). */

import type { AgentId } from '../identifiers.ts';
import type { Instant } from '../instant.ts';
import type { Scope } from '../scope.ts';
import type { JwkSet } from './jwk.ts';

/** What an operator says of an agent; valid as a whole once it has this type. */
export interface Registration {
  readonly agentId: AgentId;
  readonly displayName: string;
  readonly sponsorRequired: true;
  readonly allowedScopes: Scope;
  readonly allowedAudiences: readonly string[];
  /** Seconds. */
  readonly maxTaskTtl: number;
  /** Seconds. */
  readonly maxTokenTtl: number;
  readonly maxDelegationDepth: number;
  readonly highRiskAudiences: readonly string[];
  /** Exactly one source of keys. */
  readonly keys: AgentKeySource;
  readonly enabled: boolean;
}

export type AgentKeySource =
  | { readonly kind: 'inline'; readonly jwks: JwkSet }
  | { readonly kind: 'remote'; readonly uri: string };

export interface Agent extends Registration {
  /**
   * Goes up by one with every change; decisions name the revision they were judged on. It starts at the microsecond of
   * the registration, so that an id that is deleted and registered again never comes to a revision it had before.
   */
  readonly revision: number;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
}
