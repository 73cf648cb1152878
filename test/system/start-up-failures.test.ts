/**
 * What only shows once the settings hold: the keys, the database, the address. Each down the path that `mandate serve`
 * takes; one of each kind, those of settings too, as a process of its own, with a limit on how long it may take.
 */

import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { migrate } from '../../composition/commands/migrate.ts';
import { serve } from '../../composition/commands/serve.ts';
import { environment, signalsMode, startable, type Texts } from '../composition/settings/sources.ts';
import { capturingOutput, withEnvironment } from '../support/captured-output.ts';
import { runCommand, startCommand } from '../support/command-process.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { postgresServer } from '../support/postgres-server.ts';

/** A process that does not start has ended by then. */
const LIMIT_MS = 5000;
const MARK = 'zq7-recognised';
/** Stands for the port that is taken, which is another in each run. */
const TAKEN = '<taken>';

/** What the settings of a case are made of. */
interface Place {
  readonly folder: string;
  /** Migrated. */
  readonly sqlite: FreshDatabase;
  readonly postgres: FreshDatabase;
  /** Nobody else can listen there. */
  readonly takenPort: string;
  /** Keeps the text in a file. */
  readonly file: (name: string, text: string) => string;
}

interface Failure {
  readonly title: string;
  readonly changes: (place: Place) => Texts | Promise<Texts>;
  /** Beginnings of lines on standard error, all of them. */
  readonly says: readonly string[];
  /** Whether it is tried as a process too. */
  readonly alone?: true;
}

const privatePem = (key: ReturnType<typeof generateKeyPairSync>) =>
  String(key.privateKey.export({ type: 'pkcs8', format: 'pem' }));
const p256 = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
const KEY = 'Service:Signing:Keys:0:Path (Service__Signing__Keys__0__Path)';
const ACTIVE = 'Service:Signing:ActiveKid (Service__Signing__ActiveKid)';
const SQLITE = 'Service:Database:Path (Service__Database__Path)';
const POSTGRES = 'Service:Database:ConnectionString (Service__Database__ConnectionString)';

const keyIn = (text: () => string) => (place: Place) => ({
  'Service:Signing:Keys:0:Path': place.file(`${MARK}.pem`, text()),
});

