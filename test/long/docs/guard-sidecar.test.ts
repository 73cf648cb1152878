/** docs/examples/guard/sidecar.yaml: Helm renders it in a chart, and the tests compare its objects with the guard. */

import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { readGuardFile } from '../../../composition/guard/read-guard-file.ts';
import { type Manifest, render } from '../../support/kubernetes/helm.ts';
import { typeErrors } from '../../support/kubernetes/object-types.ts';
import { dig, objectOf, podOf, text } from '../../support/kubernetes/rendered-objects.ts';

const NAME = 'jira-mcp';

describe('docs/examples/guard/sidecar.yaml', function () {
  this.timeout(60_000);
  let folder: string;
  let objects: readonly Manifest[];
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'mandate-guard-chart-'));
    mkdirSync(join(folder, 'templates'));
    writeFileSync(join(folder, 'Chart.yaml'), `apiVersion: v2\nname: ${NAME}\nversion: 1.0.0\n`);
    copyFileSync('docs/examples/guard/sidecar.yaml', join(folder, 'templates', 'guard.yaml'));
    objects = await render({}, folder);
  });
  after(() => rmSync(folder, { recursive: true }));

  const containers = () => podOf(objectOf(objects, 'Deployment', NAME)).containers;
  const guard = () => containers().find(({ name }: { readonly name: string }) => name === 'guard');

  it('has only fields of the Kubernetes API, with their types', async () => {
    expect(objects.map(({ kind }) => kind)).to.have.members(['ConfigMap', 'Deployment', 'Service']);
    expect(await typeErrors(objects)).to.equal('');
  });

  it('mounts a file that the guard accepts, where its arguments name it', async () => {
    const map = objectOf(objects, 'ConfigMap', `${NAME}-guard`);
    const file = join(folder, 'guard.yaml');
    writeFileSync(file, dig(map, 'data', 'guard.yaml'));
    const read = await readGuardFile(file);
    if (read.kind !== 'usable') return expect.fail(read.faults.join());
    const { mode, listen, metricsPort } = read.configuration;
    expect([mode, read.remarks, listen.host]).to.deep.equal(['proxy', [], '0.0.0.0']);
    expect(guard().ports.map((one: { readonly containerPort: number }) => one.containerPort)).to.deep.equal([
      listen.port,
      metricsPort,
    ]);
    const [{ name, mountPath }] = guard().volumeMounts;
    expect(guard().args).to.deep.equal(['guard', '--config', `${mountPath}/guard.yaml`]);
    expect(podOf(objectOf(objects, 'Deployment', NAME)).volumes).to.deep.equal([
      { name, configMap: { name: `${NAME}-guard` } },
    ]);
  });

  it('lets requests from outside reach the guard alone', () => {
    const [service] = containers();
    expect(service).to.deep.include({ name: NAME });
    expect(service).not.to.have.property('ports');
    expect(service.env).to.deep.include({ name: 'HOST', value: '127.0.0.1' });
    expect(dig(objectOf(objects, 'Service', NAME), 'spec', 'ports')).to.deep.equal([
      { name: 'http', port: 80, targetPort: guard().ports[0].name },
    ]);
  });

  it('runs the image of this version, with the restrictions of the chart of the service', async () => {
    const { version } = JSON.parse(text('package.json'));
    expect(guard().image).to.equal(`registry.example/mandate:${version}`);
    const helpers = text('docs/examples/deploy/helm/templates/_helpers.tpl');
    for (const [name, value] of Object.entries(guard().securityContext)) {
      if (typeof value !== 'object') expect(helpers).to.include(`${name}: ${value}`);
    }
    for (const probe of ['readinessProbe', 'livenessProbe']) {
      expect(guard()[probe].httpGet).to.deep.equal({ path: '/healthz', port: guard().ports[1].name });
    }
  });
});
