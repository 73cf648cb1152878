/**
 * Prints the table of sizes in docs/status-lists.md: the bytes of a response with a status list, head and body.
 *
 *     node --import ./scripts/typescript-loader.mjs scripts/bench/status-list-sizes.ts
 */

import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import express from 'express';
import { statusListRouter } from '../../adapters/http/public/status-lists.ts';
import { sha256Bytes } from '../../adapters/platform/system-crypto.ts';
import { zlibDeflate } from '../../adapters/platform/zlib-deflate.ts';
import { publishedStatusLists } from '../../application/token/status-list.ts';
import { statusListEntries, statusListUri } from '../../domain/tasks/status-list.ts';
import { NOON } from '../../test/support/domain-fixtures.ts';
import { newKeys } from '../../test/support/ledger-fixture.ts';
import { closeServer, listen } from '../../test/support/listening.ts';
import { seeded } from '../faults/random.ts';

const DEFAULT_ENTRIES = 131_072;
const SHARES = [0, 0.01, 0.1, 0.5];
const LIST = 'q80B-f_nWEZ5HLXzGk6-zA';
const ISSUER = 'https://mandate.example';
const TTL = 5;

const signingKeys = await newKeys();
console.log(`| Indices | ${SHARES.map((share) => `${share * 100}% over`).join(' | ')} | Unchanged (304) |`);
console.log(`|---:|${SHARES.map(() => '---:|').join('')}---:|`);
for (const entries of [statusListEntries.min, DEFAULT_ENTRIES, statusListEntries.max]) {
  const sizes = [];
  for (const share of SHARES) sizes.push(await measure(entries, Math.round(share * entries)));
  const cells = [entries, ...sizes.map(({ whole }) => whole), sizes[0]?.unchanged];
  console.log(`| ${cells.map((cell) => cell?.toLocaleString('en')).join(' | ')} |`);
}

/** @param over the number of tasks that are over; their indices are random */
async function measure(entries: number, over: number): Promise<{ readonly whole: number; readonly unchanged: number }> {
  const find = publishedStatusLists({
    statusLists: { find: async () => ({ entries, ended: drawn(entries, over), suspended: [], withRevokedToken: [] }) },
    signingKeys,
    clock: { now: () => NOON },
    monotonic: () => 0,
    deflate: zlibDeflate,
    hash: sha256Bytes,
    issuer: ISSUER,
    ttl: TTL,
    entries,
    measurements: undefined,
  });
  const app = express().disable('x-powered-by');
  app.use('/status', statusListRouter({ find, list: async () => [LIST], issuer: ISSUER, ttl: TTL }));
  const server = http.createServer(app);
  const port = await listen(server);
  const get = (headers: Readonly<Record<string, string>>) =>
    received(`http://127.0.0.1:${port}${new URL(statusListUri(ISSUER, LIST)).pathname}`, headers);
  const { bytes: whole, etag } = await get({});
  const { bytes: unchanged } = await get({ 'if-none-match': etag });
  await closeServer(server);
  return { whole, unchanged };
}

/** Each request has a separate connection, which counts the bytes of the response. */
async function received(url: string, headers: Readonly<Record<string, string>>) {
  const [response] = (await once(http.get(url, { headers, agent: false }), 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'end');
  return { bytes: response.socket.bytesRead, etag: String(response.headers.etag) };
}

/** Different indices. */
function drawn(entries: number, count: number): readonly number[] {
  const random = seeded(1);
  const indices = new Set<number>();
  while (indices.size < count) indices.add(random.below(entries));
  return [...indices];
}
