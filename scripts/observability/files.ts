/** The files that are generated: those in docs/examples/observability, and docs/operating.md with its table. */

import { rulesFile, withAlertTable } from './alert-files.ts';
import { alerts } from './alerts.ts';
import { dashboard } from './dashboard.ts';

const fileOf = (path: string) => new URL(`../../docs/${path}`, import.meta.url);

interface GeneratedFile {
  readonly url: URL;
  /** @param present the current text of the file, which only the page needs */
  text(present: string): string;
}

export const generatedFiles: Readonly<Record<string, GeneratedFile>> = {
  'docs/examples/observability/mandate.rules.yaml': {
    url: fileOf('examples/observability/mandate.rules.yaml'),
    text: () => rulesFile(alerts),
  },
  'docs/examples/observability/grafana-dashboard.json': {
    url: fileOf('examples/observability/grafana-dashboard.json'),
    text: () => `${JSON.stringify(dashboard(), undefined, 2)}\n`,
  },
  'docs/operating.md': {
    url: fileOf('operating.md'),
    text: (present) => withAlertTable(present, alerts),
  },
};
