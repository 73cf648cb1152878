/** The official MCP client, unmodified, from its first request to a stop. The long tests have more clients and real browsers. */

import { expect } from 'chai';
import { type Door, oidcProvider } from '../../support/clients/doors.ts';
import { allowByScript } from '../../support/clients/person.ts';
import { registerProgram } from '../../support/clients/program.ts';
import { startProtectedMcp } from '../../support/clients/protected-mcp.ts';
import { sdks } from '../../support/clients/sdk-clients.ts';
import { sdkHost } from '../../support/clients/sdk-host.ts';
import { liveThroughAll } from '../../support/clients/whole-way.ts';

const REDIRECT = 'http://127.0.0.1:9/callback';

describe('A stock MCP client', function () {
  this.timeout(60_000);
  let door: Door;
  before(async () => {
    door = await oidcProvider.start();
  });
  after(() => door.stop());

  it('walks in: the person starts its task, and it sees more scopes, a renewal and an end', async () => {
    const { mandate } = door;
    const server = await startProtectedMcp(mandate);
    const agent = await registerProgram(mandate, server.endpoint, { redirect_uris: [REDIRECT] });
    const host = sdkHost({ redirectUrl: REDIRECT, clientId: agent.id });
    const sdk = sdks[1];
    if (sdk === undefined) throw new Error('no SDK 2');
    await liveThroughAll({
      mandate,
      agent,
      endpoint: server.endpoint,
      sdk,
      host,
      client: 'public',
      rotates: true,
      answer: async (address, answer) => {
        const back = await allowByScript(mandate, address, answer);
        expect(`${back.origin}${back.pathname}`).to.equal(REDIRECT);
        expect(back.searchParams.get('state')).to.equal(address.searchParams.get('state'));
        return back.searchParams;
      },
    });
    await server.stop();
  });
});
