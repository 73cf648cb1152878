/** The generated files of docs/examples/observability, and the table in docs/operating.md. */

import { rulesFile, withAlertTable } from './alert-files.ts';
import { alerts } from './alerts.ts';
import { dashboard } from './dashboard.ts';

const fileOf = (path: string) => new URL(`../../docs/${path}`, import.meta.url);

interface GeneratedFile {
  readonly url: URL;
  /** @param present the text of the file now; only the page needs it */
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
