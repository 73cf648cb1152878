/** Databases that a command cannot use: `mandate migrate`, and the commands that read the ledger. */

import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { migrate } from '../../composition/commands/migrate.ts';
import { serve } from '../../composition/commands/serve.ts';
import { environment, signalsMode, startable, type Texts } from '../composition/settings/sources.ts';
import { capturingOutput, withEnvironment } from '../support/captured-output.ts';
import { runMandate } from '../support/cli-run.ts';
import { runCommand } from '../support/command-process.ts';
import { connectOutside, databasesByLength, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { postgresServer } from '../support/postgres-server.ts';
import { sharedSigningKey } from '../support/shared-signing-key.ts';

const MARK = 'zq7-recognised';
const SQLITE = 'Service:Database:Path (Service__Database__Path)';
const POSTGRES = 'Service:Database:ConnectionString (Service__Database__ConnectionString)';
const privatePem = (key: ReturnType<typeof generateKeyPairSync>) =>
  String(key.privateKey.export({ type: 'pkcs8', format: 'pem' }));
const p256 = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });

describe('On Postgres', () => {
  const said = async (changes: Texts) => {
    const database = await freshDatabase('postgres', 'absent');
    const settings = { ...database.settings, ...changes };
    const { result, err } = await capturingOutput(() => withEnvironment(environment(settings), () => migrate([])));
    await database.drop();
    return [result, err];
  };
  const MIGRATING =
    'Service:Database:MigrationConnectionString (Service__Database__MigrationConnectionString), or Service:Database:ConnectionString where that is unset,';

  const refusals: readonly (readonly [what: string, changes: () => Promise<Texts>, sentence: string])[] = [
    [
      'a role that may not create the schema',
      async () => ({ 'Service:Database:MigrationConnectionString': undefined }),
      `${MIGRATING} names a role without the required rights.`,
    ],
    [
      'a role that the server refuses',
      async () => ({ 'Service:Database:MigrationConnectionString': (await postgresServer()).url(MARK, 'postgres') }),
      `${MIGRATING} names a role that the server refuses, or the password is wrong.`,
    ],
    [
      'a database that does not exist',
      async () => ({
        'Service:Database:ConnectionString': (await postgresServer()).url('mandate_app', MARK),
        'Service:Database:MigrationConnectionString': (await postgresServer()).url('mandate_owner', MARK),
      }),
      `${POSTGRES} names a database that does not exist.`,
    ],
    [
      'an unreachable server',
      async () => ({ 'Service:Database:ConnectionString': 'postgresql://mandate_app@127.0.0.1:9/mandate' }),
      'Postgres could not be reached (ECONNREFUSED) at 127.0.0.1:9: see that Postgres runs, that it is reachable from here, and that Service:Database:ConnectionString (Service__Database__ConnectionString) or Service:Database:MigrationConnectionString (Service__Database__MigrationConnectionString) names its address.',
    ],
  ];
  it('mandate serve says so if the role of mandate migrate has another search_path', async () => {
    const database = await freshDatabase('postgres', 'absent');
    const outside = await connectOutside(database);
    await outside.sql('create schema owned');
    await outside.close();
    const owner = `${database.settings['Service:Database:MigrationConnectionString']}?options=-c%20search_path%3Downed`;
    const settings = environment({
      ...startable,
      ...signalsMode,
      ...sharedSigningKey(),
      'Service:Signing:Keys:0:Path': undefined,
      ...database.settings,
      PORT: '0',
    });
    const migrating = environment({ ...database.settings, 'Service:Database:MigrationConnectionString': owner });
    expect(await capturingOutput(() => withEnvironment(migrating, () => migrate([])))).to.include({
      result: 0,
      err: '',
    });
    const { result, err } = await capturingOutput(() => withEnvironment(settings, () => serve([])));
    expect([result, err]).to.deep.equal([
      1,
      'mandate: The database schema is not there: run mandate migrate. If it has run on this Postgres, its role has another search_path than this one.\n',
    ]);
    await database.drop();
  });

  for (const [what, changes, sentence] of refusals) {
    it(`mandate migrate exits with 1 and names ${what}`, async () => {
      expect(await said(await changes())).to.deep.equal([1, `mandate: ${sentence}\n`]);
    });
  }

  it('mandate migrate exits with 1 and names a host that does not resolve, and what a password may hide', async () => {
    const [code, err] = await said({
      'Service:Database:ConnectionString': `postgresql://mandate_app:${MARK}@${MARK}.invalid/mandate`,
      'Service:Database:MigrationConnectionString': undefined,
    });
    expect(code).to.equal(1);
    expect(err).to.match(
      /^mandate: The host in the connection string does not resolve \((ENOTFOUND|EAI_AGAIN)\) at zq7-recognised\.invalid:5432: see Service:Database:ConnectionString \(Service__Database__ConnectionString\) or Service:Database:MigrationConnectionString \(Service__Database__MigrationConnectionString\): the name of the host, and that @, \/ and # in the password are percent-encoded\.\n$/,
    );
  });

  it('mandate migrate exits with 1 and names the error of a server that refuses the connection', async () => {
    const full = await freshDatabase('postgres', 'absent');
    const superuser = await connectOutside(full, 'superuser');
    const { host, pathname } = new URL(full.settings['Service:Database:ConnectionString'] ?? '');
    await superuser.sql(`alter database ${pathname.slice(1)} connection limit 0`);
    const answer = await said(full.settings);
    await superuser.close();
    await full.drop();
    expect(answer).to.deep.equal([
      1,
      `mandate: Postgres gives no further connection: its limit, or that of the database or the role, is reached (53300) at ${host}: each replica takes up to 16 connections. See pg_stat_activity for who holds the others, then raise max_connections, or the connection limit of the role or database.\n`,
    ]);
  });

  for (const [signature, code, said] of [
    ['version() returns text', 0, /^$/],
    ['set_config(text, text, boolean) returns text', 1, /^mandate: .+\.\n$/],
  ] as const) {
    it(`mandate migrate ends where a function before that of Postgres raises: ${signature}`, async function () {
      this.timeout(30_000);
      const planted = await freshDatabase('postgres', 'absent');
      const outside = await connectOutside(planted);
      await outside.sql(`create function public.${signature} language plpgsql as 'begin raise ''${MARK}''; end'`);
      await outside.close();
      const owner = `${planted.settings['Service:Database:MigrationConnectionString']}?options=-c%20search_path%3Dpublic,pg_catalog`;
      const ended = await runCommand(['migrate'], {
        ...planted.settings,
        'Service:Database:MigrationConnectionString': owner,
      });
      expect(ended.code, ended.err).to.equal(code);
      expect(ended.err).to.match(said).and.not.to.contain(MARK);
      await planted.drop();
    });
  }

  it('mandate migrate exits with 1 if the serving role may create in the schema, and prints the statement to run', async () => {
    const open = await freshDatabase('postgres', 'absent');
    const superuser = await connectOutside(open, 'superuser');
    await superuser.sql('grant all on schema public to mandate_app');
    const migrated = () => capturingOutput(() => withEnvironment(environment({ ...open.settings }), () => migrate([])));
    const { result, err } = await migrated();
    const revoke = 'revoke create on schema "public" from mandate_app';
    expect([result, err]).to.deep.equal([
      1,
      `mandate: ${POSTGRES} names a role that may create functions in the schema, which other roles could then run: as the owner of the schema, or as a superuser, run ${revoke}.\n`,
    ]);
    await superuser.sql(revoke);
    expect((await migrated()).result).to.equal(0);
    await superuser.close();
    await open.drop();
  });

  for (const command of [
    'audit-verify',
    'audit-archive --before 2026-01 --to .',
    'audit-export --format ocsf',
    'audit-bundle --sponsor ada',
  ]) {
    it(`mandate ${command} exits with 1 and names a database that does not exist`, async () => {
      const absent = (await postgresServer()).url('mandate_app', MARK);
      const settings = {
        'Service:Database:Provider': 'postgres',
        'Service:Database:ConnectionString': absent,
        'Service:Signing:Keys:0:Pem': privatePem(p256()),
      };
      const { code, err } = await runMandate(command.split(' '), settings);
      const sentence = `mandate: ${POSTGRES} names a database that does not exist.`;
      expect([code, err.trim().split('\n').at(-1)]).to.deep.equal([1, sentence]);
    });
  }

  it('mandate migrate exits with 1 and names a database whose encoding is not UTF8', async () => {
    const server = await postgresServer();
    const name = `mandate_${process.pid}_latin1`;
    const other = await freshDatabase('postgres', 'absent');
    const superuser = await connectOutside(other, 'superuser');
    await superuser.sql(`create database ${name} owner mandate_owner encoding 'LATIN1' locale 'C' template template0`);
    const answer = await said({
      'Service:Database:ConnectionString': server.url('mandate_app', name),
      'Service:Database:MigrationConnectionString': server.url('mandate_owner', name),
    });
    await superuser.sql(`drop database ${name} with (force)`);
    await superuser.close();
    await other.drop();
    expect(answer).to.deep.equal([
      1,
      `mandate: ${MIGRATING} names a database whose encoding is not UTF8: create it again with UTF8.\n`,
    ]);
  });
});

