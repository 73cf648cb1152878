import { expect } from 'chai';
import { makeTaskId, makeTokenId } from '../../../../domain/identifiers.ts';
import { type Instant, instantFromMicros } from '../../../../domain/instant.ts';
import type { LedgerEntry } from '../../../../domain/ledger/record.ts';
import { ADMIN_KEY, type AdminApi, startAdminApi } from '../../../support/admin-api.ts';
import { agentIdOf } from '../../../support/domain-fixtures.ts';

const TASK = makeTaskId('01M31S7W68TMK7WDX8YKPSYTES');
/** The instant this many seconds and microseconds after 2026-03-01T00:00:00Z. */
const at = (seconds: number, micros = 0): Instant =>
  instantFromMicros(Date.UTC(2026, 2, 1) * 1000 + seconds * 1e6 + micros);
const DAY = 86_400;

const full: LedgerEntry = {
  at: at(3600, 123_456),
  event: 'token.issued',
  taskId: TASK,
  agentId: agentIdOf('jira-triage'),
  sponsor: 'ada@example.com',
  audience: 'https://jira.example',
  scope: 'jira:read jira:comment',
  jti: makeTokenId('01M31S7W68TMK7WDX8YKPSYTEB'),
  delegationDepth: 1,
  decision: 'allow',
};
const denial: LedgerEntry = {
  at: at(DAY - 1, 999_999),
  event: 'token.denied',
  agentId: agentIdOf('other'),
  sponsor: 'grace hopper',
  decision: 'deny',
  reason: 'scope_intersection_empty',
};
const summary: LedgerEntry = {
  at: at(DAY),
  event: 'admin.denied',
  decision: 'deny',
  reason: 'missing_api_key',
  count: 7,
};
const archived: LedgerEntry = { at: at(2 * DAY), event: 'audit.archived', decision: 'allow', detail: 'a partition' };

describe('GET /audit', () => {
  let api: AdminApi;
  before(async () => {
    api = await startAdminApi();
    for (const entry of [full, denial, summary, archived]) await api.storage.ledger.append(entry);
  });
  after(() => api.stop());

  const events = async (query: string): Promise<string[]> => {
    const answer = await api.send('get', `/audit${query}`);
    expect(answer.status, answer.text).to.equal(200);
    return answer.body.records.map(({ event }: { event: string }) => event);
  };
  const ALL = ['token.issued', 'token.denied', 'admin.denied', 'audit.archived'];

  it('answers a page of records, oldest first, each with every published field', async () => {
    const answer = await api.send('get', '/audit');
    expect(Object.keys(answer.body)).to.deep.equal(['records', 'next_cursor', 'archived_before']);
    expect([answer.body.next_cursor, answer.body.archived_before]).to.deep.equal([null, null]);
    const [first, , third, fourth] = answer.body.records;
    expect(first).to.deep.equal({
      seq: first.seq,
      checkpoint: null,
      ts: '2026-03-01T01:00:00.123Z',
      event: 'token.issued',
      task_id: TASK,
      agent_id: 'jira-triage',
      sponsor: 'ada@example.com',
      audience: 'https://jira.example',
      scope: 'jira:read jira:comment',
      jti: 'tok_01M31S7W68TMK7WDX8YKPSYTEB',
      delegation_depth: 1,
      decision: 'allow',
      reason: null,
    });
    expect(first.seq).to.be.a('number');
    expect([third.count, fourth.detail]).to.deep.equal([7, 'a partition']);
    expect(answer.headers['cache-control']).to.equal('no-store');
  });

  const queries: readonly [string, string[]][] = [
    ['', ALL],
    ['?sponsor=ada%40example.com', ['token.issued']],
    ['?sponsor=grace+hopper', ['token.denied']],
    ['?sponsor=Ada%40example.com', []],
    ['?agent_id=jira-triage', ['token.issued']],
    [`?task_id=${TASK}`, ['token.issued']],
    ['?decision=deny', ['token.denied', 'admin.denied']],
    ['?decision=deny&agent_id=other', ['token.denied']],
    ['?decision=deny&agent_id=jira-triage', []],
    ['?from=2026-03-02', ['admin.denied', 'audit.archived']],
    ['?from=2026-03-01T01:00:00.123456Z&to=2026-03-01T01:00:00.123457Z', ['token.issued']],
    ['?from=2026-03-01T01:00:00.123457Z&to=2026-03-01T23:59:59.999999Z', []],
    ['?to=2026-03-01', ['token.issued', 'token.denied']],
    ['?from=2026-03-01&to=2026-03-01', ['token.issued', 'token.denied']],
    ['?to=2026-03-02T00:00:00Z', ['token.issued', 'token.denied']],
    ['?to=2026-03-02T00:00:00.000001Z', ['token.issued', 'token.denied', 'admin.denied']],
    ['?from=2026-03-02T02:00:00%2B02:00', ['admin.denied', 'audit.archived']],
    ['?from=2026-03-03&to=2026-03-03T00:00:00Z', []],
    ['?from=1970-01-01&to=9999-12-31', ALL],
    ['?', ALL],
    ['?&decision=allow&', ['token.issued', 'audit.archived']],
  ];
  for (const [query, expected] of queries) {
    it(`selects records with the query "${query}"`, async () => {
      expect(await events(query)).to.deep.equal(expected);
    });
  }

  for (const limit of [1, 2, 3]) {
    it(`pages by ${limit} without skipping or repeating a record`, async () => {
      const seen: string[] = [];
      let cursor = '';
      do {
        const { body } = await api.send('get', `/audit?from=2026-03-01&limit=${limit}${cursor}`);
        expect(body.records.length).to.be.within(1, limit);
        seen.push(...body.records.map(({ event }: { event: string }) => event));
        cursor = body.next_cursor === null ? '' : `&cursor=${body.next_cursor}`;
      } while (cursor !== '');
      expect(seen).to.deep.equal(ALL);
    });
  }

  it('accepts another limit on the next page', async () => {
    const first = await api.send('get', '/audit?limit=1');
    expect(await events(`?limit=3&cursor=${first.body.next_cursor}`)).to.deep.equal(ALL.slice(1));
  });

  it('accepts the same filter in another notation on the next page', async () => {
    const first = await api.send('get', '/audit?to=2026-03-01&limit=1');
    const next = `cursor=${first.body.next_cursor}`;
    expect(await events(`?${next}&to=2026-03-02T01:00:00%2B01:00`)).to.deep.equal(['token.denied']);
  });

  it('refuses the cursor of a page with other filters', async () => {
    const first = await api.send('get', '/audit?decision=deny&limit=1');
    for (const filters of ['', '&decision=allow', '&decision=deny&agent_id=other', '&decision=deny&from=2026-03-01']) {
      const answer = await api.send('get', `/audit?cursor=${first.body.next_cursor}${filters}`);
      expect([answer.status, Object.keys(answer.body.errors)]).to.deep.equal([400, ['cursor']]);
      expect(answer.body.errors.cursor[0]).to.match(/other filters/);
    }
  });

  it('refuses raw bytes beyond ASCII, which could be read as other text', async () => {
    const head = `Host: x\r\nAuthorization: Bearer ${ADMIN_KEY}\r\nConnection: close\r\n\r\n`;
    const answer = await api.raw(`GET /audit?sponsor=caf\u00e9 HTTP/1.1\r\n${head}`);
    expect(answer).to.match(/^HTTP\/1\.1 400 /);
  });

  it('writes no record', async () => {
    expect(await api.records()).to.have.lengthOf(4);
  });
});
