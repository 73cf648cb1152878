/**
 * `Expect: 100-continue` (RFC 9110 §10.1.1): who sends it waits for a word before the body. It is said by whoever comes
 * to read the body, so that nobody is invited to send what is refused unread, or before the credential is known.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { singleHeader } from './headers.ts';

/** Nothing else can be expected here, and half of what is would be worse than none. */
export function expectsOnlyAnInvitation(request: IncomingMessage): boolean {
  const expected = singleHeader(request, 'expect');
  return expected.kind === 'present' && expected.value.toLowerCase() === '100-continue';
}

const waiting = new WeakMap<IncomingMessage, () => void>();

/** Until the body is read, any answer is the connection's last: where the next request begins nobody could tell. */
export function inviteLater(request: IncomingMessage, response: ServerResponse): void {
  const staysOpen = response.shouldKeepAlive;
  response.shouldKeepAlive = false;
  waiting.set(request, () => {
    response.shouldKeepAlive = staysOpen;
    response.writeContinue();
  });
}

/** Says that the body may come, where that is waited for. */
export function inviteBody(request: IncomingMessage): void {
  const invite = waiting.get(request);
  if (invite === undefined) return;
  waiting.delete(request);
  invite();
}
