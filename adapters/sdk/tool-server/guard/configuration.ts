/** The rules of the guard's file: the form of each field, and what fields require of each other. */

import { audienceProblem, isLoopback, issuerProblem } from '../../../../domain/address.ts';
import { MAX_LINES } from '../../../../domain/approvals/approval-request.ts';
import type { PlacedDocuments, PlacedMapping } from '../../../../domain/placed-mapping.ts';
import { isJsonObject, type Json, member } from '../../../../domain/tokens/strict-json.ts';
import { flag, must, text, textWithout, wholeNumber } from '../../arguments.ts';
import { scopes } from '../../scope-list.ts';
import { labelCheck, titleCheck } from '../core/approval-text.ts';
import { depth, maxAgeMs, onStale } from '../core/options.ts';
import { readArgumentPath } from './argument-path.ts';
import {
  type FileFault,
  faultsOf,
  list,
  named,
  nameOf,
  optionally,
  type Path,
  type PlacedCheck,
  section,
  single,
} from './placed-checks.ts';
import { isPlainPath } from './request-target.ts';
import { routeMatchProblem } from './route-match.ts';
import { tellsWhoSignedIn } from './signed-in-headers.ts';

export const DEFAULT_LISTEN = '127.0.0.1:8099';
/** Node's timers fire at once for a longer duration. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** Of 1 MiB each. */
const MAX_HELD_BODIES = 10_000;

const pattern = textWithout(routeMatchProblem);
const exactPath = must('be a path that servers do not rewrite, without *, as in /mcp', (value) => {
  return typeof value === 'string' && isPlainPath(value) && !value.includes('*');
});
const port = wholeNumber(1, 65_535);
const address = must('be a host and a port, as in 127.0.0.1:8099 or "[::1]:8099"', (value) => {
  const [, digits] = /^(?:\[[0-9a-f:.]+\]|[\w.-]+):(\d{1,5})$/i.exec(typeof value === 'string' ? value : '') ?? [];
  return digits !== undefined && port(Number(digits), '').length === 0;
});
const upstream = must('be an https URL, or http on loopback, without a path, as in http://127.0.0.1:3000', (value) => {
  if (typeof value !== 'string' || audienceProblem(value) !== undefined) return false;
  const { protocol, hostname, pathname, search } = new URL(value);
  return (protocol === 'https:' || isLoopback(hostname)) && pathname === '/' && search === '' && !value.endsWith('?');
});
const argumentPath = must('be a path to one value, as $.amount or $.items[0]', (value) => {
  return typeof value === 'string' && readArgumentPath(value) !== undefined;
});

const signedInHeader = must('be a header in which a proxy tells who has signed in, as Remote-User', (value) => {
  return typeof value === 'string' && /^[a-z0-9_-]+$/i.test(value) && tellsWhoSignedIn(value.toLowerCase());
});

const policy = {
  scope: single(scopes),
  high_risk: optionally(single(flag)),
  require_actor: optionally(single(flag)),
  max_delegation_depth: optionally(single(depth)),
};
/** @param most how many lines the file may have */
const approval = (most: number) =>
  optionally(section({ title: single(titleCheck), lines: optionally(labelled(most, single(argumentPath))) }));

/** A mapping of labels, which a person reads. The guard adds the first line of a route. */
function labelled(most: number, check: PlacedCheck): PlacedCheck {
  const members = named(check);
  return (value, path, report) => {
    members(value, path, report);
    const labels = isJsonObject(value) ? Object.keys(value) : [];
    if (labels.length > most) report(path, `${nameOf(path)} must have at most ${most} members`);
    if (labels.some((label) => labelCheck(label, '').length > 0)) {
      for (const clause of labelCheck(undefined, `each name in ${nameOf(path)}`)) report(path, clause);
    }
  };
}

const file = section({
  issuer: single(textWithout(issuerProblem)),
  audience: single(textWithout(audienceProblem)),
  listen: optionally(single(address)),
  mode: single(must('be decide or proxy', (value) => value === 'decide' || value === 'proxy')),
  upstream: optionally(single(upstream)),
  upstream_timeout_ms: optionally(single(wholeNumber(1, MAX_TIMEOUT_MS))),
  max_held_bodies: optionally(single(wholeNumber(1, MAX_HELD_BODIES))),
  routes: optionally(list(section({ match: single(pattern), ...policy, approval: approval(MAX_LINES - 1) }))),
  mcp: optionally(
    section({
      path: single(exactPath),
      tools: named(section({ ...policy, approval: approval(MAX_LINES) })),
      methods: optionally(named(section(policy))),
    }),
  ),
  open: optionally(list(single(pattern))),
  pass_headers: optionally(list(single(signedInHeader))),
  status_list: optionally(
    section({
      max_age_ms: optionally(single(maxAgeMs)),
      on_stale: optionally(single(onStale)),
    }),
  ),
  approval_key: optionally(single(text)),
  metrics_port: optionally(single(port)),
});

