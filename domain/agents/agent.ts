/** A registered agent (specification "Agent registration"). */

import type { AgentId } from '../identifiers.ts';
import type { Instant } from '../instant.ts';
import type { Scope } from '../scope.ts';
import type { MayActName } from './may-act-name.ts';
import type { JwkSet } from './public-key.ts';

/**
 * The limits that an operator sets for an agent. Only `judgeRegistration` makes a Registration, so every one is valid.
 */
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
  readonly keys: AgentKeySource;
  /** How the identity provider names the agent in `may_act`: 1 to 16, or `undefined` if only its id names it. */
  readonly mayActNames: readonly MayActName[] | undefined;
  readonly enabled: boolean;
}

export type AgentKeySource =
  | { readonly kind: 'inline'; readonly jwks: JwkSet }
  | { readonly kind: 'remote'; readonly uri: string };

export interface Agent extends Registration {
  /**
   * Each change adds one; decisions name the revision they are based on. The first revision is the time of the
   * registration in microseconds. An id that is deleted and registered again therefore never repeats a revision.
   */
  readonly revision: number;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  /** The time of the last change of `keys`. A remote set may change without this. */
  readonly keysSince: Instant;
}
