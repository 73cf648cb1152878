/**
 * The Helm chart: Helm renders it with the values of docs/deploying.md, and the tests compare the objects with the
 * code. One suite runs the commands of the pods as processes, with exactly the rendered variables and files.
 */

import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import { catalogue } from '../../../composition/settings/catalogue.ts';
import { catalogueKeyOf } from '../../../composition/settings/given-settings.ts';
import { readSettings } from '../../../composition/settings/read-settings.ts';
import { freePort } from '../../../scripts/free-port.ts';
import { runCommand, startCommand } from '../../support/command-process.ts';
import { type FreshDatabase, postgres } from '../../support/databases.ts';
import { endsPeople } from '../../support/ends-people.ts';
import { eventually } from '../../support/eventually.ts';
import { type IdentityProvider, startIdentityProvider } from '../../support/identity-provider/identity-provider.ts';
import { lint, type Manifest, refusal, render } from '../../support/kubernetes/helm.ts';
import { typeErrors } from '../../support/kubernetes/object-types.ts';
import { CHART, readSchema, settingsOfValues } from '../../support/kubernetes/settings-schema.ts';
import { consoleSettings, everything, page, values, withSettings } from '../../support/kubernetes/values.ts';
import { ADMIN_KEY } from '../../support/mandate.ts';

const text = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
const { version } = JSON.parse(text('package.json')) as { version: string };

type Members = Readonly<Record<string, unknown>>;

/** The value at a path of members; `undefined` if a member is missing. */
// biome-ignore lint/suspicious/noExplicitAny: rendered objects, whose types another test checks
function dig(value: unknown, ...path: readonly (string | number)[]): any {
  return path.reduce<unknown>((part, name) => (part as Members | undefined)?.[name], value);
}

const objectOf = (objects: readonly Manifest[], kind: string, name = 'mandate') => {
  const found = objects.filter((one) => one.kind === kind && dig(one, 'metadata', 'name') === name);
  if (found.length !== 1 || found[0] === undefined) throw new Error(`there must be one ${kind} ${name}`);
  return found[0];
};
const podOf = (object: Manifest) => dig(object, 'spec', 'template', 'spec');
const job = (objects: readonly Manifest[]) => objectOf(objects, 'Job', 'mandate-migrate');

/** The variables of an object's one container. */
function variablesOf(object: Manifest): Record<string, string> {
  const variables = podOf(object).containers[0].env as readonly { name: string; value: string }[];
  return Object.fromEntries(variables.map(({ name, value }) => [name, value]));
}

type Secrets = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The settings as the service reads them in the container. */
function settingsOf(objects: readonly Manifest[]) {
  const environment = variablesOf(objectOf(objects, 'Deployment'));
  const contents = [
    ['Service__Database__ConnectionString', { text: 'postgresql://mandate:secret@db.example/mandate' }],
    ['Service__Admin__ApiKey', { text: ADMIN_KEY }],
  ] as const;
  return readSettings({ environment, overrides: [], files: { kind: 'read', contents } });
}

/** The files that the pod sees, by path, from the Secrets. @throws if a Secret or a key of it is missing */
function filesOf(object: Manifest, secrets: Secrets): Record<string, string> {
  const files: Record<string, string> = {};
  for (const { name, mountPath } of dig(podOf(object), 'containers', 0, 'volumeMounts')) {
    const volume = podOf(object).volumes.find((one: Members) => one.name === name);
    const sources = volume.projected?.sources.map((one: Members) => one.secret) ?? [volume.secret ?? []].flat();
    for (const { secretName, name = secretName, items } of sources) {
      const secret = secrets[name];
      if (secret === undefined) throw new Error(`there is no Secret ${name}`);
      for (const { key, path } of items ?? Object.keys(secret).map((key) => ({ key, path: key }))) {
        if (secret[key] === undefined) throw new Error(`the Secret ${name} has no key ${key}`);
        files[`${mountPath}/${path}`] = secret[key];
      }
    }
  }
  return files;
}

