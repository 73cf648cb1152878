/** The approval of a call of a web framework: reads the raw body, computes the digest, and describes the call. */

import type { IncomingMessage } from 'node:http';
import { mayBeRounded, readAsSent, type SentJson } from '../../../../domain/tokens/json-as-sent.ts';
import { type Json, parseStrictJson } from '../../../../domain/tokens/strict-json.ts';
import { readUtf8 } from '../../../../domain/tokens/strict-utf8.ts';
import { trimOws } from '../../../../domain/trim-ows.ts';
import { type Check, callable, optional } from '../../arguments.ts';
import { callToApprove, type DescribeCall, type DescribeSentCall, type HttpCall } from './approval-text.ts';
import { deepFrozen, digestOf, isAmbiguous, sha256 } from './call-digest.ts';
import { hasTooManyParts } from './json-parts.ts';
import type { RoutePolicy } from './policy.ts';
import { MAX_BODY_BYTES, readBody } from './read-body.ts';
import type { RefusalReason } from './refusal.ts';
import type { AccessRequest, ToolServer } from './tool-server.ts';

/** The policy of a route of a web framework. */
export interface HttpRoutePolicy extends RoutePolicy {
  /**
   * Describes each call of the route to the person, who has to approve it. The body must be JSON of at most 1 MiB, and no
   * body parser may come before.
   */
  readonly approval?: DescribeCall<HttpCall>;
}

export const APPROVAL: Check = optional(callable);

/** @throws TypeError if the policy asks for an approval, but the tool server has no key to ask with */
export function checkApprovalKey(call: string, toolServer: ToolServer, approval: unknown): void {
  if (approval !== undefined && !toolServer.asksForApproval) {
    const each = toolServer.issuers.length > 1 ? ', for each control plane' : '';
    throw new TypeError(`${call}: a policy with approval needs the option approvalKey of createToolServer${each}.`);
  }
}

/** The body of a call: its bytes, and the frozen value of its JSON; `undefined` without a body. */
export interface CallBody {
  readonly bytes: Buffer;
  readonly value: Json | undefined;
  /** The same with its numbers as they were sent. The first use reads them. */
  sent(): SentJson | undefined;
  /** Whether `sent` may have another number than `value`. */
  mayBeRounded(): boolean;
}

export interface CallReader {
  /** Reads the body once. @throws TypeError if a body parser has read it */
  read(): Promise<CallBody | RefusalReason>;
  /** What `read` has found; `undefined` before. */
  body(): CallBody | undefined;
}

/** @param maxBytes if the framework's own limit is lower */
export function callReader(request: IncomingMessage, maxBytes = MAX_BODY_BYTES): CallReader {
  let reading: Promise<CallBody | RefusalReason> | undefined;
  let body: CallBody | undefined;
  const readOnce = async () => {
    const found = await readCallBody(request, Math.min(maxBytes, MAX_BODY_BYTES));
    if (typeof found !== 'string') body = found;
    return found;
  };
  return {
    read() {
      reading ??= readOnce();
      return reading;
    },
    body: () => body,
  };
}

export interface HttpApproval extends Pick<CallReader, 'body'> {
  readonly check: NonNullable<AccessRequest['approval']>;
}

/** @param reader of the body */
export function httpApproval(
  { audience }: Pick<ToolServer, 'audience'>,
  describe: DescribeSentCall<HttpCall>,
  {
    request,
    target,
    reader,
  }: {
    readonly request: Pick<IncomingMessage, 'method'>;
    readonly target: string;
    readonly reader: CallReader;
  },
): HttpApproval {
  const { method = '' } = request;
  return {
    async check(claims) {
      const read = await reader.read();
      if (typeof read === 'string') return read;
      const digest = digestOf({ audience, method, target, body: sha256(read.bytes) });
      const call = { audience, method, target, body: read.value, claims: deepFrozen(structuredClone(claims)) };
      return callToApprove(digest, describe, Object.freeze(call), read.sent());
    },
    body: reader.body,
  };
}

/** @throws TypeError if a body parser has read the body: its value may differ from the bytes that the digest is of */
async function readCallBody(request: IncomingMessage, maxBytes: number): Promise<CallBody | RefusalReason> {
  if (('body' in request && request.body !== undefined) || request.readableDidRead) {
    throw new TypeError('A body parser precedes a policy with approval: the body must be read by the policy itself.');
  }
  const read = await readBody(request, maxBytes);
  if (read.kind === 'too_long') return 'body_too_long';
  if (read.kind !== 'read') return 'malformed_body';
  const { bytes } = read;
  if (bytes.length === 0) return { bytes, value: undefined, sent: () => undefined, mayBeRounded: () => false };
  const text = isTypedAsJson(request) ? readUtf8(bytes) : undefined;
  if (text !== undefined && hasTooManyParts(text)) return 'body_too_long';
  const value = text === undefined ? undefined : parseStrictJson(text);
  if (text === undefined || value === undefined || isAmbiguous(value)) return 'malformed_body';
  let sent: SentJson | undefined;
  return {
    bytes,
    value: deepFrozen(value),
    sent() {
      sent ??= readAsSent(text);
      return sent;
    },
    mayBeRounded: () => mayBeRounded(text),
  };
}

function isTypedAsJson({ headers }: IncomingMessage): boolean {
  const [type = ''] = (headers['content-type'] ?? '').split(';');
  return trimOws(type).toLowerCase() === 'application/json';
}
