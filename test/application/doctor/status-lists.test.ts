import { expect } from 'chai';
import { judgeUsage, publishedListsExamination } from '../../../application/doctor/status-lists.ts';
import { storageExaminations } from '../../../application/doctor/storage.ts';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import type { StatusListUsage } from '../../../application/ports/status-lists.ts';
import type { StorageCondition } from '../../../application/ports/storage.ts';
import { plusSeconds, toSeconds } from '../../../domain/instant.ts';
import type { CompactJws } from '../../../domain/tokens/compact-jws.ts';
import { NOON } from '../../support/domain-fixtures.ts';
import { newKeys } from '../../support/ledger-fixture.ts';

const ENTRIES = 1024;
const JIRA = 'https://jira.example';

const list = (changes: Partial<StatusListUsage> = {}): StatusListUsage => ({
  listId: 'q80B-f_nWEZ5HLXzGk6-zA',
  audience: JIRA,
  entries: ENTRIES,
  held: 7,
  createdAt: plusSeconds(NOON, -90),
  ...changes,
});

describe('The status lists in the report of doctor', () => {
  it('are summed up, and at most the three fullest are named, the fullest first', () => {
    const lists = [1, 9, 4, 8].map((held, nth) => list({ held, audience: `https://${nth}.example` }));
    expect(judgeUsage(lists, NOON, ENTRIES)).to.deep.equal({
      status: 'ok',
      sentence:
        'Tasks hold 22 of 4096 indices; lists: 4, the oldest opened 1 minute 30 seconds ago. The fullest: 9 of 1024 for https://1.example, 8 of 1024 for https://3.example, 4 of 1024 for https://2.example.',
    });
    expect(judgeUsage([], NOON, ENTRIES).status).to.equal('ok');
    const long = judgeUsage([list({ audience: `${JIRA}/${'x'.repeat(500)}` })], NOON, ENTRIES);
    expect(long.sentence).to.have.length.below(250);
  });

  it('are a warning if one audience has more than four, unless the setting was raised since, or cannot be', () => {
    const five = Array.from({ length: 5 }, () => list());
    const found = judgeUsage([list({ audience: 'https://other.example' }), ...five], NOON, ENTRIES);
    expect([found.status, found.sentence]).to.deep.equal([
      'warning',
      'https://jira.example has 5 status lists, and each of its tool servers polls all of them.',
    ]);
    expect(found.remedy).to.match(/^Raise Service:StatusLists:Entries, to 1048576 at most/);
    expect(judgeUsage(five.slice(1), NOON, ENTRIES).status).to.equal('ok');
    expect(judgeUsage(five, NOON, 2 * ENTRIES).status).to.equal('ok');
    const largest = 2 ** 20;
    const full = five.map((one) => ({ ...one, entries: largest }));
    expect(judgeUsage(full, NOON, largest).status).to.equal('ok');
  });

  it('are skipped if their indices cannot be counted', async () => {
    const condition: Partial<StorageCondition> = {
      schema: async () => 'current',
      statusLists: { usage: () => Promise.reject(new StorageUnavailable('57014')) },
    };
    const examinations = storageExaminations(
      Promise.resolve({
        kind: 'opened',
        condition: condition as StorageCondition,
        refusal: () => undefined,
        exposure: undefined,
      }),
      {
        clock: { now: () => NOON },
        isDevelopment: false,
        monthsAhead: 2,
        checkpointInterval: 60,
        hasSink: false,
        listEntries: ENTRIES,
        maxTokenTtl: undefined,
        hasDelegation: false,
        mayEndNothing: [],
        keysAreSubjects: true,
        kids: async () => [],
        archivedPart: async () => undefined,
      },
    );
    const found = await examinations.find(({ check }) => check === 'status lists')?.examine();
    expect(found?.status).to.equal('skipped');
  });

  const issuer = 'https://mandate.example';
  const uri = `${issuer}/status/q80B-f_nWEZ5HLXzGk6-zA`;
  const indexOf = (...uris: string[]) => JSON.stringify({ status_lists: uris });
  const keys = newKeys();
  const signed = async (age: number, type = 'statuslist+jwt', sub = uri, signer = keys) =>
    (await signer).sign(type, { sub, iat: toSeconds(NOON) - age });

  for (const [title, index, answered, status, sentence] of [
    ['current', indexOf('https://mandate.example/status/older', uri), () => signed(10), 'ok', /current/],
    ['not there yet', indexOf(), undefined, 'ok', /no status list yet/],
    [
      'kept by a cache',
      indexOf(uri),
      () => signed(71),
      'warning',
      /1 minute 11 seconds old; 5 seconds are allowed\. A kill/,
    ],
    ['of another type', indexOf(uri), () => signed(0, 'at+jwt'), 'warning', /no status lists of this service/],
    [
      'another list',
      indexOf(uri),
      () => signed(10, undefined, `${uri}x`),
      'warning',
      /no status lists of this service/,
    ],
    [
      'signed by a stranger',
      indexOf(uri),
      () => signed(10, undefined, uri, newKeys()),
      'warning',
      /no key .* has signed/,
    ],
    ['of another issuer', indexOf(`${issuer}.evil/status/x`), undefined, 'warning', /no status lists of this service/],
    ['no text that can be read', '<html>', undefined, 'warning', /no status lists of this service/],
  ] as const) {
    it(`are ${status === 'ok' ? 'well' : 'a warning'} if what is published is ${title}`, async () => {
      const answers = new Map([
        [`${issuer}/status`, index],
        [uri, await answered?.()],
      ]);
      const ask = async (url: string) => answers.get(url) ?? expect.fail(`no answer is set for ${url}`);
      const verify = async (jws: CompactJws) => (await keys).verify(jws);
      const clock = { now: () => NOON };
      const found = await publishedListsExamination({ issuer, ttl: 5, clock, ask, verify }).examine();
      expect(found.status).to.equal(status);
      expect(found.sentence).to.match(sentence);
    });
  }
});
