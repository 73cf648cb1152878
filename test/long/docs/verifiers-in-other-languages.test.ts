/** Libraries of other languages that verify task tokens, set up as docs/tool-servers.md says. */

import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { freePort } from '../../../scripts/free-port.ts';
import { sqliteFile } from '../../support/databases.ts';
import { JIRA, type Mandate, type RegisteredAgent, startMandate } from '../../support/mandate.ts';
import { type Ending, languages } from '../../support/other-languages/languages.ts';
import { signingKeySettings } from '../../support/shared-signing-key.ts';
import { makeSigningKey, type SigningKey } from '../../support/signing-key.ts';
import { foreignTokens, LOCALLY } from '../../support/tool-server/foreign-tokens.ts';

const verifiers: readonly {
  readonly name: string;
  readonly ending: Ending;
  readonly modules: readonly string[];
  readonly packages: string;
}[] = [
  { name: 'pyjwt', ending: 'py', modules: ['jwt'], packages: 'python3-jwt' },
  { name: 'authlib', ending: 'py', modules: ['authlib', 'requests'], packages: 'python3-authlib python3-requests' },
  {
    name: 'go-oidc',
    ending: 'go',
    modules: ['github.com/coreos/go-oidc'],
    packages: 'golang-go golang-github-coreos-go-oidc-dev',
  },
  {
    name: 'go-jose',
    ending: 'go',
    modules: ['gopkg.in/square/go-jose.v2/jwt'],
    packages: 'golang-go golang-gopkg-square-go-jose.v2-dev',
  },
  { name: 'ruby-jwt', ending: 'rb', modules: ['jwt'], packages: 'ruby ruby-jwt' },
];

describe('Verifiers in other languages', function () {
  this.timeout(120_000);
  let key: SigningKey;
  let mandate: Mandate;
  let other: Mandate;
  let agent: RegisteredAgent;
  const { issued, signed, refused } = foreignTokens(() => ({ mandate, agent, key, other }));
  let tokens: Readonly<Record<string, string>>;

  before(async () => {
    key = await makeSigningKey('ES256');
    const settings = signingKeySettings(key.privateKey);
    mandate = await startMandate({ database: sqliteFile, issuer: 'own-address', settings });
    const port = await freePort();
    other = await mandate.another({ 'Service:Issuer': `http://127.0.0.1:${port}`, PORT: String(port) });
    agent = await mandate.agent(LOCALLY);
    tokens = {};
    // One after the other: the expired token moves the clock.
    for (const [which, make] of Object.entries(refused)) tokens = { ...tokens, [which]: await make() };
  });
  after(async () => {
    await other.stop();
    await mandate.stop();
  });

  for (const { name, ending, modules, packages } of verifiers) {
    const { has, run } = languages[ending];
    const file = `verify-with-${name}.${ending}`;
    if (!has(modules)) {
      it(`${file} is skipped: Debian's packages ${packages} are not installed`, function () {
        this.skip();
      });
      continue;
    }

    it(`${file} accepts a task token, and none that differs in one respect`, async () => {
      const program = fileURLToPath(new URL(`../../support/other-languages/${file}`, import.meta.url));
      const given = { MANDATE_ISSUER: mandate.issuer, AUDIENCE: JIRA };
      const good = [await issued(), await signed({})];
      const input = [...good, ...Object.values(tokens), 'nonsense'];
      const { code, output, errors } = await run(program, given, `${input.join('\n')}\n`);
      expect([code, errors]).to.deep.equal([0, '']);
      const verdicts = output.trim().split('\n');
      expect(verdicts.slice(0, 2)).to.deep.equal(['accepted ada', 'accepted ada']);
      const accepted = Object.keys(tokens).filter((_, nth) => verdicts[nth + 2] !== 'refused');
      expect(accepted).to.deep.equal([]);
      expect(verdicts).to.have.lengthOf(input.length);
    });
  }
});
