/** Runs the commands of the pods as processes, with exactly the rendered variables and files. */

import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { freePort } from '../../../scripts/free-port.ts';
import { TOOL_KEYS } from '../../composition/settings/every-setting.ts';
import { runCommand, startCommand } from '../../support/command-process.ts';
import { type FreshDatabase, postgres } from '../../support/databases.ts';
import { eventually } from '../../support/eventually.ts';
import { type IdentityProvider, startIdentityProvider } from '../../support/identity-provider/identity-provider.ts';
import { type Manifest, render } from '../../support/kubernetes/helm.ts';
import {
  dig,
  filesOf,
  job,
  objectOf,
  podOf,
  type Secrets,
  variablesOf,
} from '../../support/kubernetes/rendered-objects.ts';
import { approvalSettings, consoleSettings, withSettings } from '../../support/kubernetes/values.ts';
import { ADMIN_KEY } from '../../support/mandate.ts';

/** Of this machine, in the form of a URL. */
const LOOPBACK: Readonly<Record<string, string>> = { '127.0.0.1': '127.0.0.1', '::1': '[::1]' };
const ADDRESSES = Object.values(networkInterfaces())
  .flatMap((addresses = []) => addresses)
  .flatMap(({ address }) => LOOPBACK[address] ?? []);

export function chartPods(): void {
  describe('The pods of the Helm chart', function () {
    this.timeout(120_000);
    let folder: string;
    let database: FreshDatabase;
    let provider: IdentityProvider;
    before(async () => {
      folder = mkdtempSync(join(tmpdir(), 'mandate-pods-'));
      [database, provider] = await Promise.all([postgres.fresh('absent'), startIdentityProvider()]);
    });
    after(async () => {
      await Promise.all([database.drop(), provider.stop()]);
      rmSync(folder, { recursive: true });
    });

    /** Writes the files of the pod below the folder. @returns the command, and its variables with those paths */
    function pod(object: Manifest, secrets: Secrets) {
      const below = join(folder, dig(object, 'metadata', 'name'));
      for (const [path, content] of Object.entries(filesOf(object, secrets))) {
        mkdirSync(join(below, path, '..'), { recursive: true });
        writeFileSync(join(below, path), content);
        chmodSync(join(below, path), 0o440);
      }
      const variables = Object.entries(variablesOf(object)).map(([name, value]) => [
        name,
        value.startsWith('/run/') ? join(below, value) : value,
      ]);
      return { args: dig(podOf(object), 'containers', 0, 'args'), variables: Object.fromEntries(variables) };
    }

    it('migrate, become ready over IPv4 and IPv6 with console and approvals, pass the doctor, and end in time', async () => {
      const key = join(folder, 'signing-key.pem');
      expect((await runCommand(['keys', 'generate', '--out', key])).code).to.equal(0);
      const [port, metricsPort, consolePort] = [await freePort(), await freePort(), await freePort()];
      const { Service__Approvals__Resources__0__JwksUri: _, ...approvals } = approvalSettings;
      const objects = await render(
        withSettings({
          ...consoleSettings,
          ...approvals,
          // The address of the page is one that this machine cannot reach.
          Service__Approvals__Resources__0__Jwks: JSON.stringify(TOOL_KEYS),
          Service__Console__Port: String(consolePort),
          Service__UpstreamIdp__Issuer: provider.issuer,
          Service__UpstreamIdp__Audience: provider.audience,
          Service__Metrics__Port: String(metricsPort),
        }),
      );
      const file = (setting: string) => `${database.settings[setting]}\n`;
      const secrets: Secrets = {
        mandate: {
          Service__Database__ConnectionString: file('Service:Database:ConnectionString'),
          Service__Admin__ApiKey: `${ADMIN_KEY}\n`,
        },
        'mandate-owner': {
          Service__Database__MigrationConnectionString: file('Service:Database:MigrationConnectionString'),
        },
        'mandate-signing-keys': { 'signing-key.pem': readFileSync(key, 'utf8') },
      };

      const migration = pod(job(objects), secrets);
      const migrated = await runCommand(migration.args, migration.variables);
      expect(migrated.code, migrated.err).to.equal(0);
      expect(migrated.out).to.include('the schema was brought up to date');

      const deployment = objectOf(objects, 'Deployment');
      const replica = pod(deployment, secrets);
      // A pod has its own ports; this process shares the machine's.
      const variables = { ...replica.variables, PORT: String(port) };
      const { child, ended } = startCommand(replica.args, variables);
      try {
        const { readinessProbe } = podOf(deployment).containers[0];
        const ready = () => fetch(`http://127.0.0.1:${port}${readinessProbe.httpGet.path}`).catch(() => undefined);
        await eventually(async () => (await ready())?.status === 200 || child.exitCode !== null, 50);
        expect(child.exitCode, 'the service runs').to.equal(null);
        for (const address of ADDRESSES) {
          expect((await fetch(`http://${address}:${port}/readyz`)).status, address).to.equal(200);
          expect((await fetch(`http://${address}:${consolePort}/`, { method: 'OPTIONS' })).status, address).to.equal(
            204,
          );
          const scrape = await fetch(`http://${address}:${metricsPort}/metrics`);
          expect(await scrape.text()).to.include('mandate_build_info');
        }
        const agents = await fetch(`http://127.0.0.1:${port}/admin/agents`, {
          headers: { authorization: `Bearer ${ADMIN_KEY}` },
        });
        expect(agents.status).to.equal(200);

        const examined = await runCommand(['doctor', '--json'], variables);
        const findings = JSON.parse(examined.out) as readonly { check: string; status: string; sentence: string }[];
        const checks = ['settings', 'signing keys', 'signing key files', 'schema', 'database role', 'provider keys'];
        for (const { check, status, sentence } of findings) {
          if (checks.includes(check)) expect(status, `${check}: ${sentence}`).to.equal('ok');
        }
        expect(findings.map(({ check }) => check)).to.include.members(checks);
      } finally {
        child.kill('SIGTERM');
      }
      const told = Date.now();
      const { code, out, err } = await ended;
      expect(code, `${out}${err}`).to.equal(0);
      const { terminationGracePeriodSeconds, containers } = podOf(deployment);
      const left = terminationGracePeriodSeconds - Number(containers[0].lifecycle.preStop.exec.command[1]);
      expect(Date.now() - told).to.be.lessThan(left * 1000);
      for (const secret of Object.values(secrets).flatMap((keys) => Object.values(keys))) {
        expect(`${out}${err}`).not.to.include(secret.trim());
      }
    });
  });
}
