/** What each message of the protocol needs: the policy of its tool or method, any good token, or nothing that helps. */

import type { AccessRequest, ToolServer } from '../core/create-tool-server.ts';
import type { EnforcedPolicy, RoutePolicy } from '../core/policy.ts';
import type { McpMessage } from './message.ts';

/** A message, or a request for the stream that messages of the server come over, by its HTTP method. */
export type Asked = McpMessage | { readonly kind: 'stream'; readonly method: string };

export interface ToolPolicies {
  readonly all: readonly EnforcedPolicy[];
  /** What is asked, as events name it, and what it needs. */
  find(asked: Asked): Pick<AccessRequest, 'route' | 'policy'>;
}

/**
 * Methods that give nothing away but what a client needs to call a tool at all. Those that read something (resources,
 * prompts, completions), and notifications that are not the protocol's, are as good as tools, and are refused unless
 * they have a policy.
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

/** What a name that has no policy may be to be repeated in an event; the protocol asks the same. No token is that short. */
const NAME = /^[\w./-]{1,128}$/;

/** @throws TypeError on a policy that asks nothing or is none, and where there is no policy at all */
export function toolPolicies(
  toolServer: ToolServer,
  tools: Readonly<Record<string, RoutePolicy>>,
  methods: Readonly<Record<string, RoutePolicy>>,
): ToolPolicies {
  const enforced = (given: Readonly<Record<string, RoutePolicy>>) =>
    new Map(Object.entries(given).map(([name, policy]) => [name, toolServer.policy(policy)]));
  const [ofTools, ofMethods] = [enforced(tools), enforced(methods)];
  const all = [...ofTools.values(), ...ofMethods.values()];
  if (all.length === 0) throw new TypeError('mcpProtection: no tool has a policy, so that none can be called.');
  if (ofMethods.has('tools/call')) throw new TypeError('mcpProtection: the policies of tools are in tools, by name.');

  // Whoever may call one of the tools must be able to get as far as that.
  const around = toolServer.policyForAnyScope({
    requireActor: all.every((policy) => policy.requireActor),
    maxDelegationDepth: Math.max(...all.map((policy) => policy.maxDelegationDepth)),
  });

  return {
    all,
    find(asked) {
      switch (asked.kind) {
        case 'tool':
          return decided(asked.name, ofTools.get(asked.name));
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

/** With a space, which the protocol lets no tool have in its name: `MCP tools/list`. */
const PROTOCOL = 'MCP ';

function decided(name: string, policy: EnforcedPolicy | undefined, prefix = ''): ReturnType<ToolPolicies['find']> {
  const isNamed = policy !== undefined || NAME.test(name);
  return { route: isNamed ? `${prefix}${name}` : null, policy: policy ?? 'unknown_tool' };
}
