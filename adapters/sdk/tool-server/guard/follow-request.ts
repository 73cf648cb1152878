/**
 * Follows a request to the upstream until its answer. If the upstream has closed a kept connection, it sends the request once
 * more, on a new one (RFC 9110 §9.2.2).
 */

import type { ClientRequest, IncomingMessage } from 'node:http';
import { faultCode } from './fault-code.ts';

const CLOSED: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE']);

interface FollowOptions {
  receive(answer: IncomingMessage): void;
  /** @param code of the fault, before or within the answer */
  fail(code: string): void;
  /** Sends the request again; absent if it must not be repeated. @returns `undefined` if no client waits any more */
  readonly repeat?: () => ClientRequest | undefined;
}

/** Hands on the answer or the fault of the request, or of its one repetition. */
export function followRequest(
  first: ClientRequest,
  { receive, fail, repeat }: FollowOptions,
): Pick<ClientRequest, 'destroy'> {
  let current = first;
  let isAnswered = false;
  const listenTo = (sent: ClientRequest): void => {
    const isUnseen = watchKept(sent);
    sent.on('response', (answer) => {
      isAnswered = true;
      receive(answer);
    });
    sent.on('error', (error) => {
      const again = sent === first && isUnseen(error) ? repeat?.() : undefined;
      if (again === undefined) {
        fail(faultCode(error));
        return;
      }
      current = again;
      listenTo(again);
    });
    sent.on('close', () => {
      // Node tells of a switch of the protocol by no other event.
      if (!isAnswered && sent === current) fail('ECONNRESET');
    });
  };
  listenTo(first);
  return { destroy: () => current.destroy() };
}

/** @returns whether the server has closed a kept connection, and sent no byte of an answer */
function watchKept(sent: ClientRequest): (error: Error) => boolean {
  let isUnanswered = true;
  sent.once('socket', (socket) => {
    socket.once('data', () => {
      isUnanswered = false;
    });
  });
  return (error) => sent.reusedSocket && isUnanswered && CLOSED.has(faultCode(error));
}
