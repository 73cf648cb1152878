/** Compares the arguments of a tool call with the rules of the guard's file. An allowed message goes on byte by byte. */

import { isObject, type Json } from '../../../../domain/tokens/strict-json.ts';
import type { Objection } from '../core/access-request.ts';
import { isAmbiguous } from '../core/call-digest.ts';
import { sentParams } from '../core/mcp-approval.ts';
import type { CalledTool } from '../core/mcp-message.ts';
import type { CheckArguments } from './call-rules.ts';

export function toolArguments(check: CheckArguments): (called: CalledTool) => Objection {
  return ({ arguments: given = {}, text = '' }) => {
    // Servers refuse arguments that are no object. Parsers differ about a member `__proto__` and about 1e400.
    if (!isObject(given) || isAmbiguous(given)) return 'arguments_refused';
    return check(given as Json, sentParams(text).arguments);
  };
}
