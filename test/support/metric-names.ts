/** Compares Prometheus queries with the metrics of the service: a query with an unknown name finds nothing. */

import { processMetrics, serviceDefinitions } from '../../adapters/telemetry/service-metrics.ts';
import { outcomes, surfaces } from '../../application/ports/telemetry.ts';
import { denialReasons } from '../../domain/denial.ts';
import { ledgerEvents } from '../../domain/ledger/record.ts';

/** The label values that a query may select, by label. */
const LABEL_VALUES: Readonly<Record<string, readonly string[]>> = {
  surface: surfaces,
  outcome: outcomes,
  event: ledgerEvents,
  reason: [...denialReasons, 'missing_api_key', 'invalid_api_key'],
  pool: ['serving', 'stopping', 'draining', 'readiness', 'thread'],
  state: ['used', 'free', 'most', 'held', 'waiting', 'failing', 'active', 'published', 'wanted', 'answered'],
  job: ['mandate'],
  owner: ['identity_provider', 'transmitter'],
};
/** Labels that Prometheus itself puts on metrics. */
const OWN_LABELS = ['instance', 'job', 'le'];

const NAME = /\b(?:(?:mandate|process|nodejs)_[a-z0-9_]+|up)\b/g;

/** The metrics that a query or a text names, without the suffixes of a histogram. */
export function metricsIn(text: string): readonly string[] {
  return [...text.matchAll(NAME)].map(([name]) => (isMetric(name) ? name : name.replace(/_(bucket|count|sum)$/, '')));
}

export function isMetric(name: string): boolean {
  return name === 'up' || known.has(name);
}

const known = new Map<string, readonly string[]>([
  ...serviceDefinitions.map(({ name, labelNames = [] }) => [name, labelNames] as const),
  ...processMetrics()
    .getMetricsAsArray()
    .map(({ name }) => [name, []] as const),
]);

/** The unknown names in a query: metrics, selected label values, and labels that it groups by. */
export function unknownNames(query: string): readonly string[] {
  const metrics = metricsIn(query);
  const selected = [...query.matchAll(/[{,](\w+)(?:=~|!~|!=|=)"([^"]*)"/g)].flatMap(([, label = '', values = '']) =>
    values.split('|').flatMap((value) => (LABEL_VALUES[label]?.includes(value) ? [] : [`${label}=${value}`])),
  );
  const labels = [...OWN_LABELS, ...metrics.flatMap((name) => known.get(name) ?? [])];
  const grouped = [...query.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, names = '']) => names.split(', '));
  return [
    ...metrics.filter((name) => !isMetric(name)),
    ...selected,
    ...grouped.filter((label) => !labels.includes(label)),
  ];
}
