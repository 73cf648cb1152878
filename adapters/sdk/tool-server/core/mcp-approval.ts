/**
 * The approval of a call of a tool, and the answers to a client whose call lacks it. They are results of the protocol: a
 * 403 would make clients request more scopes, and none would help.
 */

import type { ServerResponse } from 'node:http';
import { isSentObject, readAsSent, type SentJson } from '../../../../domain/tokens/json-as-sent.ts';
import { callToApprove, type DescribeSentCall, holdsRounded, type McpCall } from './approval-text.ts';
import { isPlainObject } from './argument-check.ts';
import { canonicalJson, deepFrozen, digestOf, isAmbiguous } from './call-digest.ts';
import { type McpMessage, membersOf } from './mcp-message.ts';
import { type Refusal, RefusedCall } from './refusal.ts';
import type { AccessRequest, ToolServer } from './tool-server.ts';

type Arguments = McpCall['arguments'];

export interface ToolApproval {
  readonly check: NonNullable<AccessRequest['approval']>;
  /** The arguments that `check` has read, frozen; `undefined` before. */
  arguments(): Arguments | undefined;
}

export function toolApproval(
  { audience }: Pick<ToolServer, 'audience'>,
  describe: DescribeSentCall<McpCall>,
  { name: tool, id, arguments: given = {}, meta, text }: Extract<McpMessage, { kind: 'tool' }>,
): ToolApproval {
  let read: Arguments | undefined;
  return {
    async check(claims) {
      // The approval of a call without an answer would be used up for nothing.
      if (!isAnswered(id) || !isPlainObject(given) || isAmbiguous(given)) return 'arguments_refused';
      const params = text === undefined ? undefined : sentParams(text);
      if (isChanged(meta) || holdsRounded(params?.meta ?? null) || holdsRounded(params?.id ?? null))
        return CHANGED_FRAME;
      // Read back from the digested text, so the tool gets exactly what the person approved.
      const written = canonicalJson(given);
      const args = deepFrozen(JSON.parse(written));
      read = args;
      const call = { audience, tool, arguments: args, claims: deepFrozen(structuredClone(claims)) };
      const digest = digestOf({ audience, tool, arguments: args });
      return callToApprove(digest, describe, Object.freeze(call), params?.arguments ?? readAsSent(written));
    },
    arguments: () => read,
  };
}

/** The message is written anew after the yes. A client would wait for ever for an id or a progress token that it did not send. */
const CHANGED_FRAME = new RefusedCall(
  'A number of the message beside its arguments has more digits than every reader keeps.',
);

/** The id, the arguments and `_meta` as they were sent. */
function sentParams(text: string): { readonly id: SentJson; readonly arguments: SentJson; readonly meta: SentJson } {
  const message = readAsSent(text);
  const { id = null, params = null } = isSentObject(message) ? message : {};
  const { arguments: args = {}, _meta: meta = null } = isSentObject(params) ? params : {};
  return { id, arguments: args, meta };
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

/** The members of `_meta` that clients send since the revision 2026-07-28. */
const PROTOCOL_VERSION = 'io.modelcontextprotocol/protocolVersion';
const CLIENT_CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';

/** Whether the refusal of a call that needs an approval is answered as a result of the protocol. */
export function isLackOfApproval({ reason }: Refusal, message: unknown): boolean {
  return (
    /^approval_(required|refused|expired|spent)$/.test(reason) ||
    // A model that left an argument out reads which one.
    (reason === 'arguments_refused' && isAnswered(membersOf(message)?.get('id')))
  );
}

/** A call without such an id gets no answer, or one with an id that its client did not send. */
function isAnswered(id: unknown): boolean {
  return typeof id === 'string' || (typeof id === 'number' && !isChanged(id));
}

/**
 * Answers a call that lacks the approval. A client that can open URLs gets `input_required` once: it shows the address to
 * the person, and repeats the call with `inputResponses`. Every other answer is a result with `isError`, which the model
 * reads.
 */
export function answerLackOfApproval(response: ServerResponse, body: unknown, refusal: Refusal): void {
  const message = membersOf(body);
  const params = membersOf(message?.get('params'));
  const meta = membersOf(params?.get('_meta'));
  const isSince2026 = typeof meta?.get(PROTOCOL_VERSION) === 'string';
  const elicitation = membersOf(membersOf(meta?.get(CLIENT_CAPABILITIES))?.get('elicitation'));
  const opensUrls = isSince2026 && membersOf(elicitation?.get('url')) !== undefined;
  const uri = refusal.body.approval_uri;
  const result =
    uri !== undefined && opensUrls && params?.has('inputResponses') === false
      ? { resultType: 'input_required', inputRequests: { approval: openPage(uri) } }
      : { ...(isSince2026 && { resultType: 'complete' }), ...errorResult(refusal) };
  response.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: message?.get('id'), result }));
}

function openPage(url: string): object {
  const text = 'This call needs an approval. Open the page to read what the call does, and approve or refuse it there.';
  return { method: 'elicitation/create', params: { mode: 'url', message: text, url } };
}

function errorResult({ message, body: { approval_uri: uri } }: Refusal): object {
  const waiting = `A person has to approve this call: waiting for ${uri}; call again with the same arguments.`;
  return { content: [{ type: 'text', text: uri === undefined ? message : waiting }], isError: true };
}