/** All faults of the file. */
export function guardFileFaults({ mappings, problems }: PlacedDocuments): readonly FileFault[] {
  const [mapping, ...others] = mappings;
  const faults = mapping === undefined ? [] : [...faultsOf(file, mapping), ...relationFaults(mapping)];
  return [
    ...problems.map(({ line, sentence: clause }) => ({ line, clause })),
    ...faults,
    ...others.map(({ line }) => ({ line, clause: 'the file must hold one document' })),
  ].sort((one, other) => one.line - other.line);
}

/** The fields that the mode decide cannot honour: the gateway passes the request on, and the guard never sees its body. */
const PROXY_ONLY = [
  'upstream',
  'upstream_timeout_ms',
  'max_held_bodies',
  'mcp',
  'pass_headers',
  'approval_key',
] as const;

function relationFaults({ fields, unread, line, lineOf }: PlacedMapping): readonly FileFault[] {
  const has = (name: string) => fields.has(name) || unread.has(name);
  const value = (name: string) => fields.get(name)?.value;
  const mode = value('mode');
  const approvals = approvalPaths(value('routes'), value('mcp'));
  const faults: FileFault[] = [];
  const at = (path: Path, clause: string) => faults.push({ line: lineOf(path), clause: `${nameOf(path)} ${clause}` });

  if (mode === 'proxy' && !has('upstream')) at(['upstream'], 'must be given in the mode proxy');
  if (isOwn(value('upstream'), value('listen') ?? DEFAULT_LISTEN)) {
    at(['upstream'], 'must not be the address of listen: the guard would ask itself');
  }
  if (mode === 'decide') {
    const given = PROXY_ONLY.filter(has).map((name) => [name]);
    for (const path of [...given, ...approvals]) at(path, 'is only for the mode proxy');
  } else if (approvals.length > 0 && !has('approval_key')) at(['approval_key'], 'must be given with an approval');
  if (!has('mcp') && (!has('routes') || isEmptyList(value('routes')))) {
    faults.push({ line, clause: 'routes or mcp must be given: otherwise no token allows any request' });
  }
  const mcp = value('mcp');
  const methods = isJsonObject(mcp) ? member(mcp, 'methods') : undefined;
  if (isJsonObject(methods) && member(methods, 'tools/call') !== undefined) {
    at(['mcp', 'methods', 'tools/call'], 'must be absent: mcp.tools has the policies of tools');
  }
  const listen = value('listen') ?? DEFAULT_LISTEN;
  const metrics = value('metrics_port');
  if (typeof listen === 'string' && typeof metrics === 'number' && listen.endsWith(`:${metrics}`)) {
    at(['metrics_port'], 'must differ from the port of listen');
  }
  return faults;
}

/** Whether the guard could be its own upstream. An open request would go round without end. */
function isOwn(upstream: Json | undefined, listen: Json): boolean {
  if (typeof upstream !== 'string' || typeof listen !== 'string' || !URL.canParse(upstream)) return false;
  const own = URL.canParse(`http://${listen}`) ? new URL(`http://${listen}`) : undefined;
  const { protocol, hostname, port } = new URL(upstream);
  if (own === undefined || !isLoopback(hostname) || protocol === 'https:' || own.port !== port) return false;
  const isEverywhere = own.hostname === '0.0.0.0' || own.hostname === '[::]';
  return isEverywhere || own.hostname === hostname || [own.hostname, hostname].includes('localhost');
}

function approvalPaths(routes: Json | undefined, mcp: Json | undefined): readonly Path[] {
  const listed = Array.isArray(routes) ? routes : [];
  const ofRoutes = listed.flatMap((route: Json, at): Path[] =>
    hasApproval(route) ? [['routes', at, 'approval']] : [],
  );
  const tools = isJsonObject(mcp) ? member(mcp, 'tools') : undefined;
  const byName = isJsonObject(tools) ? Object.entries(tools) : [];
  const ofTools = byName.flatMap(([name, tool]): Path[] =>
    hasApproval(tool) ? [['mcp', 'tools', name, 'approval']] : [],
  );
  return [...ofRoutes, ...ofTools];
}

function hasApproval(policy: Json | undefined): boolean {
  return isJsonObject(policy) && member(policy, 'approval') !== undefined;
}

function isEmptyList(value: Json | undefined): boolean {
  return Array.isArray(value) && value.length === 0;
}
