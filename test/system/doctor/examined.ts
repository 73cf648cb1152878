/** A service in which `mandate doctor` finds nothing wrong, with every server that it needs. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { renderFindings } from '../../../adapters/cli/findings-report.ts';
import { assets } from '../../../adapters/http/console/assets.ts';
import type { NamedFinding } from '../../../application/doctor/examine.ts';
import { examineEverything } from '../../../composition/doctor/examine-everything.ts';
import { doctorSettings } from '../../../composition/doctor/settings.ts';
import { freePort } from '../../../scripts/free-port.ts';
import type { TestDatabase } from '../../support/databases.ts';
import { connectOutside, type FreshDatabase, type OutsideConnection } from '../../support/databases.ts';
import { type IdentityProvider, startIdentityProvider } from '../../support/identity-provider/identity-provider.ts';
import { makeSealingKey, type SealingKey } from '../../support/ledger/sealing-key.ts';
import { listen } from '../../support/listening.ts';
import { answering, type Handler } from '../../support/loopback.ts';
import { ADMIN_KEY, environmentOf, type Mandate, startMandate } from '../../support/mandate.ts';
import { type MovedClock, movedClock } from '../../support/moved-clock.ts';
import { OPERATORS } from '../../support/operators.ts';
import { startTransmitter, type Transmitter } from '../../support/transmitter.ts';
import { startUserDirectory, type UserDirectory } from '../../support/user-directory.ts';

export type Settings = Readonly<Record<string, string | undefined>>;

/** A secret of which no output may contain a part. */
export const SECRET = 'zq7-recognisable-secret-zq7';

/** The identity provider's correct answer about a user that does not exist. It has no path below a user. */
const unknownUser: Handler = (request, response) =>
  answering(request.path.split('/').length > 3 ? '404 page not found' : {}, 404)(request, response);

/** Left out of most tests: this process does not trust the certificate of a console on loopback. */
export const CONSOLE = {
  'Service:Operators:ClientId': 'mandate-console',
  'Service:Console:Port': '5200',
  'Service:Console:Origin': 'https://console.mandate.example',
} as const;

/** Answers as the proxy in front of the console does. */
export const consoleBehindProxy: Handler = ({ path }, response) => {
  const { style } = assets;
  response.writeHead(path === style.path ? 200 : 404, { 'content-type': style.type }).end(style.bytes);
};

/** No file is there, so no database is opened: only the check `database` complains of it. */
const NO_DATABASE = {
  'Service:Database:Provider': 'sqlite',
  'Service:Database:Path': '/nowhere/mandate.sqlite',
  'Service:Database:ConnectionString': undefined,
  'Service:Database:MigrationConnectionString': undefined,
};

export const endpointsAt = (url: string) => ({ authorization_endpoint: `${url}/a`, token_endpoint: `${url}/t` });

const isUnseen = ({ sentence }: NamedFinding): boolean => sentence.startsWith('Looking failed');