describe('mandate migrate on SQLite', () => {
  it('exits with 1 and names a file whose directory does not exist', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mandate-nowhere-'));
    const settings = { 'Service:Database:Provider': 'sqlite', 'Service:Database:Path': join(folder, MARK, 'file.db') };
    const { result, err } = await capturingOutput(() => withEnvironment(environment(settings), () => migrate([])));
    rmSync(folder, { recursive: true });
    expect([result, err]).to.deep.equal([1, `mandate: ${SQLITE} names a file in a directory that does not exist.\n`]);
  });
});

describe('SQLite in memory', () => {
  for (const command of [
    'serve',
    'migrate',
    'audit-verify',
    'audit-export --format ocsf',
    'audit-bundle --sponsor ada',
  ]) {
    it(`is refused by mandate ${command}, because no other command could see it`, async () => {
      const settings = { 'Service:Database:Provider': 'sqlite', 'Service:Database:Path': ':memory:' };
      const { code, err } = await runMandate(command.split(' '), {
        ...settings,
        'Service:Signing:Keys:0:Pem': privatePem(p256()),
      });
      expect(code).to.equal(1);
      expect(err).to.include(
        `${SQLITE} is SQLite in memory, which each command would have for itself. Accepted: the path of a file.`,
      );
    });
  }
});

