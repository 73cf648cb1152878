/** How PUT and PATCH change a user. */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { fieldsOf } from '../../support/mandate.ts';
import { PATCH_SCHEMA, patch } from '../../support/scim-client.ts';
import type { Directory } from './directory.ts';
import { expectError } from './directory.ts';

export function testChanges(directory: Directory): void {
  const { aBody } = directory;

  it('refuses a userName that differs from another only in case with 409, by POST, PUT and PATCH', async () => {
    const { scim } = directory;
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
    const { scim } = directory;
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
    const { scim } = directory;
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
    const { mandate, scim } = directory;
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
    const { mandate, scim } = directory;
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
    const { mandate, scim } = directory;
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
    const { mandate, scim } = directory;
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
    const { mandate, scim } = directory;
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
}
