/** A command whose database is away says so in one sentence, with the address and the setting, and without a stack. */

import { expect } from 'chai';
import { variableOf } from '../../composition/settings/startup-error.ts';
import { freePort } from '../../scripts/free-port.ts';
import { runMandate } from '../support/cli-run.ts';
import { freshDatabase } from '../support/databases.ts';

const SERVING = 'Service:Database:ConnectionString';
const MIGRATING = 'Service:Database:MigrationConnectionString';

describe('A command without its database', () => {
  const setting = (key: string) => `${key} (${variableOf(key)})`;
  const BOTH = `${setting(SERVING)} or ${setting(MIGRATING)}`;
  const lines: readonly (readonly [line: readonly string[], away: 'both' | 'owner', settings: string])[] = [
    [['migrate'], 'both', BOTH],
    [['migrate'], 'owner', BOTH],
    [['after-restore', '--above', '1'], 'both', BOTH],
    [['audit-export', '--format', 'ocsf'], 'both', setting(SERVING)],
  ];
  for (const [line, away, settings] of lines) {
    it(`says where the database of ${line[0]} is, and which setting says so (away: ${away})`, async () => {
      const database = await freshDatabase('postgres');
      const address = `127.0.0.1:${await freePort()}`;
      const nowhere = `postgresql://mandate:hunter2@${address}/mandate`;
      try {
        const { code, out, err } = await runMandate(line, {
          ...database.settings,
          ...(away === 'both' ? { [SERVING]: nowhere } : {}),
          [MIGRATING]: nowhere,
        });
        expect(code).to.equal(1);
        expect(err).to.match(/^mandate: Postgres could not be reached \(ECONNREFUSED\) at [^\n]+ address\.\n$/);
        expect(err).to.contain(` at ${address}: see that Postgres runs`).and.contain(`that ${settings} names its`);
        expect(out + err).not.to.match(/stack|hunter2|\bat \w+ \(/);
      } finally {
        await database.drop();
      }
    });
  }

  it('names every host of a list', async () => {
    const [one, other] = [await freePort(), await freePort()];
    const { code, err } = await runMandate(['audit-export', '--format', 'ocsf'], {
      [variableOf(SERVING)]:
        `postgresql://mandate:hunter2@127.0.0.1:${one},[::1]:${other}/mandate?target_session_attrs=primary`,
    });
    expect(code).to.equal(1);
    expect(err).to.contain(` at 127.0.0.1:${one} or [::1]:${other}: see`).and.not.contain('hunter2');
  });

  it('names no host that may be a part of a password', async () => {
    for (const credentials of ['mandate:12/hunter2', 'mandate:a@hunter2.invalid/c', 'mandate:12#hunter2']) {
      const { code, err } = await runMandate(['audit-export', '--format', 'ocsf'], {
        [variableOf(SERVING)]: `postgresql://${credentials}@127.0.0.1/mandate`,
      });
      expect(code).to.equal(1);
      expect(err)
        .to.match(/^mandate: [A-Z]\S+ [^\n]+\.\n$/)
        .and.not.match(/hunter2|\b12\b| at /);
    }
  });

  it('names a directory of sockets', async () => {
    const { code, err } = await runMandate(['audit-export', '--format', 'ocsf'], {
      [variableOf(SERVING)]: 'postgresql:///mandate?host=/nowhere/at/all&user=mandate',
    });
    expect(code).to.equal(1);
    expect(err).to.contain(' (ENOENT) at /nowhere/at/all: ');
  });
});

describe('mandate without any setting', () => {
  const BEGIN = 'mandate: No setting of this service is given. Begin with docs/getting-started.md;';

  for (const line of [[], ['serve'], ['migrate']]) {
    it(`has a last line that says where to begin: mandate ${line.join(' ')}`, async () => {
      for (const settings of [{}, { PORT: '5100', HOST: '127.0.0.1', NODE_ENV: 'production' }]) {
        const { code, err } = await runMandate(line, settings);
        expect(code).to.equal(1);
        expect(err).to.match(/ is required| is not set/);
        expect(err.trimEnd().split('\n').at(-1)).to.satisfy((last: string) => last.startsWith(BEGIN), err);
      }
    });
  }

  it('does not say where to begin if a setting is given, even a misspelt one', async () => {
    for (const name of ['Service__Issuer', 'Service__Isuer'])
      expect((await runMandate(['migrate'], { [name]: 'https://mandate.example' })).err).not.to.contain(BEGIN);
    expect((await runMandate(['migrate', '--Service:Issuer=https://mandate.example'])).err).not.to.contain(BEGIN);
  });
});