/** Starts the service before the tests of the surrounding suite, and stops it after them. */
export function examinedService(kind: TestDatabase) {
  const isPostgres = kind.engine === 'postgres';
  let folder: string;
  let key: SealingKey;
  let database: FreshDatabase;
  let provider: IdentityProvider;
  let directory: UserDirectory;
  let answerToken: Handler;
  let transmitter: Transmitter;
  let staff: IdentityProvider;
  let sink: Server;
  let sinkPort: number;
  let mandate: Mandate;
  let good: Settings;
  let clock: MovedClock;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'mandate-doctor-'));
    key = await makeSealingKey();
    const keyFile = join(folder, 'signing-key.pem');
    writeFileSync(keyFile, key.pem, { mode: 0o600 });
    database = await kind.fresh();
    const port = await freePort();
    const issuer = `http://127.0.0.1:${port}`;
    provider = await startIdentityProvider({ algorithm: 'ES256', page: { issuer } });
    directory = await startUserDirectory(unknownUser);
    ({ answerToken } = directory);
    transmitter = await startTransmitter();
    staff = await startIdentityProvider({ console: { issuer, origin: CONSOLE['Service:Console:Origin'] } });
    sink = createServer((socket) => socket.on('error', () => socket.destroy()));
    sinkPort = await listen(sink);
    mandate = await startMandate({
      database: { ...kind, fresh: async () => database },
      provider,
      settings: {
        PORT: String(port),
        'Service:Issuer': issuer,
        'Service:Signing:Keys:0:Path': keyFile,
        'Service:Audit:Checkpoint:Interval': 'PT1H',
      },
    });
    good = {
      ...database.settings,
      'Service:Issuer': mandate.issuer,
      'Service:UpstreamIdp:Issuer': provider.issuer,
      'Service:UpstreamIdp:Audience': provider.audience,
      ...directory.settings,
      'Service:UpstreamIdp:BackchannelLogout:Audience': provider.clientId,
      'Service:Signing:Keys:0:Path': keyFile,
      'Service:Admin:ApiKey': ADMIN_KEY,
      'Service:Scim:BearerToken': 'a-provisioning-credential-for-the-doctor-01',
      ...transmitter.settings,
      ...OPERATORS,
      'Service:Operators:Issuer': staff.issuer,
      'Service:AgentKeys:BlockPrivateNetworks': 'true',
      'Service:Me:ClientId': 'mandate-page',
      'Service:Delegation:Enabled': 'true',
      'Service:Audit:Sink:Url': `http://127.0.0.1:${sinkPort}/records`,
    };
  });

  beforeEach(() => {
    directory.answer = unknownUser;
    directory.answerToken = answerToken;
    clock = movedClock();
  });

  after(async () => {
    // Stopping the service also removes the database.
    await mandate.stop();
    await Promise.all([provider.stop(), staff.stop(), directory.server.close(), transmitter.stop()]);
    sink.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const examine = (changes: Settings) => {
    const settings = doctorSettings({ environment: environmentOf({ ...good, ...changes }), overrides: [] });
    return examineEverything(settings, clock);
  };

  /** The findings that failed or warn. */
  async function complaints(changes: Settings = {}): Promise<readonly NamedFinding[]> {
    let found = await examine(changes);
    // The limit for a connection to the database is two seconds, which a busy machine may exceed. Then the test
    // repeats the checks.
    for (let again = 0; again < 2 && found.some(isUnseen); again += 1) found = await examine(changes);
    for (const { sentence, remedy } of found) expect(`${sentence} ${remedy}`).not.to.match(/undefined\.|NaN|\[object/);
    return found.filter(({ status }) => status === 'failed' || status === 'warning');
  }

  async function expectOnly(
    found: readonly NamedFinding[],
    ...expected: readonly (readonly [check: string, status: string, sentence: RegExp])[]
  ): Promise<void> {
    const report = renderFindings(found, false);
    expect(
      found.map(({ check, status }) => [check, status]),
      report,
    ).to.deep.equal(expected.map(([check, status]) => [check, status]));
    for (const [at, [, , sentence]] of expected.entries()) expect(found[at]?.sentence).to.match(sentence);
    for (const { remedy } of found) expect(remedy, report).to.match(/^[^ ].*\.$/);
  }

  /** For tests that look at something else: opening the database takes most of an examination's time. */
  const withoutDatabase = {
    examine: (changes: Settings) => examine({ ...NO_DATABASE, ...changes }),
    async complaints(changes: Settings = {}) {
      const found = await complaints({ ...NO_DATABASE, ...changes });
      expect(found.filter(({ check }) => check === 'database')).to.have.length(1);
      return found.filter(({ check }) => check !== 'database');
    },
    async expectFinding(changes: Settings, check: string, status: string, sentence: RegExp) {
      await expectOnly(await withoutDatabase.complaints(changes), [check, status, sentence]);
    },
  };

  /** Expects exactly one finding that failed or warns. */
  async function expectFinding(changes: Settings, check: string, status: string, sentence: RegExp): Promise<void> {
    await expectOnly(await complaints(changes), [check, status, sentence]);
  }

  /** Runs `act` with a fresh database and a connection of the database's owner. */
  async function onFresh(act: (fresh: FreshDatabase, sql: OutsideConnection['sql']) => Promise<void>): Promise<void> {
    const fresh = await kind.fresh();
    const connection = await connectOutside(fresh);
    await act(fresh, connection.sql);
    await connection.close();
    await fresh.drop();
  }

  return {
    get folder() {
      return folder;
    },
    get key() {
      return key;
    },
    get database() {
      return database;
    },
    get provider() {
      return provider;
    },
    get directory() {
      return directory;
    },
    get transmitter() {
      return transmitter;
    },
    get sink() {
      return sink;
    },
    get sinkPort() {
      return sinkPort;
    },
    get mandate() {
      return mandate;
    },
    get good() {
      return good;
    },
    get clock() {
      return clock;
    },
    isPostgres,
    examine,
    complaints,
    expectOnly,
    expectFinding,
    withoutDatabase,
    onFresh,
  };
}

export type Examined = ReturnType<typeof examinedService>;
