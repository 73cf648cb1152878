/** Token status lists (draft-ietf-oauth-status-list-20; `Service:StatusLists`). */

import { inflateSync } from 'node:zlib';
import { expect } from 'chai';
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { databasesByLength } from '../support/databases.ts';
import type { Answer } from '../support/mandate.ts';
import { testRequests } from './status-lists/requests.ts';
import { claimOf, ENTRIES, MEDIA_TYPE, pathOf, serviceWithLists, TTL, valueAt } from './status-lists/service.ts';

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

    testRequests(service, database);
  });

  describe(`The indices of 64 exchanges at once, on two replicas with ${database.name}`, function () {
    this.timeout(180_000);
    // Every exchange must be answered 200, but a busy machine may exceed the time that a decision waits on Postgres.
    this.retries(2);
  });
}
