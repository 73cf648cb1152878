/**
 * Failures at start: keys, database and address. Each case runs `mandate serve` in this process, and some run it also
 * as a child process with a time limit.
 */

import { generateKeyPairSync } from 'node:crypto';
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { migrate } from '../../composition/commands/migrate.ts';
import { serve } from '../../composition/commands/serve.ts';
import { environment, signalsMode, startable, type Texts } from '../composition/settings/sources.ts';
import { capturingOutput, withEnvironment } from '../support/captured-output.ts';
import { runMandate } from '../support/cli-run.ts';
import { runCommand, startCommand } from '../support/command-process.ts';
import { connectOutside, databasesByLength, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { byLength } from '../support/length.ts';
import { listen } from '../support/listening.ts';
import { OPERATORS } from '../support/operators.ts';
import { postgresServer } from '../support/postgres-server.ts';
import { sharedSigningKey } from '../support/shared-signing-key.ts';

/** A process that fails to start must end within this time. */
const LIMIT_MS = 5000;
const RUN_ALONE: readonly unknown[] = byLength({ short: ['always'], full: ['always', 'at full length'] });
const MARK = 'zq7-recognised';
/** In expected output, stands for the port in use, which is another in each run. */
const TAKEN = '<taken>';

/** Files, databases and a port for the cases. */
interface Place {
  readonly folder: string;
  /** A database with the schema. */
  readonly sqlite: FreshDatabase;
  readonly postgres: FreshDatabase;
  /** A port on which another server listens. */
  readonly takenPort: string;
  /** Writes a file and returns its path. */
  readonly file: (name: string, text: string) => string;
}

interface Failure {
  readonly title: string;
  readonly changes: (place: Place) => Texts | Promise<Texts>;
  /** How each line on standard error begins. */
  readonly says: readonly string[];
  /** Whether the case also runs as a child process. In the short run, one case of each step of the start does. */
  readonly alone?: 'always' | 'at full length';
}

const privatePem = (key: ReturnType<typeof generateKeyPairSync>) =>
  String(key.privateKey.export({ type: 'pkcs8', format: 'pem' }));
const publicPem = (key: ReturnType<typeof generateKeyPairSync>) =>
  String(key.publicKey.export({ type: 'spki', format: 'pem' }));
const p256 = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
const NOT_P256 = 'is not an EC key on P-256.';
const NOT_PEM = 'is not a private key in PEM';
const KEY = 'Service:Signing:Keys:0:Path (Service__Signing__Keys__0__Path)';
const ACTIVE = 'Service:Signing:ActiveKid (Service__Signing__ActiveKid)';
const SECOND_KEY = 'Service:Signing:Keys:1:Path (Service__Signing__Keys__1__Path)';
const SQLITE = 'Service:Database:Path (Service__Database__Path)';
const POSTGRES = 'Service:Database:ConnectionString (Service__Database__ConnectionString)';

const encrypted = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: MARK } as const;
const unusableKeys = (
  [
    [
      'a key on another curve',
      () => privatePem(generateKeyPairSync('ec', { namedCurve: 'P-384' })),
      NOT_P256,
      'at full length',
    ],
    ['a key of another type', () => privatePem(generateKeyPairSync('ed25519')), NOT_P256],
    ['a public key alone', () => publicPem(p256()), 'holds only the public half of the only key.', 'at full length'],
    ['a public key on another curve', () => publicPem(generateKeyPairSync('ec', { namedCurve: 'P-384' })), NOT_P256],
    ['an encrypted key', () => String(p256().privateKey.export(encrypted)), NOT_PEM],
    ['a file with two keys', () => privatePem(p256()) + privatePem(p256()), 'holds more than one private key.'],
    ['a key file without a key', () => `${MARK}\n`, NOT_PEM],
  ] as const
).map(
  ([title, text, problem, alone]): Failure => ({
    title,
    changes: ({ file }) => ({ 'Service:Signing:Keys:0:Path': file(`${MARK}.pem`, text()) }),
    says: [`${KEY} ${problem}`],
    ...(alone && { alone }),
  }),
);

