import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { NamedFinding } from '../../application/doctor/examine.ts';
import { runCommand } from '../support/command-process.ts';
import { databasesByLength } from '../support/databases.ts';
import { AUTHORIZE_CLIENT_ID } from '../support/identity-provider/provider-configuration.ts';
import { startLoopback } from '../support/loopback.ts';
import { askingServer, jwksOf, SOME_APPROVALS } from '../support/tool-server/approval-request.ts';
import { testDatabase } from './doctor/database.ts';
import { CONSOLE, consoleBehindProxy, examinedService, SECRET } from './doctor/examined.ts';
import { testKeys } from './doctor/keys.ts';
import { testOperators } from './doctor/operators.ts';
import { testPeople } from './doctor/people.ts';
import { testProvider } from './doctor/provider.ts';
import { testRunningService } from './doctor/running.ts';

const AUTHORITY = new URL('../support/tls/ca.pem', import.meta.url);

/** For a tool server that signs nothing. */
const NEVER = { issuer: () => '', now: () => 0 };

/** The checks that the first table of docs/operating.md explains. */
function explainedChecks(): readonly string[] {
  const page = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');
  const [, section = ''] = page.split(/^## /m);
  const cells = [...section.matchAll(/^\| (`[^|]+`) \|/gm)].map((row) => String(row[1]));
  return cells.flatMap((cell) => cell.split(', ')).map((name) => name.replaceAll('`', ''));
}

for (const kind of databasesByLength) {
  describe(`mandate doctor on ${kind.name}`, function () {
    this.timeout(60_000);
    const examined = examinedService(kind);
    const { isPostgres, complaints, expectOnly, expectFinding } = examined;

    it('prints a line for each check and exits with 0 if nothing is wrong', async () => {
      const { good } = examined;
      const proxy = await startLoopback(consoleBehindProxy, { tls: true });
      const { code, out, err } = await runCommand(['doctor'], {
        ...good,
        ...CONSOLE,
        'Service:Console:Origin': proxy.url,
        ...SOME_APPROVALS,
        'Service:Approvals:Resources:0:JwksUri': undefined,
        'Service:Approvals:Resources:0:Jwks': jwksOf(await askingServer('https://files.example/mcp', NEVER)),
        'Service:Approvals:Notify:Url': `${proxy.url}/notices`,
        'Service:Me:ClientId': good['Service:Me:ClientId'],
        'Service:Authorize:ClientId': AUTHORIZE_CLIENT_ID,
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
        : [
            'database connection',
            'database role',
            'database writes',
            'database failover',
            'ledger partitions',
            'database clock',
          ];
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
        'rows beside the ledger',
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
      const { sink, sinkPort, good } = examined;
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

    it('warns of an unknown setting and suggests the nearest name', async () => {
      await expectFinding(
        { Service__Audit__Sink__Uri: 'http://127.0.0.1:1' },
        'settings',
        'warning',
        /Did you mean Service__Audit__Sink__Url\?$/,
      );
    });

    testProvider(examined);
    testOperators(examined);
    testPeople(examined, kind);
    testRunningService(examined, kind);
    testKeys(examined, kind);
    testDatabase(examined, kind);
  });
}
