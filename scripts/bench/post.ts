/** A form post as the bytes that go over the wire. */

import type { Target } from './load.ts';

/** @param body already form-encoded */
export function post(target: Target, path: string, body: string): Buffer {
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nhost: ${target.host}:${target.port}\r\n` +
      'content-type: application/x-www-form-urlencoded\r\naccept: application/json\r\n' +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}
