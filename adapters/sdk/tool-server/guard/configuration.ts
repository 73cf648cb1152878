/**
 * The guard's file: a row for each field. Its errors, what the guard reads, the JSON Schema and the table of docs/guard.md
 * follow from the rows. file-faults.ts has what fields require of each other.
 *
 * To add a field, add a row. `MANDATE_WRITE_GUARD=1 npx mocha test/docs/guard.test.ts` writes the schema and the table
 * (then `npm run format`).
 */

import { isDeepStrictEqual } from 'node:util';
import { audienceProblem } from '../../../../domain/address.ts';
import type { PlacedMapping } from '../../../../domain/placed-mapping.ts';
import { text } from '../../arguments.ts';
import { LIST_MODES, type ListMode } from '../core/allowed-list.ts';
import type { ApprovalKey } from '../core/approval-key.ts';
import { DEFAULT_MAX_HELD_BODIES, MAX_HELD_BODIES } from '../core/held-bodies.ts';
import {
  DEFAULT_MAX_AGE_MS,
  MAX_MAX_AGE_MS,
  MIN_MAX_AGE_MS,
  ON_STALE,
  type StatusListOptions,
} from '../core/options.ts';
import type { RoutePolicy } from '../core/policy.ts';
import { MAX_BODY_BYTES, MAX_MAX_BODY_BYTES } from '../core/read-body.ts';
import type { CompileSchema } from '../schema/rules.ts';
import { fieldOf, type Kind, list, mapped, named, optionally, section } from './kind.ts';
import {
  address,
  browserOrigin,
  choice,
  count,
  defined,
  exactPath,
  type GuardPolicy,
  issuers,
  match,
  origin,
  policyOfMethod,
  policyOfRoute,
  policyOfTool,
  port,
  signedInHeader,
  textOf,
  url,
} from './value-kinds.ts';

export const DEFAULT_LISTEN = '127.0.0.1:8099';
/** Node's timers fire at once for a longer duration. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

interface Traits {
  /** When an optional field is required after all. */
  readonly required?: string;
  /** The mode decide cannot honour it: the gateway passes the request on, and the guard never sees its body. */
  readonly isForProxy?: true;
  /** It cannot change while the guard runs. */
  readonly isFixed?: true;
}

interface McpEndpoint {
  readonly path: string;
  readonly tools: Readonly<Record<string, GuardPolicy>>;
  readonly methods: Readonly<Record<string, RoutePolicy>>;
  /** By default `all`. */
  readonly list?: ListMode;
}

export interface Field<Value> extends Kind<Value>, Traits {
  /** Sentences in Markdown, for docs/guard.md. */
  readonly meaning: string;
}

function field<Value>(kind: Kind<Value>, meaning: string, traits: Traits = {}): Field<Value> {
  return { ...kind, ...traits, meaning };
}

