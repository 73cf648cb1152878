/** The settings and the provider for `mandate doctor --subject-token`. */

import { Readable } from 'node:stream';
import { expect } from 'chai';
import type { NamedFinding } from '../../../application/doctor/examine.ts';
import { explainToken } from '../../../composition/commands/doctor.ts';
import { doctorSettings } from '../../../composition/doctor/settings.ts';
import type { FreshDatabase, TestDatabase } from '../../support/databases.ts';
import { type IdentityProvider, startIdentityProvider } from '../../support/identity-provider/identity-provider.ts';
import { answering } from '../../support/loopback.ts';
import { environmentOf } from '../../support/mandate.ts';
import { movedClock } from '../../support/moved-clock.ts';
import { sharedSigningKey } from '../../support/shared-signing-key.ts';
import { startUserDirectory, type UserDirectory } from '../../support/user-directory.ts';

const active = answering({ enabled: true });

/** Starts it before the tests of the surrounding suite, and stops it after them. */
export function explainedTokens(kind: TestDatabase) {
  let provider: IdentityProvider;
  let directory: UserDirectory;
  let database: FreshDatabase;
  let settings: Readonly<Record<string, string>>;

  before(async () => {
    provider = await startIdentityProvider({ algorithm: 'ES256' });
    database = await kind.fresh();
    directory = await startUserDirectory(active);
    settings = {
      ...database.settings,
      ...sharedSigningKey(),
      'Service:UpstreamIdp:Issuer': provider.issuer,
      'Service:UpstreamIdp:Audience': provider.audience,
      'Service:UpstreamIdp:SponsorKeyClaim': 'oid',
      ...directory.settings,
    };
  });

  beforeEach(() => {
    directory.answer = active;
  });

  after(async () => {
    await provider.stop();
    await directory.server.close();
    await database.drop();
  });

  const good = { sub: 'ada-the-person', oid: 'object-of-ada', sid: 'session-of-ada' };

  const mint = (claims: object = {}, header: object = {}) =>
    provider.mintAccessToken({ ...good, ...claims }, { ...header });

  async function explain(
    token: string,
    { person: isPersonAsked = false, clock = movedClock(), changes = {} as Readonly<Record<string, string>> } = {},
  ) {
    const read = doctorSettings({ environment: environmentOf({ ...settings, ...changes }), overrides: [] });
    const findings = await explainToken(read, clock, { stdin: Readable.from([`${token}\n`]), person: isPersonAsked });
    const text = JSON.stringify(findings);
    for (const part of token.split('.')) expect(text).not.to.include(part.slice(0, 40));
    for (const part of Object.values(good)) expect(text, 'no claim that names the person').not.to.include(part);
    return findings;
  }

  const failedOf = (findings: readonly NamedFinding[]) =>
    findings.filter(({ status }) => status === 'failed').map(({ check }) => check);

  const sentenceOf = (findings: readonly NamedFinding[], check: string) =>
    findings.find((finding) => finding.check === check)?.sentence;

  return {
    get provider() {
      return provider;
    },
    get directory() {
      return directory;
    },
    get database() {
      return database;
    },
    get settings() {
      return settings;
    },
    good,
    mint,
    explain,
    failedOf,
    sentenceOf,
  };
}

export type Explained = ReturnType<typeof explainedTokens>;
