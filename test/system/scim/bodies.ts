/** The bodies that the SCIM endpoint accepts, and those that it refuses. */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { fieldsOf, withService } from '../../support/mandate.ts';
import { PATCH_SCHEMA, scimClient } from '../../support/scim-client.ts';
import type { Directory } from './directory.ts';
import { expectError } from './directory.ts';

export function testBodies(directory: Directory): void {
  const { aBody } = directory;

  const bodies: readonly (readonly [title: string, body: string, scimType: string])[] = [
    ['an empty body', '', 'invalidSyntax'],
    ['a repeated member', '{"userName":"hunter2","externalId":"a","externalId":"b"}', 'invalidSyntax'],
    ['an unknown schema', '{"schemas":["urn:hunter2"],"userName":"a","externalId":"b"}', 'invalidSyntax'],
    ['a string for active', '{"userName":"a","externalId":"b","active":"hunter2"}', 'invalidValue'],
    ['a body over 64 KiB', `{"userName":"a","externalId":"b","x":"${'h'.repeat(65_536)}"}`, 'invalidSyntax'],
  ];

  for (const [title, body, scimType] of bodies) {
    it(`refuses ${title} by POST and PUT with 400, and does not repeat the text`, async () => {
      const { mandate, scim } = directory;
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
    const { mandate, scim } = directory;
    await withService(mandate.another({ 'Service:Scim:SponsorKeyAttribute': 'userName' }), async (byName) => {
      const lines = await mandate.recorded(async () => {
        for (const members of ['{"externalId":"hunter2"}', '{"userName":"hunter2"}', '{"active":false}', '{}']) {
          const answer = await scim.send('POST', '/Users', members);
          expectError(answer, 400, 'invalidValue');
          expect(answer.text).not.to.contain('hunter2');
        }
        expectError(await scimClient(byName).send('POST', '/Users', { externalId: 'hunter2' }), 400, 'invalidValue');
      });
      expect(lines).to.deep.equal([]);
    });
  });

  it('refuses a PATCH with an unknown operation', async () => {
    const { scim } = directory;
    const id = await scim.create(aBody());
    const operations = '[{"op":"hunter2","path":"active","value":false}]';
    const patch = `{"schemas":["${PATCH_SCHEMA}"],"Operations":${operations}}`;
    const answer = await scim.send('PATCH', `/Users/${id}`, patch);
    expectError(answer, 400, 'invalidSyntax');
    expect(answer.text).not.to.contain('hunter2');
    expect((await scim.send('GET', `/Users/${id}`)).body).to.include({ active: true });
  });

  it('answers 415 to every body except uncompressed JSON in UTF-8', async () => {
    const { scim } = directory;
    for (const type of ['text/plain', 'application/xml', 'application/scim+json; charset=latin1', '']) {
      expectError(await scim.send('POST', '/Users', '{}', { 'content-type': type }), 415);
    }
    expectError(await scim.send('POST', '/Users', '{}', { 'content-encoding': 'gzip' }), 415);
  });

  it('answers 507 if a new user would exceed Service:Scim:MaxUsers', async () => {
    const { mandate, scim } = directory;
    const { body } = await scim.send('GET', '/Users?count=0');
    const oneMore = { 'Service:Scim:MaxUsers': String(Number(body.totalResults) + 1) };
    await withService(mandate.another(oneMore), async (other) => {
      const last = aBody();
      await scimClient(other).create(last);
      const lines = await mandate.recorded(async () => {
        expectError(await scimClient(other).send('POST', '/Users', aBody()), 507);
        expectError(await scimClient(other).send('POST', '/Users', last), 409, 'uniqueness');
      });
      expect(lines).to.deep.equal([]);
    });
  });

  it('names the person by the userName if Service:Scim:SponsorKeyAttribute says so, and then needs no externalId', async () => {
    const { mandate } = directory;
    await withService(mandate.another({ 'Service:Scim:SponsorKeyAttribute': 'userName' }), async (other) => {
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
        expect(cleared.body, 'it is absent').not.to.have.property('externalId');
        expectError(await client.send('POST', '/Users', { userName: 'two words' }), 400, 'invalidValue');
      });
      expect(fieldsOf(lines, 'reason', 'sponsor')).to.deep.equal([['scim_deactivated', name]]);
    });
  });
}
