/** Counts the guard's decisions, for Prometheus. */

import type { AccessEvent } from '../core/access-event.ts';
import { refusalReasons } from '../core/refusal.ts';

export interface GuardMetrics {
  /** Of a request whose event was written. */
  count(event: AccessEvent): void;
  /** Of a request whose event was not written. If it was allowed, it is refused. */
  countUnwritten(event: AccessEvent): void;
  /** The file was read again, and is used or refused. */
  reloaded(result: 'used' | 'refused'): void;
  /** In the text format of Prometheus. */
  text(): string;
}

export function guardMetrics(): GuardMetrics {
  // Every series begins at 0: the first refusal of a kind is an increase.
  const requests = new Map(['', ...refusalReasons].map((reason) => [reason, 0]));
  const unwritten = new Map([
    ['allow', 0],
    ['deny', 0],
  ]);
  const reloads = new Map([
    ['used', 0],
    ['refused', 0],
  ]);
  const increase = (counts: Map<string, number>, name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);
  return {
    count: ({ reason }) => void increase(requests, reason ?? ''),
    countUnwritten: ({ decision }) => void increase(unwritten, decision),
    reloaded: (result) => void increase(reloads, result),
    text: () =>
      [
        ...counter(
          'mandate_guard_requests_total',
          'Decided requests whose event was written. The reason of an allowed one is empty.',
          [...requests].map(([reason, count]) => [decided(reason), count]),
        ),
        ...counter(
          'mandate_guard_unwritten_events_total',
          'Decided requests whose event could not be written. Also those that were allowed are refused.',
          [...unwritten].map(([decision, count]) => [`decision="${decision}"`, count]),
        ),
        ...counter(
          'mandate_guard_reloads_total',
          'How often the file was read again.',
          [...reloads].map(([result, count]) => [`result="${result}"`, count]),
        ),
        '',
      ].join('\n'),
  };
}

function decided(reason: string): string {
  return `decision="${reason === '' ? 'allow' : 'deny'}",reason="${reason}"`;
}

/** @param series the labels and the count of each */
function counter(name: string, help: string, series: readonly (readonly [string, number])[]): readonly string[] {
  return [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} counter`,
    ...series.map(([labels, count]) => `${name}{${labels}} ${count}`),
  ];
}
