/** Token status lists (draft-ietf-oauth-status-list-20; `Service:StatusLists`). */

import { inflateSync } from 'node:zlib';
import { getListFromStatusListJWT, getStatusListFromJWT } from '@sd-jwt/jwt-status-list';
import { expect } from 'chai';
import { createLocalJWKSet, decodeJwt, type JSONWebKeySet, jwtVerify } from 'jose';
import { databasesByLength } from '../support/databases.ts';
import { type Answer, type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';
import { sharedSigningKey } from '../support/shared-signing-key.ts';

const TTL = 7;
const ENTRIES = 1024;
const ON = {
  'Service:StatusLists:Enabled': 'true',
  'Service:StatusLists:Ttl': `PT${TTL}S`,
  'Service:StatusLists:Entries': String(ENTRIES),
};
const MEDIA_TYPE = 'application/statuslist+jwt';
const UNKNOWN = '/status/AAAAAAAAAAAAAAAAAAAAAA';

const claimOf = ({ body }: Answer) => getStatusListFromJWT(String(body.access_token));
const pathOf = (issued: Answer) => new URL(claimOf(issued).uri).pathname;
const valueAt = (list: Answer, issued: Answer) => getListFromStatusListJWT(list.text).getStatus(claimOf(issued).idx);

for (const database of databasesByLength) {
  describe(`Status lists on ${database.name}`, () => {
    let mandate: Mandate;
    let agent: RegisteredAgent;
    before(async () => {
      const settings = { ...sharedSigningKey(), ...ON, 'Service:Tasks:Retention': 'PT1S' };
      mandate = await startMandate({ database, settings });
      agent = await mandate.agent();
    });
    after(() => mandate.stop());

    async function issued(form = {}, of = agent): Promise<Answer> {
      const answer = await of.exchange(form);
      expect(answer.status, answer.text).to.equal(200);
      return answer;
    }

    /** An instance with other settings, and the same time. */
    async function another(settings: Readonly<Record<string, string>>): Promise<Mandate> {
      const instance = await mandate.another(settings);
      instance.clock.advance(mandate.clock.seconds() - instance.clock.seconds());
      return instance;
    }

    /** The task's status in a list that is made now. */
    async function statusOf(answer: Answer): Promise<number> {
      mandate.clock.advance(TTL);
      const list = await mandate.get(pathOf(answer));
      expect(list.status, list.text).to.equal(200);
      return valueAt(list, answer);
    }

    const kill = (answer: Answer) => mandate.admin('DELETE', `/admin/tasks/${answer.body.task_id}`);

    it('are found by a claim of each token, and verified with the published keys alone', async () => {
      const answer = await issued();
      const { idx, uri } = claimOf(answer);
      expect(uri).to.match(/^https:\/\/mandate\.test\/status\/[\w-]{22}$/);
      expect(idx).to.be.within(0, ENTRIES - 1);
      const list = await mandate.get(pathOf(answer));
      expect(list.status).to.equal(200);
      expect(list.headers.get('content-type')).to.equal(MEDIA_TYPE);
      expect(list.headers.get('cache-control')).to.equal(`public, max-age=${TTL}`);
      expect(list.headers.get('access-control-allow-origin')).to.equal('*');
      const keys = (await mandate.get('/.well-known/jwks.json')).body as unknown as JSONWebKeySet;
      const { payload, protectedHeader } = await jwtVerify(list.text, createLocalJWKSet(keys), {
        typ: 'statuslist+jwt',
        algorithms: ['ES256'],
        subject: uri,
        currentDate: new Date(mandate.clock.seconds() * 1000),
      });
      expect(protectedHeader).to.have.all.keys('alg', 'typ', 'kid');
      const iat = payload.iat ?? 0;
      expect(iat).to.be.within(mandate.clock.seconds() - TTL, mandate.clock.seconds());
      const { lst } = payload.status_list as { readonly lst: string };
      expect(payload).to.deep.equal({
        sub: uri,
        iat,
        exp: iat + 12 * TTL,
        ttl: TTL,
        status_list: { bits: 2, lst },
      });
      // One status for each index, four in a byte.
      expect(inflateSync(Buffer.from(lst, 'base64url'))).to.have.length(ENTRIES / 4);
      expect(valueAt(list, answer)).to.equal(0);
    });

    it('belong to one audience each, and renewals keep the index', async () => {
      const [one, other] = [await issued(), await issued()];
      const wiki = await issued({ resource: 'https://wiki.example' });
      expect(claimOf(other).uri).to.equal(claimOf(one).uri);
      expect(claimOf(other).idx).not.to.equal(claimOf(one).idx);
      expect(claimOf(wiki).uri).not.to.equal(claimOf(one).uri);
      for (let time = 0; time < 2; time++) {
        const renewed = await agent.refresh(String(one.body.refresh_token));
        expect(claimOf(renewed)).to.deep.equal(claimOf(one));
      }
    });

    it('show a task that ended as invalid: killed, blocked, revoked by its agent', async () => {
      const person = { sub: 'grace' };
      const [killed, revoked, alive] = [await issued(), await issued(), await issued()];
      const blocked = await agent.exchangeFor(person);
      await kill(killed);
      await mandate.block('grace', 'disabled');
      await agent.revoke(String(revoked.body.refresh_token));
      for (const ended of [killed, blocked, revoked]) expect(await statusOf(ended)).to.equal(1);
      expect(await statusOf(alive)).to.equal(0);
    });

    it('show the tasks of a disabled agent as suspended, until it is enabled', async () => {
      const doomed = await mandate.agent();
      const [live, killed] = [await issued({}, doomed), await issued({}, doomed)];
      await kill(killed);
      const enable = (enabled: boolean) => mandate.admin('PATCH', `/admin/agents/${doomed.id}`, { enabled });
      await enable(false);
      expect([await statusOf(live), await statusOf(killed)]).to.deep.equal([2, 1]);
      await enable(true);
      expect([await statusOf(live), await statusOf(killed)]).to.deep.equal([0, 1]);
    });

    it('show a task with a revoked token as one to ask about: its other tokens are active', async () => {
      const first = await issued();
      const second = await agent.refresh(String(first.body.refresh_token));
      await agent.revoke(String(first.body.access_token));
      expect(await statusOf(first)).to.equal(3);
      expect([(await mandate.introspect(first)).active, (await mandate.introspect(second)).active]).to.deep.equal([
        false,
        true,
      ]);
      await mandate.admin('PATCH', `/admin/agents/${agent.id}`, { enabled: false });
      expect(await statusOf(first)).to.equal(2);
      await mandate.admin('PATCH', `/admin/agents/${agent.id}`, { enabled: true });
    });

    it('are made anew after their ttl, and not before', async () => {
      const answer = await issued();
      mandate.clock.advance(TTL);
      const made = await mandate.get(pathOf(answer));
      await kill(answer);
      mandate.clock.advance(TTL - 1);
      const same = await mandate.get(pathOf(answer));
      expect(same.text).to.equal(made.text);
      mandate.clock.advance(1);
      const next = await mandate.get(pathOf(answer));
      expect(next.headers.get('etag')).not.to.equal(made.headers.get('etag'));
      expect(valueAt(next, answer)).to.equal(1);
      expect(decodeJwt(next.text).iat).to.be.greaterThan(decodeJwt(made.text).iat ?? 0);
    });

    it('show a killed task until its tokens have expired, also if it is no longer kept', async () => {
      const answer = await issued({}, await mandate.agent({ max_task_ttl: 'PT10M' }));
      await kill(answer);
      mandate.clock.advance(590);
      await mandate.jobs.sweep();
      expect(await statusOf(answer)).to.equal(1);
      // Its ten minutes, and a minute for the clocks of other instances.
      mandate.clock.advance(80);
      await mandate.jobs.sweep();
      expect(await statusOf(answer)).to.equal(0);
    });

    it('answer conditional requests from If-None-Match, also HEAD', async () => {
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
      // Public paths refuse nobody, so nothing is recorded.
      expect(lines).to.deep.equal([]);
    });

    it('are all named at the endpoint that the metadata names, none before the first task', async () => {
      const fresh = await startMandate({ database, settings: ON });
      const { status_list_aggregation_endpoint: endpoint } = (await fresh.get('/.well-known/openid-configuration'))
        .body;
      expect(endpoint).to.equal('https://mandate.test/status');
      const early = await fresh.get('/status');
      expect(early.body).to.deep.equal({ status_lists: [] });
      expect(early.headers.get('cache-control')).to.equal(`public, max-age=${TTL}`);
      const first = await fresh.agent();
      const uris = [claimOf(await first.exchange()).uri];
      uris.push(claimOf(await first.exchange({ resource: 'https://wiki.example' })).uri);
      // Until then the answer before is repeated.
      expect((await fresh.get('/status')).body).to.deep.equal({ status_lists: [] });
      fresh.clock.advance(TTL);
      expect((await fresh.get('/status')).body).to.deep.equal({ status_lists: uris });
      await fresh.stop();
    });

    it('are not there while they are off; what ended meanwhile is in them once they are on again', async () => {
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
      const through = (instance: Mandate, form: object) =>
        instance.post('/oauth2/token', form as Record<string, string>);
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
  });

  describe(`The indices of 64 exchanges at once, on two replicas with ${database.name}`, function () {
    this.timeout(180_000);
    // Every exchange must be answered 200, but a busy machine may exceed the time that a decision waits on Postgres.
    this.retries(2);

    it('are never shared, and another list is opened only when the first one is full', async () => {
      const settings = {
        ...sharedSigningKey(),
        ...ON,
        'Service:RateLimit:Enabled': 'false',
        'Service:Overload:Enabled': 'false',
      };
      const first = await startMandate({ database, settings });
      const second = await first.another({});
      const agent = await first.agent();
      const tasks = ENTRIES + 128;
      const claims: ReturnType<typeof claimOf>[] = [];
      let begun = 0;
      const client = async (nth: number) => {
        while (begun < tasks) {
          begun += 1;
          const form = agent.exchangeForm();
          const answer = await (nth % 2 === 0 ? first : second).post('/oauth2/token', form);
          expect(answer.status, answer.text).to.equal(200);
          claims.push(claimOf(answer));
        }
      };
      await Promise.all(Array.from({ length: 64 }, (_, nth) => client(nth)));
      await second.stop();
      await first.stop();
      expect(new Set(claims.map(({ uri, idx }) => `${uri} ${idx}`)).size).to.equal(tasks);
      const [full = '', rest = '', ...more] = [...new Set(claims.map(({ uri }) => uri))];
      expect(more).to.deep.equal([]);
      const sizes = [full, rest].map((uri) => claims.filter((claim) => claim.uri === uri).length);
      expect(sizes.sort((one, other) => other - one)).to.deep.equal([ENTRIES, 128]);
    });
  });
}
