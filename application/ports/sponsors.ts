/** Queries of the people and their blocks. All methods may throw StorageUnavailable. */

import type { AgentId, SponsorKey } from '../../domain/identifiers.ts';
import type { Instant } from '../../domain/instant.ts';
import type { BlockSource, SponsorBlock } from '../../domain/sponsors/block.ts';

/** The people, with their blocks. */
export interface Sponsors {
  /** The person's blocks, at most one per source, oldest first. Empty if the person is not blocked. */
  findBlocks(sponsorKey: SponsorKey): Promise<readonly SponsorBlock[]>;

  /** Blocks of all people, the newest first; those of one time in descending order of person and source. */
  list(question: BlocksQuestion): Promise<readonly SponsorBlock[]>;

  /** How many people are blocked, and by how many blocks of each source. It counts at most `most` blocks. */
  countBlocks(most: number): Promise<BlockCount>;

  /** A first operator's request to lift the person's block. `undefined` without one at `now`. */
  pendingLift(sponsorKey: SponsorKey, now: Instant): Promise<PendingLift | undefined>;

  /** The person's refusals of agents' handing-over, the latest first, those of one time by agent. */
  delegationRefusals(question: DelegationRefusalsQuestion): Promise<readonly DelegationRefusal[]>;
}

export interface DelegationRefusalsQuestion {
  readonly sponsorKey: SponsorKey;
  /** Only those of these agents. */
  readonly among?: readonly AgentId[] | undefined;
  readonly limit: number;
}

/** The agent may not hand work to other agents for the person. */
export interface DelegationRefusal {
  readonly agentId: AgentId;
  readonly displayName: string;
  readonly refusedAt: Instant;
}

export interface PendingLift {
  /** The issuer of the operator who asked for the lift. */
  readonly issuer: string;
  readonly subject: string;
  readonly askedAt: Instant;
  /** Then it expires. */
  readonly until: Instant;
}

export interface BlockCount {
  readonly people: number;
  readonly bySource: Readonly<Partial<Record<BlockSource, number>>>;
}

export interface BlocksQuestion {
  readonly source?: BlockSource | undefined;
  /** The last block of the previous page. */
  readonly after: BlockPosition | undefined;
  readonly limit: number;
}

export type BlockPosition = Pick<SponsorBlock, 'sponsorKey' | 'source' | 'blockedAt'>;
