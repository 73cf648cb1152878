/** What the chart renders for the console, and that it renders nothing else for it. */

import { expect } from 'chai';
import { lint, type Manifest, render } from '../../support/kubernetes/helm.ts';
import { typeErrors } from '../../support/kubernetes/object-types.ts';
import { dig, type Members, objectOf, podOf, settingsOf } from '../../support/kubernetes/rendered-objects.ts';
import { consoleSettings, values, withSettings } from '../../support/kubernetes/values.ts';

export function chartConsole(): void {
  describe('The Helm chart', function () {
    this.timeout(120_000);
    describe('with the console', () => {
      let objects: readonly Manifest[];
      let withConsole: readonly Manifest[];
      before(async () => {
        const peers = { networkPolicy: { console: [{ ipBlock: { cidr: '10.9.0.0/16' } }] } };
        [objects, withConsole] = await Promise.all([render(values), render(withSettings(consoleSettings, peers))]);
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

      it('passes helm lint, and its objects match the types of Kubernetes', async () => {
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
  });
}
