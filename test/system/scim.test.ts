/** The SCIM endpoint: credentials, limits and error responses. */

import { expect } from 'chai';
import { databases, databasesByLength } from '../support/databases.ts';
import { sendBytes } from '../support/hostile/send-bytes.ts';
import { ADMIN_KEY, fieldsOf, withService } from '../support/mandate.ts';
import { PREVIOUS_SCIM_TOKEN, patch, SCIM_TOKEN, scimClient } from '../support/scim-client.ts';
import { testBodies } from './scim/bodies.ts';
import { testChanges } from './scim/changes.ts';
import { directoryOn, expectError } from './scim/directory.ts';

const UNKNOWN = '/Users/user_01M31S7W68TMK7WDX8YKPSYTES';

for (const database of databasesByLength) {
  describe(`The SCIM endpoint on ${database.name}`, () => {
    const directory = directoryOn(database);
    const { aBody } = directory;

    it('refuses and records a wrong credential, whatever the path', async () => {
      const { mandate } = directory;
      await withService(mandate.another({ 'Service:Audit:Aggregation:Enabled': 'false' }), async (other) => {
        const wrong = [
          { authorization: '' },
          { authorization: `Bearer ${SCIM_TOKEN}x` },
          { authorization: `Bearer ${ADMIN_KEY}` },
          { authorization: `Basic ${SCIM_TOKEN}` },
        ];
        for (const headers of wrong) {
          for (const path of ['/Users', '/Nothing', `/Users?access_token=${SCIM_TOKEN}`]) {
            const lines = await mandate.recorded(async () => {
              const answer = await scimClient(other).send('GET', path, undefined, headers);
              expectError(answer, 401);
              expect(answer.headers.get('www-authenticate')).to.equal('Bearer');
            });
            expect(lines).to.have.length(1);
            expect(lines[0]).to.include({ event: 'scim.denied', decision: 'deny', sponsor: null, agent_id: null });
            // `fetch` omits an empty header, so that the credential is missing.
            expect(lines[0]?.reason).to.be.oneOf(['missing_api_key', 'invalid_api_key']);
          }
        }
      });
    });

    it('refuses a request without a credential before its body arrives', async () => {
      const { mandate } = directory;
      await withService(mandate.another({ 'Service:Audit:Aggregation:Enabled': 'false' }), async (other) => {
        const lines = await mandate.recorded(async () => {
          const head = 'POST /scim/v2/Users HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n{';
          expect((await sendBytes(other.url, head)).text).to.match(/^HTTP\/1\.1 401 /);
        });
        expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([['scim.denied', 'missing_api_key']]);
      });
    });

    it('accepts the current and the previous credential, which the admin API refuses', async () => {
      const { mandate, scim } = directory;
      for (const token of [SCIM_TOKEN, PREVIOUS_SCIM_TOKEN]) {
        const answer = await scim.send('GET', '/Users', undefined, { authorization: `Bearer ${token}` });
        expect(answer.status).to.equal(200);
        const admin = await mandate.get('/admin/agents', { authorization: `Bearer ${token}` });
        expect(admin.status).to.equal(401);
      }
    });

    it('answers 404 at every path if it is not configured', async () => {
      const { mandate } = directory;
      const settings = { 'Service:Scim:BearerToken': '', 'Service:Scim:PreviousBearerToken': '' };
      await withService(mandate.another(settings), async (other) => {
        const lines = await mandate.recorded(async () => {
          for (const [method, path] of [
            ['GET', '/Users'],
            ['POST', '/Users'],
            ['GET', '/ServiceProviderConfig'],
            ['DELETE', '/Users/user_1'],
          ] as const) {
            expectError(await scimClient(other).send(method, path, method === 'POST' ? '{' : undefined), 404);
          }
        });
        expect(lines).to.deep.equal([]);
      });
    });

    it('answers unknown paths with 404', async () => {
      const { scim } = directory;
      const users = [`${UNKNOWN}/`, '/users', '/Users//', '///Users'];
      for (const path of [...users, '/Groups', '/Bulk']) expectError(await scim.send('GET', path), 404);
    });

    it('ignores an extra slash after its base path, and after Users', async () => {
      const { mandate, scim } = directory;
      const body = aBody();
      const made = await scim.send('POST', '//Users', body);
      expect(made.status, made.text).to.equal(201);
      const { id, meta } = made.body as { id: string; meta: { location: string } };
      expect(meta.location).to.equal(`${mandate.issuer}/scim/v2/Users/${id}`);
      const filter = `filter=${encodeURIComponent(`externalId eq "${body.externalId}"`)}`;
      const plain = await scim.send('GET', `/Users?${filter}`);
      expect(plain.body).to.include({ totalResults: 1 });
      const collection = ['//Users', '/Users/', '//Users/'];
      for (const path of collection) {
        expect((await scim.send('GET', `${path}?${filter}`)).body, path).to.deep.equal(plain.body);
        expect((await scim.send('GET', path)).body, path).to.deep.equal((await scim.send('GET', '/Users')).body);
        expectError(await scim.send('POST', path, body), 409, 'uniqueness');
        expectError(await scim.send('DELETE', path), 405);
        expectError(await scim.send('GET', path, undefined, { authorization: 'Bearer x' }), 401);
      }
      expect((await scim.send('GET', `//Users/${id}`)).body).to.deep.equal(made.body);
      const off = await scim.send('PATCH', `//Users/${id}`, patch({ active: false }));
      expect(off.body).to.include({ id, active: false });
      expect((await scim.send('PUT', `//Users/${id}`, { ...body, active: true })).body).to.include({ active: true });
      expect((await scim.send('DELETE', `//Users/${id}`)).status).to.equal(204);
      expect((await scim.send('GET', '//ServiceProviderConfig')).status).to.equal(200);
      const routes = mandate.log.lines.filter((line) => line.includes('"route":"/scim')).join('\n');
      expect(routes).to.include('"route":"/scim/v2/Users"').and.not.to.include('//');
    });

    it('describes its features, its resource type and the attributes it stores', async () => {
      const { scim } = directory;
      const config = await scim.send('GET', '/ServiceProviderConfig');
      expect(config.body).to.deep.include({
        patch: { supported: true },
        bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
        filter: { supported: true, maxResults: 200 },
        changePassword: { supported: false },
        sort: { supported: false },
        etag: { supported: false },
      });
      const [types, schemas] = [await scim.send('GET', '/ResourceTypes'), await scim.send('GET', '/Schemas')];
      expect(types.body).to.include({ totalResults: 1 });
      expect(schemas.body).to.include({ totalResults: 1 });
      const type = await scim.send('GET', '/ResourceTypes/User');
      const schema = await scim.send('GET', '/Schemas/urn:ietf:params:scim:schemas:core:2.0:User');
      expect(types.body.Resources).to.deep.equal([type.body]);
      expect(schemas.body.Resources).to.deep.equal([schema.body]);
      const attributes = schema.body.attributes as readonly { name: string; required: boolean }[];
      expect(attributes.map(({ name, required }) => `${name} ${required}`)).to.deep.equal([
        'userName true',
        'externalId true',
        'active false',
      ]);
    });

    it('lists users in pages, in a stable order', async () => {
      const { scim } = directory;
      for (const _ of [1, 2, 3]) await scim.create(aBody());
      const { body: all } = await scim.send('GET', '/Users');
      const ids = (all.Resources as readonly { id: string }[]).map(({ id }) => id);
      const total = Number(all.totalResults);
      expect(ids).to.deep.equal([...ids].sort());
      const page = async (query: string) => {
        const { body } = await scim.send('GET', `/Users?${query}`);
        const found = (body.Resources as readonly { id: string }[]).map(({ id }) => id);
        expect(body).to.include({ totalResults: total, itemsPerPage: found.length });
        return { start: body.startIndex, found };
      };
      expect(await page('startIndex=2&count=1')).to.deep.equal({ start: 2, found: ids.slice(1, 2) });
      expect(await page('startIndex=0&count=2')).to.deep.equal({ start: 1, found: ids.slice(0, 2) });
      expect(await page('STARTINDEX=-7&Count=-7')).to.deep.equal({ start: 1, found: [] });
      expect(await page('count=0')).to.deep.equal({ start: 1, found: [] });
      expect(await page('startIndex=999999999')).to.deep.equal({ start: 999_999_999, found: [] });
      for (const count of ['9999', '99999999999', `1${'0'.repeat(30)}`, '9'.repeat(400)]) {
        expect(await page(`count=${count}`), count).to.deep.equal({ start: 1, found: ids.slice(0, 200) });
        expect(await page(`count=-${count}`), count).to.deep.equal({ start: 1, found: [] });
        expect(await page(`startIndex=-${count}`), count).to.deep.equal({ start: 1, found: ids });
        const { start, found } = await page(`startIndex=${count}`);
        expect(found, count).to.deep.equal([]);
        expect(start, count).to.satisfy(Number.isSafeInteger).and.to.be.at.least(9999);
      }
      expect((await page('attributes=userName&sortBy=userName&x=%FF')).found).to.deep.equal(ids);
    });

    for (const [title, query, scimType] of [
      [
        'an injection',
        `filter=${encodeURIComponent('userName eq "a" or 1 eq 1; drop table provisioned_users')}`,
        'invalidFilter',
      ],
      ['two filters', 'filter=userName eq "a"&filter=userName eq "b"', 'invalidValue'],
      ['a malformed percent-encoding', 'filter=%FF', 'invalidValue'],
      ['a fractional count', 'count=2.5', 'invalidValue'],
    ] as const) {
      it(`refuses a listing with ${title}, and does not repeat the text`, async () => {
        const { scim } = directory;
        const answer = await scim.send('GET', `/Users?${query}`);
        expectError(answer, 400, scimType);
        expect(answer.text).not.to.match(/drop|1e30|0x10|one/);
      });
    }

    testChanges(directory);
    testBodies(directory);
  });
}

// On both at every push: Postgres refuses such text as a parameter.
for (const database of databases) {
  describe(`The SCIM endpoint with a text that no database stores, on ${database.name}`, () => {
    const directory = directoryOn(database);

    it('finds no user by a filter with a NUL character', async () => {
      const { scim } = directory;
      const answer = await scim.send('GET', `/Users?filter=${encodeURIComponent('userName eq "a\\u0000b"')}`);
      expect(answer.status, answer.text).to.equal(200);
      expect(answer.body).to.include({ totalResults: 0 });
    });
  });
}
