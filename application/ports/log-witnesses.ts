/** The witnesses of the transparency log, as the service asks them. */

import type { VerifierKey } from '../../domain/log/verifier-key.ts';

/** A server that cosigns the checkpoints of this service's log. */
export interface LogWitness {
  /** Ends without a slash. */
  readonly url: string;
  readonly key: VerifierKey;
}

export type WitnessAnswer =
  /** @property lines said to be cosignatures */
  | { readonly kind: 'cosigned'; readonly lines: string }
  /** The old size of the request is not the one that the witness knows, which it names. */
  | { readonly kind: 'other_old_size'; readonly size: number }
  /** The witness knows another root, or the proof does not verify. */
  | { readonly kind: 'contradicted' }
  | { readonly kind: 'unknown_key' | 'unknown_log' }
  /** There was an answer, but none that the protocol allows. @property detail a sentence */
  | { readonly kind: 'wrong_answer'; readonly detail: string }
  /** There was no answer, or one that says that the server cannot decide now. @property detail a sentence */
  | { readonly kind: 'unavailable'; readonly detail: string };

/** Sends a request `add-checkpoint` (C2SP tlog-witness). It never throws, and has a time limit. */
export type AskWitness = (witness: LogWitness, body: string) => Promise<WitnessAnswer>;
