/** The SCIM endpoint: credentials, limits and error responses. */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { databases } from '../support/databases.ts';
import { sendBytes } from '../support/hostile/send-bytes.ts';
import { ADMIN_KEY, type Answer, fieldsOf, type Mandate, startMandate } from '../support/mandate.ts';
import {
  PATCH_SCHEMA,
  PREVIOUS_SCIM_TOKEN,
  patch,
  SCIM_TOKEN,
  type ScimClient,
  scimClient,
  scimSettings,
} from '../support/scim-client.ts';

const UNKNOWN = '/Users/user_01M31S7W68TMK7WDX8YKPSYTES';
const ERROR_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:Error';

function expectError(answer: Answer, status: number, scimType?: string): void {
  expect(answer.status, answer.text).to.equal(status);
  expect(answer.headers.get('content-type')).to.equal('application/scim+json');
  expect(answer.headers.get('cache-control')).to.equal('no-store');
  const { detail, ...rest } = answer.body;
  expect(detail).to.be.a('string');
  expect(rest).to.deep.equal({
    schemas: [ERROR_SCHEMA],
    status: String(status),
    ...(scimType === undefined ? {} : { scimType }),
  });
}

for (const database of databases) {
  describe(`The SCIM endpoint on ${database.name}`, () => {
    let mandate: Mandate;
    let scim: ScimClient;
    const aBody = (changes: Readonly<Record<string, unknown>> = {}) => {
      const who = randomUUID();
      return { userName: `${who}@example.org`, externalId: who, ...changes };
    };
    before(async () => {
      mandate = await startMandate({ database, settings: scimSettings });
      scim = scimClient(mandate);
    });
    after(() => mandate.stop());

    it('refuses and records a wrong credential, whatever the path', async () => {
      const other = await mandate.another({ 'Service:Audit:Aggregation:Enabled': 'false' });
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
      await other.stop();
    });

    it('refuses a request without a credential before its body arrives', async () => {
      const other = await mandate.another({ 'Service:Audit:Aggregation:Enabled': 'false' });
      const lines = await mandate.recorded(async () => {
        const head = 'POST /scim/v2/Users HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n{';
        expect((await sendBytes(other.url, head)).text).to.match(/^HTTP\/1\.1 401 /);
      });
      expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([['scim.denied', 'missing_api_key']]);
      await other.stop();
    });

    it('records the first of several equal denials, then a summary', async () => {
      const other = await mandate.another({});
      const refused = async () =>
        expectError(await scimClient(other).send('GET', '/Users', undefined, { authorization: 'Bearer nobody' }), 401);
      const lines = await mandate.recorded(async () => {
        for (let nth = 0; nth < 4; nth++) await refused();
        other.clock.advance(61);
        await other.jobs.closeWindows();
      });
      expect(fieldsOf(lines, 'event', 'reason', 'count')).to.deep.equal([
        ['scim.denied', 'invalid_api_key', undefined],
        ['scim.denied', 'invalid_api_key', 3],
      ]);
      await other.stop();
    });

    it('accepts the current and the previous credential, which the admin API refuses', async () => {
      for (const token of [SCIM_TOKEN, PREVIOUS_SCIM_TOKEN]) {
        const answer = await scim.send('GET', '/Users', undefined, { authorization: `Bearer ${token}` });
        expect(answer.status).to.equal(200);
        const admin = await mandate.get('/admin/agents', { authorization: `Bearer ${token}` });
        expect(admin.status).to.equal(401);
      }
    });

    it('answers 404 at every path if it is not configured', async () => {
      const other = await mandate.another({
        'Service:Scim:BearerToken': '',
        'Service:Scim:PreviousBearerToken': '',
      });
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
      await other.stop();
    });

    it('answers unknown paths with 404', async () => {
      const users = [`${UNKNOWN}/`, '/users', '/Users//', '///Users'];
      for (const path of [...users, '/Groups', '/Bulk']) expectError(await scim.send('GET', path), 404);
    });

    it('ignores an extra slash after its base path, and after Users', async () => {
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
      ['another attribute', 'filter=active eq true', 'invalidFilter'],
      ['another operator', 'filter=userName sw "a"', 'invalidFilter'],
      ['no value', 'filter=', 'invalidFilter'],
      ['two filters', 'filter=userName eq "a"&filter=userName eq "b"', 'invalidValue'],
      ['a malformed percent-encoding', 'filter=%FF', 'invalidValue'],
      ['a fractional count', 'count=2.5', 'invalidValue'],
      ['a startIndex that is not a number', 'startIndex=one', 'invalidValue'],
      ['a count with an exponent', 'count=1e30', 'invalidValue'],
      ['a count with a plus', 'count=%2B30', 'invalidValue'],
      ['an empty count', 'count=', 'invalidValue'],
      ['a start in hexadecimal', 'startIndex=0x10', 'invalidValue'],
      ['a startIndex of 1.0', 'startIndex=1.0', 'invalidValue'],
    ] as const) {
      it(`refuses a listing with ${title}, and does not repeat the text`, async () => {
        const answer = await scim.send('GET', `/Users?${query}`);
        expectError(answer, 400, scimType);
        expect(answer.text).not.to.match(/drop|1e30|0x10|one/);
      });
    }

    it('finds no user by a filter with a NUL character', async () => {
      const answer = await scim.send('GET', `/Users?filter=${encodeURIComponent('userName eq "a\\u0000b"')}`);
      expect(answer.status, answer.text).to.equal(200);
      expect(answer.body).to.include({ totalResults: 0 });
    });

    it('refuses a userName that differs from another only in case with 409, by POST, PUT and PATCH', async () => {
      const body = aBody();
      await scim.create(body);
      const other = await scim.create(aBody());
      const twin = { ...aBody(), userName: body.userName.toUpperCase() };
      expectError(await scim.send('POST', '/Users', twin), 409, 'uniqueness');
      expectError(await scim.send('PUT', `/Users/${other}`, twin), 409, 'uniqueness');
      const renaming = patch({ userName: twin.userName });
      expectError(await scim.send('PATCH', `/Users/${other}`, renaming), 409, 'uniqueness');
      expect((await scim.send('POST', '/Users', { ...aBody(), externalId: body.externalId })).status).to.equal(201);
    });

    it('compares user names only by their lower-case forms', async () => {
      const one = randomUUID();
      const id = await scim.create({ ...aBody(), userName: `Straße-ÉMILE-${one}` });
      const found = async (name: string) => {
        const answer = await scim.send('GET', `/Users?filter=${encodeURIComponent(`userName eq "${name}"`)}`);
        return (answer.body.Resources as readonly { id: string }[]).map((user) => user.id);
      };
      for (const same of [`straße-émile-${one}`, `STRA\u1e9eE-émile-${one.toUpperCase()}`]) {
        expect(await found(same), same).to.deep.equal([id]);
        expectError(await scim.send('POST', '/Users', { ...aBody(), userName: same }), 409, 'uniqueness');
      }
      for (const another of [`strasse-émile-${one}`, `straße-e\u0301mile-${one}`]) {
        expect(await found(another), another).to.deep.equal([]);
        const other = await scim.create({ ...aBody(), userName: another });
        expect(await found(another), another).to.deep.equal([other]);
      }
      expect(await found(`STRASSE-ÉMILE-${one}`), 'ß is ss in upper case only').not.to.include(id);
    });

    it('replaces a user by PUT, and keeps active, userName and externalId if they are absent', async () => {
      const body = aBody({ active: false });
      const id = await scim.create(body);
      const put = await scim.send('PUT', `/Users/${id}`, { USERNAME: 'Another Name', externalid: body.externalId });
      expect(put.body).to.include({ userName: 'Another Name', externalId: body.externalId, active: false });
      const { userName } = aBody();
      const renamed = await scim.send('PUT', `/Users/${id}`, { userName });
      expect(renamed.body).to.include({ userName, externalId: body.externalId, active: false });
      const { externalId } = aBody();
      const moved = await scim.send('PUT', `/Users/${id}`, { externalId, active: true });
      expect(moved.body).to.include({ userName, externalId, active: true });
      expect((await scim.send('PUT', `/Users/${id}`, {})).body).to.deep.equal(moved.body);
      const nothing = { userName: null, externalId: null };
      expect((await scim.send('PUT', `/Users/${id}`, nothing)).body, 'null is left out').to.deep.equal(moved.body);
      expect((await scim.send('GET', `/Users/${id}`)).body).to.deep.equal(moved.body);
    });

    it('records nothing if a PUT repeats active: false', async () => {
      const body = aBody({ active: false });
      const id = await scim.create(body);
      const block = async () => (await mandate.admin('GET', `/admin/sponsors/${body.externalId}`)).body;
      const before = await block();
      expect(before).to.include({ source: 'scim', kind: 'disabled' });
      const lines = await mandate.recorded(async () => {
        expect((await scim.send('PUT', `/Users/${id}`, body)).status).to.equal(200);
      });
      expect(lines).to.deep.equal([]);
      expect(await block()).to.deep.equal(before);
    });

    it('changes meta.lastModified only if the user changes', async () => {
      const body = aBody();
      const id = await scim.create(body);
      const before = await scim.send('GET', `/Users/${id}`);
      mandate.clock.advance(1);
      expect((await scim.send('PUT', `/Users/${id}`, body)).body).to.deep.equal(before.body);
      const renamed = await scim.send('PUT', `/Users/${id}`, { ...body, userName: `${body.userName}2` });
      const [then, now] = [before, renamed].map(({ body: { meta } }) => meta as Record<string, string>);
      expect(now?.created).to.equal(then?.created);
      expect(now?.lastModified).not.to.equal(then?.lastModified);
    });

    it('applies a whole PATCH or none of it', async () => {
      const body = aBody();
      const id = await scim.create(body);
      const before = await scim.send('GET', `/Users/${id}`);
      const lines = await mandate.recorded(async () => {
        const Operations = [
          { op: 'replace', path: 'active', value: false },
          { op: 'replace', path: 'userName', value: 'renamed' },
          { op: 'remove', path: 'externalId' },
        ];
        expectError(
          await scim.send('PATCH', `/Users/${id}`, { schemas: [PATCH_SCHEMA], Operations }),
          400,
          'invalidValue',
        );
      });
      expect(lines).to.deep.equal([]);
      expect((await scim.send('GET', `/Users/${id}`)).body).to.deep.equal(before.body);
    });

    it('reads active as a boolean or as text in any case, reads op in any case, and removes no required attribute', async () => {
      for (const [active, read] of [
        ['fAlSE', false],
        ['TRUE', true],
        [false, false],
        ['True', true],
      ] as const) {
        const id = await scim.create(aBody({ active }));
        expect((await scim.send('GET', `/Users/${id}`)).body, String(active)).to.include({ active: read });
        const Operations = [{ op: 'rEpLaCe', path: 'Active', value: active }];
        expect((await scim.send('PATCH', `/Users/${id}`, { Operations })).body).to.include({ active: read });
        for (const path of ['active', 'userName', 'externalId']) {
          const removal = { Operations: [{ op: 'REMOVE', path }] };
          const lines = await mandate.recorded(async () => {
            expectError(await scim.send('PATCH', `/Users/${id}`, removal), 400, 'invalidValue');
          });
          expect(lines).to.deep.equal([]);
        }
      }
    });

    it('blocks both people if a PATCH deactivates a user and changes its externalId', async () => {
      const body = aBody();
      const id = await scim.create(body);
      const next = randomUUID();
      const lines = await mandate.recorded(async () => {
        expect((await scim.send('PATCH', `/Users/${id}`, patch({ active: false, externalId: next }))).status).to.equal(
          200,
        );
      });
      expect(fieldsOf(lines, 'event', 'reason', 'sponsor')).to.deep.equal([
        ['sponsor.signal', 'scim_deleted', body.externalId],
        ['sponsor.signal', 'scim_deactivated', next],
      ]);
    });

    const bodies: readonly (readonly [title: string, body: string, scimType: string])[] = [
      ['an empty body', '', 'invalidSyntax'],
      ['malformed JSON', '{"userName":', 'invalidSyntax'],
      ['an array', '[]', 'invalidSyntax'],
      ['a repeated member', '{"userName":"hunter2","externalId":"a","externalId":"b"}', 'invalidSyntax'],
      [
        'a member repeated with an escape',
        '{"active":true,"\\u0061ctive":false,"userName":"hunter2"}',
        'invalidSyntax',
      ],
      [
        'a member repeated in another case',
        '{"userName":"hunter2","externalId":"a","ExternalId":"b"}',
        'invalidSyntax',
      ],
      ['deep nesting', `{"x":${'['.repeat(30_000)}${']'.repeat(30_000)}}`, 'invalidSyntax'],
      ['an unknown schema', '{"schemas":["urn:hunter2"],"userName":"a","externalId":"b"}', 'invalidSyntax'],
      ['a string for active', '{"userName":"a","externalId":"b","active":"hunter2"}', 'invalidValue'],
      ['a number for active', '{"userName":"a","externalId":"b","active":1}', 'invalidValue'],
      ['null for active', '{"userName":"a","externalId":"b","active":null}', 'invalidValue'],
      ['one dot for externalId', '{"userName":"a","externalId":"."}', 'invalidValue'],
      ['two dots for externalId', '{"userName":"a","externalId":".."}', 'invalidValue'],
      ['an invalid sponsor key for externalId', '{"userName":"a","externalId":"hunter2 hunter2"}', 'invalidValue'],
      ['an externalId of 257 characters', `{"userName":"a","externalId":"${'h'.repeat(257)}"}`, 'invalidValue'],
      ['an externalId of 129 emoji', `{"userName":"a","externalId":"${'😀'.repeat(129)}"}`, 'invalidValue'],
      ['a number for userName', '{"userName":7,"externalId":"b"}', 'invalidValue'],
      ['a lone surrogate', '{"userName":"\\ud800","externalId":"b"}', 'invalidSyntax'],
      ['a body over 64 KiB', `{"userName":"a","externalId":"b","x":"${'h'.repeat(65_536)}"}`, 'invalidSyntax'],
    ];
    it('refuses null for userName or externalId by POST with 400, and does not repeat the other', async () => {
      const lines = await mandate.recorded(async () => {
        for (const body of ['{"userName":null,"externalId":"hunter2"}', '{"userName":"hunter2","externalId":null}']) {
          const answer = await scim.send('POST', '/Users', body);
          expectError(answer, 400, 'invalidValue');
          expect(answer.text).not.to.contain('hunter2');
        }
      });
      expect(lines).to.deep.equal([]);
    });

    for (const [title, body, scimType] of bodies) {
      it(`refuses ${title} by POST and PUT with 400, and does not repeat the text`, async () => {
        const id = await scim.create(aBody());
        const lines = await mandate.recorded(async () => {
          for (const [method, path] of [
            ['POST', '/Users'],
            ['PUT', `/Users/${id}`],
          ] as const) {
            const answer = await scim.send(method, path, body);
            expectError(answer, 400, scimType);
            expect(answer.text).not.to.contain('hunter2');
          }
        });
        expect(lines).to.deep.equal([]);
      });
    }

    it('refuses a new user without userName, or without the attribute that names the person', async () => {
      const byName = await mandate.another({ 'Service:Scim:SponsorKeyAttribute': 'userName' });
      const lines = await mandate.recorded(async () => {
        for (const members of ['{"externalId":"hunter2"}', '{"userName":"hunter2"}', '{"active":false}', '{}']) {
          const answer = await scim.send('POST', '/Users', members);
          expectError(answer, 400, 'invalidValue');
          expect(answer.text).not.to.contain('hunter2');
        }
        expectError(await scimClient(byName).send('POST', '/Users', { externalId: 'hunter2' }), 400, 'invalidValue');
      });
      expect(lines).to.deep.equal([]);
      await byName.stop();
    });

    it('accepts an externalId of 256 UTF-16 code units', async () => {
      const externalId = '😀'.repeat(128);
      const id = await scim.create({ ...aBody(), externalId });
      expect((await scim.send('GET', `/Users/${id}`)).body).to.include({ externalId });
    });

    for (const [title, operations] of [
      ['an unknown operation', '[{"op":"hunter2","path":"active","value":false}]'],
      [
        '1,000 operations',
        JSON.stringify(Array.from({ length: 1000 }, () => ({ op: 'add', path: 'active', value: 1 }))),
      ],
      ['no operations', '[]'],
      ['a repeated member', '[{"op":"replace","path":"active","value":false,"value":true}]'],
      ['a sub-attribute of active', '[{"op":"replace","path":"active.hunter2","value":false}]'],
    ] as const) {
      it(`refuses a PATCH with ${title}`, async () => {
        const id = await scim.create(aBody());
        const answer = await scim.send(
          'PATCH',
          `/Users/${id}`,
          `{"schemas":["${PATCH_SCHEMA}"],"Operations":${operations}}`,
        );
        expectError(answer, 400, 'invalidSyntax');
        expect(answer.text).not.to.contain('hunter2');
        expect((await scim.send('GET', `/Users/${id}`)).body).to.include({ active: true });
      });
    }

    it('answers 415 to every body except uncompressed JSON in UTF-8', async () => {
      for (const type of ['text/plain', 'application/xml', 'application/scim+json; charset=latin1', '']) {
        expectError(await scim.send('POST', '/Users', '{}', { 'content-type': type }), 415);
      }
      expectError(await scim.send('POST', '/Users', '{}', { 'content-encoding': 'gzip' }), 415);
    });

    it('answers 507 if a new user would exceed Service:Scim:MaxUsers', async () => {
      const { body } = await scim.send('GET', '/Users?count=0');
      const other = await mandate.another({ 'Service:Scim:MaxUsers': String(Number(body.totalResults) + 1) });
      const last = aBody();
      await scimClient(other).create(last);
      const lines = await mandate.recorded(async () => {
        expectError(await scimClient(other).send('POST', '/Users', aBody()), 507);
        expectError(await scimClient(other).send('POST', '/Users', last), 409, 'uniqueness');
      });
      expect(lines).to.deep.equal([]);
      await other.stop();
    });

    it('names the person by the userName if Service:Scim:SponsorKeyAttribute says so, and then needs no externalId', async () => {
      const other = await mandate.another({ 'Service:Scim:SponsorKeyAttribute': 'userName' });
      const client = scimClient(other);
      const name = `${randomUUID()}@Example.org`;
      const lines = await mandate.recorded(async () => {
        const id = await client.create({ userName: name, externalId: 'x', active: false });
        const Operations = [{ op: 'Remove', path: 'externalId' }];
        const answer = await client.send('PATCH', `/Users/${id}`, { schemas: [PATCH_SCHEMA], Operations });
        expect(answer.body).not.to.have.property('externalId');
        const put = await client.send('PUT', `/Users/${id}`, { externalId: 'y' });
        expect(put.body).to.include({ userName: name, externalId: 'y', active: false });
        const cleared = await client.send('PUT', `/Users/${id}`, { userName: name });
        expect(cleared.body, 'it names nobody here').not.to.have.property('externalId');
        expectError(await client.send('POST', '/Users', { userName: 'two words' }), 400, 'invalidValue');
      });
      expect(fieldsOf(lines, 'reason', 'sponsor')).to.deep.equal([['scim_deactivated', name]]);
      await other.stop();
    });
  });
}
