/** A provider whose answers are of no use at `/oauth2/authorize`: what the person, the program and the operator learn of it. */

import { expect } from 'chai';
import { examineEverything } from '../../../composition/doctor/examine-everything.ts';
import { doctorSettings } from '../../../composition/doctor/settings.ts';
import {
  authorizationRequest,
  doorPerson,
  linkBack,
  publicAgent,
  STATE,
  startDoor,
  titleOf,
} from '../../support/authorize/door.ts';
import { authorizeSettings } from '../../support/authorize/settings.ts';
import { sqliteFile } from '../../support/databases.ts';
import { type Answer, environmentOf, fieldsOf, type Mandate } from '../../support/mandate.ts';
import { sharedSigningKey } from '../../support/shared-signing-key.ts';

describe('A fault of the provider at /oauth2/authorize', function () {
  this.timeout(120_000);

  /** The person comes back. @returns the page, what its link tells the program, and the records */
  async function comesBack(mandate: Mandate) {
    const agentId = await publicAgent(mandate);
    const pages: Answer[] = [];
    const lines = await mandate.recorded(async () => {
      pages.push(await doorPerson(mandate).comeBack(authorizationRequest(agentId)));
    });
    const [page] = pages;
    if (page === undefined) throw new Error('there was no answer');
    const told = Object.fromEntries(linkBack(page)?.searchParams ?? []);
    return [page.status, titleOf(page), told.error, told.state, fieldsOf(lines, 'event', 'reason', 'agent_id')];
  }
  const denied = (reason: string) => [['authorization.denied', reason, null]];

  it('that lets the client have no audience is named by mandate doctor, with the setting and the audience', async () => {
    const fresh = await sqliteFile.fresh();
    const without = { ...sharedSigningKey(), 'Service:Authorize:ProviderParameters:resource': '' };
    const own = { ...sqliteFile, fresh: async () => fresh };
    const { mandate, provider, stop } = await startDoor(own, without);
    try {
      const door = authorizeSettings({ audience: provider.audience });
      const settings = {
        ...fresh.settings,
        ...door,
        'Service:Issuer': mandate.issuer,
        'Service:UpstreamIdp:Issuer': provider.issuer,
        'Service:UpstreamIdp:Audience': provider.audience,
        'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
        NODE_ENV: 'development',
        ...without,
      };
      const ofClient = async () => {
        const read = doctorSettings({ environment: environmentOf(settings), overrides: [] });
        const found = await examineEverything(read, mandate.clock);
        return found.find(({ check }) => check === 'authorize client');
      };
      expect(await comesBack(mandate)).to.deep.equal([
        403,
        'The sign-in cannot be used for agents',
        'server_error',
        STATE,
        denied('subject_malformed'),
      ]);
      const finding = await ofClient();
      expect(finding?.status, finding?.sentence).to.equal('warning');
      expect(finding?.sentence).to.match(/^The access token of the last sign-in with the client mandate-authorize, /);
      expect(finding?.sentence).to.include('was refused: subject_malformed.');
      expect(finding?.remedy)
        .to.include(`must be JWTs with the aud ${provider.audience}`)
        .and.include('Service:Authorize:ProviderParameters:audience or :resource');
    } finally {
      await stop();
    }
  });

  it('that never answers ends the way within the time limit, with a record and a link back', async () => {
    const { mandate, provider, stop } = await startDoor(sqliteFile, {}, { odd: {} });
    try {
      provider.misbehave({ answers: { token: () => undefined } });
      expect(await comesBack(mandate)).to.deep.equal([
        503,
        'The sign-in is not available',
        'temporarily_unavailable',
        STATE,
        denied('provider_unavailable'),
      ]);
    } finally {
      await stop();
    }
  });
});