const failures: readonly Failure[] = [
  {
    title: 'a missing required setting',
    changes: () => ({ 'Service:UpstreamIdp:Audience': undefined }),
    says: ['Service:UpstreamIdp:Audience (Service__UpstreamIdp__Audience) is required.'],
    alone: 'at full length',
  },
  {
    title: 'a malformed value',
    changes: () => ({ 'Service:Tasks:Retention': `${MARK}-soon` }),
    says: ['Service:Tasks:Retention (Service__Tasks__Retention) is not a duration'],
    alone: 'always',
  },
  {
    title: 'settings that contradict each other, and a removed setting',
    changes: () => ({ 'Service:Tokens:DefaultTaskTtl': '00:04:17', 'Service:Audit:Chains': MARK }),
    says: [
      'Service:Audit:Chains (Service__Audit__Chains) has been removed.',
      'Service:Tokens:DefaultTokenTtl (Service__Tokens__DefaultTokenTtl) is longer than Service:Tokens:DefaultTaskTtl.',
    ],
    alone: 'at full length',
  },
  {
    title: 'a key file that does not exist',
    changes: ({ folder }) => ({ 'Service:Signing:Keys:0:Path': join(folder, `${MARK}.nowhere`) }),
    says: [`${KEY} names no file.`],
    alone: 'always',
  },
  {
    title: 'a directory as a key file',
    changes: ({ folder }) => ({ 'Service:Signing:Keys:0:Path': folder }),
    says: [`${KEY} names a file that could not be read.`],
  },
  ...unusableKeys,
  {
    title: 'a PEM setting without a key',
    changes: () => ({
      'Service:Signing:Keys:0:Path': undefined,
      'Service:Signing:Keys:0:Pem': `-----BEGIN PRIVATE KEY-----\\n${MARK}\\n-----END PRIVATE KEY-----`,
    }),
    says: ['Service:Signing:Keys:0:Pem (Service__Signing__Keys__0__Pem) is not a private key in PEM'],
  },
  {
    title: 'several unusable keys',
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
    title: 'an unusable key and an invalid setting',
    changes: ({ folder }) => ({
      'Service:UpstreamIdp:Audience': undefined,
      'Service:Signing:Keys:0:Path': join(folder, `${MARK}.nowhere`),
    }),
    says: ['Service:UpstreamIdp:Audience (Service__UpstreamIdp__Audience) is required.', `${KEY} names no file.`],
    alone: 'at full length',
  },
  {
    title: 'unusable keys and invalid settings of keys',
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
    title: 'an invalid setting on a development host without a key',
    changes: () => ({
      NODE_ENV: 'development',
      'Service:UpstreamIdp:Audience': undefined,
      'Service:Signing:Keys:0:Path': undefined,
    }),
    says: ['Service:UpstreamIdp:Audience (Service__UpstreamIdp__Audience) is required.'],
  },
  {
    title: 'two keys with the same thumbprint',
    changes: (place) => {
      const path = place.file(`${MARK}-twice.pem`, privatePem(p256()));
      return {
        'Service:Signing:Keys:0:Path': path,
        'Service:Signing:Keys:1:Path': path,
        'Service:Signing:ActiveKid': MARK,
      };
    },
    says: [`${SECOND_KEY} names the same file as Service:Signing:Keys:0:Path.`],
    alone: 'at full length',
  },
  {
    title: 'one file, behind a link, for the key that signs and as a client secret',
    changes: (place) => {
      const path = place.file(`${MARK}-key.pem`, privatePem(p256()));
      const link = join(place.folder, `${MARK}-link`);
      symlinkSync(path, link);
      return {
        'Service:Signing:Keys:0:Path': path,
        'Service:Me:ClientId': 'page',
        'Service:Me:ClientSecret:Path': link,
      };
    },
    says: [
      'Service:Me:ClientSecret:Path (Service__Me__ClientSecret__Path) names the same file as Service:Signing:Keys:0:Path.',
    ],
  },
  {
    title: 'one file for the key that signs and, by a second name, for the transparency log',
    changes: (place) => {
      const path = place.file(`${MARK}-signing.pem`, privatePem(p256()));
      const other = join(place.folder, `${MARK}-log.pem`);
      linkSync(path, other);
      return { 'Service:Signing:Keys:0:Path': path, 'Service:Audit:Log:Key:Path': other };
    },
    says: [
      'Service:Audit:Log:Key:Path (Service__Audit__Log__Key__Path) names the same file as Service:Signing:Keys:0:Path.',
    ],
  },
  {
    title: 'one key under two names',
    changes: (place) => {
      const pem = privatePem(p256());
      return {
        'Service:Signing:Keys:0:Path': place.file(`${MARK}-one-name.pem`, pem),
        'Service:Signing:Keys:1:Path': place.file(`${MARK}-other-name.pem`, pem),
        'Service:Signing:Keys:1:Kid': `${MARK}-kid`,
        'Service:Signing:ActiveKid': `${MARK}-kid`,
      };
    },
    says: [`${SECOND_KEY} names the same key as Service:Signing:Keys:0:Path.`],
    alone: 'at full length',
  },
  {
    title: 'a whole key and its own public half under another name',
    changes: (place) => {
      const key = p256();
      return {
        'Service:Signing:Keys:0:Path': place.file(`${MARK}-whole.pem`, privatePem(key)),
        'Service:Signing:Keys:1:Path': place.file(`${MARK}-half.pem`, publicPem(key)),
        'Service:Signing:Keys:1:Kid': `${MARK}-kid`,
        'Service:Signing:ActiveKid': `${MARK}-kid`,
      };
    },
    says: [`${SECOND_KEY} names the same key as Service:Signing:Keys:0:Path.`],
  },
  {
    title: 'the public half of a key as the active one',
    changes: (place) => ({
      'Service:Signing:Keys:0:Path': place.file(`${MARK}-active.pem`, privatePem(p256())),
      'Service:Signing:Keys:1:Path': place.file(`${MARK}-public.pem`, publicPem(p256())),
      'Service:Signing:Keys:1:Kid': `${MARK}-kid`,
      'Service:Signing:ActiveKid': `${MARK}-kid`,
    }),
    says: [
      `${ACTIVE} names the key of Service:Signing:Keys:1:Path, of which only the public half is configured: it cannot sign.`,
    ],
    alone: 'at full length',
  },
  {
    title: 'an ActiveKid that names no key',
    changes: () => ({ 'Service:Signing:ActiveKid': `${MARK}-kid` }),
    says: [`${ACTIVE} does not name a configured key.`],
    alone: 'at full length',
  },
  {
    title: 'a proxy that the service cannot use',
    changes: () => ({
      'Service:UpstreamIdp:Issuer': 'https://provider.example',
      HTTPS_PROXY: `socks5://${MARK}:1080`,
      https_proxy: undefined,
      NO_PROXY: undefined,
      no_proxy: undefined,
    }),
    says: ['The proxy in HTTPS_PROXY or ALL_PROXY is not an http URL.'],
  },
  {
    title: 'an entry of NO_PROXY that can match no host',
    changes: () => ({
      'Service:UpstreamIdp:Issuer': 'https://provider.example',
      HTTPS_PROXY: 'http://proxy.example:3128',
      https_proxy: undefined,
      NO_PROXY: `https://${MARK}.example`,
      no_proxy: undefined,
    }),
    says: ['Entry 1 of NO_PROXY can match no host'],
  },
  {
    title: 'a database file that does not exist',
    changes: ({ folder }) => ({ 'Service:Database:Path': join(folder, `${MARK}.db`) }),
    says: [`${SQLITE} names no file: run mandate migrate.`],
    alone: 'always',
  },
  {
    title: 'a directory as a database file',
    changes: ({ folder }) => ({ 'Service:Database:Path': folder }),
    says: [`${SQLITE} names a file that cannot be opened as a database.`],
  },
  {
    title: 'a database file that is not SQLite',
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
    alone: 'always',
  },
  {
    title: 'a role that the server refuses',
    changes: async ({ postgres }) => onPostgres((await postgresServer()).url(MARK, 'postgres'), postgres),
    says: [`${POSTGRES} names a role that the server refuses, or the password is wrong.`],
  },
  {
    title: 'a certificate file that does not exist',
    changes: ({ folder, postgres }) => {
      const uri = `${String(postgres.settings['Service:Database:ConnectionString'])}?sslmode=verify-full&sslrootcert=`;
      return onPostgres(`${uri}${join(folder, `${MARK}.nowhere`)}`, postgres);
    },
    says: [`${POSTGRES} names a file (sslrootcert, sslcert or sslkey) that cannot be read by this user.`],
    alone: 'at full length',
  },
  {
    title: 'connection parameters that contradict each other',
    changes: ({ postgres }) => {
      const uri = String(postgres.settings['Service:Database:ConnectionString']);
      return onPostgres(`${uri}?uselibpqcompat=true&sslmode=verify-ca`, postgres);
    },
    says: [`${POSTGRES} is not one that the driver can use`],
  },
  {
    title: 'several hosts without the primary, and connection parameters without effect',
    changes: ({ postgres }) => {
      const uri = `postgresql://mandate:${MARK}@${MARK}.example,db.example/mandate`;
      return onPostgres(`${uri}?tcp_user_timeout=${MARK}&sslmode=${MARK}&sslmode=disable&connect_timeout=1`, postgres);
    },
    says: [
      `${POSTGRES} has the parameter tcp_user_timeout, which has no effect here: remove it.`,
      `${POSTGRES} has the parameter sslmode more than once.`,
      `${POSTGRES} has the parameter connect_timeout, which has no effect here: remove it.`,
      `${POSTGRES} names several hosts without target_session_attrs=read-write (or primary): Mandate would read from a standby.`,
      `${POSTGRES} has an sslmode other than disable, no-verify, prefer, require, verify-ca and verify-full.`,
    ],
  },
  {
    title: 'a standby as the target of the connection',
    changes: ({ postgres }) => {
      const uri = String(postgres.settings['Service:Database:ConnectionString']);
      return onPostgres(`${uri}?target_session_attrs=standby`, postgres);
    },
    says: [
      `${POSTGRES} has a target_session_attrs that Mandate cannot use: it works on the primary only, so write read-write or primary.`,
    ],
  },
  {
    title: 'a Postgres database without the schema',
    changes: ({ postgres }) => onPostgres(undefined, postgres),
    says: ['The database schema is not there: run mandate migrate.'],
  },
  {
    title: 'a port in use',
    changes: () => ({}),
    says: [`Port ${TAKEN} on 127.0.0.1 is already in use (PORT, HOST).`],
    alone: 'always',
  },
  {
    title: 'a port in use while the provider does not answer',
    // The server on this port accepts connections, and sends nothing.
    changes: ({ takenPort }) => ({ 'Service:UpstreamIdp:Issuer': `http://127.0.0.1:${takenPort}` }),
    says: [`Port ${TAKEN} on 127.0.0.1 is already in use (PORT, HOST).`],
    alone: 'always',
  },
  {
    title: 'a port of the console in use',
    changes: ({ takenPort }) => ({
      PORT: '0',
      ...OPERATORS,
      'Service:Operators:ClientId': 'console',
      'Service:Console:Port': takenPort,
      'Service:Console:Origin': 'https://console.mandate.example',
    }),
    says: [`Port ${TAKEN} on 127.0.0.1 is already in use (Service:Console:Port, HOST).`],
    alone: 'always',
  },
  {
    title: 'an address of another machine',
    changes: () => ({ HOST: '192.0.2.1' }),
    says: ['HOST is not an address of this machine.'],
    alone: 'at full length',
  },
  {
    title: 'a host that does not exist',
    changes: () => ({ HOST: `${MARK}.invalid` }),
    says: ['HOST is a name that does not resolve'],
  },
];

