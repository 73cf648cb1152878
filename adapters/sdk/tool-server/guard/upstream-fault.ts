/** The faults of the upstream and of a client that sends no body: the answer to each, and its error. */

import type { ServerResponse } from 'node:http';

/** Twice the head that a request may have: many servers send as many cookies as a browser keeps for a site. */
export const MAX_HEAD_BYTES = 64 * 1024;

export interface Fault {
  readonly status: 408 | 502 | 504;
  readonly error: string;
  readonly sentence: string;
}

export const NO_ANSWER: Fault = {
  status: 502,
  error: 'bad_gateway',
  sentence: 'The server behind the guard did not answer.',
};
const LONG_HEAD: Fault = {
  ...NO_ANSWER,
  sentence: `The answer of the server behind the guard has over ${MAX_HEAD_BYTES / 1024} KiB of headers.`,
};
export const LATE: Fault = {
  status: 504,
  error: 'gateway_timeout',
  sentence: 'The server behind the guard did not answer in time.',
};
export const STALLED: Fault = {
  status: 408,
  error: 'request_timeout',
  sentence: 'The body of the request did not arrive in time.',
};

/** Of Node's parser. */
const OVERFLOW = 'HPE_HEADER_OVERFLOW';

/** @param code of `faultCode` */
export function faultOf(code: string): Fault {
  return code === OVERFLOW ? LONG_HEAD : NO_ANSWER;
}

/** The message names the upstream and the kind of the fault, and quotes no part of a request or an answer. */
export class UpstreamFault extends Error {
  constructor(origin: string, hasBegun: boolean, why: string) {
    super(`The upstream ${origin} ${hasBegun ? 'ended its answer early' : didNot(why)} (${why}).`);
  }
}

function didNot(why: string): string {
  return why === OVERFLOW ? `sent over ${MAX_HEAD_BYTES / 1024} KiB of headers` : 'did not answer';
}

/** Nothing can be added to an answer that has begun: its connection is cut. */
export function answerFault(response: ServerResponse, { status, error, sentence }: Fault): void {
  if (response.headersSent) {
    // To a client of HTTP/1.0 the end of the connection is that of the answer. Only a reset says that it is not whole.
    if (response.req.httpVersion === '1.0') response.socket?.resetAndDestroy();
    else response.destroy();
    return;
  }
  // After a body that was cut off, the connection has no next request.
  if (status === 408) response.setHeader('Connection', 'close');
  response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-store' });
  response.end(JSON.stringify({ error, error_description: sentence }));
}
