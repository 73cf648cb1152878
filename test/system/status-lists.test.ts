/** Token status lists (draft-ietf-oauth-status-list-20; `Service:StatusLists`). */

import { inflateSync } from 'node:zlib';
import { expect } from 'chai';
import { createLocalJWKSet, decodeJwt, type JSONWebKeySet, jwtVerify } from 'jose';
import { databasesByLength } from '../support/databases.ts';
import { type Answer, startMandate, withService } from '../support/mandate.ts';
import { sharedSigningKey } from '../support/shared-signing-key.ts';
import { testRequests } from './status-lists/requests.ts';
import { claimOf, ENTRIES, MEDIA_TYPE, ON, pathOf, serviceWithLists, TTL, valueAt } from './status-lists/service.ts';

for (const database of databasesByLength) {
  describe(`Status lists on ${database.name}`, () => {
    const service = serviceWithLists(database);
    const { issued, statusOf } = service;

    const kill = (answer: Answer) => service.mandate.admin('DELETE', `/admin/tasks/${answer.body.task_id}`);

    it('are found by a claim of each token, and verified with the published keys alone', async () => {
      const { mandate } = service;
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
      const { agent } = service;
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
      const { mandate, agent } = service;
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
      const { mandate } = service;
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
      const { mandate, agent } = service;
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
      const { mandate } = service;
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
      const { mandate } = service;
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

    testRequests(service, database);
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
      const tasks = ENTRIES + 128;
      const claims: ReturnType<typeof claimOf>[] = [];
      let begun = 0;
      await withService(startMandate({ database, settings }), async (first) => {
        const agent = await first.agent();
        await withService(first.another({}), async (second) => {
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
        });
      });
      expect(new Set(claims.map(({ uri, idx }) => `${uri} ${idx}`)).size).to.equal(tasks);
      const [full = '', rest = '', ...more] = [...new Set(claims.map(({ uri }) => uri))];
      expect(more).to.deep.equal([]);
      const sizes = [full, rest].map((uri) => claims.filter((claim) => claim.uri === uri).length);
      expect(sizes.sort((one, other) => other - one)).to.deep.equal([ENTRIES, 128]);
    });
  });
}