function onPostgres(connectionString: string | undefined, { settings }: FreshDatabase): Texts {
  return {
    'Service:Database:Path': undefined,
    'Service:Database:Provider': 'postgres',
    'Service:Database:ConnectionString': connectionString ?? settings['Service:Database:ConnectionString'],
  };
}

describe('mandate serve', () => {
  let place: Place;
  let taken: Server;
  before(async function () {
    this.timeout(60_000);
    const folder = mkdtempSync(join(tmpdir(), `mandate-${MARK}-`));
    mkdirSync(join(folder, 'files'));
    taken = createServer();
    const takenPort = String(await listen(taken));
    const file = (name: string, text: string) => {
      writeFileSync(join(folder, 'files', name), text);
      return join(folder, 'files', name);
    };
    file('key.pem', privatePem(p256()));
    const [sqlite, postgres] = await Promise.all([freshDatabase('sqlite'), freshDatabase('postgres', 'absent')]);
    place = { folder, sqlite, postgres, takenPort, file };
  });
  after(async () => {
    taken.close();
    rmSync(place.folder, { recursive: true });
    await Promise.all([place.sqlite.drop(), place.postgres.drop()]);
  });

  /** Valid settings, except for the port. A case whose failure does not occur thus still does not serve. */
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
    expect(err).not.to.contain('node:internal');
    expect(`${out}${err}`)
      .not.to.contain(MARK)
      .and.not.match(/\n +at |MIG[HE]/);
  }

  for (const failure of failures) {
    it(`exits with 1 and names ${failure.title}`, async () => {
      const settings = await settingsOf(failure);
      const ended = await capturingOutput(() => withEnvironment(environment(settings), () => serve([])));
      refusedWith(failure.says, { ...ended, code: ended.result });
    });
  }

  for (const failure of failures.filter(({ alone }) => RUN_ALONE.includes(alone))) {
    it(`exits within five seconds, as a child process, for ${failure.title}`, async function () {
      // A busy machine may take longer, so one attempt within the limit is enough.
      this.retries(2);
      const settings = await settingsOf(failure);
      const startedAt = performance.now();
      refusedWith(failure.says, await runCommand(['serve'], settings));
      expect(performance.now() - startedAt).to.be.below(LIMIT_MS);
    });
  }

  it('serves on the schema of a newer release, as during a rolling upgrade', async () => {
    const database = await freshDatabase('sqlite');
    const outside = await connectOutside(database);
    await outside.sql("insert into schema_migrations (name, batch) values ('9999-from-the-future', 2)");
    await outside.close();
    const serving = startCommand(['serve'], await settingsOf({ changes: () => ({ ...database.settings, PORT: '0' }) }));
    await serving.said('"listening"');
    serving.child.kill('SIGTERM');
    expect(await serving.ended).to.include({ code: 0, err: '' });
    await database.drop();
  });
});

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
