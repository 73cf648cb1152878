/** Verifies evidence bundles, the output of `mandate audit-bundle` (docs/auditing.md, "Evidence"). */

import { createHash } from 'node:crypto';
import { type EcKey, presentCompleteness, presentSelection } from '../../../domain/log/bundle.ts';
import type { BundleFault, BundleFaultKind } from '../../../domain/log/bundle-fault.ts';
import type { BundleHop } from '../../../domain/log/bundle-hops.ts';
import type { BelievedKey } from '../../../domain/log/bundle-log.ts';
import { type BundlePolicy, parseBundlePolicy, policyFault } from '../../../domain/log/bundle-policy.ts';
import type { BundleQuestion } from '../../../domain/log/bundle-questions.ts';
import { type BundleVerdict, CONSISTENT } from '../../../domain/log/bundle-verdict.ts';
import { bundleVerifier, MAX_LINE_CHARACTERS } from '../../../domain/log/bundle-verification.ts';
import { type Checks, checkArguments, must, optional, optionsOf } from '../arguments.ts';
import { importP256, isEd25519, isEs256, sha256 } from './signatures.ts';

/** The members of a policy file. */
export interface BundleDemands {
  /** RFC 7638 thumbprints: each checkpoint must be signed with one of these keys. */
  readonly checkpoint_keys?: readonly string[];
  /** Verifier keys: one of them must have signed the log. */
  readonly log_keys?: readonly string[];
  /** Verifier keys. */
  readonly witnesses?: readonly string[];
  /** How many of the witnesses must have cosigned. */
  readonly quorum?: number;
}

export type { BelievedKey, BundleFaultKind, BundleHop, BundleQuestion, BundleVerdict };

export interface BundleOptions {
  /** The content or the text of a policy file. */
  readonly policy?: BundleDemands | string | undefined;
}

const parts = must('be a text, or its parts one after the other: give a stream an encoding', (value) => {
  const isIterable =
    typeof value === 'object' && value !== null && (Symbol.iterator in value || Symbol.asyncIterator in value);
  return typeof value === 'string' || (isIterable && !ArrayBuffer.isView(value));
});
const policyGiven = must('be the content or the text of a policy file', (value) => {
  return typeof value === 'string' || (typeof value === 'object' && value !== null && !Array.isArray(value));
});
const BUNDLE = optionsOf({
  text: parts,
  options: optional(optionsOf({ policy: optional(policyGiven) } satisfies Checks<BundleOptions>)),
});

/**
 * Verifies an evidence bundle. Without a policy the verdict is only that the bundle agrees with itself, as its
 * `message` says. Then compare the `keys` of the verdict by hand: a bundle can be made with any keys.
 *
 * @param text the whole text, or its parts one after the other, such as a read stream with an encoding
 * @throws TypeError if the policy is malformed
 *
 * @example
 * ```ts
 * import { createReadStream } from 'node:fs';
 * import { verifyBundle } from '@mandate/audit';
 *
 * const verdict = await verifyBundle(createReadStream(file, 'utf8'), { policy: { checkpoint_keys: thumbprints } });
 * console.log(verdict.verified, verdict.message);
 * ```
 */
export async function verifyBundle(
  text: string | Iterable<string> | AsyncIterable<string>,
  options: BundleOptions = {},
): Promise<BundleVerdict> {
  checkArguments('verifyBundle', { text, options }, BUNDLE);
  const reader = bundleReader(options);
  for await (const part of typeof text === 'string' ? [text] : text) {
    // A part in bytes may end within a character.
    if (typeof part !== 'string')
      throw new TypeError('verifyBundle: each part of text must be a text: give a stream an encoding.');
    const refuted = reader.take(part);
    if (refuted !== undefined) return refuted;
  }
  return reader.end();
}

/** The same for a caller that has the parts one by one. After a refusal no further part may follow. */
export function bundleReader({ policy }: BundleOptions = {}) {
  const demands = policy === undefined ? undefined : readPolicy(typeof policy === 'string' ? policy : textOf(policy));
  const verifier = bundleVerifier({ hash: sha256, digest: runningDigest, verifyEd25519: isEd25519, importKey });
  let rest = '';
  return {
    take(part: string): BundleVerdict | undefined {
      const lines = (rest + part).split('\n');
      rest = lines.pop() ?? '';
      for (const line of rest.length > MAX_LINE_CHARACTERS ? [...lines, rest] : lines) {
        const fault = verifier.take(line);
        if (fault !== undefined) return refuted(fault);
      }
      return undefined;
    },
    end(): BundleVerdict {
      const outcome = verifier.end(rest);
      if ('line' in outcome) return refuted(outcome);
      const unmet = demands && policyFault(demands, outcome);
      if (unmet !== undefined) return { verified: false, fault: 'policy', line: undefined, message: unmet };
      const { selection, completeness, ...verified } = outcome;
      return {
        verified: true,
        selection: presentSelection(selection),
        completeness: presentCompleteness(completeness),
        ...verified,
        message: demands === undefined ? `${CONSISTENT}.` : 'The bundle is intact, and meets the policy.',
      };
    },
  };
}

function refuted({ kind, line, message }: BundleFault): BundleVerdict {
  return { verified: false, fault: kind, line, message: `Line ${line}: ${message}` };
}

/** JSON leaves out a member that is `undefined`: the demand would be dropped without a word. */
function textOf(policy: BundleDemands): string {
  for (const [name, value] of Object.entries(policy)) {
    if (value === undefined)
      throw new TypeError(`The policy's ${name} is undefined. Leave it out to demand nothing of it.`);
  }
  return JSON.stringify(policy);
}

function readPolicy(text: string): BundlePolicy {
  const policy = parseBundlePolicy(sha256, text);
  if (typeof policy === 'string') throw new TypeError(`verifyBundle: options.policy is refused. ${policy}`);
  return policy;
}

/** SHA-256 of texts that follow each other. */
export function runningDigest() {
  const hash = createHash('sha256');
  return { update: (text: string) => hash.update(text, 'utf8'), hex: () => hash.digest('hex') };
}

function importKey(key: EcKey) {
  const imported = importP256(key);
  return imported && ((message: Uint8Array, signature: Uint8Array) => isEs256(imported, message, signature));
}
