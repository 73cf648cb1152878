/** Names the part of a call that a rule refuses. */

import { shownPart } from '../core/call-parts.ts';
import { RefusedCall } from '../core/refusal.ts';
import type { BrokenRule } from './rules.ts';

/** @param known the names of the schema, and of the lines that a person reads */
export function refusedPart({ keyword, path }: BrokenRule, known: ReadonlySet<string>): RefusedCall {
  const part = shownPart(path, known);
  if (keyword === 'required' || keyword === 'dependentRequired') return new RefusedCall(`The rules require ${part}.`);
  // Ajv's own word for the schema `false`.
  if (keyword === 'false schema') return new RefusedCall(`The rules refuse ${part}.`);
  return new RefusedCall(`The rule ${keyword} refuses ${part}.`);
}
