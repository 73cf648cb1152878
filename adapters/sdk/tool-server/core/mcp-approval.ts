/** The approval of a call of a tool: its description to the person, and the message that the server gets after the yes. */

import { readAsSent, type SentJson, SentNumber } from '../../../../domain/tokens/json-as-sent.ts';
import { nestsTooDeep } from '../../../../domain/tokens/strict-json.ts';
import { callToApprove, type DescribeSentCall, type McpCall, roundedPart } from './approval-text.ts';
import { canonicalJson, deepFrozen, digestOf } from './call-digest.ts';
import { type CalledTool, membersOf } from './mcp-message.ts';
import { misreadArguments } from './misread-arguments.ts';
import { RefusedCall } from './refusal.ts';
import type { AccessRequest, ToolServer } from './tool-server.ts';

type Arguments = McpCall['arguments'];

export interface ToolApproval {
  readonly check: NonNullable<AccessRequest['approval']>;
  /** The arguments that `check` has read, frozen; `undefined` before. */
  arguments(): Arguments | undefined;
}

/** @param known the names that answers may repeat */
export function toolApproval(
  { audience }: Pick<ToolServer, 'audience'>,
  describe: DescribeSentCall<McpCall>,
  { name: tool, id, arguments: given = {}, meta, sent }: CalledTool,
  known?: ReadonlySet<string>,
): ToolApproval {
  let read: Arguments | undefined;
  return {
    async check(claims) {
      // The approval of a call without an answer would be used up for nothing.
      if (sentId({ id, sent }) === undefined) return 'arguments_refused';
      const misread = misreadArguments(given, known);
      if (misread !== undefined) return misread;
      if (nestsTooDeep(meta)) return DEEP_FRAME;
      const parts = sent();
      const frame: SentJson = [parts?.id ?? null, parts?.meta ?? null];
      if (isChanged(id) || isChanged(meta) || roundedPart(frame) !== undefined) return CHANGED_FRAME;
      // Read back from the digested text, so the tool gets exactly what the person approved.
      const written = canonicalJson(given);
      const args = deepFrozen(JSON.parse(written));
      read = args;
      const call = { audience, tool, arguments: args, claims: deepFrozen(structuredClone(claims)) };
      const digest = digestOf({ audience, tool, arguments: args });
      return callToApprove(digest, describe, Object.freeze(call), parts?.arguments ?? readAsSent(written));
    },
    arguments: () => read,
  };
}

/** The message is written anew after the yes. A client would wait for ever for an id or a progress token that it did not send. */
const CHANGED_FRAME = new RefusedCall(
  'A number of the message beside its arguments has more digits than every reader keeps.',
);

const DEEP_FRAME = new RefusedCall('The member _meta nests too deep.');

/**
 * The id of a call as its client sent it, as JSON. `undefined` for a call that has no answer: one without an id, and one
 * whose id only a body parser has read, which may have rounded it.
 */
export function sentId({ id, sent }: Pick<CalledTool, 'id' | 'sent'>): string | undefined {
  if (typeof id === 'string') return JSON.stringify(id);
  if (typeof id !== 'number') return undefined;
  const number = sent()?.id;
  if (number instanceof SentNumber) return number.text;
  return isChanged(id) ? undefined : JSON.stringify(id);
}

/** Whether some reader rounds a whole number of the value, as this process may have done. */
function isChanged(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(isChanged);
}

/**
 * The message for the server after the approval. Of the parameters it has only those that the person approved, and `_meta`:
 * `inputResponses` and `requestState` would reach the tool without an approval.
 */
export function approvedMessage(body: unknown, args: Arguments): object {
  const message = membersOf(body);
  const params = membersOf(message?.get('params'));
  const meta = params?.get('_meta');
  return {
    ...Object.fromEntries(message ?? []),
    params: { name: params?.get('name'), arguments: args, ...(meta !== undefined && { _meta: meta }) },
  };
}
