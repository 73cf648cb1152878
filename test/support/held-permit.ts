/** Holds a permit of the kill switches: an operator's request whose body does not come, until a test lets it end. */

import { ADMIN_KEY, type Mandate } from './mandate.ts';
import { rawConnection } from './raw-http.ts';

/** @returns ends the request */
export async function holdRevoking(mandate: Mandate): Promise<() => Promise<void>> {
  const connection = await rawConnection(mandate.url);
  const head = `Host: mandate.test\r\nAuthorization: Bearer ${ADMIN_KEY}\r\nContent-Type: application/json\r\n`;
  connection.send(`POST /admin/agents HTTP/1.1\r\n${head}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n`);
  // The service invites the body when it reads it, which it does with a permit.
  await connection.until('100 Continue');
  return async () => {
    connection.send('{}');
    await connection.until('HTTP/1.1 400');
    connection.leave();
  };
}
