/**
 * Refusals of calls that MCP answers inside the protocol: those for the arguments, and for the lack of an approval. A 403
 * would make clients request more scopes, and none would help.
 */

import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { approvalIdIn } from '../../../../domain/approvals/approval.ts';
import { sentId } from './mcp-approval.ts';
import { PROTOCOL_VERSION } from './mcp-headers.ts';
import { type CalledTool, membersOf } from './mcp-message.ts';
import type { Refusal, RefusalReason } from './refusal.ts';
import type { OwnSession } from './session-ownership.ts';

const INSIDE: ReadonlySet<RefusalReason> = new Set([
  // A model that left an argument out reads which one.
  'arguments_refused',
  'approval_required',
  'approval_refused',
  'approval_expired',
  'approval_spent',
  // Only the person can help.
  'too_many_pending',
] as const);

/** A call that is answered inside the protocol, and what its client can do. */
export interface AnsweredCall {
  readonly called: CalledTool;
  /** The message of the call. */
  readonly message: unknown;
  readonly headers: IncomingHttpHeaders;
  readonly session: OwnSession | undefined;
}

/**
 * Answers with HTTP 200 and the id of the call, if a refusal of this kind can be answered so.
 *
 * @returns whether it is answered
 */
export function answerInside(response: ServerResponse, refusal: Refusal, call: AnsweredCall): boolean {
  const id = sentId(call.called);
  if (id === undefined || !INSIDE.has(refusal.reason)) return false;
  const [member, value] = Object.entries(answerOf(refusal, call))[0] ?? [];
  response.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' });
  response.end(`{"jsonrpc":"2.0","id":${id},"${member}":${JSON.stringify(value)}}`);
  return true;
}

/** A member of `_meta` that clients send since the revision 2026-07-28. */
const CLIENT_CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';

/** The revision that has the error URLElicitationRequired. Its clients name the negotiated revision in a header. */
const WITH_URL_ERROR = '2025-11-25';

/** "URLElicitationRequiredError" (MCP 2025-11-25, "Elicitation"). */
const URL_ELICITATION_REQUIRED = -32042;

/**
 * A client that opens URLs shows the address to the person, and repeats the call. Since 2026-07-28 it is asked once, and
 * says so by `inputResponses`. In 2025-11-25 an error says so. Every other answer is a result that a model reads.
 */
function answerOf(
  refusal: Refusal,
  { called, message, headers, session }: AnsweredCall,
): { readonly result: object } | { readonly error: object } {
  const meta = membersOf(called.meta);
  const isSince2026 = typeof meta?.get(PROTOCOL_VERSION) === 'string';
  const url = refusal.body.approval_uri;
  if (url === undefined) return errorResult(withPersonsWords(refusal), isSince2026);
  if (isSince2026) {
    const isFirst = membersOf(membersOf(message)?.get('params'))?.has('inputResponses') === false;
    if (isFirst && opensUrls(meta.get(CLIENT_CAPABILITIES))) {
      const approval = { method: 'elicitation/create', params: { mode: 'url', message: OPEN_PAGE, url } };
      return { result: { resultType: 'input_required', inputRequests: { approval } } };
    }
  } else if (session?.opensUrls === true && headers['mcp-protocol-version'] === WITH_URL_ERROR) {
    const elicitation = { mode: 'url', message: OPEN_PAGE, elicitationId: approvalIdIn(url), url };
    return { error: { code: URL_ELICITATION_REQUIRED, message: OPEN_PAGE, data: { elicitations: [elicitation] } } };
  }
  return errorResult(
    `A person has to approve this call: waiting for ${url}; call again with the same arguments.`,
    isSince2026,
  );
}

/** The sentence of the refusal, and what the person wrote with the no, as a quotation: a model must not read it as the server's. */
function withPersonsWords({ message, body: { person_says: line } }: Refusal): string {
  return line === undefined ? message : `${message} The person's words: «${line}»`;
}

const OPEN_PAGE =
  'This call needs an approval. Open the page to read what the call does, and approve or refuse it there.';

function errorResult(text: string, isSince2026: boolean): { readonly result: object } {
  const content = [{ type: 'text', text }];
  return { result: { ...(isSince2026 && { resultType: 'complete' }), content, isError: true } };
}

/** Whether the capabilities of a client have URL elicitation. */
export function opensUrls(capabilities: unknown): boolean {
  return membersOf(membersOf(membersOf(capabilities)?.get('elicitation'))?.get('url')) !== undefined;
}
