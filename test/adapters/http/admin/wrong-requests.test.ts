/** The rules that all admin and audit routes share: methods, paths, ids and query parameters that they refuse. */

import { expect } from 'chai';
import { ADMIN_KEY, type AdminApi, startAdminApi } from '../../../support/admin-api.ts';
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

  /** Sends the path as it is: a client library would normalize it. */
  async function expectProblem(method: string, path: string, status: number): Promise<void> {
    const body = method === 'PATCH' ? 'Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}' : '\r\n';
    const head = `Host: x\r\nAuthorization: Bearer ${ADMIN_KEY}\r\nConnection: close\r\n`;
    const answer = await api.raw(`${method} ${path} HTTP/1.1\r\n${head}${body}`);
    expect(answer, `${method} ${path}`).to.match(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer, `${method} ${path}`).to.include('application/problem+json');
  }

  const methods: readonly (readonly [path: string, allowed: string, refused: readonly string[]])[] = [
    ['/admin/agents', 'GET, HEAD, POST', ['put', 'delete', 'options']],
    ['/admin/agents/jira-triage', 'GET, HEAD, PATCH, DELETE', ['put', 'post']],
    ['/admin/agents/jira-triage/tasks', 'DELETE', ['patch']],
    ['/admin/sponsors/ada', 'GET, HEAD', ['put', 'delete']],
    ['/admin/sponsors/ada/block', 'PUT, DELETE', ['get', 'post']],
    ['/admin/sponsors/ada/tasks', 'DELETE', ['get']],
    ['/admin/tasks/task_01M31S7W68TMK7WDX8YKPSYTES', 'DELETE', ['get']],
    ['/audit', 'GET, HEAD', ['delete']],
    ['/audit/checkpoints', 'GET, HEAD', ['post']],
    ['/audit/records/1/proof', 'GET, HEAD', ['delete']],
    ['/agents/jira-triage/jwks.json', 'GET, HEAD', ['post']],
  ];
  for (const [path, allowed, refused] of methods) {
    for (const method of refused) {
      it(`answers 405 to ${method.toUpperCase()} ${path}, and names the allowed methods`, async () => {
        const answer = await api.send(method as 'get', path);
        expect([answer.status, answer.headers.allow]).to.deep.equal([405, allowed]);
        expect(answer.body).to.include({ title: 'Method Not Allowed', status: 405 });
      });
    }
  }

  for (const path of [
    ...['/admin', '/admin/', '/admin/nothing', '/admin/agents/', '/ADMIN/Agents'],
    ...['/audit/nothing', '/audit/records', '/audit/records/1', '/audit/records/1/proof/', '/audit/records/1/Proof'],
    ...['/audit/checkpoints/1', '/audit/checkpoints/'],
    // Record 1 is sealed, so a seq that was read as 1 would have a proof.
    ...['01', '-1', '1.0', '1e0', '+1', '%201', 'x', '9007199254740992', '1'.repeat(40), '%31%00'].map(
      (seq) => `/audit/records/${seq}/proof`,
    ),
  ]) {
    it(`answers 404 to GET ${path}`, async () => {
      const answer = await api.send('get', path);
      expect([answer.status, answer.type]).to.deep.equal([404, 'application/problem+json']);
      expect(answer.body).to.include({ title: 'Not Found', status: 404 });
    });
  }

  const byAgent = (id: string) => ['GET', 'PATCH', 'DELETE'].map((method) => [method, `/admin/agents/${id}`] as const);
  const byTask = (id: string) =>
    [`/admin/tasks/${id}`, `/admin/agents/${id}/tasks`].map((path) => ['DELETE', path] as const);
  for (const id of [
    ...['nobody', 'Upper', '..', '%2e%2e', '..%2Faudit', '..%2Fagents', '__proto__', '%00', '%F0%9F%98%80'],
    ...['x'.repeat(129), 'x'.repeat(2000), 'task_01M31S7W68TMK7WDX8YKPSYTES', 'task_01m31s7w68tmk7wdx8ykpsytes'],
  ]) {
    it(`answers 404 for the agent or task ${id.slice(0, 40)}, and records nothing`, async () => {
      for (const [method, path] of [...byAgent(id), ...byTask(id)]) await expectProblem(method, path, 404);
    });
  }

  for (const id of ['%', '%zz', '%c3%28', '%ed%a0%80']) {
    it(`answers 400 for the id ${id}, which does not decode to text, and records nothing`, async () => {
      const sponsor = `/admin/sponsors/${id}`;
      for (const [method, path] of [
        ...[...byAgent(id), ...byTask(id)],
        ...[['GET', sponsor] as const, ['PUT', `${sponsor}/block`] as const, ['DELETE', `${sponsor}/tasks`] as const],
        ['GET', `/agents/${id}/jwks.json`] as const,
      ]) {
        await expectProblem(method, path, 400);
      }
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
  const unknown = ['limt=5', '__proto__=1', 'constructor=1'];
  for (const [path, own] of Object.entries(lists)) {
    const wrong = [...common, ...unknown].map((query) => [query, [query.split('=')[0] ?? '']] as const);
    for (const [query, fields] of [...wrong, ...own]) {
      it(`refuses GET ${path}?${query.slice(0, 60)} and names each wrong parameter`, async () => {
        const answer = await api.send('get', `${path}?${query}`);
        expect([answer.status, answer.type]).to.deep.equal([400, 'application/problem+json']);
        expect(Object.keys(answer.body.errors)).to.deep.equal(fields);
      });
    }
  }
});
