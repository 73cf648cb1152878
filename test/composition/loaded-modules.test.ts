/** A start and a command load only the modules that they need, because each module delays them. */

import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { fromSource } from '../../scripts/from-source.ts';
import { byLength } from '../support/length.ts';
import { loadedModules } from '../support/loaded-modules.ts';

const root = new URL('../../', import.meta.url);

const known = new Map<string, Promise<readonly string[]>>();

/** The packages and the program files that this module loads, directly and indirectly. Each module is loaded once. */
function loadedBy(specifier: string): Promise<readonly string[]> {
  const asked = known.get(specifier) ?? load(specifier);
  known.set(specifier, asked);
  return asked;
}

async function load(specifier: string): Promise<readonly string[]> {
  const loaded = await loadedModules(specifier, { cwd: fileURLToPath(root), options: fromSource });
  return loaded.map((url) => url.replace(root.href, '').replace(/\?.*$/, ''));
}

/** The modules of a service without any setting of its surfaces. */
function loadedByService(): Promise<readonly string[]> {
  const program = `for (const path of ['composition/service.ts', 'composition/container.ts', 'adapters/http/app.ts'])
    await import('${root.href}' + path);`;
  return loadedBy(`data:text/javascript,${encodeURIComponent(program)}`);
}

describe('The command line', function () {
  this.timeout(120_000);
  const COMMAND = /^composition\/commands\/(?!run-line|command-line)/;
  const lines: readonly (readonly [line: readonly string[], commands: readonly string[]])[] = [
    [['--help'], []],
    [['keys', '--help'], ['keys.ts']],
    [
      ['keys', 'show', '--help'],
      ['keys.ts', 'keys/named-keys.ts', 'keys/show.ts', 'run-command.ts'],
    ],
    // The name of another command, as the value of an argument.
    [
      ['agent', 'init', 'doctor', '--help'],
      ['agent.ts', 'agent/init.ts', 'agent/registration-template.ts', 'run-command.ts'],
    ],
  ];
  // The others differ only in how many names the line has, and which.
  for (const [line, commands] of byLength({ short: lines.slice(-1), full: lines })) {
    it(`loads the files of the named command alone for "mandate ${line.join(' ')}"`, async () => {
      const program = `process.argv.splice(1, 9, 'mandate', ...${JSON.stringify(line)});
        await import('${new URL('composition/commands/command-line.ts', root).href}');`;
      const loaded = await loadedBy(`data:text/javascript,${encodeURIComponent(program)}`);
      expect(loaded).to.include('composition/commands/run-line.ts');
      expect(loaded.filter((url) => COMMAND.test(url)).map((url) => url.replace(COMMAND, ''))).to.have.members(
        commands,
      );
    });
  }
});

describe('A start of the service', function () {
  this.timeout(120_000);

  it('loads neither the argument parser nor the service before it has read the settings', async () => {
    // Without settings, `mandate` reads them and exits with 1. The exit code is set to 0, or `loadedModules` would
    // throw.
    const program = `await import('${new URL('composition/commands/command-line.ts', root).href}'); process.exitCode = 0;`;
    const loaded = await loadedBy(`data:text/javascript,${encodeURIComponent(program)}`);
    expect(loaded).to.include('composition/settings/read-settings.ts');
    expect(loaded).not.to.include('composition/container.ts');
    expect(loaded.filter((url) => /node_modules\/(ajv|express|knex|pg|yaml|yargs)\//.test(url))).to.deep.equal([]);
  });

  it('loads no library for sign-ins before the first one', async () => {
    const loaded = await loadedBy(new URL('composition/pages/me.ts', root).href);
    expect(loaded).to.include('composition/pages/sign-in.ts');
    expect(loaded.filter((url) => url.includes('/openid-client/'))).to.deep.equal([]);
  });

  it('loads no code of /me without its settings', async () => {
    const loaded = await loadedByService();
    expect(loaded).to.include.members(['composition/container.ts', 'adapters/http/app.ts', 'adapters/http/routes.ts']);
    expect(loaded.filter((url) => /(?:\/me\/|composition\/(?:pages\/|files\/scope-words))/.test(url))).to.deep.equal(
      [],
    );
  });

  it('loads no code of the console without its settings', async () => {
    const loaded = await loadedByService();
    expect(loaded).to.include('composition/container.ts');
    expect(
      loaded.filter((url) => /(?:\/http\/(?:console|pages)\/|composition\/pages\/|dagre)/.test(url)),
    ).to.deep.equal([]);
  });

  it('loads no code of the transparency log without its key, but for the readers of its settings and its storage', async () => {
    const loaded = await loadedByService();
    expect(loaded).to.include('composition/files/signing.ts');
    const code =
      /^(?:application\/log\/|composition\/transparency-log|adapters\/(?:http\/public\/log|jose\/log-key|outbound\/http-witnesses))/;
    expect(loaded.filter((url) => code.test(url))).to.deep.equal([]);
    expect(loaded.filter((url) => url.startsWith('domain/log/'))).to.have.members([
      ...['domain/log/cosignature.ts', 'domain/log/note.ts', 'domain/log/verifier-key.ts'],
    ]);
  });

  it('loads no query builder for Postgres, which only a migration needs', async () => {
    const loaded = await loadedBy(new URL('adapters/storage/postgres/open.ts', root).href);
    expect(loaded).to.include('adapters/storage/postgres/migrate.ts');
    expect(loaded.filter((url) => /node_modules\/(?!(?:pg|postgres)-?[\w-]*\/|xtend\/)/.test(url))).to.deep.equal([]);
  });

  it('loads no SQLite driver and no query builder in the main thread', async () => {
    const loaded = await loadedBy(new URL('adapters/storage/sqlite/open.ts', root).href);
    expect(loaded).to.include('adapters/storage/sqlite/worker/rpc.ts');
    expect(loaded.filter((url) => url.includes('node_modules/'))).to.deep.equal([]);
  });
});
