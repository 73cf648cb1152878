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
import { serve } from '../../composition/commands/serve.ts';
import { environment, signalsMode, startable, type Texts } from '../composition/settings/sources.ts';
import { capturingOutput, withEnvironment } from '../support/captured-output.ts';
import { runCommand, startCommand } from '../support/command-process.ts';
import { connectOutside, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { listen } from '../support/listening.ts';
import { OPERATORS } from '../support/operators.ts';
import { postgresServer } from '../support/postgres-server.ts';

/** A process that fails to start must end within this time. */
const LIMIT_MS = 5000;
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
  /** Whether the case also runs as a child process. */
  readonly isRunAlone?: boolean;
}

const privatePem = (key: ReturnType<typeof generateKeyPairSync>) =>
  String(key.privateKey.export({ type: 'pkcs8', format: 'pem' }));
const p256 = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
const KEY = 'Service:Signing:Keys:0:Path (Service__Signing__Keys__0__Path)';
const SQLITE = 'Service:Database:Path (Service__Database__Path)';
const POSTGRES = 'Service:Database:ConnectionString (Service__Database__ConnectionString)';

const failures: readonly Failure[] = [
  {
    title: 'a malformed value',
    changes: () => ({ 'Service:Tasks:Retention': `${MARK}-soon` }),
    says: ['Service:Tasks:Retention (Service__Tasks__Retention) is not a duration'],
  },
  {
    title: 'a key file without a key',
    changes: ({ file }) => ({ 'Service:Signing:Keys:0:Path': file(`${MARK}.pem`, `${MARK}\n`) }),
    says: [`${KEY} is not a private key in PEM`],
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
    title: 'an entry of NO_PROXY that can match no host, with a provider of plain http',
    changes: () => ({
      HTTPS_PROXY: 'http://proxy.example:3128',
      https_proxy: undefined,
      NO_PROXY: `${MARK}.example,10.0.0.0/99`,
      no_proxy: undefined,
    }),
    says: ['Entry 2 of NO_PROXY can match no host: write a host, .domain, an address, or a range'],
  },
  {
    title: 'a database file that does not exist',
    changes: ({ folder }) => ({ 'Service:Database:Path': join(folder, `${MARK}.db`) }),
    says: [`${SQLITE} names no file: run mandate migrate.`],
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
    isRunAlone: true,
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
    title: 'a Postgres database without the schema',
    changes: ({ postgres }) => onPostgres(undefined, postgres),
    says: ['The database schema is not there: run mandate migrate.'],
  },
  {
    title: 'a port in use',
    changes: () => ({}),
    says: [`Port ${TAKEN} on 127.0.0.1 is already in use (PORT, HOST).`],
  },
  {
    title: 'a port in use while the provider does not answer',
    // The server on this port accepts connections, and sends nothing.
    changes: ({ takenPort }) => ({ 'Service:UpstreamIdp:Issuer': `http://127.0.0.1:${takenPort}` }),
    says: [`Port ${TAKEN} on 127.0.0.1 is already in use (PORT, HOST).`],
    isRunAlone: true,
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
  },
  {
    title: 'an address of another machine',
    changes: () => ({ HOST: '192.0.2.1' }),
    says: ['HOST is not an address of this machine.'],
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

  for (const failure of failures.filter(({ isRunAlone }) => isRunAlone)) {
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