/** By the names of what is read. The file has them in snake case. */
export const FIELDS = {
  issuer: field(
    issuers,
    "The control plane's URL, as for [the library](tool-servers.md#options-of-createtoolserver); or a list of 1 to 64, for the tokens of [several](#several-control-planes)",
  ),
  audience: field(url(audienceProblem), "The service's URL, exactly as agents name it in `resource`"),
  listen: field(
    optionally(address, DEFAULT_LISTEN),
    'Where the guard listens. An IPv6 address needs brackets and quotes: `"[::1]:8099"`',
    { isFixed: true },
  ),
  mode: field(choice(['decide', 'proxy']), '`decide`: a gateway asks. `proxy`: the guard passes allowed requests on', {
    isFixed: true,
  }),
  upstream: field(
    optionally(origin),
    'The service behind the guard: https, or http on this machine; not the guard itself',
    { isForProxy: true, required: 'in `proxy`' },
  ),
  upstreamTimeoutMs: field(
    optionally(count(1, MAX_TIMEOUT_MS), 60_000),
    'The time until the head of its answer, in milliseconds',
    { isForProxy: true },
  ),
  maxHeldBodies: field(
    optionally(count(1, MAX_HELD_BODIES), DEFAULT_MAX_HELD_BODIES),
    `With \`proxy\`: how many [bodies](#bodies-that-the-guard-holds) the guard holds at a time; 1 to ${MAX_HELD_BODIES}`,
    { isForProxy: true },
  ),
  maxBodyBytes: field(
    optionally(count(1, MAX_MAX_BODY_BYTES), MAX_BODY_BYTES),
    `With \`proxy\`: the longest [body](#bodies-that-the-guard-holds) at \`mcp.path\`, in bytes; at most ${MAX_MAX_BODY_BYTES}, for tools that take files`,
    { isForProxy: true },
  ),
  routes: field(
    optionally(list(defined('route', policyOfRoute)), []),
    'The policies, compared in this order: the first that matches decides. Each has a `match` and the members of [a policy](tool-servers.md#a-policy): `scope`, `high_risk`, `require_actor`, `max_delegation_depth`; with `proxy` also [`approval`](#approvals), with [`unless`](#a-yes-only-where-it-matters) in it, and [`arguments`](#rules-on-arguments)',
  ),
  mcp: field(
    optionally(
      section<McpEndpoint>({
        path: exactPath,
        tools: named(defined('tool', policyOfTool)),
        methods: optionally(
          named(defined('policy', policyOfMethod), { propertyNames: { not: { const: 'tools/call' } } }),
          {},
        ),
        list: optionally(choice(LIST_MODES)),
      }),
    ),
    "With `proxy`: the `path` of an MCP endpoint, and the policies of its `tools` and `methods`, as with [the library](tool-servers.md#mcp); `list`, by default `all`: with `allowed`, lists [name only what the token may use](#lists); a tool's policy may have `approval` with `unless`, and `arguments`, too",
    { isForProxy: true },
  ),
  open: field(optionally(list(match), []), 'Patterns of requests that need no token. They are compared after `routes`'),
  origins: field(
    optionally(
      mapped(list(browserOrigin), (origins) => new Set(origins)),
      [],
    ),
    "Origins such as `https://app.example`: [scripts of these](#browsers) may read the guard's own answers",
  ),
  passHeaders: field(
    optionally(
      mapped(list(signedInHeader), (names) => new Set(names)),
      [],
    ),
    'With `proxy`: headers in which a gateway in front tells who has signed in, such as `Remote-User`, and which the service gets. All other headers of this kind [are dropped](#what-it-passes-on)',
    { isForProxy: true },
  ),
  statusList: field(
    optionally(
      section<StatusListOptions>({
        maxAgeMs: optionally(count(MIN_MAX_AGE_MS, MAX_MAX_AGE_MS), DEFAULT_MAX_AGE_MS),
        onStale: optionally(choice(ON_STALE), ON_STALE[0]),
      }),
    ),
    'Polls [status lists](status-lists.md): `max_age_ms`, `on_stale`',
  ),
  approvalKey: field(
    optionally(textOf(text, { minLength: 1 })),
    'With `proxy`: the file of the key that signs requests for approval: a private key on P-256 in PEM. Its `kid` is its RFC 7638 thumbprint. A relative path begins at the folder of this file',
    { isForProxy: true, required: 'with an `approval`' },
  ),
  metricsPort: field(optionally(port), 'A second port, with `/metrics` for Prometheus and `/healthz`', {
    isFixed: true,
  }),
};

export const FILE = section(FIELDS);

interface Configuration extends Omit<ReturnType<typeof FILE.read>, 'approvalKey'> {
  /** Signs the requests for approval. Given if any route or tool needs an approval. */
  readonly approvalKey: ApprovalKey | undefined;
  /** Given if any route or tool has a schema. */
  readonly compileSchema?: CompileSchema | undefined;
}

interface DecideConfiguration extends Configuration {
  readonly mode: 'decide';
}

export interface ProxyConfiguration extends Configuration {
  readonly mode: 'proxy';
  readonly upstream: string;
}

export type GuardConfiguration = DecideConfiguration | ProxyConfiguration;

/**
 * @param mapping the document of a file without faults
 * @param approvalKey the key that `approval_key` names
 * @param compileSchema compiles the schemas of the file
 */
export function readConfiguration(
  { fields }: PlacedMapping,
  approvalKey?: ApprovalKey,
  compileSchema?: CompileSchema,
): GuardConfiguration {
  const written = Object.fromEntries([...fields].map(([name, { value }]) => [name, value]));
  // `guardFileFaults` requires the upstream of the mode proxy.
  return { ...FILE.read(written), approvalKey, ...(compileSchema && { compileSchema }) } as GuardConfiguration;
}

/** The names of the fields that differ, and cannot change while the guard runs. */
export function fixedChanges(used: GuardConfiguration, next: GuardConfiguration): readonly string[] {
  const fixed = Object.entries<Field<unknown>>(FIELDS).filter(([, { isFixed }]) => isFixed);
  const members = fixed.map(([member]) => member as keyof GuardConfiguration);
  return members.filter((member) => !isDeepStrictEqual(used[member], next[member])).map(fieldOf);
}
