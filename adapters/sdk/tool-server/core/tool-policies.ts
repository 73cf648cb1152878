/** Finds the policy for an MCP message: that of its tool or method, one for any valid token, or a refusal. */

import type { Objection } from './access-request.ts';
import type { DescribeCall, DescribeSentCall, McpCall } from './approval-text.ts';
import { type AuthorizeArguments, argumentCheck } from './argument-check.ts';
import type { TaskTokenClaims } from './claims.ts';
import { type ToolApproval, toolApproval } from './mcp-approval.ts';
import type { CalledTool, McpMessage } from './mcp-message.ts';
import { actorFault, type EnforcedPolicy, missingScopes, type RoutePolicy } from './policy.ts';
import type { AccessRequest, ToolServer } from './tool-server.ts';

export interface McpToolPolicy extends RoutePolicy {
  /** Decides about the arguments of a call that token and scope allow. By default all arguments are allowed. */
  readonly authorize?: AuthorizeArguments;
  /** Describes each call of the tool to the person, who has to approve it. */
  readonly approval?: DescribeCall<McpCall>;
}

/** The guard's: its description gets the call as it was sent, and `objection` refuses a call before its task is looked up. */
interface SentToolPolicy extends Omit<McpToolPolicy, 'approval'> {
  readonly approval?: DescribeSentCall<McpCall>;
  /** The names of arguments that answers may repeat. By default they repeat ordinary names. */
  readonly known?: ReadonlySet<string>;
  readonly objection?: (called: CalledTool, claims: TaskTokenClaims) => Objection;
}

/** A message, or the HTTP method of a request other than POST, for example the GET of the server's stream. */
export type Asked = McpMessage | { readonly kind: 'stream'; readonly method: string };

export interface ToolPolicies {
  readonly all: readonly EnforcedPolicy[];
  /** Whether a person has to approve the calls of some tool. */
  readonly askForApproval: boolean;
  hasTool(name: string): boolean;
  find(asked: Asked): Needed;
  mayUse(claims: TaskTokenClaims): MayUse;
}

/** The tools and methods that have a policy, and one that the claims of a token satisfy. */
export interface MayUse {
  tool(name: string): boolean;
  method(name: string): boolean;
}

/** The route's name for events, the policy, and the checks of the arguments and the approval if the tool has them. */
export interface Needed extends Pick<AccessRequest, 'route' | 'policy' | 'lastCheck' | 'objection'> {
  readonly approval?: ToolApproval;
}

/**
 * Methods that every valid token may use: they reveal only what a client needs to call a tool. All others need a policy.
 * They may read data (resources, prompts, completions), or start work (notifications outside the protocol).
 */
const OPEN: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'server/discover',
  'tools/list',
  'prompts/list',
  'logging/setLevel',
  'subscriptions/listen',
  'notifications/initialized',
  'notifications/cancelled',
  'notifications/progress',
  'notifications/roots/list_changed',
  'notifications/tasks/status',
]);

/** A name without a policy appears in events only in this form, which the protocol requires. Tokens are longer. */
const NAME = /^[\w./-]{1,128}$/;

/** @throws TypeError for a policy that is invalid or has no scope, and if there is no policy at all */
export function toolPolicies(
  toolServer: ToolServer,
  {
    tools,
    methods,
    authorizeTimeoutMs,
  }: {
    readonly tools: Readonly<Record<string, SentToolPolicy>>;
    readonly methods: Readonly<Record<string, RoutePolicy>>;
    readonly authorizeTimeoutMs: number;
  },
): ToolPolicies {
  const enforced = (given: Readonly<Record<string, RoutePolicy>>) =>
    new Map(Object.entries(given).map(([name, policy]) => [name, toolServer.policy(policy)]));
  const checks = new Map<string, AuthorizeArguments>();
  const descriptions = new Map<string, DescribeSentCall<McpCall>>();
  const objections = new Map<string, NonNullable<SentToolPolicy['objection']>>();
  const scopes = Object.entries(tools).map(([name, { authorize, approval, known: _, objection, ...policy }]) => {
    if (objection !== undefined) objections.set(name, objection);
    if (authorize !== undefined) checks.set(name, authorize);
    if (approval !== undefined) descriptions.set(name, approval);
    return [name, policy] as const;
  });
  const [ofTools, ofMethods] = [enforced(Object.fromEntries(scopes)), enforced(methods)];
  const all = [...ofTools.values(), ...ofMethods.values()];
  if (all.length === 0) throw new TypeError('mcpProtection: no tool has a policy, so that none can be called.');
  if (ofMethods.has('tools/call')) throw new TypeError('mcpProtection: the policies of tools are in tools, by name.');

  // Every token that may call some tool must pass the handshake, so the loosest limits of all policies apply.
  const around = toolServer.policyForAnyScope({
    requireActor: all.every((policy) => policy.requireActor),
    maxDelegationDepth: Math.max(...all.map((policy) => policy.maxDelegationDepth)),
  });

  return {
    all,
    askForApproval: descriptions.size > 0,
    hasTool: (name) => ofTools.has(name),
    mayUse(claims) {
      const allows = (policy: EnforcedPolicy | undefined) =>
        policy !== undefined && actorFault(policy, claims) === undefined && missingScopes(policy, claims).length === 0;
      return { tool: (name) => allows(ofTools.get(name)), method: (name) => allows(ofMethods.get(name)) };
    },
    find(asked) {
      switch (asked.kind) {
        case 'tool': {
          const authorize = checks.get(asked.name);
          const lastCheck = authorize && argumentCheck(authorize, asked, authorizeTimeoutMs);
          const describe = descriptions.get(asked.name);
          const approval = describe && toolApproval(toolServer, describe, asked, tools[asked.name]?.known);
          const object = objections.get(asked.name);
          const objection = object && ((claims: TaskTokenClaims) => object(asked, claims));
          return {
            ...decided(asked.name, ofTools.get(asked.name)),
            ...(objection && { objection }),
            ...(lastCheck && { lastCheck }),
            ...(approval && { approval }),
          };
        }
        case 'method': {
          const open = OPEN.has(asked.name) ? around : undefined;
          return decided(asked.name, ofMethods.get(asked.name) ?? open, PROTOCOL);
        }
        case 'response':
          return { route: `${PROTOCOL}response`, policy: around };
        case 'stream':
          return { route: `${PROTOCOL}${asked.method}`, policy: around };
      }
    },
  };
}

/** Precedes the name of every method but `tools/call` in events. A tool's name has no space. */
const PROTOCOL = 'MCP ';

function decided(name: string, policy: EnforcedPolicy | undefined, prefix = ''): Needed {
  const isNamed = policy !== undefined || NAME.test(name);
  return { route: isNamed ? `${prefix}${name}` : null, policy: policy ?? 'unknown_tool' };
}
