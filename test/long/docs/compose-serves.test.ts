/** The Compose file of docs/examples/deploy: its commands run as processes, with exactly its variables and secrets. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { freePort } from '../../../scripts/free-port.ts';
import { runCommand, startCommand } from '../../support/command-process.ts';
import { type FreshDatabase, postgres } from '../../support/databases.ts';
import { eventually } from '../../support/eventually.ts';
import { type IdentityProvider, startIdentityProvider } from '../../support/identity-provider/identity-provider.ts';
import { dig } from '../../support/kubernetes/rendered-objects.ts';
import { composed, OF_APPROVALS, OF_CONSOLE } from '../../support/pages/compose-example.ts';

describe('The Compose file', function () {
  this.timeout(120_000);
  let folder: string;
  let database: FreshDatabase;
  let provider: IdentityProvider;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'mandate-compose-'));
    [database, provider] = await Promise.all([postgres.fresh('absent'), startIdentityProvider()]);
  });
  after(async () => {
    await Promise.all([database.drop(), provider.stop()]);
    rmSync(folder, { recursive: true });
  });

  for (const [what, active, paths] of [
    ['as it is', [], []],
    ['with the lines of the console and of approvals', [OF_CONSOLE, OF_APPROVALS], ['/me']],
  ] as const) {
    it(`migrates and starts a service, ${what}`, async () => {
      const file = composed(active, { MANDATE_IDP_ISSUER: provider.issuer, MANDATE_IDP_AUDIENCE: provider.audience });
      const variablesOf = (service: string) => dig(file, 'services', service, 'environment');
      // The server and the roles of the test, in place of the container's.
      const connections = (variables: object) =>
        Object.fromEntries(
          Object.keys(variables)
            .filter((name) => name.startsWith('Service__Database__'))
            .map((name) => [name, database.settings[name.replaceAll('__', ':')]]),
        );
      const ofMigration = variablesOf('migrate');
      const migrated = await runCommand(['migrate'], { ...ofMigration, ...connections(ofMigration) });
      expect(migrated.code, migrated.err).to.equal(0);

      const ofService = variablesOf('mandate');
      const key = join(folder, `${active.length}.pem`);
      expect((await runCommand(['keys', 'generate', '--out', key])).code).to.equal(0);
      const [port, consolePort] = [await freePort(), await freePort()];
      const { child, ended } = startCommand(['serve'], {
        ...ofService,
        ...connections(ofService),
        ...(active.length > 0 && { Service__Console__Port: String(consolePort) }),
        Service__Signing__Keys__0__Path: key,
        // No agent needs the keys of the tool server here, and its address is one that this machine cannot reach.
        ...(active.length > 0 && { Service__Approvals__Resources__0__JwksUri: 'https://127.0.0.1:9/keys' }),
        PORT: String(port),
      });
      try {
        const ready = () => fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
        await eventually(async () => (await ready())?.status === 200 || child.exitCode !== null, 50);
        expect(child.exitCode, 'the service runs').to.equal(null);
        for (const path of paths) {
          const { status } = await fetch(`http://127.0.0.1:${port}${path}`, { redirect: 'manual' });
          expect(status, path).to.be.below(400);
        }
        if (active.length > 0) {
          const { status } = await fetch(`http://127.0.0.1:${consolePort}/`, { method: 'OPTIONS' });
          expect(status, 'the console').to.equal(204);
        }
      } finally {
        child.kill('SIGTERM');
      }
      const { code, out, err } = await ended;
      expect(code, `${out}${err}`).to.equal(0);
    });
  }
});
