/**
 * Runs the commands of the pages as they are written, in the order of a deployment: install, serve, register, diagnose,
 * verify, rotate, and an emergency. `RUN_BY` names the blocks of commands that these tests must run.
 *
 * The tests replace only values that a reader of the page replaces: addresses, passwords, paths. They need the programs
 * of the commands: bash, curl, jq and openssl.
 */

import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { instantFromMillis } from '../../../domain/instant.ts';
import { freePort } from '../../../scripts/free-port.ts';
import { startCollector } from '../../support/collector.ts';
import { type FreshDatabase, freshDatabase } from '../../support/databases.ts';
import { startIdentityProvider } from '../../support/identity-provider/identity-provider.ts';
import { append, seal } from '../../support/ledger/fill.ts';
import { makeSealingKey } from '../../support/ledger/sealing-key.ts';
import { startRegistry } from '../../support/local-registry.ts';
import { answering } from '../../support/loopback.ts';
import { ADMIN_KEY, aRegistration } from '../../support/mandate.ts';
import { libraries, packEverything, root, service } from '../../support/packed-packages.ts';
import { type Block, blocksOf, pages, pageText } from '../../support/pages/page.ts';
import { blocksRunBy } from '../../support/pages/run-by.ts';
import { openTerminal, shownOutput, type Terminal } from '../../support/pages/terminal.ts';
import { startUserDirectory } from '../../support/user-directory.ts';

const THIS = 'test/long/docs/commands.test.ts';
const PROVIDERS = ['entra-id', 'keycloak', 'okta', 'openid'].map((name) => `docs/providers/${name}.md`);
const SEPTEMBER = instantFromMillis(Date.parse('2026-09-17T10:00:00Z'));

/** The members that the tests read of the agent and of the list of checkpoints. */
interface Answer {
  readonly enabled?: boolean;
  readonly checkpoints?: readonly { readonly checkpoint_id: number; readonly root_hash: string }[];
}

type Filled = Readonly<Record<string, string>>;

