/** How PUT and PATCH change a user. */

import { expect } from 'chai';
import { patch } from '../../support/scim-client.ts';
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
}
