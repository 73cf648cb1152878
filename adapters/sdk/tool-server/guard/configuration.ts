/** The form of the guard's file. What fields require of each other, and their defaults, are not checked here. */

import { audienceProblem, isLoopback, issuerProblem } from '../../../../domain/address.ts';
import type { PlacedDocuments } from '../../../../domain/placed-mapping.ts';
import { flag, must, text, textWithout, wholeNumber } from '../../arguments.ts';
import { scopes } from '../../scope-list.ts';
import { depth, maxAgeMs, onStale } from '../core/options.ts';
import { type FileFault, faultsOf, list, named, optionally, section, single } from './placed-checks.ts';
import { isPlainPath } from './request-target.ts';
import { overlaps, type RouteMatch, readRouteMatch } from './route-match.ts';

/** Node's timers fire at once for a longer duration. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

const pattern = must(
  'be an upper-case method and a path, as in GET /issues/*: * only last after a slash, and no path that servers rewrite',
  (value) => typeof value === 'string' && readRouteMatch(value) !== undefined,
);
const exactPath = must('be a path that servers do not rewrite, without *', (value) => {
  return typeof value === 'string' && isPlainPath(value) && !value.includes('*');
});
const port = wholeNumber(1, 65_535);
const address = must('be a host and a port, as in 127.0.0.1:8099', (value) => {
  const [, digits] = /^(?:\[[0-9a-f:.]+\]|[\w.-]+):(\d{1,5})$/i.exec(typeof value === 'string' ? value : '') ?? [];
  return digits !== undefined && port(Number(digits), '').length === 0;
});
const upstream = must('be an https URL, or http on loopback, without a path', (value) => {
  if (typeof value !== 'string' || audienceProblem(value) !== undefined) return false;
  const { protocol, hostname, pathname, search } = new URL(value);
  return (protocol === 'https:' || isLoopback(hostname)) && pathname === '/' && search === '' && !value.endsWith('?');
});
const argumentPath = must('begin with $', (value) => typeof value === 'string' && /^\$(?:[.[]|$)/.test(value));

const policy = {
  scope: single(scopes),
  high_risk: optionally(single(flag)),
  require_actor: optionally(single(flag)),
  max_delegation_depth: optionally(single(depth)),
};
const approval = optionally(section({ title: single(text), lines: named(single(argumentPath)) }));

const file = section({
  issuer: single(textWithout(issuerProblem)),
  audience: single(textWithout(audienceProblem)),
  listen: optionally(single(address)),
  mode: single(must('be decide or proxy', (value) => value === 'decide' || value === 'proxy')),
  upstream: optionally(single(upstream)),
  upstream_timeout_ms: optionally(single(wholeNumber(1, MAX_TIMEOUT_MS))),
  routes: optionally(list(section({ match: single(pattern), ...policy, approval }))),
  mcp: optionally(
    section({
      path: single(exactPath),
      tools: named(section({ ...policy, approval })),
      methods: optionally(named(section(policy))),
    }),
  ),
  open: optionally(list(single(pattern))),
  status_list: optionally(
    section({
      max_age_ms: optionally(single(maxAgeMs)),
      on_stale: optionally(single(onStale)),
    }),
  ),
  approval_key: optionally(single(text)),
  metrics_port: optionally(single(port)),
});

/** All faults of the form, in the order of their lines. */
export function formFaults({ mappings, problems }: PlacedDocuments): readonly FileFault[] {
  const [mapping, ...others] = mappings;
  return [
    ...problems.map(({ line, sentence: clause }) => ({ line, clause })),
    ...(mapping === undefined ? [] : faultsOf(file, mapping)),
    ...others.map(({ line }) => ({ line, clause: 'the file must hold one document' })),
  ];
}

/** Each pair of patterns that some request matches. The first of the pair wins. */
export function overlapping(matches: readonly RouteMatch[]): readonly (readonly [RouteMatch, RouteMatch])[] {
  return matches.flatMap((first, at) =>
    matches.slice(at + 1).flatMap((later) => (overlaps(first, later) ? [[first, later] as const] : [])),
  );
}