/** The Secrets of the page, each key with the name of the file that holds it. */
function secretsOfPage(): Secrets {
  const made = [...page.matchAll(/^kubectl create secret generic (\S+) (.*)$/gm)].filter(
    ([line]) => !line.endsWith('\\'),
  );
  return Object.fromEntries(
    made.map(([, name, rest = '']) => [
      name,
      Object.fromEntries(
        [...rest.matchAll(/--from-file=(?:([\w-]+)=)?(\S+)/g)].map(([, key, file = '']) => [key ?? file, file]),
      ),
    ]),
  );
}

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
      expect(Object.keys(readSchema().properties.settings.properties)).to.deep.equal(settingsOfValues);
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

    describe('with the console', () => {
      let withConsole: readonly Manifest[];
      before(async () => {
        withConsole = await render(
          withSettings(consoleSettings, { networkPolicy: { console: [{ ipBlock: { cidr: '10.9.0.0/16' } }] } }),
        );
      });
      const entry = (list: readonly Members[]) => list.filter(({ name }) => name === 'console');
      const containerOf = (rendered: readonly Manifest[]) => podOf(objectOf(rendered, 'Deployment')).containers[0];
      const servicePorts = (rendered: readonly Manifest[]) => dig(objectOf(rendered, 'Service'), 'spec', 'ports');
      const ingress = (rendered: readonly Manifest[]) => dig(objectOf(rendered, 'NetworkPolicy'), 'spec', 'ingress');

      it('has its port at the container and at the Service', () => {
        expect(entry(containerOf(withConsole).ports)).to.deep.equal([{ name: 'console', containerPort: 5200 }]);
        expect(entry(servicePorts(withConsole))).to.deep.equal([
          { name: 'console', port: 5200, targetPort: 'console' },
        ]);
      });

      it('admits only the peers of the console to its port', () => {
        const rules = ingress(withConsole).filter((rule: Members) => dig(rule, 'ports', 0, 'port') === 5200);
        expect(rules).to.deep.equal([{ from: [{ ipBlock: { cidr: '10.9.0.0/16' } }], ports: [{ port: 5200 }] }]);
      });

      it('admits the ingress to its port by default', async () => {
        const rules = ingress(await render(withSettings(consoleSettings)));
        const [proxy, console] = [5100, 5200].map((port) =>
          rules.find((rule: Members) => dig(rule, 'ports', 0, 'port') === port),
        );
        expect(console.from).to.deep.equal(proxy.from);
      });

      it('is accepted by the service with these settings', () => {
        const result = settingsOf(withConsole);
        expect(result).to.deep.include({ kind: 'valid', unknown: [] });
      });

      it('passes the lint and the types', async () => {
        const { code, out, err } = await lint(withSettings(consoleSettings));
        expect(code, `${out}${err}`).to.equal(0);
        expect(await typeErrors(withConsole)).to.equal('');
      });

      it('adds nothing else: without its settings no object names the console, and all others are the same', () => {
        expect(JSON.stringify(objects)).not.to.include('console');
        const stripped = structuredClone(withConsole);
        const container = containerOf(stripped);
        container.ports = container.ports.filter(({ name }: Members) => name !== 'console');
        container.env = container.env.filter(({ name }: { name: string }) => !(name in consoleSettings));
        const service = dig(objectOf(stripped, 'Service'), 'spec');
        service.ports = service.ports.filter(({ name }: Members) => name !== 'console');
        const policy = dig(objectOf(stripped, 'NetworkPolicy'), 'spec');
        policy.ingress = policy.ingress.filter((rule: Members) => dig(rule, 'ports', 0, 'port') !== 5200);
        expect(stripped).to.deep.equal(objects);
      });
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
      const drain = Number(/DRAIN_MS = (\d+)_000;/.exec(text('adapters/http/server/server.ts'))?.[1]);
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

    const without = (...names: readonly string[]) =>
      withSettings(Object.fromEntries(names.map((name) => [name, undefined])));
    const KEYS = [{ file: 'a.pem' }, { file: 'b.pem' }];
    const refused: readonly (readonly [string, unknown, readonly string[]])[] = [
      ['no value at all', {}, ['repository', 'Service__Issuer', 'Service__UpstreamIdp__Audience', 'UsersUrl']],
      ...Object.keys(values.settings).map((name) => [`no ${name}`, without(name), [name]] as const),
      ['an empty required setting', withSettings({ Service__Issuer: '' }), ['Service__Issuer']],
      ['an unknown setting', withSettings({ Service__Isuer: 'https://a.example' }), ['Service__Isuer']],
      ['a secret among the settings', withSettings({ Service__Admin__ApiKey: ADMIN_KEY }), ['Service__Admin__ApiKey']],
      ['a number as a setting', withSettings({ Service__Metrics__Port: 9464 }), ['Service__Metrics__Port', 'string']],
      ['an unknown value', { ...values, replica: 3 }, ['replica']],
      ['a word as a number', { ...values, replicas: 'two' }, ['replicas', 'integer']],
      ['two issuers', withSettings({ Service__UpstreamIdp__MetadataUrl: 'https://a.example' }), ['exclude each other']],
      ['two keys and no name', { ...values, signing: { keys: KEYS } }, ['signing.activeKid is required with more']],
      ['no key', { ...values, signing: { keys: [] } }, ['signing', 'keys']],
      ['a key outside its Secret', { ...values, signing: { keys: [{ file: '../a' }] } }, ['signing', 'keys', 'file']],
      [
        'a monitor without metrics',
        withSettings({ Service__Metrics__Port: null }, { serviceMonitor: { enabled: true } }),
        ['settings.Service__Metrics__Port is required if serviceMonitor.enabled'],
      ],
      [
        'a setting as a variable',
        { ...values, environment: { Service__Issuer: 'a' } },
        ['environment.Service__Issuer'],
      ],
      [
        'a password in a variable',
        { ...values, environment: { HTTPS_PROXY: 'http://me:sesame@proxy' } },
        ['environment.HTTPS_PROXY contains a password'],
      ],
      ['an empty list of proxies', { ...values, networkPolicy: { proxy: [] } }, ['networkPolicy', 'proxy']],
      [
        'a name and a password without a scheme in a variable',
        { ...values, environment: { HTTPS_PROXY: 'me:sesame@proxy:3128' } },
        ['environment.HTTPS_PROXY contains a password'],
      ],
      ...['HOST', 'PORT', 'NODE_ENV', 'NODE_EXTRA_CA_CERTS'].map(
        (name) =>
          [
            `the variable ${name}`,
            { ...values, environment: { [name]: '1' } },
            [`environment.${name} must not`],
          ] as const,
      ),
      ['a variable with a space in its name', { ...values, environment: { 'A B': '1' } }, ['A B']],
      ...['caCertificates', 'migration', 'serviceMonitor', 'signing', 'secrets', 'networkPolicy'].map(
        (name) => [`${name} set to null`, { ...values, [name]: null }, [name]] as const,
      ),
      ...['word', '5100', '0'].map(
        (port) =>
          [
            `the metrics port ${port}`,
            withSettings({ Service__Metrics__Port: port }),
            ['settings.Service__Metrics__Port must be a port other than 5100'],
          ] as const,
      ),
      ...['word', '80', '5100', '9464', '0'].map(
        (port) =>
          [
            `the console's port ${port}`,
            withSettings({ ...consoleSettings, Service__Console__Port: port }),
            ['settings.Service__Console__Port must be a port other than 80, 5100 and settings.Service__Metrics__Port'],
          ] as const,
      ),
      ...['Service__Console__Port', 'Service__Console__Origin', 'Service__Operators__ClientId'].map(
        (name) => [`the console without ${name}`, withSettings({ ...consoleSettings, [name]: null }), [name]] as const,
      ),
      [
        'an empty list of peers of the console',
        { ...values, networkPolicy: { console: [] } },
        ['networkPolicy', 'console'],
      ],
      [
        'a tag in the name of the image',
        { ...values, image: { repository: 'registry.example:5000/mandate:1.0' } },
        ['image', 'repository'],
      ],
      ['a name that no Secret can have', { ...values, secrets: { serving: 'My Secret' } }, ['secrets', 'serving']],
      [
        'a blocked network that is none',
        { ...values, networkPolicy: { https: { blocked: ['internal/8'] } } },
        ['networkPolicy', 'blocked'],
      ],
      ['a number as an annotation', { ...values, podAnnotations: { a: 1 } }, ['podAnnotations', 'string']],
    ];
    for (const [what, given, names] of refused) {
      it(`is not rendered with ${what}, and the error names the faulty value`, async () => {
        const said = await refusal(given);
        for (const name of names) expect(said).to.include(name);
        expect(said).not.to.match(/sesame|parse error|nil pointer|error calling|executing/);
      });
    }

    it('is refused with a name of the release that no Service can have', async () => {
      for (const release of ['1mandate', 'mandate.prod']) {
        expect(await refusal(values, release)).to.include(`the name of the release, ${release}, names a Service too`);
      }
    });

    it('needs no address of a users API in mode signals', async () => {
      const poll = Object.keys(values.settings).filter((name) => name.includes('SponsorCheck'));
      expect(poll).to.have.lengthOf(3);
      const { settings } = without(...poll);
      const signals = { ...settings, Service__UpstreamIdp__SponsorCheck__Mode: 'signals' };
      const rendered = await render({ ...values, settings: signals });
      const variables = variablesOf(objectOf(rendered, 'Deployment'));
      expect(variables.Service__UpstreamIdp__SponsorCheck__Mode).to.equal('signals');
      expect(variables).not.to.have.any.keys(...poll);
    });
  });

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

    it('migrate, become ready, answer Prometheus, pass the doctor, and end on SIGTERM in time', async () => {
      const key = join(folder, 'signing-key.pem');
      expect((await runCommand(['keys', 'generate', '--out', key])).code).to.equal(0);
      const [port, metricsPort] = [await freePort(), await freePort()];
      const objects = await render(
        withSettings({
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
      // A pod has its own address; this process shares the machine's.
      const variables = { ...replica.variables, HOST: '127.0.0.1', PORT: String(port) };
      const { child, ended } = startCommand(replica.args, variables);
      try {
        const { readinessProbe } = podOf(deployment).containers[0];
        const ready = () => fetch(`http://127.0.0.1:${port}${readinessProbe.httpGet.path}`).catch(() => undefined);
        await eventually(async () => (await ready())?.status === 200 || child.exitCode !== null, 50);
        expect(child.exitCode, 'the service runs').to.equal(null);
        const scrape = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
        expect(await scrape.text()).to.include('mandate_build_info');
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
