import { expect } from 'chai';
import type { SponsorKey } from '../../../../domain/identifiers.ts';
import { ADMIN_KEY, type AdminApi, startAdminApi } from '../../../support/admin-api.ts';

const path = (key: string, rest = '') => `/admin/sponsors/${encodeURIComponent(key)}${rest}`;
const MEMBERS = ['sponsor_key', 'source', 'kind', 'blocked_at'];
const OPERATIONS = [
  ['get', ''],
  ['put', '/block'],
  ['delete', '/block'],
  ['delete', '/tasks'],
] as const;

describe('The admin surface', () => {
  let api: AdminApi;
  beforeEach(async () => {
    api = await startAdminApi();
  });
  afterEach(() => api.stop());

  const placed = (sponsorKey: string, source: 'scim' | 'ssf', kind: 'disabled' | 'deleted') =>
    api.storage.sponsors.block(
      { sponsorKey: sponsorKey as SponsorKey, source, kind, blockedAt: api.clock.now() },
      'sponsor_blocked',
    );

  it('places, shows and lifts a block of a person without tasks', async () => {
    const missing = await api.send('get', path('ada'));
    expect([missing.status, missing.type]).to.deep.equal([404, 'application/problem+json']);

    const put = await api.send('put', path('ada', '/block'));
    expect(put.status).to.equal(200);
    expect(Object.keys(put.body)).to.deep.equal(['sponsor', 'revoked_tasks']);
    expect(Object.keys(put.body.sponsor)).to.deep.equal(MEMBERS);
    expect(put.body.sponsor).to.include({ sponsor_key: 'ada', source: 'admin', kind: 'disabled' });
    expect(put.body.sponsor.blocked_at).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z$/);
    expect(put.body.revoked_tasks).to.equal(0);

    const shown = await api.send('get', path('ada'));
    expect([shown.status, shown.body]).to.deep.equal([200, put.body.sponsor]);
    expect(shown.headers['cache-control']).to.equal('no-store');

    const lifted = await api.send('delete', path('ada', '/block'));
    expect([lifted.status, lifted.text]).to.deep.equal([204, '']);
    expect((await api.send('get', path('ada'))).status).to.equal(404);
    const again = await api.send('delete', path('ada', '/block'));
    expect([again.status, again.type]).to.deep.equal([404, 'application/problem+json']);
    const common = { sponsor: 'ada', decision: 'allow', agent_id: null, task_id: null };
    const records = await api.records();
    expect(records).to.have.length(2);
    expect(records[0]).to.include({ ...common, event: 'sponsor.blocked', reason: 'sponsor_blocked' });
    expect(records[1]).to.include({ ...common, event: 'sponsor.unblocked', reason: 'operator_unblocked' });
  });

  it('answers a repeated PUT with the same block, and records nothing', async () => {
    const first = await api.send('put', path('ada', '/block'));
    api.clock.advance(90);
    const second = await api.send('put', path('ada', '/block'));
    expect([second.status, second.body]).to.deep.equal([200, first.body]);
    expect(await api.records()).to.have.length(1);
  });

  it('ignores the body of a PUT', async () => {
    const answer = await api.send('put', path('ada', '/block'), { source: 'scim', kind: 'deleted' });
    expect(answer.body.sponsor).to.include({ source: 'admin', kind: 'disabled' });
  });

  for (const [source, kind] of [
    ['scim', 'disabled'],
    ['ssf', 'deleted'],
  ] as const) {
    it(`refuses to lift a block of ${source} with 409, and records the refusal`, async () => {
      await placed('ada', source, kind);
      const lift = await api.send('delete', path('ada', '/block'));
      expect([lift.status, lift.type]).to.deep.equal([409, 'application/problem+json']);
      expect(lift.body).to.include({ status: 409, title: 'Conflict' });
      const records = await api.records();
      expect(records).to.have.length(2);
      expect(records[1]).to.include({
        event: 'sponsor.unblocked',
        decision: 'deny',
        reason: 'sponsor_block_not_owned',
        sponsor: 'ada',
      });
      const shown = (await api.send('get', path('ada'))).body;
      expect(Object.keys(shown)).to.deep.equal(MEMBERS);
      expect(shown).to.include({ source, kind });
    });

    it(`places and lifts the operator’s block if ${source} has blocked the person before, and shows the older block first`, async () => {
      await placed('ada', source, kind);
      const theirs = (await api.send('get', path('ada'))).body;
      api.clock.advance(90);
      const put = await api.send('put', path('ada', '/block'));
      expect(put.status).to.equal(200);
      const { others, ...first } = put.body.sponsor;
      expect(first).to.deep.equal(theirs);
      expect(others).to.have.length(1);
      expect(Object.keys(others[0])).to.deep.equal(MEMBERS);
      expect(others[0]).to.include({ sponsor_key: 'ada', source: 'admin', kind: 'disabled' });
      expect(others[0].blocked_at > theirs.blocked_at).to.equal(true);
      expect((await api.send('get', path('ada'))).body).to.deep.equal(put.body.sponsor);

      api.clock.advance(90);
      const again = await api.send('put', path('ada', '/block'));
      expect([again.status, again.body]).to.deep.equal([200, put.body]);

      expect((await api.send('delete', path('ada', '/block'))).status).to.equal(204);
      expect((await api.send('get', path('ada'))).body).to.deep.equal(theirs);
      expect((await api.send('delete', path('ada', '/block'))).status).to.equal(409);
      const records = (await api.records()).slice(1);
      expect(records.map(({ event, decision, reason }) => [event, decision, reason])).to.deep.equal([
        ['sponsor.blocked', 'allow', 'sponsor_blocked'],
        ['sponsor.unblocked', 'allow', 'operator_unblocked'],
        ['sponsor.unblocked', 'deny', 'sponsor_block_not_owned'],
      ]);
    });
  }

  it('shows the blocks of three sources, oldest first', async () => {
    await api.send('put', path('ada', '/block'));
    api.clock.advance(1);
    await placed('ada', 'ssf', 'deleted');
    api.clock.advance(1);
    await placed('ada', 'scim', 'disabled');
    const { body } = await api.send('get', path('ada'));
    expect(body).to.include({ source: 'admin', kind: 'disabled' });
    const others = body.others as readonly Record<string, unknown>[];
    expect(others.map(({ source, kind }) => [source, kind])).to.deep.equal([
      ['ssf', 'deleted'],
      ['scim', 'disabled'],
    ]);
    await api.send('delete', path('ada', '/block'));
    const left = (await api.send('get', path('ada'))).body;
    expect(left).to.deep.include({ source: 'ssf', others: [others[1]] });
  });

  it('refuses every operation on a person without the admin key', async () => {
    for (const [method, rest] of OPERATIONS) {
      const answer = await api.stranger[method](path('ada', rest));
      expect([answer.status, answer.type]).to.deep.equal([401, 'application/problem+json']);
    }
    expect((await api.send('get', path('ada'))).status).to.equal(404);
    expect((await api.records()).every(({ event }) => event === 'admin.denied')).to.equal(true);
  });
});