describe('A native SQLite module that cannot be loaded', () => {
  const compiled = "The module '/x/better_sqlite3.node' was compiled against NODE_MODULE_VERSION 127.";
  const faults = [
    [compiled, 'better-sqlite3 was built for another Node: npm rebuild better-sqlite3.'],
    ['/x: invalid ELF header', 'better-sqlite3 cannot be loaded on this machine: npm rebuild better-sqlite3.'],
  ] as const;
  /** Each command names one of the faults. */
  const commandsFor = (thrown: string) => (thrown === compiled ? ['migrate', 'audit-verify'] : ['migrate']);
  let folder: string;
  let database: FreshDatabase;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'mandate-addon-'));
    database = await freshDatabase('sqlite');
  });
  after(async () => {
    rmSync(folder, { recursive: true });
    await database.drop();
  });

  for (const [thrown, sentence] of faults) {
    const run = (args: readonly string[]) => {
      const preload = join(folder, 'dlopen.cjs');
      const failing = `throw Object.assign(new Error(${JSON.stringify(thrown)}), { code: 'ERR_DLOPEN_FAILED' })`;
      writeFileSync(preload, `process.dlopen = () => { ${failing}; };`);
      const settings = { ...database.settings, 'Service:Signing:Keys:0:Pem': privatePem(p256()) };
      return runCommand(args, { ...settings, NODE_OPTIONS: `--require ${preload}` });
    };

    for (const command of commandsFor(thrown)) {
      it(`makes mandate ${command} exit with 1 and print: ${sentence}`, async () => {
        const { code, err } = await run([command]);
        expect([code, err]).to.deep.equal([1, `mandate: ${sentence}\n`]);
      });
    }

    if (thrown !== compiled) continue;
    it(`makes mandate doctor report: ${sentence}`, async () => {
      const { out } = await run(['doctor', '--json']);
      const found = (JSON.parse(out) as { check: string }[]).find(({ check }) => check === 'database');
      expect(found).to.deep.include({ status: 'failed', sentence });
    });
  }
});

for (const kind of databasesByLength) {
  describe(`mandate migrate on ${kind.name}`, () => {
    it('applies the schema once in two concurrent processes, and both exit with 0', async () => {
      const database = await kind.fresh('absent');
      // `migrate` ignores invalid settings that only `serve` reads.
      const settings = { ...database.settings, 'Service:Audit:DrainInterval': 'never', 'Service:Issuer': 'nowhere' };
      const both = await Promise.all([1, 2].map(() => runCommand(['migrate'], settings)));
      expect(both.map(({ code, err }) => [code, err])).to.deep.equal([
        [0, ''],
        [0, ''],
      ]);
      const said = both.map(({ out }) => /the schema (is current|was brought up to date)/.exec(out)?.[1]);
      expect(said.toSorted()).to.deep.equal(['is current', 'was brought up to date']);
      const storage = await database.open();
      expect(await storage.schemaStatus()).to.equal('current');
      await storage.close();
      await database.drop();
    });
  });
}
