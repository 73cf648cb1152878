/**
 * Follows the worked example of docs/high-availability.md: runs its commands in one shell, with the programs of Debian's
 * Postgres, while two replicas of the service are asked what the page says that they answer.
 */

import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { freePort } from '../../../scripts/free-port.ts';
import { runCommand } from '../../support/command-process.ts';
import { eventually } from '../../support/eventually.ts';
import { type Mandate, startMandate } from '../../support/mandate.ts';
import { root } from '../../support/packed-packages.ts';
import { blocksOf, pageText } from '../../support/pages/page.ts';
import { blocksRunBy } from '../../support/pages/run-by.ts';
import { openTerminal, shownOutput } from '../../support/pages/terminal.ts';
import { serverAccount } from '../../support/postgres-server.ts';
import { sharedSigningKey } from '../../support/shared-signing-key.ts';

const THIS = 'test/long/docs/high-availability.test.ts';
const PAGE = 'docs/high-availability.md';
const DEBIAN = '/usr/lib/postgresql';
/** The first digits of the three ports on the page. */
const PORTS = '544';
const PASSWORDS = { MANDATE_OWNER_PASSWORD: 'of-the-owner', MANDATE_SERVING_PASSWORD: 'of-the-service' };

describe(PAGE, function () {
  this.timeout(240_000);
  const programs = (existsSync(DEBIAN) ? readdirSync(DEBIAN) : [])
    .map((version) => join(DEBIAN, version, 'bin'))
    .findLast((bin) => existsSync(join(bin, 'pg_rewind')));
  if (programs === undefined) {
    it(`is skipped: Debian's postgresql is not installed in ${DEBIAN}`, function () {
      this.skip();
    });
    return;
  }

  it('has a worked example whose commands work, and in which the service answers what the page says', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mandate-high-availability-'));
    const account = serverAccount();
    if (account !== undefined) chownSync(folder, account.uid, account.gid);
    const ports = String(await freePort()).slice(0, -1);
    const environment = { ...PASSWORDS, PATH: `${programs}:${process.env.PATH}` };
    const terminal = openTerminal(folder, environment, account);
    const blocks = [...blocksRunBy(THIS, PAGE)];
    const shown = blocksOf(pageText(PAGE)).filter(({ language }) => language === 'text');
    const replicas: Mandate[] = [];

    /** Runs the next block of commands. If the page shows what they print, compares it. */
    const follow = async () => {
      const block = blocks.shift();
      if (block === undefined) throw new Error('The page has no further commands');
      const printed = await terminal.run(block.text.replaceAll(PORTS, ports));
      const output = shown.find(({ at }) => at > block.at && at < (blocks[0]?.at ?? 0));
      if (output !== undefined) expect(printed).to.match(shownOutput(output.text));
    };
    const everywhere = async (is: (mandate: Mandate) => Promise<boolean>) => {
      for (const mandate of replicas) await eventually(() => is(mandate), 50);
    };
    const readyz = async (mandate: Mandate) => (await mandate.get('/readyz', { accept: 'application/json' })).text;
    const isReported = (text: string) => everywhere(async (mandate) => (await readyz(mandate)).includes(text));

    try {
      await follow();
      await terminal.run(
        `psql --quiet --file - postgresql://postgres@127.0.0.1:${ports}1/postgres < ${join(root, 'docs/examples/deploy/postgres-roles.sql')}`,
      );
      const hosts = [1, 2, 3].map((n) => `127.0.0.1:${ports}${n}`).join();
      const url = (role: string) => `postgresql://${role}@${hosts}/mandate?target_session_attrs=read-write`;
      const settings = {
        'Service:Database:Provider': 'postgres',
        'Service:Database:ConnectionString': url('mandate:of-the-service'),
        'Service:Database:MigrationConnectionString': url('mandate_owner:of-the-owner'),
      };
      const command = async (...words: string[]) => {
        const { code, out, err } = await runCommand(words, { ...settings, ...sharedSigningKey() });
        expect(code, `${out}${err}`).to.equal(0);
        return out;
      };
      await command('migrate');
      const database = {
        settings,
        outside: undefined,
        drop: async () => undefined,
        open: () => Promise.reject(new Error('The services open the database themselves')),
      };
      const mandate = await startMandate({
        database: { name: 'Postgres of the page', engine: 'postgres', fresh: async () => database },
        settings: sharedSigningKey(),
      });
      replicas.push(mandate, await mandate.another({}, undefined, { clock: mandate.clock }));
      const agent = await mandate.agent();
      const answers = (status: number) =>
        everywhere(async (each) => (await each.post('/oauth2/token', agent.exchangeForm())).status === status);
      await answers(200);

      // The primary is lost, and comes back as a standby.
      await follow();
      await isReported('Postgres answered, and is not the primary: its address leads to a standby');
      await answers(503);
      await follow();
      await answers(200);
      for (const { log } of replicas) {
        expect(log.lines.join('\n')).to.include('another database server was promoted to primary');
      }
      await follow();

      // A switchover.
      await follow();
      await answers(200);

      // Both standbys are lost, and one comes back.
      await follow();
      await answers(503);
      await isReported('their commits wait for a synchronous standby');
      await follow();
      await answers(200);
      await isReported('"status":"Healthy","detail":"The database answers."');

      // A backup is restored.
      await follow();
      await answers(200);
      await follow();
      await isReported('went back in time');
      const seen = replicas.flatMap(({ log }) =>
        log.lines.map((line) => JSON.parse(line)).filter(({ message, seq }) => /went back/.test(message) && seq > 0),
      );
      expect(seen).to.have.lengthOf(replicas.length);
      await command('migrate');
      const above = Math.max(...seen.map(({ seq }) => Number(seq)));
      // The record of the command has the number after the hole.
      expect(await command('after-restore', '--above', String(above))).to.include(`above ${above + 1_000_001}.`);
      expect(blocks).to.deep.equal([]);
    } finally {
      for (const each of replicas.toReversed()) await each.stop();
      await terminal.run('for n in 1 2 3; do pg_ctl --pgdata db$n --mode immediate stop || true; done').catch(() => '');
      await terminal.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
