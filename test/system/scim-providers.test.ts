/** The SCIM requests of Okta and Entra ID, in the exact form in which they send them, and the effects. */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { databasesByLength } from '../support/databases.ts';
import { withService } from '../support/mandate.ts';
import { scimClient, USER_SCHEMA } from '../support/scim-client.ts';
import { directoryOn, ENTRA_FLAG_DEACTIVATION, ENTRA_REACTIVATION, patchOf } from './scim-providers/directory.ts';
import { testEntraId } from './scim-providers/entra-id.ts';

const OKTA_MEMBERS = (userName: string) =>
  `"name":{"givenName":"Ada","familyName":"Lovelace"},"emails":[{"primary":true,"value":"${userName}","type":"work"}]`;

/** Okta's body when it creates a user, with members in its order. */
function oktaCreate(userName: string, externalId: string): string {
  return `{"schemas":["${USER_SCHEMA}"],"userName":"${userName}",${OKTA_MEMBERS(userName)},"displayName":"Ada Lovelace","locale":"en-US","externalId":"${externalId}","groups":[],"password":"1mz050nq","active":true}`;
}

const OKTA = { 'user-agent': 'Okta SCIM Client 1.0.0', 'content-type': 'application/scim+json; charset=utf-8' };

const OKTA_CATALOGUE_DEACTIVATION = patchOf('{"op":"replace","value":{"active":false}}');