const failures: readonly Failure[] = [
  {
    title: 'a required setting that is missing',
    changes: () => ({ 'Service:UpstreamIdp:Audience': undefined }),
    says: ['Service:UpstreamIdp:Audience (Service__UpstreamIdp__Audience) is required.'],
    alone: true,
  },
  {
    title: 'a value that cannot be read',
    changes: () => ({ 'Service:Tasks:Retention': `${MARK}-soon` }),
    says: ['Service:Tasks:Retention (Service__Tasks__Retention) is not a duration'],
    alone: true,
  },
  {
    title: 'settings that do not hold together, and one that was removed',
    changes: () => ({ 'Service:Tokens:DefaultTaskTtl': '00:04:17', 'Service:Audit:Chains': MARK }),
    says: [
      'Service:Audit:Chains (Service__Audit__Chains) has been removed.',
      'Service:Tokens:DefaultTokenTtl (Service__Tokens__DefaultTokenTtl) is longer than Service:Tokens:DefaultTaskTtl.',
    ],
    alone: true,
  },
  {
    title: 'a key in a file that is not there',
    changes: ({ folder }) => ({ 'Service:Signing:Keys:0:Path': join(folder, `${MARK}.nowhere`) }),
    says: [`${KEY} names no file.`],
    alone: true,
  },
  {
    title: 'a key in what is no file',
    changes: ({ folder }) => ({ 'Service:Signing:Keys:0:Path': folder }),
    says: [`${KEY} names a file that could not be read.`],
  },
  {
    title: 'a key on another curve',
    changes: keyIn(() => privatePem(generateKeyPairSync('ec', { namedCurve: 'P-384' }))),
    says: [`${KEY} is not an EC key on P-256.`],
    alone: true,
  },
  {
    title: 'a key of another kind',
    changes: keyIn(() => privatePem(generateKeyPairSync('ed25519'))),
    says: [`${KEY} is not an EC key on P-256.`],
  },
  {
    title: 'the public half alone',
    changes: keyIn(() => String(p256().publicKey.export({ type: 'spki', format: 'pem' }))),
    says: [`${KEY} is not a private key in PEM`],
    alone: true,
  },
  {
    title: 'a key behind a passphrase',
    changes: keyIn(() =>
      String(p256().privateKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: MARK })),
    ),
    says: [`${KEY} is not a private key in PEM`],
  },
  {
    title: 'a file of several keys',
    changes: keyIn(() => privatePem(p256()) + privatePem(p256())),
    says: [`${KEY} holds more than one private key.`],
  },
  {
    title: 'a file of something else',
    changes: keyIn(() => `${MARK}\n`),
    says: [`${KEY} is not a private key in PEM`],
  },
  {
    title: 'a key as text that is none',
    changes: () => ({
      'Service:Signing:Keys:0:Path': undefined,
      'Service:Signing:Keys:0:Pem': `-----BEGIN PRIVATE KEY-----\\n${MARK}\\n-----END PRIVATE KEY-----`,
    }),
    says: ['Service:Signing:Keys:0:Pem (Service__Signing__Keys__0__Pem) is not a private key in PEM'],
  },
  {
    title: 'every key that is unusable, at once',
    changes: (place) => ({
      'Service:Signing:Keys:0:Path': join(place.folder, `${MARK}.nowhere`),
      'Service:Signing:Keys:1:Path': place.file(`${MARK}-garbage.pem`, MARK),
      'Service:Signing:ActiveKid': `${MARK}-kid`,
    }),
    says: [
      `${KEY} names no file.`,
      'Service:Signing:Keys:1:Path (Service__Signing__Keys__1__Path) is not a private key in PEM',
    ],
  },
  {
    title: 'an unusable key beside a setting that is wrong, at once',
    changes: ({ folder }) => ({
      'Service:UpstreamIdp:Audience': undefined,
      'Service:Signing:Keys:0:Path': join(folder, `${MARK}.nowhere`),
    }),
    says: ['Service:UpstreamIdp:Audience (Service__UpstreamIdp__Audience) is required.', `${KEY} names no file.`],
    alone: true,
  },
  {
    title: 'unusable keys beside a setting of theirs that is wrong, at once',
    changes: (place) => ({
      'Service:Signing:Keys:0:Path': join(place.folder, `${MARK}.nowhere`),
      'Service:Signing:Keys:1:Path': place.file(`${MARK}-one.pem`, privatePem(p256())),
      'Service:Signing:Keys:1:Pem': privatePem(p256()),
      'Service:Signing:Keys:2:Path': place.file(`${MARK}-two.pem`, MARK),
    }),
    says: [
      'Service:Signing:Keys:1:Path (Service__Signing__Keys__1__Path) is set beside Service:Signing:Keys:1:Pem.',
      `${ACTIVE} is required while there is more than one signing key.`,
      `${KEY} names no file.`,
      'Service:Signing:Keys:2:Path (Service__Signing__Keys__2__Path) is not a private key in PEM',
    ],
  },
  {
    title: 'a setting that is wrong on a development host, which needs no key',
    changes: () => ({
      NODE_ENV: 'development',
      'Service:UpstreamIdp:Audience': undefined,
      'Service:Signing:Keys:0:Path': undefined,
    }),
    says: ['Service:UpstreamIdp:Audience (Service__UpstreamIdp__Audience) is required.'],
  },
  {
    title: 'one key twice, so that two have one thumbprint',
    changes: (place) => {
      const path = place.file(`${MARK}-twice.pem`, privatePem(p256()));
      return {
        'Service:Signing:Keys:0:Path': path,
        'Service:Signing:Keys:1:Path': path,
        'Service:Signing:ActiveKid': MARK,
      };
    },
    says: [`${ACTIVE} cannot name one of two keys that have the same Kid.`],
    alone: true,
  },
  {
    title: 'a key that is said to sign and is none of them, thumbprints included',
    changes: () => ({ 'Service:Signing:ActiveKid': `${MARK}-kid` }),
    says: [`${ACTIVE} does not name a configured key.`],
    alone: true,
  },
  {
    title: 'a database file that is not there',
    changes: ({ folder }) => ({ 'Service:Database:Path': join(folder, `${MARK}.db`) }),
    says: [`${SQLITE} names no file: run mandate migrate.`],
    alone: true,
  },
  {
    title: 'a directory for a database',
    changes: ({ folder }) => ({ 'Service:Database:Path': folder }),
    says: [`${SQLITE} names a file that cannot be opened as a database.`],
  },
  {
    title: 'a database file of something else',
    changes: (place) => ({ 'Service:Database:Path': place.file(`${MARK}-novel.db`, MARK.repeat(500)) }),
    says: [`${SQLITE} names a file that cannot be opened as a database.`],
  },
  {
    title: 'a database file without the schema',
    changes: (place) => ({ 'Service:Database:Path': place.file(`${MARK}-empty.db`, '') }),
    says: ['The database schema is not there: run mandate migrate.'],
  },
  {
    title: 'a database that does not exist',
    changes: async ({ postgres }) => onPostgres((await postgresServer()).url('mandate_app', MARK), postgres),
    says: [`${POSTGRES} names a database that does not exist.`],
    alone: true,
  },
  {
    title: 'a role that the server does not let in',
    changes: async ({ postgres }) => onPostgres((await postgresServer()).url(MARK, 'postgres'), postgres),
    says: [`${POSTGRES} names a role that the server refuses, or the password is wrong.`],
  },
  {
    title: 'certificates for the way to Postgres that are not there',
    changes: ({ folder, postgres }) => {
      const uri = `${String(postgres.settings['Service:Database:ConnectionString'])}?sslmode=verify-full&sslrootcert=`;
      return onPostgres(`${uri}${join(folder, `${MARK}.nowhere`)}`, postgres);
    },
    says: [`${POSTGRES} names a file (sslrootcert, sslcert or sslkey) that cannot be read by this user.`],
    alone: true,
  },
  {
    title: 'parameters of a connection to Postgres that do not fit together',
    changes: ({ postgres }) => {
      const uri = String(postgres.settings['Service:Database:ConnectionString']);
      return onPostgres(`${uri}?uselibpqcompat=true&sslmode=verify-ca`, postgres);
    },
    says: [`${POSTGRES} is not one that the driver can use`],
  },
  {
    title: 'a schema that is not there, on Postgres',
    changes: ({ postgres }) => onPostgres(undefined, postgres),
    says: ['The database schema is not there: run mandate migrate.'],
  },
  {
    title: 'a port that is taken',
    changes: () => ({}),
    says: [`Port ${TAKEN} on 127.0.0.1 is already in use (PORT, HOST).`],
    alone: true,
  },
  {
    title: 'an address of another machine',
    changes: () => ({ HOST: '192.0.2.1' }),
    says: ['HOST is not an address of this machine.'],
    alone: true,
  },
  {
    title: 'a host that does not exist',
    changes: () => ({ HOST: `${MARK}.invalid` }),
    says: ['HOST is a name that does not resolve'],
  },
];

