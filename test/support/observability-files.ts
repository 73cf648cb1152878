/** The alerts for Prometheus and the queries of the dashboard for Grafana, as docs/examples/observability has them. */

import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

const FOLDER = new URL('../../docs/examples/observability/', import.meta.url);
export const observabilityFile = (name: string) => readFileSync(new URL(name, FOLDER), 'utf8');

interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly annotations: { readonly summary: string; readonly first_step: string };
}

const { groups } = parse(observabilityFile('mandate.rules.yaml')) as {
  readonly groups: readonly { readonly rules: readonly AlertRule[] }[];
};
export const alertRules = groups.flatMap(({ rules }) => rules);

interface Panel {
  readonly id: number;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

export const { panels } = JSON.parse(observabilityFile('grafana-dashboard.json')) as {
  readonly panels: readonly Panel[];
};
export const queries = panels.flatMap(({ targets = [] }) => targets);
