/** The SCIM requests of Entra ID. */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { PATCH_SCHEMA, USER_SCHEMA } from '../../support/scim-client.ts';
import type { Directory } from './directory.ts';
import { ENTRA_DEACTIVATION, ENTRA_FLAG_DEACTIVATION, ENTRA_REACTIVATION } from './directory.ts';

const ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';

export function testEntraId(directory: Directory): void {
  const { exchangeFor, brief, signals, ending, working, expectStopped } = directory;

  it('let Entra ID test the connection with an unknown user name', async () => {
    const { scim } = directory;
    const path = `/Users?filter=userName+eq+%22${randomUUID()}%22`;
    const answer = await scim.send('GET', path);
    expect(answer.status).to.equal(200);
    expect(answer.body).to.deep.include({ totalResults: 0, Resources: [] });
    // Entra ID appends this flag if the tenant URL has it.
    expect((await scim.send('GET', `${path}&aadOptscim062020`)).status).to.equal(200);
  });

  for (const [title, deactivation] of [
    ['in its default form', ENTRA_DEACTIVATION],
    ['with aadOptscim062020', ENTRA_FLAG_DEACTIVATION],
  ] as const) {
    it(`end the person's tasks if Entra ID disables ${title}, and allow new tasks if it enables the user`, async () => {
      const { scim } = directory;
      const { sub, issued } = await working();
      const id = await scim.create({
        schemas: [USER_SCHEMA, ENTERPRISE],
        externalId: sub,
        userName: `${sub}@contoso.example`,
        active: 'True',
        [ENTERPRISE]: { department: 'Engines', manager: '7' },
      });
      const found = await scim.send('GET', `/Users?filter=externalId eq "${sub}"`);
      expect(found.body).to.deep.include({ totalResults: 1, itemsPerPage: 1 });
      const off = await brief(() => scim.send('PATCH', `/Users/${id}`, deactivation));
      expect(off[0]).to.equal(`sponsor.signal allow scim_deactivated ${sub}`);
      await expectStopped(sub, issued, 'scim_deactivated');
      expect(await brief(() => scim.send('PATCH', `/Users/${id}`, deactivation)), 'restated').to.deep.equal([]);
      expect(await brief(() => scim.send('PATCH', `/Users/${id}`, ENTRA_REACTIVATION))).to.deep.equal(
        signals('scim_reactivated', sub),
      );
      expect((await exchangeFor(sub)).status).to.equal(200);
    });
  }

  it('let Entra ID patch many attributes at once, by path and by dotted name', async () => {
    const { scim } = directory;
    const { sub, issued } = await working();
    const id = await scim.create({ userName: `${sub}@contoso.example`, externalId: sub });
    const answer = await scim.send('PATCH', `/Users/${id}`, {
      schemas: [PATCH_SCHEMA],
      Operations: [
        { op: 'Replace', path: 'emails[type eq "work"].value', value: 'new@contoso.example' },
        { op: 'Add', path: 'name.givenName', value: 'Ada' },
        { op: 'Add', path: `${ENTERPRISE}:employeeNumber`, value: '4711' },
        { op: 'Remove', path: 'title' },
        {
          op: 'replace',
          value: {
            'name.familyName': 'King',
            [`${ENTERPRISE}:department`]: 'Analysis',
            [`${USER_SCHEMA}:userName`]: `${sub}@new.example`,
          },
        },
        { op: 'Replace', path: `${USER_SCHEMA}:active`, value: 'False' },
      ],
    });
    expect(answer.status, answer.text).to.equal(200);
    expect(answer.body).to.include({ userName: `${sub}@new.example`, active: false });
    expect(answer.body).to.have.all.keys('schemas', 'id', 'externalId', 'userName', 'active', 'meta');
    await expectStopped(sub, issued, 'scim_deactivated');
  });

  it("end the person's tasks if Entra ID deletes the user, and allow new tasks if it creates the user again", async () => {
    const { scim } = directory;
    const { sub, issued } = await working();
    const id = await scim.create({ userName: `${sub}@contoso.example`, externalId: sub });
    const gone = await brief(async () => {
      const answer = await scim.send('DELETE', `/Users/${id}`);
      expect(answer.status).to.equal(204);
      expect(answer.text).to.equal('');
    });
    expect(gone).to.deep.equal(ending('scim_deleted', sub));
    await expectStopped(sub, issued, 'scim_deleted');
    expect((await scim.send('DELETE', `/Users/${id}`)).status).to.equal(404);
    expect((await scim.send('GET', `/Users/${id}`)).status).to.equal(404);
    const again = await brief(() => scim.create({ userName: `${sub}@contoso.example`, externalId: sub }));
    expect(again).to.deep.equal(signals('scim_reactivated', sub));
    expect((await exchangeFor(sub)).status).to.equal(200);
  });
}