async function changeSchema(database: FreshDatabase, statement: string): Promise<void> {
  const outside = await database.outside?.();
  await outside?.sql(statement);
  await outside?.close();
}

function onPostgres(connectionString: string | undefined, { settings }: FreshDatabase): Texts {
  return {
    'Service:Database:Path': undefined,
    'Service:Database:Provider': 'postgres',
    'Service:Database:ConnectionString': connectionString ?? settings['Service:Database:ConnectionString'],
  };
}

describe('mandate serve, with settings that hold', () => {
  let place: Place;
  let taken: Server;
  before(async function () {
    this.timeout(60_000);
    const folder = mkdtempSync(join(tmpdir(), `mandate-${MARK}-`));
    mkdirSync(join(folder, 'files'));
    taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    const address = taken.address();
    const file = (name: string, text: string) => {
      writeFileSync(join(folder, 'files', name), text);
      return join(folder, 'files', name);
    };
    file('key.pem', privatePem(p256()));
    const [sqlite, postgres] = await Promise.all([freshDatabase('sqlite'), freshDatabase('postgres', 'absent')]);
    const takenPort = String(typeof address === 'object' ? address?.port : '');
    place = { folder, sqlite, postgres, takenPort, file };
  });
  after(async () => {
    taken.close();
    rmSync(place.folder, { recursive: true });
    await Promise.all([place.sqlite.drop(), place.postgres.drop()]);
  });

  /** Holds in every way but the port, on which nothing that should have been refused can go on to serve. */
  const settingsOf = async ({ changes }: Pick<Failure, 'changes'>): Promise<Texts> => ({
    ...startable,
    ...signalsMode,
    'Service:Database:ConnectionString': undefined,
    ...place.sqlite.settings,
    'Service:Signing:Keys:0:Path': join(place.folder, 'files', 'key.pem'),
    'Service:Admin:ApiKey': `${MARK}-${'k'.repeat(32)}`,
    'Service:UpstreamIdp:Issuer': 'http://127.0.0.1:9',
    HOST: '127.0.0.1',
    PORT: place.takenPort,
    ...(await changes(place)),
  });

  function refusedWith(
    says: readonly string[],
    { code, out, err }: { readonly code: number | null; readonly out: string; readonly err: string },
  ) {
    expect(code).to.equal(1);
    const lines = err.trimEnd().replace(`Port ${place.takenPort} on`, `Port ${TAKEN} on`).split('\n');
    expect(lines).to.have.length(says.length);
    for (const [at, line] of lines.entries())
      expect(line.slice(0, 9 + (says[at] ?? '').length)).to.equal(`mandate: ${says[at]}`);
    expect(`${out}${err}`)
      .not.to.contain(MARK)
      .and.not.match(/\n +at |MIG[HE]/);
  }

  for (const failure of failures) {
    it(`refuses ${failure.title}`, async () => {
      const settings = await settingsOf(failure);
      const {
        result: code,
        out,
        err,
      } = await capturingOutput(() => withEnvironment(environment(settings), () => serve([])));
      refusedWith(failure.says, { code, out, err });
    });
  }

  for (const failure of failures.filter(({ alone }) => alone)) {
    it(`ends within five seconds, as a process, for ${failure.title}`, async function () {
      // Only a machine that is busy with something else takes longer; one attempt in time shows that it can.
      this.retries(2);
      const settings = await settingsOf(failure);
      const startedAt = performance.now();
      refusedWith(failure.says, await runCommand(['serve'], settings));
      expect(performance.now() - startedAt).to.be.below(LIMIT_MS);
    });
  }

  it('serves on a schema of a newer release, as older replicas do while one is rolled out', async () => {
    const database = await freshDatabase('sqlite');
    await changeSchema(database, "insert into schema_migrations (name, batch) values ('9999-from-the-future', 2)");
    const serving = startCommand(['serve'], await settingsOf({ changes: () => ({ ...database.settings, PORT: '0' }) }));
    await serving.said('"listening"');
    serving.child.kill('SIGTERM');
    expect(await serving.ended).to.include({ code: 0, err: '' });
    await database.drop();
  });
});