describe('The admin surface', () => {
  let api: AdminApi;
  before(async () => {
    api = await startAdminApi();
  });
  after(() => api.stop());

  for (const key of [
    ...['a/b/block', '__proto__', 'constructor', 'ada@example.com', 'DOMAIN\\ada', '100%', '%2F'],
    ...["';drop/**/table/**/tasks;--", 'é', 'e\u0301', '😀', '\ufffd', 'x'.repeat(256)],
  ]) {
    it(`stores the block of a person under exactly the key ${JSON.stringify(key).slice(0, 30)}`, async () => {
      // Every byte is escaped, so that no client changes it.
      const escaped = [...Buffer.from(key)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
      const send = async (method: string, rest: string) => {
        const head = `${method} /admin/sponsors/${escaped}${rest} HTTP/1.1\r\nHost: x\r\n`;
        const answer = await api.raw(`${head}Authorization: Bearer ${ADMIN_KEY}\r\nConnection: close\r\n\r\n`);
        return { status: answer.split(' ')[1], body: JSON.parse(answer.split('\r\n\r\n')[1] || '{}') };
      };
      const put = await send('PUT', '/block');
      expect([put.status, put.body.sponsor?.sponsor_key]).to.deep.equal(['200', key]);
      expect((await send('GET', '')).body.sponsor_key).to.equal(key);
      expect((await send('DELETE', '/tasks')).body).to.deep.equal({ revoked_tasks: 0 });
      expect((await send('DELETE', '/block')).status).to.equal('204');
      expect((await api.records()).slice(-2).map(({ sponsor }) => sponsor)).to.deep.equal([key, key]);
    });
  }

  const invalid: readonly [string, string][] = [
    ['a space', 'a%20b'],
    ['a no-break space', 'a%c2%a0b'],
    ['a tab', '%09'],
    ['a line break', 'ada%0a'],
    ['U+0000', 'ada%00'],
    ['a C1 control character', '%c2%85'],
    ['257 characters', 'x'.repeat(257)],
  ];
  for (const [what, key] of invalid) {
    for (const [method, rest] of OPERATIONS) {
      it(`refuses ${what} in the key of ${method.toUpperCase()} {sponsor_key}${rest}, and names the field`, async () => {
        const before = await api.records();
        const answer = await api.send(method, `/admin/sponsors/${key}${rest}`);
        expect([answer.status, answer.type]).to.deep.equal([400, 'application/problem+json']);
        expect(answer.body.errors).to.deep.equal({
          sponsor_key: ['Must be 1 to 256 characters, none of them white space or a control character.'],
        });
        expect(Object.keys(answer.body)).to.include.members(['type', 'title', 'status', 'errors']);
        expect(await api.records()).to.deep.equal(before);
      });
    }
  }
});
