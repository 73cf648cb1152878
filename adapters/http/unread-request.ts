/**
 * A request as it came, read without node's parser: for whoever can say no by its head alone. Only what no two readers
 * could take for different requests is one (RFC 9112 §2, §5, §6). Whatever is unusual in any way is the parser's to read,
 * or to refuse.
 */

import { MAX_HEADERS, shapeFault } from './request-shape.ts';

export interface UnreadRequest {
  readonly method: string;
  /** Its target: a path and a query. */
  readonly url: string;
  /** Names and values in turn, as they were sent and node has them. */
  readonly rawHeaders: readonly string[];
  /** As node has headers that may stand there several times: joined with commas. */
  readonly headers: Readonly<Partial<Record<'x-forwarded-for', string>>>;
  /** Bytes of its body that are still to come; nothing has come behind it. */
  readonly missing: number;
}

/** @param bytes all that was read at once; `undefined` where that is not a whole head at least */
export function readUnread(bytes: Buffer): UnreadRequest | undefined {
  const headEnd = bytes.subarray(0, MAX_UNREAD_HEAD_BYTES).indexOf(HEAD_END);
  if (headEnd === -1) return undefined;
  const head = bytes.toString('latin1', 0, headEnd + LINE_END.length);
  const [, method, url] = HEAD.exec(head) ?? [];
  if (method === undefined || url === undefined) return undefined;
  const rawHeaders: string[] = [];
  let bodyLength: number | undefined;
  let forwardedFor: string | undefined;
  for (let at = head.indexOf(LINE_END) + LINE_END.length; at < head.length; ) {
    if (rawHeaders.length > 2 * MAX_HEADERS) return undefined;
    const [colon, end] = [head.indexOf(':', at), head.indexOf(LINE_END, at)];
    const [sent, value] = [head.slice(at, colon), head.slice(colon + 1, end).trim()];
    const name = sent.toLowerCase();
    rawHeaders.push(sent, value);
    at = end + LINE_END.length;
    if (name === 'content-length') {
      if (bodyLength !== undefined || !LENGTH.test(value)) return undefined;
      bodyLength = Number(value);
    } else if (name === 'connection') {
      if (value.toLowerCase() !== 'keep-alive') return undefined;
    } else if (name === 'x-forwarded-for') {
      forwardedFor = forwardedFor === undefined ? value : `${forwardedFor}, ${value}`;
    } else if (UNUSUAL.has(name)) {
      return undefined;
    }
  }
  const missing = headEnd + HEAD_END.length + (bodyLength ?? 0) - bytes.length;
  if (missing < 0 || shapeFault({ rawHeaders, url, httpVersion: '1.1' }) !== undefined) return undefined;
  const headers = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor };
  return { method, url, rawHeaders, headers, missing };
}

const LINE_END = '\r\n';
const HEAD_END = '\r\n\r\n';
/** Longer ones are rare, and the parser's, which has a limit of its own. */
const MAX_UNREAD_HEAD_BYTES = 8192;

/** A method whose answer has a body, a target, and lines each of which is a header by itself (RFC 9110 §5.1), without tabs. */
const HEAD = /^(GET|POST|PUT|PATCH|DELETE) (\/[!-~]*) HTTP\/1\.1\r\n(?:[\w!#$%&'*+.^`|~-]+:[ -~]*\r\n)+$/;
const LENGTH = /^\d{1,6}$/;

/** They say that the message ends elsewhere, that the connection does, or that something else comes first. */
const UNUSUAL: ReadonlySet<string> = new Set(['transfer-encoding', 'expect', 'upgrade', 'proxy-connection']);
