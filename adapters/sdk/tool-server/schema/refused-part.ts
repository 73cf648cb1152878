/** Names the part of a call that a rule refuses. Only names that the file has are repeated, and no value. */

import { RefusedCall } from '../core/refusal.ts';
import type { BrokenRule, Path } from './rules.ts';

/** A name behind a dot. Others are in brackets and quotes. */
const PLAIN = /^[A-Za-z_]\w*$/;
const MAX_PATH = 100;

/** @param known the names of the schema, and of the lines that a person reads */
export function refusedPart({ keyword, path }: BrokenRule, known: ReadonlySet<string>): RefusedCall {
  const part = shownPart(path, known);
  if (keyword === 'required' || keyword === 'dependentRequired') return new RefusedCall(`The rules require ${part}.`);
  // Ajv's own word for the schema `false`.
  if (keyword === 'false schema') return new RefusedCall(`The rules refuse ${part}.`);
  return new RefusedCall(`The rule ${keyword} refuses ${part}.`);
}

/** The path of a part as those of lines, `$.items[0].price`, if all of its names are known. The end of a long one is left out. */
export function shownPart(path: Path, known: ReadonlySet<string>): string {
  if (path.some((step) => typeof step === 'string' && !known.has(step))) return 'a member that the rules do not know';
  const steps = path.map((step) => {
    if (typeof step === 'number') return `[${step}]`;
    return PLAIN.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`;
  });
  let shown = '$';
  for (const step of steps) {
    if (shown.length + step.length > MAX_PATH) break;
    shown += step;
  }
  return shown;
}