describe('mandate migrate, turned away by Postgres,', () => {
  const said = async (changes: Texts) => {
    const database = await freshDatabase('postgres', 'absent');
    const settings = { ...database.settings, ...changes };
    const { result, err } = await capturingOutput(() => withEnvironment(environment(settings), () => migrate([])));
    await database.drop();
    return [result, err];
  };
  const MIGRATING =
    'Service:Database:MigrationConnectionString (Service__Database__MigrationConnectionString), or Service:Database:ConnectionString where that is unset,';

  it('says which role may not make the schema', async () => {
    expect(await said({ 'Service:Database:MigrationConnectionString': undefined })).to.deep.equal([
      1,
      `mandate: ${MIGRATING} names a role without the required rights.\n`,
    ]);
  });

  it('says which role is not let in', async () => {
    const nobody = (await postgresServer()).url(MARK, 'postgres');
    expect(await said({ 'Service:Database:MigrationConnectionString': nobody })).to.deep.equal([
      1,
      `mandate: ${MIGRATING} names a role that the server refuses, or the password is wrong.\n`,
    ]);
  });

  it('says which database does not exist', async () => {
    const server = await postgresServer();
    const absent = {
      'Service:Database:ConnectionString': server.url('mandate_app', MARK),
      'Service:Database:MigrationConnectionString': server.url('mandate_owner', MARK),
    };
    expect(await said(absent)).to.deep.equal([1, `mandate: ${POSTGRES} names a database that does not exist.\n`]);
  });

  it('says with which error the database did not answer', async () => {
    const nowhere = { 'Service:Database:ConnectionString': 'postgresql://mandate_app@127.0.0.1:9/mandate' };
    expect(await said(nowhere)).to.deep.equal([1, 'mandate: The database did not answer (ECONNREFUSED).\n']);
  });

  it('says with which error the server refused', async () => {
    const full = await freshDatabase('postgres', 'absent');
    const superuser = await full.outside?.('superuser');
    const name = new URL(full.settings['Service:Database:ConnectionString'] ?? '').pathname.slice(1);
    await superuser?.sql(`alter database ${name} connection limit 0`);
    const answer = await said(full.settings);
    await superuser?.close();
    await full.drop();
    expect(answer).to.deep.equal([1, 'mandate: The database refused (53300).\n']);
  });

  for (const command of ['audit-verify', 'audit-archive --before 2026-01 --to .']) {
    it(`says the same for mandate ${command} and a database that does not exist`, async () => {
      const absent = (await postgresServer()).url('mandate_app', MARK);
      const settings = {
        'Service:Database:Provider': 'postgres',
        'Service:Database:ConnectionString': absent,
        'Service:Signing:Keys:0:Pem': privatePem(p256()),
      };
      const { code, err } = await runCommand(command.split(' '), settings);
      expect([code, err.trim().split('\n').at(-1)]).to.deep.equal([
        1,
        `mandate: ${POSTGRES} names a database that does not exist.`,
      ]);
    });
  }

  it('says that the database has an encoding in which not every name can be written', async () => {
    const server = await postgresServer();
    const name = `mandate_${process.pid}_latin1`;
    const other = await freshDatabase('postgres', 'absent');
    const superuser = await other.outside?.('superuser');
    await superuser?.sql(`create database ${name} owner mandate_owner encoding 'LATIN1' locale 'C' template template0`);
    const answer = await said({
      'Service:Database:ConnectionString': server.url('mandate_app', name),
      'Service:Database:MigrationConnectionString': server.url('mandate_owner', name),
    });
    await superuser?.sql(`drop database ${name} with (force)`);
    await superuser?.close();
    await other.drop();
    expect(answer).to.deep.equal([
      1,
      `mandate: ${MIGRATING} names a database whose encoding is not UTF8: create it again with UTF8.\n`,
    ]);
  });
});