describe('The commands', function () {
  this.timeout(600_000);
  const closing: (() => unknown)[] = [];
  const done = new Set<string>();
  let folder: string;
  let quiet: Filled;
  let issuer: string;
  let activeKid: string;
  let terminal: Terminal;

  /** Runs blocks of a page, in which the values of `filled` replace its keys. Returns their outputs. */
  async function follow(page: string, filled: Filled = {}, blocks = blocksRunBy(THIS, page), where = terminal) {
    const outputs: string[] = [];
    for (const { text, at } of blocks) {
      outputs.push(await where.run(fill(text, filled)));
      done.add(`${page}:${at}`);
    }
    return outputs;
  }

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mandate-commands-'));
    closing.push(() => rm(folder, { recursive: true, force: true }));
    const registry = await startRegistry(await packEverything(folder));
    quiet = {
      npm_config_registry: registry.url,
      npm_config_cache: join(folder, 'npm-cache'),
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_userconfig: join(folder, 'no-npmrc'),
    };
    const provider = await startIdentityProvider();
    const directory = await startUserDirectory((request, response) =>
      (request.path.endsWith('/ada') ? answering({ id: 'ada', enabled: true }) : answering({}, 404))(request, response),
    );
    const key = await makeSealingKey();
    activeKid = key.signer.kid;
    const database = await withRecordsOfSeptember(key);
    closing.unshift(registry.stop, provider.stop, directory.server.close, database.drop);

    const place = join(folder, 'service');
    await Promise.all([place, join(folder, 'secrets'), join(folder, 'exports')].map((path) => mkdir(path)));
    await writeFile(join(folder, 'secrets', 'signing-key.pem'), key.pem, { mode: 0o600 });
    await writeFile(join(place, 'token.txt'), (await provider.signIn('ada')).accessToken);
    await writeFile(join(place, 'admin-header'), `Authorization: Bearer ${ADMIN_KEY}`);
    await writeFile(join(place, 'admin-key'), ADMIN_KEY);
    const port = await freePort();
    issuer = `http://127.0.0.1:${port}`;
    const owner = database.settings['Service:Database:MigrationConnectionString'] ?? '';
    terminal = openTerminal(place, {
      ...quiet,
      NODE_ENV: 'development',
      PORT: String(port),
      MANDATE_ADMIN_KEY: ADMIN_KEY,
      Service__Audit__Checkpoint__Interval: 'PT1S',
      Service__Database__MigrationConnectionString: owner,
    });
    closing.unshift(terminal.close);

    const polled = (name: string) => directory.settings[`Service:UpstreamIdp:SponsorCheck:${name}`] ?? '';
    const [install] = blocksRunBy(THIS, 'docs/deploying.md');
    await follow(
      'docs/deploying.md',
      {
        'Service__Issuer=https://mandate.example': `Service__Issuer=${issuer}`,
        'https://idp.example/admin/realms/main/users': polled('UsersUrl'),
        'https://idp.example/realms/main/protocol/openid-connect/token': polled('TokenUrl'),
        'https://idp.example/realms/main': provider.issuer,
        'postgresql://mandate:…@db.example/mandate?sslmode=verify-full':
          database.settings['Service:Database:ConnectionString'] ?? '',
        'postgresql://mandate_owner:…@db.example/mandate?sslmode=verify-full': owner,
        '/run/secrets': join(folder, 'secrets'),
        'ApiKey=…': `ApiKey=${ADMIN_KEY}`,
        'npx --no mandate serve': 'npx --no mandate serve > service.log &',
      },
      install && [install],
    );
    await terminal.run(`curl --silent --retry 30 --retry-delay 1 --retry-connrefused ${issuer}/readyz`);
  });
  after(async () => {
    for (const close of closing) await close();
  });

  it('of docs/deploying.md verify the ledger, and archive its months', async () => {
    const [, verify] = blocksRunBy(THIS, 'docs/deploying.md');
    const exports = join(folder, 'exports');
    const [output] = await follow('docs/deploying.md', { '/exports': exports }, verify && [verify]);
    expect(output).to.include('audit-2026-09.service-archive.gz');
  });

  it('of docs/agents-as-files.md make registrations, and apply files', async () => {
    const page = 'docs/agents-as-files.md';
    const blocks = blocksRunBy(THIS, page);
    await follow(page, {}, blocks.slice(0, -1));
    const [file, shown] = ['yaml', ''].map((language) =>
      blocksOf(pageText(page)).find((block) => block.language === language),
    );
    await mkdir(join(folder, 'service', 'agents'));
    await writeFile(join(folder, 'service', 'agents', 'all.yaml'), file?.text ?? '');
    const jwks = 'https://keys.example/wiki-gardener/jwks.json';
    const gardener = { agent_id: 'wiki-gardener', display_name: 'Wiki gardener', jwks_uri: jwks };
    await register({ ...gardener, allowed_scopes: ['wiki:write'], allowed_audiences: ['https://wiki.example'] });
    const [output = ''] = await follow(page, { 'https://mandate.example': issuer }, blocks.slice(-1));
    expect(output.split('\n').slice(-4).join('\n')).to.match(shownOutput(shown?.text ?? ''));
  });

  it('of docs/operating.md diagnose, rotate the key, disable an agent and end its tasks', async () => {
    const former = join(folder, 'secrets', 'former.pem');
    // Only these two commands have the settings of a service whose former key is still configured.
    const rotated = `Service__Signing__Keys__1__Path=${former} Service__Signing__ActiveKid=${activeKid}`;
    const outputs = await follow('docs/operating.md', {
      '--out /run/secrets/signing-key.pem': `--out ${former}`,
      'npx --no mandate keys retire --kid=KID': [
        `kid=$(${rotated} npx --no mandate keys show | sed --quiet 's/^published  *\\([^ ]*\\).*/\\1/p')`,
        `${rotated} npx --no mandate keys retire --kid="$kid"`,
      ].join('\n'),
      '/run/secrets': join(folder, 'secrets'),
      'http://10.0.0.4:5100': issuer,
      'http://10.0.0.5:5100': issuer,
      'https://mandate.example': issuer,
      $AGENT: 'jira-triage',
      // The last archived record.
      $SEQ: '20',
    });
    expect(outputs[0]).to.match(/^\d+ ok, \d+ warning, \d+ skipped\.$/m);
    expect(outputs[1]).to.match(/^ok +verdict /m);
    expect(await readFile(former, 'utf8')).to.match(/^-----BEGIN PUBLIC KEY/);
    const { enabled } = await ask('/admin/agents/jira-triage');
    expect(enabled).to.equal(false);
  });

  for (const page of PROVIDERS) {
    it(`of ${page} run the doctor, which finds no fault`, async () => {
      const [output] = await follow(page);
      expect(output).to.match(/^\d+ ok, \d+ warning, \d+ skipped\.$/m);
    });
  }

  it('of docs/auditing.md verify the ledger with saved marks, and an archive with the published keys', async () => {
    const { checkpoints = [] } = await ask('/audit/checkpoints');
    const [first, last] = [checkpoints[0], checkpoints.at(-1)].map((one) => `${one?.checkpoint_id}:${one?.root_hash}`);
    const [verify, ...others] = blocksRunBy(THIS, 'docs/auditing.md');
    await follow(
      'docs/auditing.md',
      {
        '1041:5f0c…': String(first),
        '1187:9a41…': String(last),
        'https://mandate.example': issuer,
        'audit-2026-09': join(folder, 'exports', 'audit-2026-09'),
      },
      verify && [verify],
    );
    expect(others).to.have.lengthOf(1);
  });

  it('of docs/observability.md install the OpenTelemetry SDK, and send spans', async () => {
    const page = 'docs/observability.md';
    const newest = '@opentelemetry/core @opentelemetry/resources @opentelemetry/sdk-trace';
    const isOld = Number.parseInt(process.versions.node, 10) < 22;
    const [onNode20 = ''] = pageText(page).match(/@opentelemetry\/core@2 [^`]*/) ?? [];
    const collector = await startCollector();
    await copyFile(join(root, 'docs/examples/observability/traces.mjs'), join(folder, 'service', 'traces.mjs'));
    const port = await freePort();
    const before = await terminal.run('echo $PORT');
    try {
      await follow(page, {
        ...(isOld ? { [`${newest} @opentelemetry/exporter-trace-otlp-http`]: onNode20.replaceAll('\n', ' ') } : {}),
        'http://127.0.0.1:4318': collector.server.url,
        'mandate serve': `mandate serve > spans.log & export PORT=${before}`,
        'node --import': `export PORT=${port}\nnode --import`,
      });
      await terminal.run(
        `curl --silent --retry 30 --retry-delay 1 --retry-connrefused http://127.0.0.1:${port}/healthz`,
      );
      await collector.span(({ name }) => name === 'GET /healthz');
    } finally {
      await collector.server.close();
      await terminal.run('kill %%; unset Service__Traces__Enabled OTEL_EXPORTER_OTLP_ENDPOINT');
    }
  });

  it('of docs/examples/README.md start a tool server in the repository', async () => {
    const clone = openTerminal(root);
    const log = join(folder, 'example.log');
    const started = { 'express-tool-server.ts': `express-tool-server.ts > ${log} &` };
    try {
      await follow('docs/examples/README.md', started, undefined, clone);
      await clone.run(`until grep --quiet '^Listening on http' ${log}; do sleep 1; done`);
    } finally {
      await clone.close();
    }
  });

  it('of docs/releasing.md make the parts list', async () => {
    // Omits better-sqlite3, the optional package, which npm might have to compile.
    const clone = openTerminal(join(folder, 'clone'), { ...quiet, npm_config_omit: 'optional' });
    try {
      await follow('docs/releasing.md', { '0.2.0': service.manifest.version }, undefined, clone);
    } finally {
      await clone.close();
    }
    const { components } = JSON.parse(
      await readFile(join(folder, 'clone', `mandate-${service.manifest.version}.cdx.json`), 'utf8'),
    );
    expect(components.map(({ name }: { readonly name: string }) => name)).to.include.members(['mandate', 'jose']);
  });

  const installs: readonly (readonly [page: string, block: Block | undefined])[] = [
    ...libraries.map(({ source }) => `${source}/README.md`),
    ...['docs/agents.md', 'docs/auditing.md', 'docs/tool-servers.md'],
  ].map((page) => [page, blocksRunBy(THIS, page).find(({ text }) => text.startsWith('npm install'))]);
  for (const [page, block] of installs) {
    it(`of ${page} install the package`, async () => {
      const empty = openTerminal(await mkdtemp(join(folder, 'empty-')), quiet);
      try {
        await empty.run('npm init --yes');
        await follow(page, {}, block && [block], empty);
        expect(await empty.run('npm ls')).to.include(block?.text.replace('npm install ', '').trim());
      } finally {
        await empty.close();
      }
    });
  }

  it('were run for every block that RUN_BY names', () => {
    const claimed = pages.flatMap((page) => blocksRunBy(THIS, page).map(({ at }) => `${page}:${at}`));
    expect([...done]).to.have.members(claimed);
  });

  const headers = { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json' };
  const ask = async (path: string): Promise<Answer> =>
    (await fetch(`${issuer}${path}`, { headers })).json() as Promise<Answer>;
  async function register(changes: Readonly<Record<string, unknown>>) {
    const body = JSON.stringify(aRegistration({ high_risk_audiences: [], ...changes }));
    const { status } = await fetch(`${issuer}/admin/agents`, { method: 'POST', headers, body });
    expect(status).to.equal(201);
  }
});

/**
 * A database whose ledger begins in September 2026, so that the commands have a month to archive. Its newest record is of today,
 * because a service that saw no later record than those of an archived month believes that its database went back in time.
 */
async function withRecordsOfSeptember(key: Awaited<ReturnType<typeof makeSealingKey>>): Promise<FreshDatabase> {
  const database = await freshDatabase('postgres');
  const storage = await database.open({ clock: { now: () => SEPTEMBER } });
  await append(storage, 20, SEPTEMBER);
  await seal(storage, key.signer, SEPTEMBER);
  await append(storage, 1, instantFromMillis(Date.now()));
  await storage.close();
  return database;
}

/** The commands in which the values of `filled` replace its keys. */
function fill(text: string, filled: Filled): string {
  return Object.entries(filled).reduce((filledText, [shown, real]) => filledText.replaceAll(shown, real), text);
}
