/** The outcome of the verification of an evidence bundle. */

import type { BundleSelection, Completeness, PublishedCompleteness, PublishedSelection } from './bundle.ts';
import type { BundleFaultKind } from './bundle-fault.ts';
import type { BundleHop, BundleHops } from './bundle-hops.ts';
import type { BelievedKey } from './bundle-log.ts';
import type { BundleQuestion, BundleQuestions } from './bundle-questions.ts';
import type { TreeHead } from './checkpoint-note.ts';

export interface VerifiedBundle extends BundleQuestions, BundleHops {
  readonly selection: BundleSelection;
  readonly completeness: Completeness;
  readonly checkpoints: number;
  /** The log's tree at the time of the bundle. */
  readonly log: Pick<TreeHead, 'origin' | 'size'> | undefined;
  readonly keys: readonly BelievedKey[];
}

/** How a verdict begins without a policy. Anybody can make a bundle with other keys, so it never says "intact". */
export const CONSISTENT = 'Consistent, signed with keys that the bundle itself brings';

/** The outcome for a caller, in published forms. */
export type BundleVerdict =
  | {
      readonly verified: true;
      readonly selection: PublishedSelection;
      readonly completeness: PublishedCompleteness;
      readonly checkpoints: number;
      /** The log's tree when the bundle was made; `undefined` if the service keeps none. */
      readonly log: { readonly origin: string; readonly size: number } | undefined;
      /** The keys that verified the bundle. */
      readonly keys: readonly BelievedKey[];
      /** The first 500 questions to people, with their words where the bundle has them. */
      readonly questions: readonly BundleQuestion[];
      /** How many more questions there are. */
      readonly further: number;
      /** The first 500 hand-overs between agents: who offered work to whom, and when it was taken up. */
      readonly hops: readonly BundleHop[];
      /** How many more hand-overs there are. */
      readonly furtherHops: number;
      /** Says whose keys these are: those of a policy, or only those that the bundle itself brings. */
      readonly message: string;
    }
  | {
      readonly verified: false;
      /** `policy`: the bundle agrees with itself, and does not meet the policy. */
      readonly fault: BundleFaultKind | 'policy';
      /** Counted from 1; `undefined` if the bundle does not meet the policy. */
      readonly line: number | undefined;
      /** A sentence for an auditor. It quotes no part of a record. */
      readonly message: string;
    };