for (const database of databasesByLength) {
  describe(`The SCIM requests of identity providers on ${database.name}`, () => {
    const directory = directoryOn(database);
    const { exchangeFor, introspect, brief, signals, ending, working, expectStopped } = directory;

    it('let Okta test the connection and search for a user', async () => {
      const { scim } = directory;
      for (const query of [
        '?startIndex=1&count=2',
        '?filter=userName%20eq%20%22ada%40example.com%22&startIndex=1&count=100',
      ]) {
        const answer = await scim.send('GET', `/Users${query}`, undefined, { 'user-agent': OKTA['user-agent'] });
        expect(answer.status, answer.text).to.equal(200);
        expect(answer.headers.get('content-type')).to.equal('application/scim+json');
        expect(answer.body).to.include({ startIndex: 1 });
        for (const name of ['totalResults', 'startIndex', 'itemsPerPage']) {
          expect(Number.isInteger(answer.body[name]), name).to.equal(true);
        }
        expect(answer.body.schemas).to.deep.equal(['urn:ietf:params:scim:api:messages:2.0:ListResponse']);
        expect(answer.body.Resources).to.be.an('array');
      }
      const nobody = await scim.send('GET', '/Users?filter=userName%20eq%20%22nobody%40example.com%22');
      expect(nobody.body).to.deep.include({ totalResults: 0, itemsPerPage: 0, Resources: [] });
    });

    it('let Okta create a user; the service stores only what it needs, and logs no password', async () => {
      const { mandate, scim } = directory;
      const [name, externalId] = [`Ada.${randomUUID()}@example.com`, `00u${randomUUID()}`];
      const answer = await scim.send('POST', '/Users', oktaCreate(name, externalId), OKTA);
      expect(answer.status, answer.text).to.equal(201);
      const { id, meta, ...kept } = answer.body;
      expect(kept).to.deep.equal({ schemas: [USER_SCHEMA], externalId, userName: name, active: true });
      expect(String(id)).to.match(/^user_[0-9A-HJKMNP-TV-Z]{26}$/);
      const location = `${mandate.issuer}/scim/v2/Users/${String(id)}`;
      expect(meta).to.include({ resourceType: 'User', location });
      expect(meta).to.have.all.keys('resourceType', 'location', 'created', 'lastModified');
      expect(answer.headers.get('location')).to.equal(location);
      const logged = JSON.stringify(mandate.log.lines);
      for (const secret of ['1mz050nq', 'Lovelace', name, externalId]) expect(logged).not.to.contain(secret);
    });

    it("end the person's tasks if Okta deactivates by PATCH, and allow new tasks if Okta reactivates by PUT", async () => {
      const { scim } = directory;
      const { sub, issued } = await working();
      const id = await scim.create(JSON.parse(oktaCreate(`${sub}@example.com`, sub)));
      expect(await introspect(issued)).to.include({ active: true });

      const off = await brief(async () => {
        const answer = await scim.send('PATCH', `/Users/${id}`, OKTA_CATALOGUE_DEACTIVATION, OKTA);
        expect(answer.status, answer.text).to.equal(200);
        expect(answer.body).to.include({ active: false, userName: `${sub}@example.com`, externalId: sub });
      });
      expect(off).to.deep.equal(ending('scim_deactivated', sub));
      await expectStopped(sub, issued, 'scim_deactivated');

      const stored = await scim.send('GET', `/Users/${id}`, undefined, OKTA);
      expect(stored.body, 'inactive users stay readable').to.include({ id, active: false });
      // A custom app of Okta sends an edited copy of the GET response, as application/json.
      const edited = JSON.stringify({ ...stored.body, active: true });
      const on = await brief(async () => {
        const put = await scim.send('PUT', `/Users/${id}`, edited, { ...OKTA, 'content-type': 'application/json' });
        expect(put.status, put.text).to.equal(200);
        expect(put.body).to.include({ id, active: true });
      });
      expect(on).to.deep.equal(signals('scim_reactivated', sub));
      expect((await exchangeFor(sub)).status).to.equal(200);
      expect(await introspect(issued), 'what was ended stays so').to.include({ active: false });
    });

    it('refuse the old sponsor key as deleted after a change to another one, until some user has that key again', async () => {
      const { scim } = directory;
      const { sub, issued } = await working();
      const id = await scim.create({ userName: `${sub}@contoso.example`, externalId: sub });
      const left = await brief(async () => {
        const Operations = [{ op: 'Replace', path: 'externalId', value: `${sub}-2` }];
        const answer = await scim.send('PATCH', `/Users/${id}`, { Operations });
        expect(answer.body).to.include({ externalId: `${sub}-2`, active: true });
      });
      expect(left).to.deep.equal(ending('scim_deleted', sub));
      await expectStopped(sub, issued, 'scim_deleted');
      expect((await exchangeFor(`${sub}-2`)).status, 'the new name').to.equal(200);

      const inactive = await scim.create({ userName: randomUUID(), externalId: sub, active: false });
      expect((await exchangeFor(sub)).body).to.include({ reason: 'sponsor_disabled' });
      const back = await brief(() => scim.send('PATCH', `/Users/${inactive}`, ENTRA_REACTIVATION));
      expect(back).to.deep.equal(signals('scim_reactivated', sub));
      expect((await exchangeFor(sub)).status).to.equal(200);
    });

    it("end the person's tasks if a provider creates an inactive user beyond MaxUsers", async () => {
      const { mandate, scim } = directory;
      await scim.create({ userName: randomUUID(), externalId: randomUUID() });
      await withService(mandate.another({ 'Service:Scim:MaxUsers': '1' }), async (full) => {
        const { sub, issued } = await working();
        const users = async () => (await scim.send('GET', '/Users?count=0')).body.totalResults;
        const before = await users();
        const create = async (active: unknown) => {
          const answer = await scimClient(full).send('POST', '/Users', { userName: sub, externalId: sub, active });
          expect(answer.status, answer.text).to.equal(507);
          expect(answer.body).to.include({ status: '507' });
        };
        expect(await brief(() => create(true)), 'an active one says nothing').to.deep.equal([]);
        expect(await introspect(issued)).to.include({ active: true });
        expect(await brief(() => create('False'))).to.deep.equal(ending('scim_deactivated', sub));
        await expectStopped(sub, issued, 'scim_deactivated');
        const block = (await mandate.admin('GET', `/admin/sponsors/${sub}`)).body;
        expect(block).to.include({ source: 'scim', kind: 'disabled' });
        expect(await brief(() => create(false)), 'what holds already').to.deep.equal([]);
        expect(await brief(() => create(true)), 'no user, so nothing is lifted').to.deep.equal([]);
        expect((await exchangeFor(sub)).body).to.include({ reason: 'sponsor_disabled' });
        expect(await users()).to.equal(before);
        const stored = await brief(() => scim.create({ userName: sub, externalId: sub }));
        expect(stored).to.deep.equal(signals('scim_reactivated', sub));
        expect((await exchangeFor(sub)).status).to.equal(200);
      });
    });

    it('rename by a deactivation and a create: the create deletes the inactive users and lifts the block', async () => {
      const { scim } = directory;
      const { sub, issued } = await working();
      const externalId = sub;
      const old = await scim.create({ userName: `${sub}@old.example`, externalId });
      await scim.send('PATCH', `/Users/${old}`, ENTRA_FLAG_DEACTIVATION);
      await expectStopped(sub, issued, 'scim_deactivated');
      const refused = await brief(async () => {
        const inactive = await scim.send('POST', '/Users', {
          userName: `${sub}@old.example`,
          externalId,
          active: false,
        });
        expect(inactive.status, 'an inactive create supersedes no user').to.equal(409);
      });
      expect(refused).to.deep.equal([]);
      // The new user may even have the name of the old one, in another case.
      const renamed = await brief(() => scim.create({ userName: `${sub}@OLD.example`, externalId, active: true }));
      expect(renamed).to.deep.equal(signals('scim_reactivated', sub));
      expect((await exchangeFor(sub)).status).to.equal(200);
      expect((await scim.send('GET', `/Users/${old}`)).status).to.equal(404);
      const found = await scim.send('GET', `/Users?filter=externalId eq "${sub}"`);
      expect(found.body).to.include({ totalResults: 1 });
    });

    it('activate one of two inactive users: recorded, the person stays refused, and an operator sees which user is in the way', async () => {
      const { mandate, scim } = directory;
      const sub = `00u${randomUUID()}`;
      const one = await scim.create({ userName: `${sub}@one.example`, externalId: sub, active: false });
      const two = await scim.create({ userName: `${sub}@two.example`, externalId: sub, active: false });
      const shown = async () => (await mandate.admin('GET', `/admin/sponsors/${sub}`)).body;
      expect(await shown(), 'no user is active').not.to.have.property('inactive_users');
      const activate = () => scim.send('PATCH', `/Users/${one}`, ENTRA_REACTIVATION);
      expect(await brief(activate)).to.deep.equal(signals('scim_still_inactive', sub));
      expect(await brief(activate), 'restated').to.deep.equal([]);
      expect((await exchangeFor(sub)).body).to.include({ error: 'access_denied', reason: 'sponsor_disabled' });
      expect(await shown()).to.deep.include({
        source: 'scim',
        inactive_users: [{ id: two, user_name: `${sub}@two.example` }],
      });
      await scim.send('PATCH', `/Users/${two}`, ENTRA_REACTIVATION);
      expect((await exchangeFor(sub)).status).to.equal(200);
    });

    testEntraId(directory);
  });
}
