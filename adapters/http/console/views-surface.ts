/** What the screens read beside the use cases of the API. */

import type { ComparedDeclaration } from '../../../application/admin/compare-declarations.ts';
import type { DelegationQuestion, Delegations } from '../../../application/admin/find-delegations.ts';

export interface ViewsSurface {
  delegations(question: DelegationQuestion): Promise<Delegations>;
  /** Compares the agents that a YAML file declares with the registered ones. */
  compare(file: string, bytes: Uint8Array): Promise<Comparison>;
  /** Seconds: the longest life of a token that a registration may name. */
  readonly longestTokenTtl: number;
  /** Seconds until a tool server with status lists refuses an ended task; `undefined` without them. */
  readonly statusLists: number | undefined;
}

export type Comparison =
  | { readonly kind: 'compared'; readonly agents: readonly ComparedDeclaration[] }
  /** The file exceeds a limit, and was not parsed. The sentence names the line. */
  | { readonly kind: 'too_much'; readonly problem: string }
  /** A sentence for each problem, with its line. */
  | { readonly kind: 'wrong'; readonly problems: readonly string[] };
