/** An address that cannot be impersonated on the network: https, or plain http within this machine. */

import { travelsInTheClear } from '../../domain/transport.ts';

/** `undefined` for any other address, and for one with a user or a password: arguments are not secret. */
export function trustedUrl(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.username !== '' || url.password !== '') return undefined;
  return /^https?:$/.test(url.protocol) && !travelsInTheClear(url) ? url : undefined;
}
