/** Compares the arguments of a tool call with the rules of the guard's file. An allowed message goes on byte by byte. */

import type { Json } from '../../../../domain/tokens/strict-json.ts';
import type { Objection } from '../core/access-request.ts';
import type { CalledTool } from '../core/mcp-message.ts';
import { misreadArguments } from '../core/misread-arguments.ts';
import type { CheckArguments } from './call-rules.ts';
import { asReadExactly } from './misread-parts.ts';

/** @param known the names that answers may repeat */
export function toolArguments(check: CheckArguments, known: ReadonlySet<string>): (called: CalledTool) => Objection {
  return ({ arguments: given = {}, sent, mayBeRounded }) => {
    const exact = mayBeRounded() ? (sent()?.arguments ?? {}) : asReadExactly(given as Json);
    return misreadArguments(given, known) ?? check(given as Json, exact);
  };
}
