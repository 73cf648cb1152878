/**
 * Cuts the lists of a server of the MCP SDK between its web-standard handler, `fetch`, and the adapter that writes the response. A
 * response is copied into a new one: the objects of the SDK stay as they are.
 */

import type { McpHandlerRequestOptions } from '@modelcontextprotocol/server';
import { isCoded } from '../../../../domain/content-coding.ts';
import { unreadableText } from '../core/allowed-list.ts';
import type { AnswerReader } from '../core/answer-reader.ts';
import { claimsOf } from '../core/claims.ts';
import { type ListsOfToken, listReader, UnreadableAnswer } from '../core/list-reader.ts';
import { membersOf } from '../core/mcp-message.ts';
import type { ToolPolicies } from '../core/tool-policies.ts';

/** The part of `createMcpHandler` that `toNodeHandler` needs. A transport's `handleRequest` is of the same form. */
export interface McpHandler {
  readonly fetch: (request: Request, options?: McpHandlerRequestOptions) => Promise<Response>;
}

interface ListCutting {
  /** Whether a handler was passed to `cut`. */
  isUsed(): boolean;
  cut(handler: McpHandler): McpHandler;
}

const UNREADABLE = { type: 'MandateWarning', code: 'MANDATE_UNREADABLE_LIST' };

export function listCutting(policies: Pick<ToolPolicies, 'mayUse'>): ListCutting {
  let isUsed = false;
  return {
    isUsed: () => isUsed,
    cut(handler) {
      isUsed = true;
      return {
        async fetch(request, options) {
          // Without claims no guard allowed the request: `claimsOf` throws.
          const may = policies.mayUse(claimsOf(options?.authInfo ?? {}));
          const id = membersOf(options?.parsedBody)?.get('id');
          const response = await handler.fetch(request, options);
          return cutResponse(response, { may, id, report, onTools: () => undefined });
        },
      };
    },
  };
}

function report({ message }: Error): void {
  process.emitWarning(message, UNREADABLE);
}

function cutResponse(response: Response, lists: ListsOfToken): Response {
  const { body, status, statusText } = response;
  if (body === null) return response;
  const headers = new Headers(response.headers);
  headers.delete('content-length');
  if (isCoded(headers.get('content-encoding') ?? undefined)) {
    // `cancel` rejects if the body has failed. A rejection that nobody handles ends the process.
    body.cancel().catch(() => undefined);
    lists.report(new UnreadableAnswer('it is compressed'));
    const { text } = unreadableText('it is compressed', lists.id);
    return new Response(text, { status, headers: { 'Content-Type': 'application/json' } });
  }
  const type = headers.get('content-type');
  const reader = listReader(lists, status, type === null ? [] : [type]);
  if (reader.contentType !== undefined) headers.set('content-type', reader.contentType);
  return new Response(body.pipeThrough(through(reader)), { status, statusText, headers });
}

function through(reader: AnswerReader): TransformStream<Uint8Array, Uint8Array> {
  const pass = (bytes: Buffer | undefined, controller: TransformStreamDefaultController<Uint8Array>) => {
    if (bytes !== undefined && bytes.length > 0) controller.enqueue(bytes);
  };
  return new TransformStream({
    transform(chunk, controller) {
      pass(reader.take(Buffer.from(chunk)), controller);
      if (reader.isOver?.() === true) controller.terminate();
    },
    flush: (controller) => pass(reader.end(), controller),
  });
}
