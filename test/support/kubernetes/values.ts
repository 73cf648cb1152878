/** Values for the Helm chart: those of docs/deploying.md, and others. */

import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

type Members = Readonly<Record<string, unknown>>;

export const page = readFileSync(new URL('../../../docs/deploying.md', import.meta.url), 'utf8');

/** The values of the page. */
export const values = parse(/^```yaml\n(image:.*?)^```$/ms.exec(page)?.[1] ?? '') as {
  readonly image: Members;
  readonly settings: Members;
};
export const withSettings = (changes: Members, others: Members = {}) => ({
  ...values,
  ...others,
  settings: { ...values.settings, ...changes },
});
/** The settings of a block of the page that begins with this one. */
const settingsFrom = (first: string) =>
  (
    parse(new RegExp(`^\`\`\`yaml\\n(settings:\\n {2}${first}.*?)^\`\`\`$`, 'ms').exec(page)?.[1] ?? '') as {
      settings: Members;
    }
  ).settings;
export const consoleSettings = settingsFrom('Service__Console');
export const approvalSettings = settingsFrom('Service__Me');

/** With everything that is optional. */
export const everything = withSettings(
  { Service__Audit__Partitions__MonthsAhead: '3' },
  {
    image: { ...values.image, digest: `sha256:${'a'.repeat(64)}`, pullSecrets: [{ name: 'registry' }] },
    signing: { keys: [{ file: 'signing-key.pem', kid: 'spring' }, { file: 'signing-key-2.pem' }], activeKid: 'spring' },
    caCertificates: { configMap: 'authorities' },
    environment: { HTTPS_PROXY: 'http://proxy.corp.example:3128', NO_PROXY: '.corp.example' },
    networkPolicy: { postgres: { port: 6432, peers: [{ ipBlock: { cidr: '10.1.0.0/24' } }] } },
    serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
    podAnnotations: { 'example.com/owner': 'security' },
    nodeSelector: { 'kubernetes.io/arch': 'amd64' },
    tolerations: [{ key: 'dedicated', operator: 'Exists' }],
    priorityClassName: 'high',
  },
);
