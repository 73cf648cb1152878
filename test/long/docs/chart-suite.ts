/** The Helm chart: Helm renders it with the values of docs/deploying.md, and the tests compare the objects with the code. */

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { parse } from 'yaml';
import { catalogue } from '../../../composition/settings/catalogue.ts';
import { catalogueKeyOf } from '../../../composition/settings/given-settings.ts';
import { endsPeople } from '../../support/ends-people.ts';
import { lint, type Manifest, render } from '../../support/kubernetes/helm.ts';
import { typeErrors } from '../../support/kubernetes/object-types.ts';
import {
  dig,
  filesOf,
  job,
  type Members,
  objectOf,
  podOf,
  secretsOfPage,
  settingsOf,
  text,
  variablesOf,
} from '../../support/kubernetes/rendered-objects.ts';
import { CHART, membersOfSettings, readSchema } from '../../support/kubernetes/settings-schema.ts';
import { everything, page, values, withSettings } from '../../support/kubernetes/values.ts';
import { chartConsole } from './chart-console.ts';
import { chartPods } from './chart-pods.ts';
import { chartRefusals } from './chart-refusals.ts';
import { chartSettings } from './chart-settings.ts';

const { version } = JSON.parse(text('package.json')) as { version: string };

/** With the Helm that `HELM` names, or that of the installed package. */
export function chartSuite(): void {
  describe('The Helm chart', function () {
    this.timeout(120_000);
    let objects: readonly Manifest[];
    let full: readonly Manifest[];
    before(async () => {
      [objects, full] = await Promise.all([render(values), render(everything)]);
    });

    it('passes the lint of Helm', async () => {
      for (const one of [values, everything]) {
        const { code, out, err } = await lint(one);
        expect(code, `${out}${err}`).to.equal(0);
      }
    });

    it('has the version of the service', () => {
      expect(parse(readFileSync(new URL('Chart.yaml', CHART), 'utf8'))).to.include({ version, appVersion: version });
      expect(podOf(job(objects)).containers[0].image).to.equal(`registry.example/mandate:${version}`);
    });

    it('accepts exactly the settings of the catalogue that are not secret and not set by a template', () => {
      expect(readSchema().properties.settings).to.deep.include(membersOfSettings);
    });

    it('renders only fields of the Kubernetes API, with their types', async () => {
      const native = [...objects, ...full].filter(({ apiVersion }) => !apiVersion.startsWith('monitoring.coreos.com/'));
      expect(native.map(({ kind }) => kind)).to.include.members(['Job', 'Deployment', 'NetworkPolicy']);
      expect(await typeErrors(native)).to.equal('');
      const faults = [
        [{ readinesProbe: {} }, /readinesProbe.*does not exist/],
        [{ resources: { requests: { cpu: [1] } } }, /not assignable/],
        [{ name: undefined }, /'name' is missing/],
      ] as const;
      for (const [fault, said] of faults) {
        const wrong = structuredClone(objectOf(objects, 'Deployment'));
        Object.assign(podOf(wrong).containers[0], fault);
        expect(await typeErrors([wrong])).to.match(said);
      }
    });

    for (const [what, select, settings] of [
      ['the values of the page', () => objects, {}],
      ['every value', () => full, { 'Service:Audit:Partitions:MonthsAhead': 3, 'Service:Signing:ActiveKid': 'spring' }],
    ] as const) {
      it(`has settings that the service accepts, with ${what}`, () => {
        const result = settingsOf(select());
        expect(result).to.deep.include({ kind: 'valid', unknown: [] });
        if (result.kind === 'invalid') return;
        expect(result.settings).to.include({ NODE_ENV: 'production', ...settings });
        expect(result.settings['Service:RateLimit:TrustedProxies'], 'a proxy is in front').not.to.equal(undefined);
        expect(endsPeople(result.settings), 'a disabled person is refused').to.equal(true);
      });
    }

    it('takes every secret from a file: it renders no Secret, and no variable has a secret', () => {
      for (const rendered of [objects, full]) {
        expect(rendered.map(({ kind }) => kind)).not.to.include('Secret');
        for (const object of [job(rendered), objectOf(rendered, 'Deployment')]) {
          expect(JSON.stringify(podOf(object))).not.to.match(/secretKeyRef|secretRef/);
          for (const name of Object.keys(variablesOf(object))) {
            const key = catalogueKeyOf(name.replaceAll('__', ':'));
            expect(key !== undefined && catalogue[key].type.secret, name).to.equal(false);
          }
        }
      }
    });

    it('gives the credential of the owner to the migration alone, and the signing keys to the replicas alone', () => {
      const secrets = secretsOfPage();
      expect(Object.keys(filesOf(job(objects), secrets))).to.have.members([
        '/run/secrets/mandate/Service__Database__ConnectionString',
        '/run/secrets/mandate/Service__Database__MigrationConnectionString',
      ]);
      expect(Object.keys(filesOf(objectOf(objects, 'Deployment'), secrets))).to.have.members([
        '/run/secrets/mandate/Service__Database__ConnectionString',
        '/run/secrets/mandate/Service__Admin__ApiKey',
        '/run/secrets/signing-keys/signing-key.pem',
      ]);
      const modes = [job(objects), objectOf(objects, 'Deployment')].flatMap((object) =>
        podOf(object).volumes.map((one: Members) => dig(one.secret ?? one.projected, 'defaultMode')),
      );
      expect(modes.filter((mode) => mode !== undefined)).to.deep.equal([0o440, 0o440, 0o440]);
    });

    it('migrates before each install and upgrade, with the same image', () => {
      for (const object of [job(objects), objectOf(objects, 'NetworkPolicy', 'mandate-migrate')]) {
        expect(dig(object, 'metadata', 'annotations')).to.include({
          'helm.sh/hook': 'pre-install,pre-upgrade',
          'helm.sh/hook-delete-policy': 'before-hook-creation,hook-succeeded',
        });
      }
      const image = `registry.example/mandate@sha256:${'a'.repeat(64)}`;
      for (const object of [job(full), objectOf(full, 'Deployment')]) {
        expect(podOf(object).containers[0].image).to.equal(image);
      }
      const limits = [...page.matchAll(/--timeout (\d+)m/g)].map(([, minutes]) => Number(minutes) * 60);
      expect(Math.min(...limits)).to.be.greaterThan(dig(job(objects), 'spec', 'activeDeadlineSeconds'));
    });

    it('meets the restricted Pod Security Standard, as the user of the image', () => {
      const [user, group] = (/^USER (\d+):(\d+)$/m.exec(text('Dockerfile')) ?? []).slice(1).map(Number);
      for (const object of [job(objects), objectOf(objects, 'Deployment')]) {
        const ids = { runAsNonRoot: true, runAsUser: user, runAsGroup: group, fsGroup: group };
        expect(podOf(object).securityContext).to.deep.equal({ ...ids, seccompProfile: { type: 'RuntimeDefault' } });
        expect(podOf(object)).to.include({ automountServiceAccountToken: false, enableServiceLinks: false });
        expect(podOf(object).containers).to.have.lengthOf(1);
        expect(podOf(object).containers[0].securityContext).to.deep.equal({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        expect(podOf(object).containers[0].resources.requests).to.have.all.keys('cpu', 'memory');
      }
    });

    it('has probes and policies at the ports of the settings', () => {
      const container = podOf(objectOf(objects, 'Deployment')).containers[0];
      const metrics = Number(variablesOf(objectOf(objects, 'Deployment')).Service__Metrics__Port);
      expect(container.ports).to.deep.equal([
        { name: 'http', containerPort: Number(catalogue.PORT.default) },
        { name: 'metrics', containerPort: metrics },
      ]);
      const probes = ['startupProbe', 'livenessProbe', 'readinessProbe'].map((probe) => container[probe].httpGet);
      expect(probes).to.deep.equal(['/healthz', '/healthz', '/readyz'].map((path) => ({ path, port: 'http' })));
      const policy = objectOf(objects, 'NetworkPolicy');
      expect(dig(policy, 'spec', 'ingress').map((rule: unknown) => dig(rule, 'ports', 0, 'port'))).to.deep.equal(
        container.ports.map((one: { containerPort: number }) => one.containerPort),
      );
      expect(dig(objectOf(objects, 'Service'), 'spec', 'ports')).to.deep.equal([
        { name: 'http', port: 80, targetPort: 'http' },
      ]);
    });

    it('allows egress to DNS, Postgres and HTTPS only, the migration to DNS and Postgres', () => {
      const dns = { ports: ['UDP', 'TCP'].map((protocol) => ({ port: 53, protocol })) };
      const database = { ports: [{ port: 6432 }], to: [{ ipBlock: { cidr: '10.1.0.0/24' } }] };
      const https = {
        ports: [{ port: 443 }],
        to: [
          { ipBlock: { cidr: '0.0.0.0/0', except: ['169.254.0.0/16'] } },
          { ipBlock: { cidr: '::/0', except: ['fe80::/10', 'fd00:ec2::254/128'] } },
        ],
      };
      const policies = ['mandate', 'mandate-migrate'].map((name) => dig(objectOf(full, 'NetworkPolicy', name), 'spec'));
      for (const { policyTypes } of policies) expect(policyTypes).to.deep.equal(['Ingress', 'Egress']);
      expect(policies.map(({ egress }) => egress)).to.deep.equal([
        [dns, database, https],
        [dns, database],
      ]);
      expect(policies[1].ingress).to.equal(undefined);
    });

    it('selects the replicas of the release and not the migration in every selector', () => {
      const component = (name: string) => ({
        'app.kubernetes.io/name': 'mandate',
        'app.kubernetes.io/instance': 'mandate',
        'app.kubernetes.io/component': name,
      });
      const replicas = component('serve');
      expect(dig(objectOf(full, 'Deployment'), 'spec', 'template', 'metadata', 'labels')).to.include(replicas);
      expect(dig(job(full), 'spec', 'template', 'metadata', 'labels')).to.include(component('migrate'));
      for (const kind of ['Deployment', 'PodDisruptionBudget', 'ServiceMonitor']) {
        expect(dig(objectOf(full, kind), 'spec', 'selector', 'matchLabels'), kind).to.deep.equal(replicas);
      }
      expect(dig(objectOf(full, 'Service'), 'spec', 'selector')).to.deep.equal(replicas);
      expect(dig(objectOf(full, 'NetworkPolicy'), 'spec', 'podSelector', 'matchLabels')).to.deep.equal(replicas);
      const ofMigration = dig(objectOf(full, 'NetworkPolicy', 'mandate-migrate'), 'spec', 'podSelector', 'matchLabels');
      expect(ofMigration).to.deep.equal(component('migrate'));
    });

    it('lets the Prometheus operator scrape the replicas as the job of the alert rules', () => {
      expect(objects.map(({ kind }) => kind)).not.to.include('ServiceMonitor');
      const monitor = objectOf(full, 'ServiceMonitor');
      expect(dig(monitor, 'metadata', 'labels', 'release')).to.equal('prometheus');
      expect(dig(monitor, 'spec')).to.include({ jobLabel: 'app.kubernetes.io/name' });
      expect(dig(monitor, 'spec', 'endpoints')).to.deep.equal([{ port: 'metrics', interval: '15s' }]);
      const service = objectOf(full, 'Service');
      expect(dig(service, 'spec', 'ports', 1)).to.deep.equal({ name: 'metrics', port: 9464, targetPort: 'metrics' });
      expect(dig(service, 'metadata', 'labels', 'app.kubernetes.io/name')).to.equal('mandate');
      expect(text('docs/examples/observability/mandate.rules.yaml')).to.include('job="mandate"');
    });

    it('keeps at least two replicas on different nodes, stops one at a time and gives it enough time', () => {
      const { spec } = objectOf(objects, 'Deployment') as { spec?: Members };
      expect(spec?.replicas).to.be.at.least(2);
      expect(spec?.strategy).to.deep.equal({ rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } });
      const pod = podOf(objectOf(objects, 'Deployment'));
      expect(pod.topologySpreadConstraints.map((one: Members) => one.topologyKey)).to.deep.equal([
        'kubernetes.io/hostname',
        'topology.kubernetes.io/zone',
      ]);
      expect(dig(objectOf(objects, 'PodDisruptionBudget'), 'spec')).to.include({
        maxUnavailable: 1,
        unhealthyPodEvictionPolicy: 'AlwaysAllow',
      });
      const drain = Number(/drainMs: (\d+)_000,/.exec(text('adapters/http/server/server.ts'))?.[1]);
      const sleep = Number(pod.containers[0].lifecycle.preStop.exec.command[1]);
      expect(sleep).to.be.greaterThan(0);
      expect(pod.terminationGracePeriodSeconds).to.be.at.least(sleep + drain + 5);
    });

    it('starts new replicas when a setting changes, and not when their number does', async () => {
      const replica = (rendered: readonly Manifest[]) => dig(objectOf(rendered, 'Deployment'), 'spec', 'template');
      const [changed, scaled] = await Promise.all([
        render(withSettings({ Service__Tasks__Retention: 'P1D' })),
        render({ ...values, replicas: 5 }),
      ]);
      expect(replica(changed)).not.to.deep.equal(replica(objects));
      expect(replica(scaled)).to.deep.equal(replica(objects));
    });

    it('leaves the settings of running replicas as they are: no object that an upgrade changes contains any', () => {
      expect(full.map(({ kind }) => kind)).not.to.include('ConfigMap');
      expect(JSON.stringify(full)).not.to.match(/envFrom|configMapKeyRef/);
    });

    it('passes a value with $(…) on as it is, which Kubernetes would otherwise replace', async () => {
      const rendered = await render({ ...values, environment: { NO_PROXY: '$(HOSTNAME)' } });
      for (const object of [job(rendered), objectOf(rendered, 'Deployment')]) {
        expect(variablesOf(object).NO_PROXY).to.equal('$$(HOSTNAME)');
      }
    });
  });

  chartConsole();
  chartSettings();
  chartRefusals();
  chartPods();
}
