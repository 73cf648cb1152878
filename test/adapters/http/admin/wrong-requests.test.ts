/** The paths and query parameters that all admin and audit routes refuse. test/system/openapi has methods and ids. */

import { expect } from 'chai';
import { type AdminApi, startAdminApi } from '../../../support/admin-api.ts';
import { NOON } from '../../../support/domain-fixtures.ts';
import { aRegistrationBody } from '../../../support/registrations.ts';

describe('The admin surface', () => {
  let api: AdminApi;
  let recorded: Awaited<ReturnType<AdminApi['records']>>;
  before(async () => {
    api = await startAdminApi();
    await api.send('post', '/admin/agents', aRegistrationBody());
    await api.storage.ledger.append({ at: NOON, event: 'token.denied', decision: 'deny', reason: 'invalid_request' });
    await api.seal();
    recorded = await api.records();
  });
  afterEach(async () => {
    expect(await api.records()).to.deep.equal(recorded);
    expect(api.log.lines.filter((line) => line.includes('"error"'))).to.deep.equal([]);
  });
  after(() => api.stop());

  for (const path of [
    ...['/admin', '/admin/', '/admin/nothing', '/admin/agents/', '/ADMIN/Agents'],
    ...['/audit/nothing', '/audit/records', '/audit/records/1', '/audit/records/1/proof/', '/audit/records/1/Proof'],
    ...['/audit/checkpoints/1', '/audit/checkpoints/'],
  ]) {
    it(`answers 404 to GET ${path}`, async () => {
      const answer = await api.send('get', path);
      expect([answer.status, answer.type]).to.deep.equal([404, 'application/problem+json']);
      expect(answer.body).to.include({ title: 'Not Found', status: 404 });
    });
  }

  const lists: Readonly<Record<string, readonly (readonly [query: string, fields: readonly string[]])[]>> = {
    '/admin/agents': [
      ['after=Upper', ['after']],
      ['limit=x&after=&page=2', ['page', 'limit', 'after']],
    ],
    '/audit/checkpoints': [
      ['after=-1', ['after']],
      ['after=x', ['after']],
      ['after=1.0', ['after']],
      ['after=01', ['after']],
      ['after=', ['after']],
      ['after=9007199254740992', ['after']],
      ['after=1&after=2', ['after']],
      ['cursor=1', ['cursor']],
      ['limit=a&after=b&x=c', ['x', 'after', 'limit']],
    ],
    '/audit': [
      ['decision=DENY', ['decision']],
      ['decision=', ['decision']],
      ['agent_id=Upper', ['agent_id']],
      ['task_id=01M31S7W68TMK7WDX8YKPSYTES', ['task_id']],
      ['sponsor=', ['sponsor']],
      ['sponsor=a%00b', ['sponsor']],
      [`sponsor=${'x'.repeat(257)}`, ['sponsor']],
      ['sponsor=%ed%a0%80', ['sponsor']],
      ['sponsor=%', ['sponsor']],
      ['from=2026-02-30', ['from']],
      ['to=yesterday', ['to']],
      ['from=2026-03-01T00:00:00+02:00', ['from']],
      ['from=2026-03-02&to=2026-03-01T00:00:00Z', ['to']],
      ['cursor=x', ['cursor']],
      ['cursor=', ['cursor']],
      ['cursor=MSAyIDM', ['cursor']],
      ['decision=deny&decision=deny', ['decision']],
      ['decision=deny&decision=allow', ['decision']],
      ['sponsr=ada', ['sponsr']],
      ['Sponsor=ada', ['Sponsor']],
      ['sponsor[]=ada', ['sponsor[]']],
      [
        'limit=0&decision=x&from=x&to=x&cursor=*&agent_id=*&task_id=*&sponsor=&x=1',
        ['x', 'sponsor', 'agent_id', 'task_id', 'from', 'to', 'decision', 'limit', 'cursor'],
      ],
    ],
  };
  const common = [
    'limit=0',
    'limit=1001',
    'limit=-1',
    'limit=ten',
    'limit=1e2',
    'limit=',
    'limit=1&limit=2',
    'limit=%zz',
  ];
  for (const [path, own] of Object.entries(lists)) {
    const wrong = common.map((query) => [query, [query.split('=')[0] ?? '']] as const);
    for (const [query, fields] of [...wrong, ...own]) {
      it(`refuses GET ${path}?${query.slice(0, 60)} and names each wrong parameter`, async () => {
        const answer = await api.send('get', `${path}?${query}`);
        expect([answer.status, answer.type]).to.deep.equal([400, 'application/problem+json']);
        expect(Object.keys(answer.body.errors)).to.deep.equal(fields);
      });
    }
  }
});
