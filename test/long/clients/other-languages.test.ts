/** Public clients in other languages, unmodified, in Chromium: golang.org/x/oauth2, and authlib of Python. */

import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { closeBrowser } from '../../support/browser.ts';
import { type Callback, startCallback } from '../../support/clients/callback.ts';
import { type Door, oidcProvider } from '../../support/clients/doors.ts';
import { type PersonInBrowser, personInBrowser } from '../../support/clients/person.ts';
import { endTasks, registerProgram } from '../../support/clients/program.ts';
import { fieldsOf, JIRA } from '../../support/mandate.ts';
import { agentLibraries } from '../../support/other-languages/agent-libraries.ts';
import { type Ending, languages } from '../../support/other-languages/languages.ts';

const programOf = (ending: Ending) =>
  fileURLToPath(new URL(`../../support/other-languages/public-client.${ending}`, import.meta.url));

const clients = [
  { ending: 'py', how: 'authlib', more: {} },
  // It first authenticates by a header, which is refused, and then in the body.
  { ending: 'go', how: 'x/oauth2, which finds out how to authenticate', more: {} },
  { ending: 'go', how: 'x/oauth2, which authenticates in the body', more: { IN_BODY: 'yes' } },
] as const;

for (const { ending, how, more } of clients) {
  const { name, has, run } = languages[ending];
  const { modules, packages } = agentLibraries[ending];
  describe(`${how} (${name})`, function () {
    this.timeout(180_000);
    if (!has(modules)) {
      it(`is skipped: Debian's packages ${packages} are not installed`, function () {
        this.skip();
      });
      return;
    }
    let door: Door;
    let person: PersonInBrowser;
    let callback: Callback;
    before(async () => {
      door = await oidcProvider.start();
      person = await personInBrowser(door);
      callback = await startCallback();
    });
    after(async () => {
      await person.close();
      await closeBrowser();
      await callback.close();
      await door.stop();
    });

    it('starts a task, renews it with a grant that rotates, and sees it end', async () => {
      const { mandate } = door;
      const agent = await registerProgram(mandate, JIRA, { redirect_uris: ['http://127.0.0.1/callback'] });
      const { body: metadata } = await mandate.get('/.well-known/oauth-authorization-server');
      const environment = {
        ...more,
        CLIENT_ID: agent.id,
        REDIRECT_URI: callback.address,
        SCOPE: 'jira:read jira:comment',
        RESOURCE: JIRA,
        AUTHORIZATION_ENDPOINT: String(metadata.authorization_endpoint),
        TOKEN_ENDPOINT: String(metadata.token_endpoint),
      };
      const step = async (STEP: string, given: object): Promise<Readonly<Record<string, string>>> => {
        const { code, output, errors } = await run(programOf(ending), { ...environment, STEP }, JSON.stringify(given));
        expect([code, errors]).to.deep.equal([0, '']);
        return JSON.parse(output);
      };
      const start = async () => {
        const begun = await step('begin', {});
        await person.answer(begun.address ?? '', { without: ['jira:comment'] });
        return step('redeem', { ...begun, answer: `${callback.address}?${await callback.next()}` });
      };
      const tokens = await start();
      expect(tokens.scope).to.equal('jira:read');
      expect(await mandate.introspect(tokens.access_token ?? '')).to.deep.include({
        active: true,
        scope: 'jira:read',
        act: { sub: `agent:${agent.id}`, depth: 1 },
      });
      const renewed = await step('refresh', tokens);
      expect(renewed.scope).to.equal('jira:read');
      expect(renewed.refresh_token).not.to.equal(tokens.refresh_token);
      expect((await mandate.introspect(renewed.access_token ?? '')).active).to.equal(true);
      await endTasks(mandate, agent);
      const refused = await mandate.recorded(async () => {
        expect(await step('refresh', renewed)).to.deep.equal({ error: 'invalid_grant' });
      });
      // Each refusal is recorded; x/oauth2 that finds out sends one request more.
      expect(fieldsOf(refused, 'event', 'reason').at(-1)).to.deep.equal(['token.denied', 'task_revoked']);
      expect((await start()).scope).to.equal('jira:read');
    });
  });
}
