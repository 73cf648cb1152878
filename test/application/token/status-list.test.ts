import { expect } from 'chai';
import { decodeJwt } from 'jose';
import { sha256Bytes } from '../../../adapters/platform/system-crypto.ts';
import { zlibDeflate } from '../../../adapters/platform/zlib-deflate.ts';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import type { StoredStatusList } from '../../../application/ports/status-lists.ts';
import { publishedListIds, publishedStatusLists } from '../../../application/token/status-list.ts';
import { type Instant, plusSeconds } from '../../../domain/instant.ts';
import { NOON } from '../../support/domain-fixtures.ts';
import { newKeys } from '../../support/ledger-fixture.ts';

const LIST = 'q80B-f_nWEZ5HLXzGk6-zA';
const TTL = 5;
const STORED: StoredStatusList = { entries: 1024, ended: [3], suspended: [], withRevokedToken: [] };

describe('Status lists', () => {
  let reads: { readonly listId: string; answer(found: StoredStatusList | undefined): void; fail(): void }[];
  let now: Instant;
  let elapsedMs: number;
  let signatures: number;
  let replica: (changes?: Partial<Parameters<typeof publishedStatusLists>[0]>) => typeof find;
  let find: ReturnType<typeof publishedStatusLists>;
  let measured: unknown[];
  beforeEach(async () => {
    [reads, now, elapsedMs, signatures, measured] = [[], NOON, 0, 0, []];
    const keys = await newKeys();
    const service: Parameters<typeof publishedStatusLists>[0] = {
      statusLists: {
        find: (listId) =>
          new Promise((resolve, reject) => {
            reads.push({ listId, answer: resolve, fail: () => reject(new StorageUnavailable('away')) });
          }),
      },
      clock: { now: () => now },
      monotonic: () => elapsedMs,
      measurements: {
        statusListRead: (readAt, seconds) => measured.push([readAt, seconds]),
        statusListFailed: () => measured.push('failed'),
      },
      signingKeys: {
        ...keys,
        sign(...given) {
          signatures += 1;
          return keys.sign(...given);
        },
      },
      deflate: zlibDeflate,
      hash: sha256Bytes,
      issuer: 'https://mandate.example',
      ttl: TTL,
      entries: 1024,
    };
    replica = (changes) => publishedStatusLists({ ...service, ...changes });
    find = replica();
  });

  /** Both clocks go on, unless the system clock is set. */
  function pass(seconds: number, onTheClock = seconds): void {
    elapsedMs += seconds * 1000;
    now = plusSeconds(now, onTheClock);
  }

  const readOf = (nth: number) => reads[nth] ?? expect.fail(`there was no read ${nth}`);
  async function made(stored = STORED, of = find) {
    const list = of(LIST);
    readOf(reads.length - 1).answer(stored);
    return (await list) ?? expect.fail('there is no list');
  }
  const claimsOf = async (list: Awaited<ReturnType<typeof find>>) =>
    decodeJwt(Buffer.from((await list?.token()) ?? []).toString());

  it('are read once for all callers during the read and within the ttl', async () => {
    const asked = [find(LIST), find(LIST)];
    readOf(0).answer(STORED);
    const [one, other] = await Promise.all(asked);
    pass(TTL - 0.001);
    expect(await find(LIST)).to.equal(one);
    expect(other).to.equal(one);
    expect(reads).to.have.length(1);
    pass(0.001);
    expect(await made()).not.to.equal(one);
    expect(reads).to.have.length(2);
  });

  it('keep their ETag for an epoch of four ttls, and are signed only for a client that needs the token', async () => {
    const { tag } = await made();
    for (let reading = 1; reading < 4; reading += 1) {
      pass(TTL);
      expect((await made()).tag).to.equal(tag);
    }
    expect(signatures).to.equal(0);
    pass(TTL);
    const next = await made();
    expect(next.tag).not.to.equal(tag);
    await Promise.all([next.token(), next.token()]);
    expect(signatures).to.equal(1);
  });

  it('have the same ETag at every replica, each with its own iat', async () => {
    const one = await made();
    pass(TTL + 1);
    const other = await made(STORED, replica());
    expect(other.tag).to.equal(one.tag);
    expect((await claimsOf(other)).iat).to.equal(((await claimsOf(one)).iat ?? 0) + TTL + 1);
  });

  for (const [what, stored, changes] of [
    ['the status of a task', { ...STORED, suspended: [4] }, async () => ({})],
    ['the number of indices', { ...STORED, entries: 2048 }, async () => ({})],
    ['the active key', STORED, async () => ({ signingKeys: await newKeys() })],
    ['the ttl', STORED, async () => ({ ttl: TTL + 1 })],
  ] as const) {
    it(`have another ETag if ${what} differs`, async () => {
      const { tag } = await made();
      expect((await made(stored, replica(await changes()))).tag).not.to.equal(tag);
    });
  }

  it('are measured once each: when their read began, how long they took, and whether they failed', async () => {
    const asked = [find(LIST), find(LIST)];
    pass(2);
    readOf(0).answer(STORED);
    await Promise.all(asked);
    pass(TTL);
    const failed = find(LIST);
    readOf(1).fail();
    await failed.catch(() => undefined);
    const unknown = find(LIST);
    readOf(2).answer(undefined);
    await unknown;
    expect(measured).to.deep.equal([[NOON, 2], 'failed']);
  });

  it('are dated by the beginning of the read', async () => {
    const asked = find(LIST);
    pass(3);
    readOf(0).answer(STORED);
    expect((await claimsOf(await asked)).iat).to.equal(Math.floor(NOON / 1e6));
    pass(2);
    void find(LIST);
    expect(reads).to.have.length(2);
  });

  it('are read again for later callers if the read took longer than the ttl', async () => {
    const slow = find(LIST);
    pass(TTL);
    await made();
    readOf(0).answer(STORED);
    await slow;
    void find(LIST);
    expect(reads).to.have.length(2);
  });

  for (const [title, seconds, onTheClock] of [
    ['back', 1, -100],
    ['back by as much as has passed', TTL, 0],
    ['forward', 1, 100],
  ] as const) {
    it(`are read anew if the clock is set ${title}`, async () => {
      await made();
      pass(seconds, onTheClock);
      void find(LIST);
      expect(reads).to.have.length(2);
    });
  }

  it('are not remembered if the database failed, or has no such list', async () => {
    const failed = find(LIST);
    readOf(0).fail();
    expect(await failed.catch((error: unknown) => error)).to.be.instanceOf(StorageUnavailable);
    const unknown = find(LIST);
    readOf(1).answer(undefined);
    expect(await unknown).to.equal(undefined);
    expect(await made()).not.to.equal(undefined);
    expect(reads).to.have.length(3);
  });

  it('are not evicted by requests for ids that no list has, however many are under way', async () => {
    // So few lists fit that the unknown ids outnumber them.
    find = replica({ entries: 2 ** 20 });
    const list = await made();
    const unknown = Array.from({ length: 200 }, (_, nth) => {
      const id = Buffer.alloc(16, nth).toString('base64url');
      return [find(id), find(id)];
    });
    const again = find(LIST);
    expect(reads, 'one read for each id').to.have.length(201);
    expect(await again).to.equal(list);
    for (const { answer } of reads.slice(1)) answer(undefined);
    expect(new Set(await Promise.all(unknown.flat()))).to.deep.equal(new Set([undefined]));
    expect(await find(LIST)).to.equal(list);
    expect(reads).to.have.length(201);
  });

  it('are served within the ttl while the database is away, and refused after it', async () => {
    const token = await made();
    pass(TTL - 1);
    expect(await find(LIST)).to.equal(token);
    pass(1);
    const refused = find(LIST);
    readOf(1).fail();
    expect(await refused.catch((error: unknown) => error)).to.be.instanceOf(StorageUnavailable);
  });

  it('are listed once for all callers during the read and within the ttl; a failed read is not cached', async () => {
    const reads: { answer(ids: readonly string[]): void; fail(): void }[] = [];
    const list = publishedListIds({
      clock: { now: () => now },
      monotonic: () => elapsedMs,
      ttl: TTL,
      statusLists: {
        list: () =>
          new Promise((resolve, reject) => {
            reads.push({ answer: resolve, fail: () => reject(new StorageUnavailable('away')) });
          }),
      },
    });
    const asked = [list(), list()];
    reads[0]?.fail();
    for (const one of asked) expect(await one.catch((error: unknown) => error)).to.be.instanceOf(StorageUnavailable);
    const again = [list(), list()];
    reads[1]?.answer([LIST]);
    expect(await Promise.all(again)).to.deep.equal([[LIST], [LIST]]);
    pass(TTL - 0.001);
    await list();
    expect(reads).to.have.length(2);
    pass(0.001);
    void list();
    expect(reads).to.have.length(3);
    pass(1, -100);
    void list();
    expect(reads).to.have.length(4);
  });

  it('are not looked up for an id that no list can have', async () => {
    expect(await Promise.all(['', 'x', `${LIST}x`, `${LIST.slice(0, -1)}B`].map(find))).to.deep.equal(
      Array.from({ length: 4 }, () => undefined),
    );
    expect(reads).to.deep.equal([]);
  });
});
