/** Compares the deployment examples and their page with the code. No container engine runs. */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect } from 'chai';
import pg from 'pg';
import { parse } from 'yaml';
import { keysCommand } from '../../composition/commands/keys.ts';
import { serveCommand } from '../../composition/commands/serve.ts';
import { catalogue } from '../../composition/settings/catalogue.ts';
import { catalogueKeyOf } from '../../composition/settings/given-settings.ts';
import { readSettings, readSettingsSection } from '../../composition/settings/read-settings.ts';
import { asProgram } from '../../scripts/from-source.ts';
import { commandNamed, runCommandLine } from '../support/cli-run.ts';
import { endsPeople } from '../support/ends-people.ts';
import { composed, composeText, OF_APPROVALS, OF_CONSOLE } from '../support/pages/compose-example.ts';
import { at, text } from '../support/pages/dockerfile.ts';
import { SUPERUSER, startPostgresServer } from '../support/postgres-server.ts';

const run = promisify(execFile);

type Members = Readonly<Record<string, unknown>>;

/** Reads the value at a path of member names; `undefined` if a member is missing. */
function dig(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>((part, name) => (part as Members | undefined)?.[name], value);
}

const dockerfile = text('Dockerfile')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll('\\\n', ' ')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => {
    const [instruction = '', ...rest] = line.split(/\s+/);
    return { instruction, rest, line };
  });
const stages = dockerfile.reduce<(typeof dockerfile)[]>((found, one) => {
  if (one.instruction === 'FROM') found.push([]);
  found.at(-1)?.push(one);
  return found;
}, []);
const finalStage = stages.at(-1) ?? [];
const last = (instruction: string) => finalStage.findLast((one) => one.instruction === instruction);
const execForm = (instruction: string): readonly string[] =>
  JSON.parse(/\[.*\]/.exec(last(instruction)?.line ?? '')?.[0] ?? '[]');

/** How long the service waits after SIGTERM for running requests. */
const DRAIN_SECONDS = Number(/drainMs: (\d+)_000,/.exec(text('adapters/http/server/server.ts'))?.[1]);
const PORT = catalogue.PORT.default;
const program = asProgram(at('composition/main.ts'));
const nothing = async () => 0;

const compose = composed();
const variablesOf = (file: unknown, service: string) =>
  dig(file, 'services', service, 'environment') as Readonly<Record<string, string>>;

