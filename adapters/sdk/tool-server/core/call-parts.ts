/** Finds parts of a call, and names them in answers. Only names that the policy knows are repeated, and no value. */

import { isSentObject, type SentJson } from '../../../../domain/tokens/json-as-sent.ts';

/** Of members and items. */
export type PartPath = readonly (string | number)[];

/**
 * The path to the first part that `found` finds, or `undefined`.
 *
 * @param found the rest of the path, from a part of the value
 */
export function firstPart(value: SentJson, found: (part: SentJson) => PartPath | undefined): PartPath | undefined {
  const own = found(value);
  if (own !== undefined) return own;
  const names = isSentObject(value) ? Object.keys(value) : undefined;
  const parts: readonly SentJson[] = Array.isArray(value) ? value : isSentObject(value) ? Object.values(value) : [];
  for (let at = 0; at < parts.length; at += 1) {
    const rest = firstPart(parts[at] ?? null, found);
    if (rest !== undefined) return [names?.[at] ?? at, ...rest];
  }
  return undefined;
}

/** A name behind a dot. Others are in brackets and quotes. */
const PLAIN_NAME = /^[A-Za-z_]\w*$/;
const MAX_PATH = 100;

/**
 * The path of a part as those of lines, `$.items[0].price`, if all of its names are known. The end of a long one is left out.
 *
 * @param known by default the ordinary names of a program: a function of a policy does not say which names it knows
 */
export function shownPart(path: PartPath, known: ReadonlySet<string> = ordinaryNames(path)): string {
  if (path.some((step) => typeof step === 'string' && !known.has(step))) return 'a member that the rules do not know';
  const steps = path.map((step) => {
    if (typeof step === 'number') return `[${step}]`;
    return PLAIN_NAME.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`;
  });
  let shown = '$';
  for (const step of steps) {
    if (shown.length + step.length > MAX_PATH) break;
    shown += step;
  }
  return shown;
}

function ordinaryNames(path: PartPath): ReadonlySet<string> {
  return new Set(path.map(String).filter((step) => PLAIN_NAME.test(step)));
}
