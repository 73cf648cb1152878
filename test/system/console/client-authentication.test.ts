/** How the console's client authenticates at the operators' provider, a real one that accepts only the registered way. */

import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { operators, signedInOperator, startWithConsole } from '../../support/console/operators-browser.ts';
import { sqliteFile } from '../../support/databases.ts';

describe("The console's client", () => {
  const signsIn = async (
    settings: Readonly<Record<string, string>>,
    options: Parameters<typeof startWithConsole>[2] = {},
  ) => {
    const running = await startWithConsole(sqliteFile, settings, options);
    try {
      const { signedIn, get } = await signedInOperator(running, operators.viewer);
      expect([signedIn.status, signedIn.headers.get('location')], signedIn.text).to.deep.equal([302, '/']);
      expect((await get('/')).status).to.equal(200);
    } finally {
      await running.stop();
    }
  };

  it('authenticates by the client secret in a file', async () => {
    const path = join(tmpdir(), `console-secret-${randomUUID()}`);
    await writeFile(path, 'a-secret:with-+-and-%\n');
    await signsIn({ 'Service:Operators:ClientSecret:Path': path }, { secret: 'a-secret:with-+-and-%' });
  });

  it('authenticates by an assertion for the token endpoint, also at a provider of the operators alone', async () => {
    const settings = { 'Service:UpstreamIdp:ClientAssertionAudience': 'token_endpoint' };
    await signsIn(settings, { hasOwnProvider: true, acceptsOnlyTokenEndpoint: true });
  });
});
