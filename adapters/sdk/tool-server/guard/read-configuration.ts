/** The guard's file as its code uses it: with typed members and every default. */

import type { PlacedMapping } from '../../../../domain/placed-mapping.ts';
import type { ApprovalKey } from '../core/approval-key.ts';
import type { StatusListOptions } from '../core/options.ts';
import type { RoutePolicy } from '../core/policy.ts';
import { type ArgumentPath, readArgumentPath } from './argument-path.ts';
import { DEFAULT_LISTEN } from './configuration.ts';
import { type RouteMatch, readRouteMatch } from './route-match.ts';

/** The members have the names of the file's fields. */
export type GuardConfiguration = DecideConfiguration | ProxyConfiguration;

export interface DecideConfiguration extends CommonConfiguration {
  readonly mode: 'decide';
}

export interface ProxyConfiguration extends CommonConfiguration {
  readonly mode: 'proxy';
  /** An origin: https, or http on loopback. */
  readonly upstream: string;
  /** The time until the head of the upstream's answer. */
  readonly upstreamTimeoutMs: number;
  /** How many bodies the guard holds at a time. */
  readonly maxHeldBodies: number;
  readonly mcp: McpConfiguration | undefined;
  /** Names in lower case in which a gateway in front tells who has signed in. All others are dropped. */
  readonly passHeaders: ReadonlySet<string>;
  /** Signs the requests for approval. Given if any route or tool needs an approval. */
  readonly approvalKey: ApprovalKey | undefined;
}

interface CommonConfiguration {
  readonly issuer: string;
  readonly audience: string;
  readonly listen: ListenAddress;
  readonly routes: readonly GuardRoute[];
  /** Requests that need no token. */
  readonly open: readonly RouteMatch[];
  /** `undefined` polls no status list. */
  readonly statusList: StatusListOptions | undefined;
  readonly metricsPort: number | undefined;
}

export interface ListenAddress {
  /** An IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
}

export interface GuardPolicy extends RoutePolicy {
  readonly approval?: Approval;
}

export interface GuardRoute extends GuardPolicy {
  readonly match: RouteMatch;
}

export interface McpConfiguration {
  readonly path: string;
  readonly tools: Readonly<Record<string, GuardPolicy>>;
  readonly methods: Readonly<Record<string, RoutePolicy>>;
}

export interface Approval {
  readonly title: string;
  readonly lines: readonly {
    readonly label: string;
    /** In the body, or in the arguments of a tool. */
    readonly path: ArgumentPath;
  }[];
}

const DEFAULT_UPSTREAM_TIMEOUT_MS = 60_000;
const DEFAULT_MAX_HELD_BODIES = 100;

/** The fields as written. `guardFileFaults` has checked their types, and which of them the mode needs. */
interface WrittenFile {
  readonly issuer: string;
  readonly audience: string;
  readonly listen?: string;
  readonly mode: 'decide' | 'proxy';
  readonly upstream: string;
  readonly upstream_timeout_ms?: number;
  readonly max_held_bodies?: number;
  readonly routes?: readonly FileRoute[];
  readonly mcp?: {
    readonly path: string;
    readonly tools: Readonly<Record<string, FilePolicy>>;
    readonly methods?: Readonly<Record<string, FilePolicy>>;
  };
  readonly open?: readonly string[];
  readonly pass_headers?: readonly string[];
  readonly status_list?: { readonly max_age_ms?: number; readonly on_stale?: 'introspect' | 'refuse' };
  readonly approval_key?: string;
  readonly metrics_port?: number;
}

interface FilePolicy {
  readonly scope: readonly string[];
  readonly high_risk?: boolean;
  readonly require_actor?: boolean;
  readonly max_delegation_depth?: number;
  readonly approval?: { readonly title: string; readonly lines?: Readonly<Record<string, string>> };
}

interface FileRoute extends FilePolicy {
  readonly match: string;
}

/**
 * @param mapping the document of a file without faults
 * @param approvalKey the key that `approval_key` names
 */
export function readConfiguration({ fields }: PlacedMapping, approvalKey?: ApprovalKey): GuardConfiguration {
  const file = Object.fromEntries([...fields].map(([name, { value }]) => [name, value])) as unknown as WrittenFile;
  const { issuer, audience, routes = [], open = [], status_list: list } = file;
  const common: CommonConfiguration = {
    issuer,
    audience,
    listen: addressOf(file.listen ?? DEFAULT_LISTEN),
    routes: routes.map((route) => ({ match: matchOf(route.match), ...policyOf(route) })),
    open: open.map(matchOf),
    statusList: list && {
      ...(list.max_age_ms !== undefined && { maxAgeMs: list.max_age_ms }),
      ...(list.on_stale !== undefined && { onStale: list.on_stale }),
    },
    metricsPort: file.metrics_port,
  };
  if (file.mode === 'decide') return { ...common, mode: file.mode };
  const { upstream, mcp } = file;
  return {
    ...common,
    mode: file.mode,
    upstream: new URL(upstream).origin,
    upstreamTimeoutMs: file.upstream_timeout_ms ?? DEFAULT_UPSTREAM_TIMEOUT_MS,
    maxHeldBodies: file.max_held_bodies ?? DEFAULT_MAX_HELD_BODIES,
    mcp: mcp && { path: mcp.path, tools: policiesOf(mcp.tools), methods: policiesOf(mcp.methods ?? {}) },
    passHeaders: new Set(file.pass_headers?.map((name) => name.toLowerCase())),
    approvalKey,
  };
}

function policiesOf(written: Readonly<Record<string, FilePolicy>>): Readonly<Record<string, GuardPolicy>> {
  return Object.fromEntries(Object.entries(written).map(([name, policy]) => [name, policyOf(policy)]));
}

function policyOf({
  scope,
  high_risk: highRisk,
  require_actor: requireActor,
  max_delegation_depth: maxDelegationDepth,
  approval,
}: FilePolicy): GuardPolicy {
  return {
    scope,
    ...(highRisk !== undefined && { highRisk }),
    ...(requireActor !== undefined && { requireActor }),
    ...(maxDelegationDepth !== undefined && { maxDelegationDepth }),
    ...(approval !== undefined && { approval: approvalOf(approval) }),
  };
}

function approvalOf({ title, lines = {} }: NonNullable<FilePolicy['approval']>): Approval {
  return { title, lines: Object.entries(lines).map(([label, path]) => ({ label, path: pathOf(path) })) };
}

function pathOf(written: string): ArgumentPath {
  return checked(readArgumentPath(written));
}

function matchOf(pattern: string): RouteMatch {
  return checked(readRouteMatch(pattern));
}

/** @throws Error for a text that `guardFileFaults` would have refused */
function checked<Read>(read: Read | undefined): Read {
  if (read === undefined) throw new Error('The guard read a file with a fault.');
  return read;
}

function addressOf(listen: string): ListenAddress {
  const end = listen.lastIndexOf(':');
  return { host: listen.slice(0, end).replaceAll(/[[\]]/g, ''), port: Number(listen.slice(end + 1)) };
}
