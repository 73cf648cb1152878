/** An address that nobody on the way can pretend to be: https, or plain http that does not leave this machine. */

import { travelsInTheClear } from '../../domain/transport.ts';

/** `undefined` for any other, and for one that carries a user or a password, which belong in no argument. */
export function trustedUrl(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.username !== '' || url.password !== '') return undefined;
  return /^https?:$/.test(url.protocol) && !travelsInTheClear(url) ? url : undefined;
}
