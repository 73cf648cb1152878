/** Facts that stop both an exchange and a refresh. The first one in the order of `findObstacle` is the verdict. */

import type { Agent } from '../../domain/agents/agent.ts';
import type { BlockKind, SponsorBlock } from '../../domain/sponsors/block.ts';
import { isReplayed } from './assertion.ts';

export type Obstacle =
  /** The agent changed after the request was checked: check the request again. */
  | { readonly kind: 'agent_changed' }
  /** Another decision used the assertion before. */
  | { readonly kind: 'replayed' }
  /** The person is blocked; `block` is the kind of the block placed first. */
  | { readonly kind: 'sponsor_blocked'; readonly block: BlockKind };

export function findObstacle(
  judged: Agent['revision'],
  facts: {
    readonly revision: Agent['revision'] | undefined;
    readonly spent: readonly boolean[];
    readonly blocks: readonly SponsorBlock[];
  },
): Obstacle | undefined {
  if (facts.revision !== judged) return { kind: 'agent_changed' };
  if (isReplayed(facts.spent)) return { kind: 'replayed' };
  const block = facts.blocks[0]?.kind;
  return block && { kind: 'sponsor_blocked', block };
}
