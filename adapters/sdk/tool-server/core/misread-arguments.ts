/** Arguments of a tool that are refused before a policy looks at them: servers refuse them, or parsers differ about them. */

import type { SentJson } from '../../../../domain/tokens/json-as-sent.ts';
import { isObject, nestsTooDeep } from '../../../../domain/tokens/strict-json.ts';
import { isAmbiguous } from './call-digest.ts';
import { firstPart, shownPart } from './call-parts.ts';
import { RefusedCall } from './refusal.ts';

const NO_OBJECT = new RefusedCall('The arguments are no object.');
const TOO_DEEP = new RefusedCall('The arguments nest too deep.');
const WITH_PROTOTYPE = new RefusedCall('The arguments have a member __proto__.');

/**
 * Why they are refused; `undefined` if they are not.
 *
 * @param given parsed JSON
 * @param known the names that answers may repeat
 */
export function misreadArguments(given: unknown, known?: ReadonlySet<string>): RefusedCall | undefined {
  if (!isObject(given)) return NO_OBJECT;
  if (nestsTooDeep(given)) return TOO_DEEP;
  if (!isAmbiguous(given)) return undefined;
  // Parsed JSON has numbers where JSON as it was sent has their texts. Its objects and lists are the same.
  const infinite = firstPart(given as SentJson, (part) => (isInfinite(part) ? [] : undefined));
  if (infinite === undefined) return WITH_PROTOTYPE;
  return new RefusedCall(`A number is beyond all doubles: ${shownPart(infinite, known)}.`);
}

function isInfinite(part: unknown): boolean {
  return typeof part === 'number' && !Number.isFinite(part);
}