describe('The deployment examples', () => {
  const page = text('docs/deploying.md');
  const everything = [composeText, text('docs/examples/deploy/helm/values.yaml'), text('Dockerfile'), page].join('\n');

  it('name only existing settings', () => {
    const variables = [...everything.matchAll(/\bService(?:__\w+?)+\b/g)].map(([name]) => name.replaceAll('__', ':'));
    const keys = [...page.matchAll(/`(Service:[\w:]+)`/g)].map(([, key = '']) => key.replace(':N:', ':0:'));
    expect(variables.length).to.be.greaterThan(20);
    for (const key of [...variables, ...keys]) expect(catalogueKeyOf(key), key).not.to.equal(undefined);
  });

  it('have valid production settings in the Compose file', () => {
    const result = readSettings({ environment: variablesOf(compose, 'mandate'), overrides: [] });
    expect(result).to.deep.include({ kind: 'valid', unknown: [] });
    if (result.kind === 'invalid') return;
    expect(result.settings.NODE_ENV).to.equal('production');
    expect(String(result.settings.PORT)).to.equal(PORT);
    expect(result.settings['Service:RateLimit:TrustedProxies'], 'a proxy is in front').not.to.equal(undefined);
    expect(endsPeople(result.settings), 'a disabled person is refused').to.equal(true);
  });

  it('have valid settings for the package on the page, with which a disabled person is refused', () => {
    const exported = [...page.matchAll(/^export (Service__\w+)=(\S+)/gm)];
    const environment = Object.fromEntries(
      exported.map(([, name, value = '']) => [name, value.replace('…', 'a'.repeat(32))]),
    );
    const result = readSettings({ environment, overrides: [] });
    expect(result).to.deep.include({ kind: 'valid', unknown: [] });
    if (result.kind === 'valid') expect(endsPeople(result.settings)).to.equal(true);
  });

  it('give the connection of the database owner only to the migration in the Compose file', () => {
    const environment = variablesOf(compose, 'migrate');
    const result = readSettingsSection({ environment, overrides: [] }, 'Service:Database');
    expect(result.kind).to.equal('valid');
    expect(environment).to.have.property('Service__Database__MigrationConnectionString');
    expect(variablesOf(compose, 'mandate')).not.to.have.property('Service__Database__MigrationConnectionString');
    expect(Object.keys(environment).filter((name) => !name.startsWith('Service__Database__'))).to.deep.equal([]);
  });

  it('contain no secret: every secret setting of the Compose file comes from the .env file', () => {
    const isSecret = (name: string) => {
      const key = catalogueKeyOf(name.replaceAll('__', ':'));
      return key !== undefined && catalogue[key].type.secret;
    };
    const raw = parse(composeText, { merge: true });
    for (const service of ['migrate', 'mandate']) {
      const variables = Object.entries(dig(raw, 'services', service, 'environment') as Record<string, string>);
      for (const [name, value] of variables) if (isSecret(name)) expect(value, name).to.match(/\$\{MANDATE_\w+/);
    }
    expect(everything).not.to.match(/-----BEGIN/);
  });

  it('list every required variable of the Compose file on the page', () => {
    const asked = [...composeText.matchAll(/\$\{(\w+):\?/g)].map(([, name = '']) => name);
    expect(asked).to.have.length.greaterThan(5);
    for (const name of asked) expect(page).to.match(new RegExp(`^${name}=`, 'm'));
  });

  it('run only existing commands', async function () {
    this.timeout(60_000);
    const { stdout: commands } = await run(process.execPath, [...program, '--help']);
    const has = (name: string) => new RegExp(`^ +\\S+ ${name}\\b`, 'm').test(commands);
    const named = [
      ...[...page.matchAll(/\bmandate ((?:audit-)?[a-z]+)(?= |`)/g)].map(([, name]) => name),
      ...['migrate', 'mandate'].map((service) => dig(compose, 'services', service, 'command', 0)),
      ...execForm('CMD'),
    ].map(String);
    expect(named).to.include.members(['serve', 'migrate', 'keys']);
    for (const name of new Set(named)) expect(has(name), name).to.equal(true);
    for (const [words, option] of [[['keys', 'generate'], '--out']] as const) {
      const commands = [commandNamed('serve', serveCommand(nothing)), commandNamed('keys', keysCommand())];
      const { out } = await runCommandLine(commands, [...words, '--help']);
      expect(out)
        .to.match(new RegExp(` ${words.join(' ')}\\n`))
        .and.to.include(option);
    }
  });

  it('link only to existing pages and files', () => {
    const links = [...page.matchAll(/\]\(([^)#:]+)\)/g)].map(([, link = '']) => link);
    for (const link of links) expect(existsSync(new URL(link, at('docs/'))), link).to.equal(true);
  });
});

describe('The nginx configuration', () => {
  const nginx = text('docs/examples/deploy/nginx.conf');
  const [service = '', consoleLines = ''] = nginx.split(/^ {2}# The console .*$/m);
  const directives = (lines: string) => lines.split('\n').filter((line) => !/^\s*(#|$)/.test(line));

  it('serves the console only after the # of its lines is removed', () => {
    expect(directives(consoleLines)).to.deep.equal(['}']);
    const active = consoleLines.replaceAll(/^ {2}# ?/gm, '  ');
    expect(active)
      .to.match(/server 127\.0\.0\.1:5200;/)
      .and.to.include('server_name console.mandate.example;');
    const count = (mark: string) => active.split(mark).length;
    expect(count('{') + 1, 'every block ends, and http with them').to.equal(count('}'));
    // The proxy has the same duties in front of both listeners.
    const duties = (lines: string) => directives(lines).filter((line) => /^\s*proxy_(?!pass)/.test(line));
    const inLocation = duties(service).filter((line) => line.startsWith('      '));
    expect(duties(active).map((line) => line.trim())).to.deep.equal(inLocation.map((line) => line.trim()));
  });
});

describe('The Compose file', () => {
  it('migrates once Postgres answers, then serves, both with few privileges', () => {
    expect(dig(compose, 'services', 'migrate', 'depends_on', 'postgres', 'condition')).to.equal('service_healthy');
    const after = dig(compose, 'services', 'mandate', 'depends_on', 'migrate', 'condition');
    expect(after).to.equal('service_completed_successfully');
    for (const service of ['migrate', 'mandate']) {
      expect(dig(compose, 'services', service)).to.deep.include({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      });
      const build = String(dig(compose, 'services', service, 'build'));
      expect(existsSync(new URL(`${build}/Dockerfile`, at('docs/examples/deploy/'))), build).to.equal(true);
    }
    const stop = /^(\d+)s$/.exec(String(dig(compose, 'services', 'mandate', 'stop_grace_period')));
    expect(Number(stop?.[1])).to.be.at.least(DRAIN_SECONDS + 5);
    expect(dig(compose, 'services', 'mandate', 'ports')).to.deep.equal([`127.0.0.1:${PORT}:${PORT}`]);
    const [secret] = dig(compose, 'services', 'mandate', 'secrets') as readonly string[];
    expect(dig(compose, 'services', 'mandate', 'environment', 'Service__Signing__Keys__0__Path')).to.equal(
      `/run/secrets/${secret}`,
    );
    expect(dig(compose, 'secrets', String(secret), 'file')).to.equal('./signing-key.pem');
  });

  it('serves the console after the # of its lines is removed, and not before', () => {
    const names = ['Console', 'Operators'];
    expect(composeText.match(OF_CONSOLE)).to.have.lengthOf(8);
    const before = Object.keys(variablesOf(compose, 'mandate'));
    expect(before.filter((name) => names.some((one) => name.includes(one)))).to.deep.equal([]);
    const active = composed([OF_CONSOLE]);
    const environment = variablesOf(active, 'mandate');
    const result = readSettings({ environment, overrides: [] });
    expect(result).to.deep.include({ kind: 'valid', unknown: [] });
    const port = environment.Service__Console__Port;
    expect(dig(active, 'services', 'mandate', 'ports')).to.deep.equal([
      `127.0.0.1:${PORT}:${PORT}`,
      `127.0.0.1:${port}:${port}`,
    ]);
  });

  it('has approvals after the # of their lines is removed, and not before', () => {
    expect(composeText.match(OF_APPROVALS)).to.have.lengthOf(4);
    expect(Object.keys(variablesOf(compose, 'mandate')).join()).not.to.match(/__(Me|Approvals)__/);
    const environment = variablesOf(composed([OF_APPROVALS]), 'mandate');
    const result = readSettings({ environment, overrides: [] });
    expect(result).to.deep.include({ kind: 'valid', unknown: [] });
    if (result.kind === 'valid') expect(result.settings['Service:Approvals:Resources']).to.have.lengthOf(1);
  });

  it('creates one role that can migrate, and one that can serve but not change the schema', async function () {
    this.timeout(60_000);
    // Roles belong to a whole server. The shared test server already has a role of this name.
    const { server, stop } = await startPostgresServer();
    const as = async <Result>(role: string, database: string, act: (client: pg.Client) => Promise<Result>) => {
      const client = new pg.Client({ connectionString: server.url(role, database) });
      await client.connect();
      try {
        return await act(client);
      } finally {
        await client.end();
      }
    };
    const script = text('docs/examples/deploy/postgres-roles.sql');
    const variables = Object.fromEntries(
      [...script.matchAll(/^\\getenv (\w+) (\w+)$/gm)].map(([, name = '', variable = '']) => [name, variable]),
    );
    const given = dig(compose, 'services', 'postgres', 'environment') as Readonly<Record<string, string>>;
    const statements = script
      .replaceAll(/^(?:--|\\).*$/gm, '')
      .replaceAll(/:'(\w+)'/g, (_, name: string) =>
        pg.escapeLiteral(given[variables[name] ?? ''] ?? fail(`the Compose file has no ${name}`)),
      )
      .split(';')
      .map((statement) => statement.trim())
      .filter((statement) => statement !== '');
    try {
      await as(SUPERUSER, 'postgres', async (client) => {
        for (const statement of statements) await client.query(statement);
      });
      const environment = {
        ...process.env,
        Service__Database__ConnectionString: server.url('mandate', 'mandate'),
        Service__Database__MigrationConnectionString: server.url('mandate_owner', 'mandate'),
      };
      await run(process.execPath, [...program, 'migrate'], { env: environment });
      await as('mandate', 'mandate', async (client) => {
        expect((await client.query('select count(*)::integer as agents from agents')).rows).to.deep.equal([
          { agents: 0 },
        ]);
        for (const forbidden of ['create table mine (x integer)', 'drop table agents', 'delete from ledger']) {
          const refusal = await client.query(forbidden).then(
            () => undefined,
            (error: Error) => error.message,
          );
          expect(refusal, forbidden).to.match(/permission denied|must be owner/);
        }
      });
    } finally {
      await stop();
    }
  });
});

function fail(what: string): never {
  throw new Error(what);
}
