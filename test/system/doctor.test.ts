/** `mandate doctor` with real servers and databases, with and without faults. */

import { createPublicKey, randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { renderFindings } from '../../adapters/cli/findings-report.ts';
import { assets } from '../../adapters/http/console/assets.ts';
import { CONNECTIONS_PER_PROCESS } from '../../adapters/storage/postgres/limits.ts';
import { logOut } from '../../application/decisions/log-out.ts';
import type { NamedFinding } from '../../application/doctor/examine.ts';
import { examineEverything } from '../../composition/doctor/examine-everything.ts';
import { doctorSettings } from '../../composition/doctor/settings.ts';
import { instantFromMillis, plusSeconds } from '../../domain/instant.ts';
import { freePort } from '../../scripts/free-port.ts';
import { openedTask } from '../contract/storage-fixtures.ts';
import { runCommand, startCommand } from '../support/command-process.ts';
import { connectOutside, databasesByLength, type FreshDatabase, type OutsideConnection } from '../support/databases.ts';
import { type IdentityProvider, startIdentityProvider } from '../support/identity-provider/identity-provider.ts';
import { append, seal } from '../support/ledger/fill.ts';
import { makeSealingKey, type SealingKey } from '../support/ledger/sealing-key.ts';
import { startTampering } from '../support/ledger/tampering.ts';
import { listen } from '../support/listening.ts';
import { answering, type Handler, startLoopback } from '../support/loopback.ts';
import { ADMIN_KEY, environmentOf, type Mandate, startMandate } from '../support/mandate.ts';
import { type MovedClock, movedClock } from '../support/moved-clock.ts';
import { OPERATORS } from '../support/operators.ts';
import { tcpProxy } from '../support/tcp-proxy.ts';
import { startTransmitter, type Transmitter } from '../support/transmitter.ts';
import { logKeySettings } from '../support/transparency-log.ts';
import { startUserDirectory, type UserDirectory } from '../support/user-directory.ts';

type Settings = Readonly<Record<string, string | undefined>>;

/** A secret of which no output may contain a part. */
const SECRET = 'zq7-recognisable-secret-zq7';

/** The identity provider's correct answer about a user that does not exist. It has no path below a user. */
const unknownUser: Handler = (request, response) =>
  answering(request.path.split('/').length > 3 ? '404 page not found' : {}, 404)(request, response);

/** Left out of most tests: this process does not trust the certificate of a console on loopback. */
const CONSOLE = {
  'Service:Operators:ClientId': 'mandate-console',
  'Service:Console:Port': '5200',
  'Service:Console:Origin': 'https://console.mandate.example',
} as const;
const AUTHORITY = new URL('../support/tls/ca.pem', import.meta.url);

/** Answers as the proxy in front of the console does. */
const consoleBehindProxy: Handler = ({ path }, response) => {
  const { style } = assets;
  response.writeHead(path === style.path ? 200 : 404, { 'content-type': style.type }).end(style.bytes);
};

/** The provider reads the keys of its client at Service:Issuer, and these are not there. */
const keysUnknown =
  /^The provider refuses the client mandate-page, and Service:Issuer does not answer with the keys by which it knows/;

const endpointsAt = (url: string) => ({ authorization_endpoint: `${url}/a`, token_endpoint: `${url}/t` });

const isUnseen = ({ sentence }: NamedFinding): boolean => sentence.startsWith('Looking failed');

for (const kind of databasesByLength) {
  describe(`mandate doctor on ${kind.name}`, function () {
    this.timeout(60_000);
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
      for (const { sentence, remedy } of found)
        expect(`${sentence} ${remedy}`).not.to.match(/undefined\.|NaN|\[object/);
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

    it('prints a line for each check and exits with 0 if nothing is wrong', async () => {
      const proxy = await startLoopback(consoleBehindProxy, { tls: true });
      const { code, out, err } = await runCommand(['doctor'], {
        ...good,
        ...CONSOLE,
        'Service:Console:Origin': proxy.url,
        NODE_EXTRA_CA_CERTS: fileURLToPath(AUTHORITY),
      });
      await proxy.close();
      expect(err).to.equal('');
      const lines = out.trim().split('\n');
      expect(lines.filter((line) => !/^(ok|skipped) /.test(line)).slice(0, -1), out).to.deep.equal([]);
      expect(code).to.equal(0);
      const skipped = lines.filter((line) => line.startsWith('skipped')).map((line) => line.slice(9).split('  ')[0]);
      const byEngine = isPostgres
        ? []
        : ['database connection', 'database role', 'database writes', 'ledger partitions', 'database clock'];
      expect(skipped).to.have.members([...byEngine, 'checkpoint keys']);
      expect(lines.at(-1)).to.match(/^\d+ ok, \d+ skipped\.$/);
      const checks = lines.slice(0, -1).map((line) => line.slice(9).split('  ')[0]);
      // The service has neither status lists nor a transparency log.
      const explained = explainedChecks().filter((check) => !/status lists|transparency log/.test(check));
      expect(explained, 'docs/operating.md explains every check').to.have.members(checks);
      for (const check of [
        'signing keys',
        'schema',
        'ledger guards',
        'sponsor check',
        'transmitter keys',
        'own address',
        'sink',
      ]) {
        expect(
          lines.some((line) => line.startsWith(`ok       ${check} `)),
          check,
        ).to.equal(true);
      }
    });

    it('prints no secret, neither as text nor as JSON, and exits with 3 if a check fails', async () => {
      const long = (name: string) => `${SECRET}-${name}-0123456789-0123456789`;
      const settings = {
        ...good,
        ...CONSOLE,
        ...(isPostgres
          ? {
              'Service:Database:ConnectionString': `postgresql://mandate_app:${SECRET}@127.0.0.1:9/x`,
              'Service:Database:MigrationConnectionString': `postgresql://mandate_owner:${SECRET}@127.0.0.1:9/x`,
            }
          : {}),
        'Service:Admin:ApiKey': long('a'),
        'Service:Scim:BearerToken': long('a'),
        'Service:Scim:PreviousBearerToken': long('b'),
        'Service:Ssf:BearerToken': long('c'),
        'Service:Ssf:PreviousBearerToken': long('d'),
        'Service:Audit:Sink:Url': `https://127.0.0.1:${sinkPort}/${SECRET}?key=${SECRET}`,
        'Service:Audit:Sink:BearerToken': long('e'),
        'Service:Signing:Keys:1:Pem': `-----BEGIN PRIVATE KEY-----\n${SECRET}\n-----END PRIVATE KEY-----`,
        'Service:Signing:ActiveKid': 'x',
        'Service:Tokens:DefaultTaskTtl': SECRET,
      };
      sink.once('connection', (socket) => socket.destroy());
      const inWords = await runCommand(['doctor'], settings);
      expect([inWords.code, inWords.err]).to.deep.equal([3, '']);
      const { 'Service:Tokens:DefaultTaskTtl': _, ...wellFormed } = settings;
      sink.once('connection', (socket) => socket.destroy());
      const inJson = await runCommand(['doctor', '--json'], wellFormed);
      expect([inJson.code, inJson.err]).to.deep.equal([3, '']);
      const found = JSON.parse(inJson.out) as readonly NamedFinding[];
      for (const finding of found)
        expect(Object.keys(finding)).to.deep.equal(['check', 'status', 'sentence', 'remedy']);
      const failed = found.filter(({ status }) => status === 'failed').map(({ check }) => check);
      expect(failed).to.include.members(['signing keys', 'sink', ...(isPostgres ? ['database'] : [])]);
      expect(found.some(({ sentence }) => /ApiKey and Service:Scim:BearerToken hold one/.test(sentence))).to.equal(
        true,
      );
      expect(inWords.out + inJson.out)
        .not.to.include(SECRET)
        .and.not.to.include('zq7');
    });

    it('names every invalid setting, and checks the sections that are valid', async () => {
      const found = await complaints({ 'Service:Tokens:DefaultTaskTtl': 'soon', 'Service:Audit:DrainBatchSize': '0' });
      await expectOnly(
        found.map((one) => ({ remedy: 'As it says.', ...one })),
        ['settings', 'failed', /^Service:Tokens:DefaultTaskTtl \(Service__Tokens__DefaultTaskTtl\) is not a duration/],
        ['settings', 'failed', /^Service:Audit:DrainBatchSize/],
      );
    });

    it('says how full the status lists are, and that the public address has a current one', async () => {
      const port = await freePort();
      const lists = { 'Service:StatusLists:Enabled': 'true', 'Service:StatusLists:Entries': '1024' };
      const own = { ...lists, 'Service:Issuer': `http://127.0.0.1:${port}` };
      const instance = await mandate.another({ ...own, PORT: String(port) });
      const ofLists = async () => (await examine(own)).filter(({ check }) => check.includes('status lists'));
      expect((await ofLists()).map(({ sentence }) => sentence)).to.deep.equal([
        'There is no status list yet: the first task of an audience opens one.',
        'Service:Issuer answers that there is no status list yet.',
      ]);
      const agent = await instance.agent();
      for (let task = 0; task < 2; task += 1) expect((await agent.exchange()).status).to.equal(200);
      // The service has told for `Ttl` that there is none.
      instance.clock.advance(5);
      const [stored, published] = await ofLists();
      expect([stored?.status, stored?.sentence.replace(/opened .+?\. /, '')]).to.deep.equal([
        ...[
          'ok',
          'Tasks hold 2 of 1024 indices; lists: 1, the oldest The fullest: 2 of 1024 for https://jira.example.',
        ],
      ]);
      expect([published?.status, published?.sentence]).to.deep.equal([
        ...['ok', 'Service:Issuer answers with a current status list.'],
      ]);
      clock.advance(3610);
      expect((await ofLists())[1]?.sentence).to.match(/a status list that is 36\d\d seconds old/);
      await instance.stop();
    });

    it('says how many checkpoints the log has, and finds one that halted, that is behind, or that has another name', async () => {
      const fresh = await kind.fresh();
      const key = { ...logKeySettings(), 'Service:Audit:Log:Origin': 'mandate.example/ledger' };
      const own = { ...kind, fresh: async () => fresh };
      const instance = await startMandate({ database: own, provider, settings: key });
      const ofLog = async (changes = {}) => {
        const found = (await examine({ ...fresh.settings, ...key, ...changes })).find(
          ({ check }) => check === 'transparency log',
        );
        return `${found?.status}: ${found?.sentence}`;
      };
      try {
        const add = async () => {
          await instance.block(`person-${randomUUID()}`, 'disabled');
          await instance.jobs.seal();
        };
        await add();
        await instance.jobs.growLog();
        expect(await ofLog()).to.match(/^ok: The log has (\d+) of \1 checkpoints\.$/);
        for (let nth = 0; nth < 4; nth += 1) await add();
        expect(await ofLog()).to.match(/^warning: The log has \d+ of \d+ checkpoints\.$/);
        await instance.jobs.growLog();
        await instance.sql('update log_state set published_size = 0');
        expect(await ofLog()).to.match(
          /^failed: Readers do not get the newest note, of \d+ leaves: the database names a published note of 0\.$/,
        );
        expect(await ofLog({ 'Service:Audit:Log:Origin': 'other.example' })).to.match(
          /^failed: The stored log is .*other\.example/,
        );
        await instance.sql("update log_state set halted = 'A reason.'");
        expect(await ofLog()).to.equal('failed: The log signs no further tree. A reason.');
        instance.clock.advance(1);
        await instance.jobs.growLog();
        await instance.jobs.growLog();
        expect(instance.log.lines.filter((line) => line.includes('does not grow'))).to.have.length(1);
        const { status, body } = await instance.untilReady({ accept: 'application/json' });
        expect([status, body.status]).to.deep.equal([200, 'Degraded']);
        expect(Object(body.checks).log.detail).to.equal('The log signs no further tree. A reason.');
      } finally {
        await instance.stop();
      }
    });

    it('warns if the public address answers no status lists', async () => {
      const found = await complaints({ 'Service:StatusLists:Enabled': 'true' });
      await expectOnly(found, [
        'published status lists',
        'warning',
        /^Service:Issuer could not be .*status was 404\.$/,
      ]);
    });

    it('warns of an unknown setting and suggests the nearest name', async () => {
      await expectFinding(
        { Service__Audit__Sink__Uri: 'http://127.0.0.1:1' },
        'settings',
        'warning',
        /Did you mean Service__Audit__Sink__Url\?$/,
      );
    });

    it('warns if the client of logouts, or the stream of events, has the audience of subject tokens', async () => {
      const audience = provider.audience;
      const found = await complaints({
        'Service:UpstreamIdp:BackchannelLogout:Audience': audience,
        'Service:Ssf:Audience': audience,
      });
      const ofSettings = found.filter(({ check }) => check === 'settings');
      expect(ofSettings.map(({ status, sentence }) => [status, sentence.split(' ')[0]])).to.deep.equal([
        ['warning', 'Service:UpstreamIdp:BackchannelLogout:Audience'],
        ['warning', 'Service:Ssf:Audience'],
      ]);
    });

    it('finds an identity provider whose issuer differs, that redirects, or that does not answer', async () => {
      const skippedThen = (found: readonly NamedFinding[]) => found.filter(({ check }) => check.startsWith('provider'));
      const slash = await complaints({ 'Service:UpstreamIdp:Issuer': `${provider.issuer}/` });
      await expectOnly(skippedThen(slash), ['provider discovery', 'failed', /The document names another issuer\.$/]);

      const moved = await startLoopback((_request, response) => {
        response.writeHead(301, { location: provider.issuer }).end();
      });
      const redirected = await complaints({ 'Service:UpstreamIdp:Issuer': moved.url });
      await expectOnly(skippedThen(redirected), [
        'provider discovery',
        'failed',
        /301\. That is a redirect, and none is/,
      ]);
      await moved.close();
      const gone = await complaints({ 'Service:UpstreamIdp:Issuer': moved.url });
      await expectOnly(skippedThen(gone), ['provider discovery', 'failed', /There was no answer \(ECONNREFUSED\)\.$/]);
    });

    it('warns for a day of a logout that ended nothing while tasks without a session went on', async () => {
      const fresh = await kind.fresh();
      const storage = await fresh.open();
      const ofLogouts = async (changes: Settings = {}) =>
        (await examine({ ...fresh.settings, ...changes })).find(({ check }) => check === 'logouts');
      const at = clock.now();
      const opened = { createdAt: at, expiresAt: plusSeconds(at, 900), sessionId: undefined };
      const { sponsor } = (await openedTask(storage, opened)).task;
      const occurrence = { issuer: provider.issuer, forgetAt: plusSeconds(at, 600), at };
      const logOutOf = (subject: string) =>
        storage.decide(logOut, {
          ...occurrence,
          jti: randomUUID(),
          loggedOut: { kind: 'session', sessionId: 'another', subject },
        });
      await logOutOf('person-without-tasks');
      expect(await ofLogouts()).to.include({ status: 'ok' });
      await logOutOf(sponsor);
      const found = await ofLogouts();
      expect(found).to.include({ status: 'warning' });
      expect(found?.sentence).to.match(/ended no task, although the person had live tasks: these belong to no session/);
      expect(JSON.stringify(found)).not.to.include(sponsor);
      const setting = 'Service:UpstreamIdp:BackchannelLogout:EndTasksWithoutSession';
      expect(await ofLogouts({ [setting]: 'true' })).to.equal(undefined);
      clock.advance(86_400 + 60);
      expect(await ofLogouts()).to.include({ status: 'ok' });
      await storage.close();
      await fresh.drop();
    });

    it('finds an issuer that no token can have: a template for several tenants, or text that is no URI', async () => {
      const keys = { jwks_uri: `${provider.issuer}/jwks` };
      const template = { issuer: `${provider.issuer}/{tenantid}/v2.0`, ...keys };
      const server = await startLoopback(answering(template));
      const byUrl = {
        'Service:UpstreamIdp:Issuer': undefined,
        'Service:UpstreamIdp:MetadataUrl': `${server.url}/common/.well-known/openid-configuration`,
      };
      const discoveryBy = async (changes: Settings) =>
        (await examine(changes)).find(({ check }) => check === 'provider discovery');
      const found = await discoveryBy(byUrl);
      expect(found).to.include({ status: 'failed' });
      expect(found?.sentence).to.match(/no issuer, but a template for those of several tenants: no token has it/);
      expect(found?.remedy).to.include('MetadataUrl name the metadata of one tenant');
      const byIssuer = await discoveryBy({ 'Service:UpstreamIdp:Issuer': server.url });
      expect(byIssuer).to.include({ status: 'failed' });
      expect(byIssuer?.sentence).to.match(/no issuer, but a template for those of several tenants\.$/);
      expect(byIssuer?.remedy).to.match(/If the provider has several tenants, name one of them\.$/);
      server.answer = answering({ issuer: provider.issuer, access_token_issuer: 'https://idp.example ', ...keys });
      const noUri = await discoveryBy(byUrl);
      expect(noUri).to.include({ status: 'failed' });
      expect(noUri?.sentence).to.match(/an issuer that is no URI: no token can have it/);
      server.answer = answering({ issuer: provider.issuer, access_token_issuer: 'http://adfs.example/trust', ...keys });
      expect((await discoveryBy(byUrl))?.status).to.equal('ok');
      await server.close();
    });

    it('finds an identity provider that publishes no usable key', async () => {
      const other = await startLoopback((request, response) => {
        const endpoints = { authorization_endpoint: `${other.url}/a`, token_endpoint: `${other.url}/t` };
        const document = { issuer: other.url, jwks_uri: `${other.url}/keys`, ...endpoints };
        const keys = { keys: [{ kty: 'oct', k: 'c2VjcmV0' }] };
        answering(request.path === '/keys' ? keys : document)(request, response);
      });
      await expectFinding(
        { 'Service:UpstreamIdp:Issuer': other.url, 'Service:Me:ClientId': undefined },
        'provider keys',
        'failed',
        /No key of the set can be used\. keys\[0\] carries a private member, must be an EC key on P-256, /,
      );
      await other.close();
    });

    const directories: readonly (readonly [title: string, asked: { status: number; body: unknown }, RegExp, RegExp])[] =
      [
        ['may not read users', { status: 403, body: {} }, /status was 403/, /view-users/],
        [
          'finds a user with an unknown id',
          { status: 200, body: { enabled: true } },
          /finds a user with an unused id/,
          /UsersUrl/,
        ],
        ['is redirected', { status: 302, body: {} }, /302\. That is a redirect/, /the address that it leads to/],
        ['gets a server error', { status: 500, body: {} }, /status was 500/, /should be 404/],
        [
          'gets a 404 of a proxy',
          { status: 404, body: '404 page not found' },
          /status was 404\. .*intermediary/,
          /JSON object/,
        ],
        [
          "gets Keycloak's 404 about an unknown path",
          { status: 404, body: { error: 'HTTP 404 Not Found' } },
          /status was 404, and its error is "HTTP 404 Not Found"/,
          /the path of the users/,
        ],
      ];
    for (const [title, asked, sentence, remedy] of directories) {
      it(`reports a client for the sponsor check that ${title}`, async () => {
        directory.answer = answering(asked.body, asked.status);
        const found = await complaints();
        await expectOnly(found, ['sponsor check', 'failed', sentence]);
        expect(found[0]?.remedy).to.match(remedy);
      });
    }

    it('warns if the 404 for an unknown id is that for an unknown path, whatever else changes in it', async () => {
      for (const body of [
        () => ({ error: 'Not Found' }),
        (path: string) => ({ error: `Nothing is at ${path}`, timestamp: new Date().toISOString() }),
        () => ({ error: 'Not Found', request_id: randomUUID() }),
      ]) {
        directory.answer = (request, response) => answering(body(request.path), 404)(request, response);
        await expectOnly(await complaints(), ['sponsor check', 'warning', /SponsorCheck:UsersUrl/]);
      }
      directory.answer = (request, response) => {
        const [, , id = '', more] = request.path.split('/');
        answering({ error: more === undefined ? `There is no user ${id}.` : 'Not Found' }, 404)(request, response);
      };
      await expectOnly(await complaints());
    });

    it('finds a client for the sponsor check that gets no access token', async () => {
      directory.answerToken = answering({}, 401);
      await expectFinding({}, 'sponsor check', 'failed', /no service token\. The token endpoint's status was 401/);
    });

    it("shows the provider's error, and names the settings of scope and audience", async () => {
      directory.answerToken = answering({ error: 'invalid_scope\u202e', error_description: 'sesame' }, 400);
      const found = await complaints();
      await expectOnly(found, [
        'sponsor check',
        'failed',
        /^There is no service token\. The token endpoint's status was 400, and its error is "invalid_scope\\u\{202e\}"\.$/,
      ]);
      expect(found[0]?.remedy).to.include('SponsorCheck:Scope').and.include('ClientAssertionAudience');
    });

    it('asks with a bearer token in place of a client, and names it if it is refused', async () => {
      const bearer = {
        'Service:UpstreamIdp:SponsorCheck:TokenUrl': undefined,
        'Service:UpstreamIdp:SponsorCheck:ClientId': undefined,
        'Service:UpstreamIdp:SponsorCheck:BearerToken': 'b'.repeat(32),
      };
      await expectOnly(await complaints(bearer));
      directory.answerToken = answering({}, 500);
      for (const status of [401, 403]) {
        directory.answer = answering({ error: `no ${'b'.repeat(32)}` }, status);
        const found = await complaints(bearer);
        await expectOnly(found, ['sponsor check', 'failed', new RegExp(`status was ${status}\\.$`)]);
        expect(found[0]?.remedy).to.include('SponsorCheck:BearerToken');
      }
    });

    it('fails in mode signals without a receiver, and warns if back-channel logout is the only receiver', async () => {
      const without = (receivers: RegExp) => ({
        ...Object.fromEntries(
          Object.keys(good)
            .filter((key) => receivers.test(key))
            .map((key) => [key, undefined]),
        ),
        'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
      });
      await expectFinding(
        without(/SponsorCheck:[UTC]|:Scim:|:Ssf:/),
        'receivers',
        'warning',
        /^In mode signals a logout alone does not say that a person was disabled\.$/,
      );
      const refusing = { 'Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut': 'true' };
      await expectFinding(
        { ...without(/SponsorCheck:[UTC]|:Scim:|:Ssf:/), ...refusing },
        'receivers',
        'warning',
        /^In mode signals a logout alone does not say .+\. Subject tokens from before a logout start no task\.$/,
      );
      const none = without(/SponsorCheck:[UTC]|:Scim:|:Ssf:|:BackchannelLogout:/);
      await expectFinding(
        none,
        'receivers',
        'failed',
        /^In mode signals the provider is not asked about people, and no receiver is configured\.$/,
      );
      expect((await runCommand(['doctor'], { ...good, ...none })).code).to.equal(3);
    });

    it('warns if the keys of agents may be fetched from private networks', async () => {
      for (const off of [undefined, 'false']) {
        await expectFinding(
          { 'Service:AgentKeys:BlockPrivateNetworks': off },
          'agent keys',
          'warning',
          /^A jwks_uri may lead to loopback, private, /,
        );
      }
    });

    it('names the configured receivers, and says whether subject tokens from before a logout are refused', async () => {
      const setting = 'Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut';
      for (const [value, sentence] of [
        ['false', 'Configured: /backchannel-logout, /scim/v2, /events.'],
        [
          'true',
          'Configured: /backchannel-logout, /scim/v2, /events. Subject tokens from before a logout start no task.',
        ],
      ] as const) {
        const found = await examine({ [setting]: value });
        expect(found.find(({ check }) => check === 'receivers')).to.include({ status: 'ok', sentence });
      }
    });

    it('warns of roles that nobody has, and finds operators whose provider does not answer', async () => {
      const [viewer, registrar] = ['Service:Operators:Roles:Viewer', 'Service:Operators:Roles:Registrar'];
      const vacant = { [viewer]: undefined, [registrar]: undefined };
      await expectFinding(
        vacant,
        'operators',
        'warning',
        /: viewer, registrar\. Only the holder of the admin key can do the work of: registrar\.$/,
      );
      // Every other role reads what a viewer reads.
      await expectFinding({ [viewer]: undefined }, 'operators', 'warning', /, so no operator has them: viewer\.$/);
      const silent = { 'Service:Operators:Issuer': 'http://127.0.0.1:9' };
      await expectFinding(silent, 'operators discovery', 'failed', /^Its metadata could not be read\./);
      const off = Object.fromEntries(Object.keys({ ...OPERATORS, ...silent }).map((key) => [key, undefined]));
      expect((await examine(off)).map(({ check }) => check).join()).not.to.include('operators');
    });

    it("finds what is wrong with the operators' own provider: a redirect, another issuer, unusable keys", async () => {
      const server = await startLoopback(answering({}));
      const document = { issuer: server.url, jwks_uri: `${server.url}/k`, ...endpointsAt(server.url) };
      const answers = (metadata: Handler, keys: Handler) => {
        server.answer = (request, response) => (request.path === '/k' ? keys : metadata)(request, response);
      };
      const find = (check: string, sentence: RegExp) =>
        expectFinding({ 'Service:Operators:Issuer': server.url }, check, 'failed', sentence);
      const redirect: Handler = (_request, response) => {
        response.writeHead(302, { location: '/elsewhere' }).end();
      };
      answers(redirect, answering({}));
      await find(
        'operators discovery',
        /^Its metadata could not be read\. .*That is a redirect, and none is followed\.$/,
      );
      answers(answering({ ...document, issuer: 'https://another.example' }), answering({}));
      await find('operators discovery', /^Its metadata could not be read\. /);
      answers(answering(document), answering({}, 404));
      await find('operators keys', /^Its keys could not be fetched\. .*404/);
      answers(answering(document), answering({ keys: [] }));
      await find('operators keys', /^Its keys could not be fetched\. /);
      await server.close();
    });

    it('says what the console needs at its provider: the return address, the keys, the logout address, the claims', async () => {
      const clientOf = async (changes: Settings) =>
        (await examine({ ...CONSOLE, ...changes })).find(({ check }) => check === 'console client');
      const client = await clientOf({ 'Service:Operators:RoleClaim': 'realm_access.roles' });
      expect(client?.status).to.equal('ok');
      for (const part of [
        'the client mandate-console needs the return address https://console.mandate.example/callback',
        'the address after a sign-out https://console.mandate.example/signed-out',
        `its key set ${mandate.issuer}/.well-known/jwks.json (private_key_jwt, ES256)`,
        `the back-channel logout address ${mandate.issuer}/backchannel-logout.`,
      ]) {
        expect(client?.sentence).to.include(part);
      }
      expect(client?.sentence).to.match(/ Its ID tokens need these claims: realm_access\.roles\.$/);
      const other = await clientOf({ 'Service:UpstreamIdp:SponsorKeyClaim': 'oid' });
      expect(other?.sentence).to.match(/ Its ID tokens need these claims: roles, oid\.$/);
    });

    for (const [whose, setting, changes] of [
      ["the operators' own provider", 'Service:Operators:Issuer', {}],
      [
        'the upstream provider, if operators have no other',
        'Service:UpstreamIdp:Issuer',
        { 'Service:Operators:Issuer': undefined },
      ],
    ] as const) {
      it(`finds what the metadata lacks for the sign-in at the console, at ${whose}`, async () => {
        const server = await startLoopback(answering({}));
        const verdict = async (lacking: object, secret: Settings = {}) => {
          const document = { issuer: server.url, jwks_uri: `${server.url}/k`, ...endpointsAt(server.url) };
          server.answer = answering({ ...document, ...lacking });
          const found = await examine({ ...CONSOLE, ...changes, ...secret, [setting]: server.url });
          return found.find(({ check }) => check === 'console provider');
        };
        expect((await verdict({}))?.status).to.equal('ok');
        for (const [lacking, named] of [
          [{ authorization_endpoint: undefined }, 'authorization_endpoint'],
          [{ token_endpoint: undefined }, 'token_endpoint'],
          [{ token_endpoint: 'ftp://127.0.0.1/t' }, 'token_endpoint'],
        ] as const) {
          expect(await verdict(lacking), named).to.deep.equal({
            check: 'console provider',
            status: 'failed',
            sentence: `Operators cannot sign in at the console. The provider's metadata has no usable ${named}.`,
            remedy:
              'See what its metadata names there: an absolute https URL, or http if the metadata is read over http.',
          });
        }
        for (const [lacking, named] of [
          [{ response_types_supported: ['id_token'] }, 'the response type code'],
          [{ code_challenge_methods_supported: ['plain'] }, 'the code challenge method S256'],
          [{ token_endpoint_auth_methods_supported: ['client_secret_basic'] }, 'private_key_jwt'],
          [{ token_endpoint_auth_signing_alg_values_supported: ['RS256'] }, 'client assertions signed with ES256'],
        ] as const) {
          expect(await verdict(lacking), named).to.deep.equal({
            check: 'console provider',
            status: 'warning',
            sentence: `The provider's metadata does not list ${named}, which the sign-in at the console uses.`,
            remedy:
              'Some providers accept more than they list: see `console client`, and sign in once. If that fails: Turn it on at the provider, or give Service:Operators:ClientSecret:Path.',
          });
        }
        const secret = { 'Service:Operators:ClientSecret:Path': join(folder, 'no-such-file') };
        const methods = { token_endpoint_auth_methods_supported: ['client_secret_basic'] };
        expect((await verdict(methods, secret))?.status, 'a secret needs no private_key_jwt').to.equal('ok');
        const unreadable = await examine({ ...CONSOLE, ...changes, ...secret });
        const client = unreadable.find(({ check }) => check === 'console client');
        expect(client?.status).to.equal('failed');
        expect(client?.sentence).to.match(/^Service:Operators:ClientSecret:Path .* does not exist/);
        server.answer = answering({}, 503);
        const unread = await examine({ ...CONSOLE, ...changes, [setting]: server.url });
        expect(unread.find(({ check }) => check === 'console provider')).to.include({
          status: 'skipped',
          sentence: 'Its metadata could not be read.',
        });
        await server.close();
      });
    }

    it('names settings of the console and of operators that are wrong, and has no check of a console without a port', async () => {
      for (const missing of ['Service:Console:Port', 'Service:Console:Origin', 'Service:Operators:ClientId']) {
        const found = await examine({ ...CONSOLE, [missing]: undefined });
        const wrong = found.find(({ check, status }) => check === 'settings' && status === 'failed');
        expect(wrong?.sentence, missing).to.match(/Service:(Console:(Port|Origin)|Operators:ClientId)/);
      }
      expect((await examine({})).filter(({ check }) => check.startsWith('console'))).to.deep.equal([]);
      const roles = Object.keys(OPERATORS).filter((key) => key.includes(':Roles:'));
      const noRole = await examine(Object.fromEntries(roles.map((key) => [key, undefined])));
      expect(noRole.find(({ check }) => check === 'settings')).to.include({ status: 'failed' });
      expect(noRole.find(({ check }) => check === 'operators')).to.include({
        status: 'skipped',
        sentence: 'Its settings are wrong.',
      });
    });

    it('warns if the origin of the console leads nowhere, elsewhere, or to another release', async () => {
      const proxy = await startLoopback(consoleBehindProxy);
      // A development host may have a plain origin.
      const development = { ...CONSOLE, NODE_ENV: 'development', 'Service:Console:Origin': proxy.url };
      const verdict = async (answer: Handler) => {
        proxy.answer = answer;
        return (await examine(development)).find(({ check }) => check === 'console address');
      };
      expect(await verdict(consoleBehindProxy)).to.deep.equal({
        check: 'console address',
        status: 'ok',
        sentence: 'Service:Console:Origin answers with the console of this release.',
      });
      const redirect: Handler = (_request, response) => {
        response.writeHead(301, { location: 'https://elsewhere.example/' }).end();
      };
      for (const [answer, sentence] of [
        [answering('<h1>It works!</h1>'), /^What answers at Service:Console:Origin is not the console\.$/],
        [answering({}, 404), /did not answer with the console of this release\. The answer's status was 404\.$/],
        [redirect, /status was 301\. That is a redirect, and none is followed\.$/],
      ] as const) {
        const found = await verdict(answer);
        expect(found?.status, `${sentence}`).to.equal('warning');
        expect(found?.sentence).to.match(sentence);
        expect(found?.remedy).to.match(/\.$/);
      }
      await proxy.close();
      const silent = await verdict(answering({}));
      expect(silent?.status).to.equal('warning');
      expect(silent?.sentence).to.match(/did not answer with the console of this release\. .*ECONNREFUSED/);
      expect(silent?.remedy).to.include('Service:Console:Port');
    });

    it('warns of iss_sub subjects if security events are received and the sponsor key claim is not sub', async () => {
      const other = { 'Service:UpstreamIdp:SponsorKeyClaim': 'oid' };
      const found = await complaints(other);
      await expectOnly(found, ['event subjects', 'warning', /SponsorKeyClaim is not sub/]);
      const none = Object.fromEntries(Object.keys(transmitter.settings).map((key) => [key, undefined]));
      await expectOnly(await complaints({ ...other, ...none }));
    });

    it('says what the sign-in at /me needs at the provider, and finds what its metadata lacks', async () => {
      const found = await examine({});
      const client = found.find(({ check }) => check === 'sign-in client');
      for (const path of ['/me/callback', '/.well-known/jwks.json', '/backchannel-logout']) {
        expect(client?.sentence).to.include(`${mandate.issuer}${path}`);
      }
      expect(client?.sentence).to.include('(private_key_jwt, ES256)');
      expect(client?.sentence).to.match(/ Its ID tokens need these claims: auth_time \(to pause agents\)\.$/);
      const others = await examine({
        'Service:UpstreamIdp:ClientAssertionAudience': 'token_endpoint',
        'Service:UpstreamIdp:SponsorKeyClaim': 'oid',
        'Service:Me:Pause': 'false',
      });
      const other = others.find(({ check }) => check === 'sign-in client');
      expect(other?.sentence).to.include('(private_key_jwt, ES256, aud token endpoint)');
      expect(other?.sentence).to.match(/ Its ID tokens need these claims: oid\.$/);
      const without = await examine({ 'Service:Me:ClientId': undefined });
      expect(without.filter(({ check }) => check.startsWith('sign-in'))).to.deep.equal([]);
      const server = await startLoopback(answering({}));
      const offered = (changes: object) => {
        const document = { issuer: server.url, jwks_uri: `${server.url}/k`, ...endpointsAt(server.url), ...changes };
        server.answer = answering(document);
        return examine({ 'Service:UpstreamIdp:Issuer': server.url });
      };
      const verdict = async (changes: object) =>
        (await offered(changes)).find(({ check }) => check === 'sign-in provider');
      const bare = await verdict({});
      expect(bare?.status).to.equal('ok');
      expect(bare?.sentence).to.include('no back-channel logout').and.include('no end_session_endpoint');
      const lacking = await verdict({ token_endpoint: undefined });
      expect(lacking?.status).to.equal('failed');
      expect(lacking?.sentence).to.match(/^People cannot sign in at \/me\. .*no usable token_endpoint\.$/);
      for (const [changes, sentence] of [
        [{ response_types_supported: ['id_token'] }, /the response type code/],
        [{ code_challenge_methods_supported: ['plain'] }, /S256/],
        [{ token_endpoint_auth_methods_supported: ['client_secret_basic'] }, /private_key_jwt/],
        [{ token_endpoint_auth_signing_alg_values_supported: ['RS256'] }, /ES256/],
      ] as const) {
        const unlisted = await verdict(changes);
        expect(unlisted?.status, `${sentence}`).to.equal('warning');
        expect(unlisted?.sentence).to.match(sentence);
        expect(unlisted?.remedy).to.include('Service:Me:ClientSecret:Path');
      }
      await server.close();
      for (const [key, problem] of [
        ['Service:Me:ClientSecret:Path', 'does not exist'],
        ['Service:Me:ScopeDescriptions', 'cannot be read'],
      ] as const) {
        const missing = await examine({ [key]: join(folder, 'no-such-file') });
        const refused = missing.find(({ check }) => check === 'sign-in client');
        expect(refused?.status).to.equal('failed');
        expect(refused?.sentence).to.include(key).and.include(problem);
      }
    });

    it('finds a transmitter and a sink that do not answer', async () => {
      const found = await complaints({
        'Service:Ssf:Issuer': 'http://127.0.0.1:9/tenant-7',
        'Service:Audit:Sink:Url': 'http://127.0.0.1:9/records',
      });
      await expectOnly(
        found,
        ['transmitter discovery', 'failed', /ECONNREFUSED/],
        ['sink', 'failed', /cannot be connected to\. .*ECONNREFUSED/],
      );
    });

    it('warns if nothing answers at Service:Issuer, or a service with another issuer', async () => {
      await expectFinding({ 'Service:Issuer': 'http://127.0.0.1:9' }, 'own address', 'warning', /ECONNREFUSED/);
      const other = mandate.issuer.replace('127.0.0.1', 'localhost');
      await expectFinding({ 'Service:Issuer': other }, 'own address', 'warning', /another issuer/);
    });

    it('reports every check of /readyz that is not Healthy, by its name and detail', async () => {
      const checks = {
        database: { status: 'Healthy', detail: 'The database answers.' },
        new_check: { status: 'Degraded', detail: `Forged\u202e\u001b[2J line\n${'x'.repeat(5000)}` },
      };
      let body: unknown = { status: 'Degraded', checks };
      let code = 200;
      const service = await startLoopback(({ path, headers }, response) => {
        const isAsked = path === '/readyz' && headers.accept === 'application/json';
        response.writeHead(isAsked ? code : 404, { 'content-type': 'application/json' });
        response.end(typeof body === 'string' ? body : JSON.stringify(body));
      });
      const ofReadiness = async () =>
        (await examine({ 'Service:Issuer': service.url })).find(({ check }) => check === 'readiness');
      const unknown = await ofReadiness();
      expect(unknown?.status).to.equal('warning');
      expect(unknown?.sentence).to.match(
        /^new_check is Degraded: Forged\\u\{202e\}\\u\{1b\}\[2J line\\u\{a\}x{900,1000}…\.$/,
      );
      body = {
        status: 'Degraded',
        checks: { ...checks, sealing: { status: 'Degraded', detail: 'Nothing is sealed.' } },
      };
      const sealing = await ofReadiness();
      expect([sealing?.status, sealing?.sentence.includes('sealing is Degraded: Nothing is sealed.')]).to.deep.equal([
        ...['failed', true],
      ]);
      expect(sealing?.remedy).to.include('a restart forgets');
      code = 503;
      body = { status: 'Unhealthy', checks: { database_file: { status: 'Unhealthy', detail: 'It was replaced' } } };
      expect(await ofReadiness()).to.include({
        status: 'failed',
        sentence: 'database_file is Unhealthy: It was replaced.',
      });
      for (const other of [
        'Healthy',
        '{"checks": []}',
        '{"checks": {"a": {"status": "Fine", "detail": ""}}}',
        'null',
      ]) {
        body = other;
        expect((await ofReadiness())?.status, other).to.equal('skipped');
      }
      code = 404;
      expect((await ofReadiness())?.status).to.equal('skipped');
      await service.close();
      expect((await ofReadiness())?.status).to.equal('skipped');
    });

    it('fails with what the running service says about checkpoints that were replaced or removed', async () => {
      const fresh = await kind.fresh();
      const key = { 'Service:Signing:Keys:0:Path': good['Service:Signing:Keys:0:Path'] ?? '' };
      const own = { ...kind, fresh: async () => fresh };
      const instance = await startMandate({ database: own, provider, issuer: 'own-address', settings: key });
      await instance.block('ada', 'disabled');
      await instance.jobs.seal();
      const changes = { ...fresh.settings, 'Service:Issuer': instance.issuer };
      expect(await complaints(changes)).to.deep.equal([]);
      const owner = await connectOutside(fresh, 'owner');
      const tampering = await startTampering(owner, kind.engine);
      await tampering.sql('delete from checkpoints');
      await instance.jobs.seal();
      const found = await complaints(changes);
      const readiness = found.find(({ check }) => check === 'readiness');
      expect(readiness?.status).to.equal('failed');
      expect(readiness?.sentence).to.include('sealing is Degraded: Nothing is sealed. Checkpoint 1 is missing');
      await owner.close();
      await instance.stop();
    });

    it('warns if what answers at Service:Issuer publishes other keys than the configured ones', async () => {
      const key = await makeSealingKey();
      const kid = key.jwks.keys[0]?.kid ?? '';
      const stranger = (await makeSealingKey()).jwks.keys[0];
      let published: readonly object[] = [{ ...stranger, kid }];
      const impostor = await startLoopback(({ path }, response) => {
        const [issuer, jwks_uri] = [impostor.url, `${impostor.url}/.well-known/jwks.json`];
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify(path.endsWith('jwks.json') ? { keys: published } : { issuer, jwks_uri }));
      });
      const settings = { 'Service:Issuer': impostor.url, 'Service:Signing:Keys:0:Pem': key.pem };
      const ofAddress = async () => {
        const found = await complaints({ 'Service:Signing:Keys:0:Path': '', ...settings });
        return found.find(({ check }) => check === 'own address')?.sentence;
      };
      expect(await ofAddress()).to.match(/another key under the name of a configured one/);
      published = [...key.jwks.keys, stranger ?? {}];
      expect(await ofAddress()).to.match(/a key that is not configured here/);
      published = key.jwks.keys;
      expect(await ofAddress()).to.equal(undefined);
      await impostor.close();
    });

    it('finds signing keys that cannot be loaded, that other users can read, or that replicas do not publish', async () => {
      const file = join(folder, 'other.pem');
      writeFileSync(file, 'no key at all', { mode: 0o600 });
      const unusable = await complaints({ 'Service:Signing:Keys:0:Path': file });
      await expectOnly(unusable, [
        'signing keys',
        'failed',
        /Service:Signing:Keys:0:Path .* is not a private key in PEM/,
      ]);
      writeFileSync(file, (await makeSealingKey()).pem);
      chmodSync(file, 0o644);
      await expectOnly(
        await complaints({ 'Service:Signing:Keys:0:Path': file }),
        ['signing key files', 'warning', /Service:Signing:Keys:0:Path \(read by others\)/],
        ['sign-in client', 'warning', keysUnknown],
        ['own address', 'warning', /does not publish every key/],
      );
    });

    if (!isPostgres) {
      it('warns of a database file that other users can read or change, and refuses SQLite in memory', async () => {
        await onFresh(async (fresh) => {
          const path = String(fresh.settings['Service:Database:Path']);
          for (const [mode, may] of [
            [0o644, 'read'],
            [0o660, 'change'],
          ] as const) {
            chmodSync(path, mode);
            const sentence = new RegExp(`^Other users of this machine may ${may} the file of the database\\.$`);
            await expectFinding(fresh.settings, 'database role', 'warning', sentence);
          }
        });
        const inMemory = await complaints({ 'Service:Database:Path': ':memory:' });
        expect(inMemory[0]).to.deep.include({ check: 'settings', status: 'failed' });
        expect(inMemory[0]?.sentence).to.include('is SQLite in memory');
      });
    }

    it('finds a key file that two settings name', async () => {
      const { 'Service:Signing:Keys:0:Path': file } = good;
      const found = (await complaints({ 'Service:Me:ClientSecret:Path': file })).filter(
        ({ check }) => check === 'settings',
      );
      await expectOnly(found, [
        'settings',
        'failed',
        /^Service:Me:ClientSecret:Path .* names the same file as Service:Signing:Keys:0:Path\./,
      ]);
    });

    it('lets everybody read the public half of a retired key, but not replace it', async () => {
      const half = await makeSealingKey();
      const file = join(folder, 'retired.pem');
      writeFileSync(file, createPublicKey(half.pem).export({ type: 'spki', format: 'pem' }));
      const active = await makeSealingKey();
      const changes = {
        'Service:Signing:Keys:0:Path': undefined,
        'Service:Signing:Keys:0:Pem': active.pem,
        'Service:Signing:Keys:1:Path': file,
        'Service:Signing:ActiveKid': active.signer.kid,
      };
      const notPublished = [
        ['sign-in client', 'warning', keysUnknown],
        ['own address', 'warning', /does not publish every key/],
      ] as const;
      chmodSync(file, 0o644);
      await expectOnly(await complaints(changes), ...notPublished);
      chmodSync(file, 0o666);
      await expectOnly(
        await complaints(changes),
        ['signing key files', 'warning', /Service:Signing:Keys:1:Path \(written by others\)/],
        ...notPublished,
      );
    });

    if (isPostgres) {
      it('names the connection string whose certificate file cannot be read', async () => {
        const found = await complaints({
          'Service:Database:ConnectionString': 'postgresql://mandate@127.0.0.1/mandate?sslrootcert=/nowhere.pem',
        });
        expect(found.filter(({ status }) => status === 'failed')).to.have.length(1);
        expect(found.find(({ check }) => check === 'database')).to.deep.include({
          status: 'failed',
          sentence:
            'Service:Database:ConnectionString (Service__Database__ConnectionString) names a file (sslrootcert, sslcert or sslkey) that cannot be read by this user.',
        });
      });

      it('names all faults of a connection string with several hosts', async () => {
        const found = await complaints({
          'Service:Database:ConnectionString': `postgresql://mandate:${SECRET}@db1,db2/mandate?keepalives=${SECRET}`,
        });
        const key = 'Service:Database:ConnectionString (Service__Database__ConnectionString)';
        expect(found.find(({ check }) => check === 'database')).to.deep.include({
          status: 'failed',
          sentence: `${key} has the parameter keepalives, which has no effect here: remove it. ${key} names several hosts without target_session_attrs=read-write (or primary): Mandate would read from a standby.`,
        });
      });
    }

    it('warns of a clock that differs by more than 5 seconds, and fails with one that differs by more than the clock skew', async () => {
      clock.advance(20);
      const began = performance.now();
      const few = (await complaints()).filter(({ check }) => check.endsWith('clock'));
      const took = Math.ceil((performance.now() - began) / 1000);
      // Each clock is read a little later than this machine's.
      const apart = (whose: string, atMostLess: number) => {
        const seconds = Array.from({ length: atMostLess + 1 }, (_, less) => 20 - less);
        return new RegExp(`^${whose} clock is (${seconds.join('|')}) seconds behind`);
      };
      const database = isPostgres ? [['database clock', 'warning', apart("The database's", took)] as const] : [];
      // The Date header of the provider has whole seconds.
      const ofProvider = apart("The identity provider's", took + 1);
      await expectOnly(few, ...database, ['provider clock', 'warning', ofProvider]);
      clock.advance(100);
      const many = (await complaints()).filter(({ check }) => check.endsWith('clock'));
      expect(many.map(({ status }) => status)).to.deep.equal(isPostgres ? ['failed', 'failed'] : ['failed']);
      expect(many.at(-1)?.sentence).to.match(/more than the 60 seconds/);
    });

    it('finds a schema that is too new or absent', async () => {
      await mandate.sql("insert into schema_migrations (name, batch) values ('9999-of-a-newer-release', 2)");
      await expectOnly(
        await complaints(),
        ['schema', 'warning', /newer release/],
        ['readiness', 'warning', /^database is Degraded: The database was migrated by a newer release\.$/],
      );
      await mandate.sql("delete from schema_migrations where name = '9999-of-a-newer-release'");
      await expectOnly(await complaints());
      const empty = await kind.fresh('absent');
      const found = await complaints({ ...good, ...empty.settings });
      await empty.drop();
      if (isPostgres) {
        await expectOnly(found, ['schema', 'failed', /no schema/]);
        expect(found[0]?.remedy).to.equal(
          'Run `mandate migrate`. If it has run on this Postgres, its role has another search_path than the serving role.',
        );
      } else await expectOnly(found, ['database', 'failed', /names no file/]);
    });

    it('finds a removed trigger on each table of the ledger', async () => {
      const lifted: readonly (readonly [string, RegExp])[] = isPostgres
        ? [
            [
              'alter function append_records set search_path = pg_catalog, public, pg_temp',
              /ledger: append_records finds functions of other roles/,
            ],
            ['drop trigger checkpoints_append_only on checkpoints', /checkpoints: no trigger refuses statements/],
            [
              `drop trigger ledger_append_only on ${partition(0)}`,
              new RegExp(`${partition(0)}: no trigger refuses statements`),
            ],
            [
              'alter table ledger disable trigger ledger_append_only_rows',
              /ledger: no trigger refuses changes of rows/,
            ],
            [
              `grant truncate on ${partition(1)} to mandate_app`,
              new RegExp(`${partition(1)}: truncate granted to mandate_app`),
            ],
            ['grant delete on checkpoints to public', /checkpoints: delete granted to everybody/],
            [
              'create or replace function refuse_ledger_change() returns trigger language plpgsql as $$ begin return new; end $$',
              /refuse_ledger_change does not refuse/,
            ],
          ]
        : [
            [
              'drop trigger checkpoints_no_update',
              /checkpoints: the trigger checkpoints_no_update is not there, or not as the migrations make it/,
            ],
            ['drop trigger ledger_no_replace', /ledger: the trigger ledger_no_replace is not there/],
          ];
      await onFresh(async (fresh, sql) => {
        for (const [statement, sentence] of lifted) {
          await sql(statement);
          const found = (await complaints(fresh.settings)).filter(({ check }) => check === 'ledger guards');
          expect(found, statement).to.have.lengthOf(1);
          expect(found[0]?.status).to.equal('failed');
          expect(found[0]?.sentence).to.match(new RegExp(`${sentence.source}|and \\d+ more`));
        }
      });
    });

    it('warns of unsealed records, of checkpoints whose key is not published, and of queued records without a sink', async () => {
      const fresh = await kind.fresh();
      const hourAgo = plusSeconds(instantFromMillis(Date.now()), -3600);
      const storage = await fresh.open({ clock: { now: () => hourAgo } });
      await storage.outbox.setQueueing(true);
      await append(storage, 3, hourAgo);
      const stranger = await makeSealingKey();
      const changes = { ...fresh.settings, 'Service:Audit:Sink:Url': undefined };
      await expectOnly(
        await complaints(changes),
        [
          'ledger sealing',
          'warning',
          /^3 records are not sealed, the oldest from PT1H(\dS)? ago; there is no checkpoint yet\.$/,
        ],
        ['outbox', 'warning', /^3 records wait for the sink, and more are queued, but none is configured here\.$/],
      );
      await seal(storage, { ...stranger.signer, kid: 'old\u202e\nkey' }, hourAgo);
      await storage.outbox.drain({ now: clock.now(), limit: 10 }, async () => false);
      await expectOnly(
        await complaints(fresh.settings),
        [
          'checkpoint keys',
          'failed',
          /^The newest checkpoint is signed with the key old\\u\{202e\}\\u\{a\}key, which is not con/,
        ],
        ['outbox', 'warning', /it has refused, or not answered for, 3 of them/],
      );
      await append(storage, 1, hourAgo, 3);
      await seal(storage, key.signer, hourAgo);
      const found = await complaints(fresh.settings);
      await expectOnly(
        found,
        [
          'checkpoint keys',
          'warning',
          /^Earlier checkpoints were signed with keys that are not configured: old\\u\{202e\}\\u\{a\}key\.$/,
        ],
        ['outbox', 'warning', /^4 records wait/],
      );
      for (const { remedy } of found) expect(remedy).not.to.match(/configure (them|it) again/i);
      expect(found[0]?.remedy).to.include('Never configure a key only because the ledger names it.');
      await storage.close();
      await fresh.drop();
    });

    if (isPostgres) {
      it('warns if next month has no partition, and fails if this month has none', async () => {
        await onFresh(async (fresh, sql) => {
          await sql(`alter table ledger detach partition ${partition(1)}`);
          await expectFinding(
            fresh.settings,
            'ledger partitions',
            'warning',
            /^There is no partition for \d{4}-\d\d\.$/,
          );
          await sql(`alter table ledger detach partition ${partition(0)}`);
          await expectFinding(fresh.settings, 'ledger partitions', 'failed', /Nothing can be recorded now/);
        });
      });

      it('warns of a remote connection without encryption, or without certificate verification', async () => {
        for (const [given, sentence] of [
          ['', /is not encrypted/],
          ['?sslmode=no-verify', /for whoever answers there/],
        ] as const) {
          const elsewhere = `postgresql://mandate_app@0.0.0.0:9/mandate${given}`;
          await expectOnly(
            await complaints({ 'Service:Database:ConnectionString': elsewhere }),
            ['database', 'failed', /could not be reached/],
            ['database connection', 'warning', sentence],
          );
        }
      });

      it('finds a serving role that is owner or superuser, and one with too many or too few privileges', async () => {
        const { 'Service:Database:MigrationConnectionString': owner = '' } = database.settings;
        const serving = (connection: string) => complaints({ 'Service:Database:ConnectionString': connection });
        await expectOnly(await serving(owner), ['database role', 'failed', /mandate_owner, owns the ledger/]);
        await expectOnly(await serving(owner.replace('mandate_owner', 'postgres')), [
          'database role',
          'failed',
          /superuser/,
        ]);
        const onLaptop = await complaints({ 'Service:Database:ConnectionString': owner, NODE_ENV: 'development' });
        await expectOnly(onLaptop, ['database role', 'warning', /owns the ledger/]);

        await onFresh(async (fresh, sql) => {
          for (const [privilege, status, sentence] of [
            ['insert on ledger', 'failed', /may change the ledger: insert on ledger\./],
            ['truncate on tasks', 'warning', /more than it needs: truncate on tasks\./],
            ['update (seq) on outbox', 'warning', /more than it needs: update \(seq\) on outbox\./],
          ] as const) {
            await sql(`grant ${privilege} to mandate_app`);
            await expectFinding(fresh.settings, 'database role', status, sentence);
            await sql(`revoke ${privilege} from mandate_app`);
          }
          for (const [grantee, sentence] of [
            ['mandate_app', /^mandate_app may create functions in the schema of the ledger/],
            ['public', /^Every role of the database may create in the schema of the ledger\.$/],
          ] as const) {
            await sql(`grant create on schema public to ${grantee}`);
            for (const NODE_ENV of ['production', 'development']) {
              const found = await complaints({ ...fresh.settings, NODE_ENV });
              await expectOnly(found, ['database role', 'failed', sentence]);
              expect(found[0]?.remedy).to.include(`\`revoke create on schema "public" from ${grantee}\``);
            }
            await sql(`revoke create on schema public from ${grantee}`);
          }
          const connection = await connectOutside(fresh, 'superuser');
          const [{ name } = {}] = await connection.sql('select current_database() as name');
          await connection.sql(`grant all on database ${name} to mandate_app`);
          await connection.close();
          const inDatabase = /more than it needs: create in the database\./;
          await expectFinding(fresh.settings, 'database role', 'warning', inDatabase);
          await sql(`revoke create on database ${name} from mandate_app`);
          await sql('revoke select on agents from mandate_app');
          await expectFinding(
            fresh.settings,
            'database role',
            'failed',
            /lacks what decisions need: select on agents\./,
          );
          await sql('grant select on agents to mandate_app');
          await expectOnly(await complaints(fresh.settings));
        });
      });

      it('reports a database that does not answer once, with the cause', async () => {
        const down = { 'Service:Database:ConnectionString': 'postgresql://mandate_app@127.0.0.1:9/mandate' };
        await expectFinding(down, 'database', 'failed', /^Postgres could not be reached \(ECONNREFUSED\)\.$/);
        const unknown = good['Service:Database:ConnectionString']?.replace(/\w+$/, 'no_such_database');
        await expectFinding(
          { 'Service:Database:ConnectionString': unknown },
          'database',
          'failed',
          /^Service:Database:ConnectionString \(Service__Database__ConnectionString\) names a database that does not exist\.$/,
        );
        const stranger = good['Service:Database:ConnectionString']?.replace('mandate_app', 'nobody');
        await expectFinding(
          { 'Service:Database:ConnectionString': stranger },
          'database',
          'failed',
          /names a role that the server refuses/,
        );
      });

      it('finds what keeps decisions from being written', async () => {
        await onFresh(async (fresh, sql) => {
          const fails = (sentence: RegExp) => expectFinding(fresh.settings, 'database writes', 'failed', sentence);
          const superuser = await connectOutside(fresh, 'superuser');
          await superuser.sql('begin; lock table ledger in share mode');
          const [{ pid } = {}] = await superuser.sql('select pg_backend_pid() as pid');
          await fails(new RegExp(`holds a lock for which decisions wait: process ${pid} on ledger\\.$`));
          await superuser.sql('rollback');
          await superuser.sql('select pg_advisory_lock(1296105476, 0)');
          await fails(new RegExp(`holds a lock for which decisions wait: process ${pid}\\.$`));
          await superuser.sql('select pg_advisory_unlock_all()');
          const [{ name } = {}] = await superuser.sql('select current_database() as name');
          await superuser.sql(`alter database ${name} set synchronous_commit = local`);
          const lost = /^synchronous_commit is local: a failover can lose a decision that was answered/;
          await expectFinding(fresh.settings, 'database writes', 'warning', lost);
          await superuser.sql(`alter database ${name} reset synchronous_commit`);
          await superuser.close();
          await sql(`create function full_disk() returns trigger language plpgsql as $$
            begin raise exception 'could not extend file' using errcode = 'disk_full'; end $$`);
          await sql('create trigger full_disk before insert on spent_assertions execute function full_disk()');
          await fails(/^A row cannot be written: a disk of the Postgres server is full \(53100\)\.$/);
          await sql('drop trigger full_disk on spent_assertions; drop function full_disk()');
          expect(await sql('select from spent_assertions')).to.deep.equal([]);
          expect(await complaints(fresh.settings)).to.deep.equal([]);
        });
      });

      it('says how many connections a replica needs if the role gets none', async () => {
        await onFresh(async (fresh) => {
          const superuser = await connectOutside(fresh, 'superuser');
          const [{ name } = {}] = await superuser.sql('select current_database() as name');
          await superuser.sql(`alter database ${name} connection limit 0`);
          const found = await complaints(fresh.settings);
          const [database] = found.filter(({ check }) => check === 'database');
          expect(database?.sentence).to.equal(
            'Postgres gives no further connection: its limit, or that of the database or the role, is reached (53300).',
          );
          expect(database?.remedy).to.include(`Each replica takes up to ${CONNECTIONS_PER_PROCESS} connections.`);
          await superuser.sql(`alter database ${name} connection limit -1`);
          await superuser.close();
        });
      });

      it('finds a sequence that was set back below used numbers', async () => {
        await onFresh(async (fresh, sql) => {
          const storage = await fresh.open();
          await append(storage, 4, clock.now());
          await storage.close();
          await sql("select setval('ledger_seq', 2)");
          await expectFinding(fresh.settings, 'ledger numbering', 'failed', /set back below numbers/);
        });
      });

      it('ends within 15 seconds if neither the database nor the provider nor the sink answers', async () => {
        const proxy = await tcpProxy(Number(new URL(good['Service:Database:ConnectionString'] ?? '').port));
        proxy.silence();
        const silent = createServer(() => undefined);
        const hanging = `http://127.0.0.1:${await listen(silent)}`;
        const connection = new URL(good['Service:Database:ConnectionString'] ?? '');
        connection.port = String(proxy.port);
        const startedAt = performance.now();
        const { ended } = startCommand(['doctor', '--json'], {
          ...good,
          'Service:Database:ConnectionString': connection.href,
          'Service:UpstreamIdp:Issuer': hanging,
          'Service:Issuer': hanging,
          'Service:Audit:Sink:Url': hanging.replace('http:', 'https:'),
        });
        const { code, out } = await ended;
        expect(performance.now() - startedAt).to.be.lessThan(15_000);
        expect(code).to.equal(3);
        const failed = (JSON.parse(out) as readonly NamedFinding[]).filter(({ status }) => status === 'failed');
        expect(failed.map(({ check }) => check)).to.deep.equal(['database', 'provider discovery', 'sink']);
        silent.close();
        await proxy.close();
      });
    }
  });
}

/** The name of the partition `ahead` months from now, such as `ledger_2026_11`. */
function partition(ahead: number): string {
  const now = new Date();
  const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead, 1));
  return `ledger_${month.toISOString().slice(0, 7).replace('-', '_')}`;
}

/** The checks that the first table of docs/operating.md explains. */
function explainedChecks(): readonly string[] {
  const page = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');
  const [, section = ''] = page.split(/^## /m);
  const cells = [...section.matchAll(/^\| (`[^|]+`) \|/gm)].map((row) => String(row[1]));
  return cells.flatMap((cell) => cell.split(', ')).map((name) => name.replaceAll('`', ''));
}
