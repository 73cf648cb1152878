/** How status lists are found, requested and refused. */

import { expect } from 'chai';
import { decodeJwt } from 'jose';
import type { TestDatabase } from '../../support/databases.ts';
import { type Mandate, startMandate, withService } from '../../support/mandate.ts';
import type { ServiceWithLists } from './service.ts';
import { claimOf, MEDIA_TYPE, ON, pathOf, TTL } from './service.ts';

const UNKNOWN = '/status/AAAAAAAAAAAAAAAAAAAAAA';

export function testRequests(service: ServiceWithLists, database: TestDatabase): void {
  const { issued, statusOf } = service;

  /** An instance with other settings, and the same time. */
  async function another(settings: Readonly<Record<string, string>>): Promise<Mandate> {
    const { mandate } = service;
    const instance = await mandate.another(settings);
    instance.clock.advance(mandate.clock.seconds() - instance.clock.seconds());
    return instance;
  }

  it('answer conditional requests from If-None-Match, also HEAD', async () => {
    const { mandate } = service;
    const path = pathOf(await issued());
    const made = await mandate.get(path);
    const etag = String(made.headers.get('etag'));
    const strong = etag.slice(2);
    expect(etag).to.equal(`W/${strong}`);
    expect(strong).to.match(/^"[\w-]{43}"$/);
    for (const [given, status] of [
      [etag, 304],
      [strong, 304],
      [`"other", ${strong}`, 304],
      [`"other",${etag} , "third"`, 304],
      ['*', 304],
      ['"other"', 200],
      [strong.slice(1, -1), 200],
      ['', 200],
    ] as const) {
      for (const method of ['GET', 'HEAD']) {
        const answer = await mandate.send(path, { method, headers: { 'if-none-match': given } });
        expect(answer.status, `${method} ${given}`).to.equal(status);
        expect(answer.headers.get('etag')).to.equal(etag);
        expect(answer.headers.get('cache-control')).to.equal(`public, max-age=${TTL}`);
        expect(answer.text).to.equal(status === 200 && method === 'GET' ? made.text : '');
      }
    }
    // A date says nothing here.
    const dated = await mandate.get(path, { 'if-modified-since': new Date().toUTCString() });
    expect(dated.status).to.equal(200);
  });

  it('are refused to a client that does not accept their type', async () => {
    const { mandate } = service;
    const path = pathOf(await issued());
    for (const [accept, status] of [
      [MEDIA_TYPE, 200],
      ['application/*', 200],
      ['text/html, */*;q=0.1', 200],
      ['', 200],
      ['application/json', 406],
      ['application/statuslist+cwt', 406],
      [`${MEDIA_TYPE};q=0, */*`, 406],
    ] as const) {
      const answer = await mandate.get(path, { accept });
      expect(answer.status, accept).to.equal(status);
      if (status !== 406) continue;
      expect(answer.body.detail).to.equal(`This path answers ${MEDIA_TYPE}.`);
      expect(answer.headers.get('cache-control')).to.equal('no-store');
    }
  });

  it('are 404 for ids that are unknown or malformed', async () => {
    const { mandate } = service;
    const path = pathOf(await issued());
    const lines = await mandate.recorded(async () => {
      for (const [id, detail] of [
        [UNKNOWN, 'There is no such status list.'],
        ['/status/x', 'There is no such status list.'],
        [`${path}x`, 'There is no such status list.'],
        [path.toUpperCase().replace('STATUS', 'status'), 'There is no such status list.'],
        ['/status/%00', 'There is no such status list.'],
        ['/status/..%2fadmin', 'There is no such status list.'],
        [`/status/${'x'.repeat(2000)}`, 'There is no such status list.'],
        [`${path}/`, 'There is nothing at this path.'],
        [`${path}/more`, 'There is nothing at this path.'],
        ['/STATUS', 'There is nothing at this path.'],
      ] as const) {
        const answer = await mandate.get(id);
        expect(answer.status, id).to.equal(404);
        expect(answer.body.detail, id).to.equal(detail);
        expect(answer.headers.get('cache-control'), id).to.equal('no-store');
      }
    });
    // Public paths need no credential, so nothing is recorded.
    expect(lines).to.deep.equal([]);
  });

  it('are all named at the endpoint that the metadata names, none before the first task', async () => {
    await withService(startMandate({ database, settings: ON }), async (fresh) => {
      const { status_list_aggregation_endpoint: endpoint } = (await fresh.get('/.well-known/openid-configuration'))
        .body;
      expect(endpoint).to.equal('https://mandate.test/status');
      const early = await fresh.get('/status');
      expect(early.body).to.deep.equal({ status_lists: [] });
      expect(early.headers.get('cache-control')).to.equal(`public, max-age=${TTL}`);
      const first = await fresh.agent();
      const uris = [claimOf(await first.exchange()).uri];
      // The lists are named in the order in which they began.
      fresh.clock.advance(1);
      uris.push(claimOf(await first.exchange({ resource: 'https://wiki.example' })).uri);
      // Until then the answer before is repeated.
      expect((await fresh.get('/status')).body).to.deep.equal({ status_lists: [] });
      fresh.clock.advance(TTL);
      expect((await fresh.get('/status')).body).to.deep.equal({ status_lists: uris });
    });
  });

  it('do not exist while they are off; once they are on again, they show the tasks that ended meanwhile', async () => {
    const { agent } = service;
    const off = await another({ 'Service:StatusLists:Enabled': 'false' });
    const [before, alive] = [await issued(), await issued()];
    expect((await off.get('/.well-known/openid-configuration')).body).not.to.have.property(
      'status_list_aggregation_endpoint',
    );
    const strange = await off.get('/nothing');
    for (const path of ['/status', pathOf(before)]) {
      const answer = await off.get(path);
      expect([answer.status, answer.text]).to.deep.equal([404, strange.text]);
    }
    const through = (instance: Mandate, form: object) => instance.post('/oauth2/token', form as Record<string, string>);
    const during = await through(off, agent.exchangeForm());
    expect(decodeJwt(String(during.body.access_token))).not.to.have.property('status');
    const renewed = await through(off, agent.refreshForm(String(before.body.refresh_token)));
    expect(decodeJwt(String(renewed.body.access_token))).not.to.have.property('status');
    expect((await off.admin('DELETE', `/admin/tasks/${before.body.task_id}`)).body.revoked_tasks).to.equal(1);
    await off.jobs.sweep();
    await off.stop();
    const again = await another({});
    expect([await statusOf(before), await statusOf(alive)]).to.deep.equal([1, 0]);
    // A task has an index from its beginning, or none.
    const [late, kept] = [
      await through(again, agent.refreshForm(String(during.body.refresh_token))),
      await through(again, agent.refreshForm(String(alive.body.refresh_token))),
    ];
    expect(decodeJwt(String(late.body.access_token))).not.to.have.property('status');
    expect(claimOf(kept)).to.deep.equal(claimOf(alive));
    await again.stop();
  });
}