describe('mandate migrate, where there is no place for a file,', () => {
  it('says so', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mandate-nowhere-'));
    const settings = { 'Service:Database:Provider': 'sqlite', 'Service:Database:Path': join(folder, MARK, 'file.db') };
    const { result, err } = await capturingOutput(() => withEnvironment(environment(settings), () => migrate([])));
    rmSync(folder, { recursive: true });
    expect([result, err]).to.deep.equal([1, `mandate: ${SQLITE} names a file in a directory that does not exist.\n`]);
  });
});

describe('A command that cannot load SQLite', () => {
  const compiled = "The module '/x/better_sqlite3.node' was compiled against NODE_MODULE_VERSION 127.";
  const faults = [
    [compiled, 'better-sqlite3 was built for another Node: npm rebuild better-sqlite3.'],
    ['/x: invalid ELF header', 'better-sqlite3 cannot be loaded on this machine: npm rebuild better-sqlite3.'],
  ] as const;
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

    for (const command of ['migrate', 'audit-verify']) {
      it(`says so instead of blaming the path: mandate ${command}, ${sentence}`, async () => {
        const { code, err } = await run([command]);
        expect([code, err]).to.deep.equal([1, `mandate: ${sentence}\n`]);
      });
    }

    it(`is named by the doctor: ${sentence}`, async () => {
      const { out } = await run(['doctor', '--json']);
      const found = (JSON.parse(out) as { check: string }[]).find(({ check }) => check === 'database');
      expect(found).to.deep.include({ status: 'failed', sentence });
    });
  }
});

for (const kind of databases) {
  describe(`mandate migrate on ${kind.name}`, () => {
    it('is done once when two processes do it at once, and both end well', async () => {
      const database = await kind.fresh('absent');
      // Nor is it held up by what is wrong for serving.
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
