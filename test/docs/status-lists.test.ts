/** Compares docs/status-lists.md with the code. */

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http, { type IncomingMessage } from 'node:http';
import { expect } from 'chai';
import express from 'express';
import { statusListPath } from '../../adapters/http/public/status-lists.ts';
import { sha256Bytes } from '../../adapters/platform/system-crypto.ts';
import { zlibDeflate } from '../../adapters/platform/zlib-deflate.ts';
import { checkOptions } from '../../adapters/sdk/tool-server/core/options.ts';
import { publishedStatusLists } from '../../application/token/status-list.ts';
import { statusListUri } from '../../domain/tasks/status-list.ts';
import { seeded } from '../../scripts/faults/random.ts';
import { capturedLog } from '../support/captured-log.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { newKeys } from '../support/ledger-fixture.ts';
import { closeServer, listen } from '../support/listening.ts';

const page = readFileSync(new URL('../../docs/status-lists.md', import.meta.url), 'utf8');
const LIST = 'q80B-f_nWEZ5HLXzGk6-zA';
const ISSUER = 'https://mandate.example';
const TTL = 5;

/** The bytes of the response with a list, head and body, and of an unchanged one. @param over how many of its tasks are over */
async function sizesOf(entries: number, over: number): Promise<readonly [whole: number, unchanged: number]> {
  const random = seeded(1);
  const ended = new Set<number>();
  while (ended.size < over) ended.add(random.below(entries));
  const find = publishedStatusLists({
    statusLists: { find: async () => ({ entries, ended: [...ended], suspended: [], withRevokedToken: [] }) },
    signingKeys: await newKeys(),
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
  const row = statusListPath({ find, list: async () => [LIST], issuer: ISSUER, ttl: TTL }, capturedLog());
  if ('router' in row) app.use(row.path, row.router);
  const server = http.createServer(app);
  const url = `http://127.0.0.1:${await listen(server)}${new URL(statusListUri(ISSUER, LIST)).pathname}`;
  // A connection of one request counts the bytes of its response.
  const get = async (headers: http.OutgoingHttpHeaders) => {
    const [response] = (await once(http.get(url, { headers, agent: false }), 'response')) as [IncomingMessage];
    await once(response.resume(), 'end');
    return { bytes: response.socket.bytesRead, etag: response.headers.etag };
  };
  const { bytes, etag } = await get({});
  const unchanged = await get({ 'if-none-match': etag });
  await closeServer(server);
  return [bytes, unchanged.bytes];
}

describe('docs/status-lists.md', () => {
  it('lists every option of statusList with its default', () => {
    const { issuers } = checkOptions({
      issuer: 'https://mandate.example',
      audience: 'https://jira.example',
      statusList: {},
    });
    for (const [name, value] of Object.entries(issuers[0]?.statusList ?? {}))
      expect(page).to.include(`| \`${name}\` | ${value} |`);
  });

  it('has the promise', () => {
    expect(page).to.include(
      'A kill is refused by every polling tool server within Ttl + maxAgeMs at worst, with one request per list and interval.',
    );
  });

  it('has the sizes of lists, up to the version of zlib', async function () {
    this.timeout(60_000);
    const [, head = '', body = ''] = /^\| Indices \|(.*)\n.*\n((?:\|.*\n)+)/m.exec(page) ?? [];
    const numbers = (row: string) => [...row.replaceAll(',', '').matchAll(/\d+/g)].map(Number);
    const shares = [...head.matchAll(/(\d+)% over/g)].map(([, percent]) => Number(percent) / 100);
    const rows = body.trim().split('\n').map(numbers);
    expect(rows.map(([entries]) => entries)).to.deep.equal([1024, 131_072, 1_048_576]);
    for (const [entries = 0, ...shown] of rows) {
      for (const [column, share] of shares.entries()) {
        const [whole, unchanged] = await sizesOf(entries, Math.round(share * entries));
        expect(shown[column]).to.be.closeTo(whole, whole / 50);
        expect(shown.at(-1)).to.be.closeTo(unchanged, unchanged / 50);
      }
    }
  });
});
