/** The options of `mcpProtection`, their defaults and checks. */

import {
  type Checks,
  callable,
  checkArguments,
  listOf,
  oneOf,
  optional,
  optionsOf,
  recordOf,
  text,
  wholeNumber,
  withoutAbsent,
} from '../../arguments.ts';
import { LIST_MODES, type ListMode } from '../core/allowed-list.ts';
import { DEFAULT_MAX_HELD_BODIES, MAX_HELD_BODIES } from '../core/held-bodies.ts';
import { APPROVAL, checkApprovalKey } from '../core/http-approval.ts';
import { toolServerMade } from '../core/options.ts';
import { POLICY, type RoutePolicy } from '../core/policy.ts';
import { MAX_BODY_BYTES } from '../core/read-body.ts';
import type { McpToolPolicy } from '../core/tool-policies.ts';
import type { ToolServer } from '../core/tool-server.ts';

export interface McpProtectionOptions {
  /** Policies by tool name. A tool without a policy is refused as `unknown_tool`. */
  readonly tools: Readonly<Record<string, McpToolPolicy>>;
  /** Policies of other methods, for example `resources/read`. Most methods without a policy are refused. */
  readonly methods?: Readonly<Record<string, RoutePolicy>>;
  /** The names of all tools of the server. The start warns of those without a policy. */
  readonly toolNames?: readonly string[];
  /** The longest body that the guard reads if no body parser precedes it. The default is 1048576. */
  readonly maxBodyBytes?: number;
  /** How many such bodies the guard holds at a time, until the SDK gets them. The default is 100. */
  readonly maxHeldBodies?: number;
  /** The time limit of `authorize` in a tool's policy, in milliseconds. The default is 5000. */
  readonly authorizeTimeoutMs?: number;
  /**
   * With `allowed`, lists name only what the token may use. The handler of the server is then one that `allowedLists` returns. The
   * default is `all`.
   */
  readonly list?: ListMode;
}

/** A call waits for `authorize`, and clients time out after a minute. */
const DEFAULT_AUTHORIZE_TIMEOUT_MS = 5000;
const MAX_AUTHORIZE_TIMEOUT_MS = 60_000;

const TOOL: Checks<McpToolPolicy> = { ...POLICY, authorize: optional(callable), approval: APPROVAL };

const OPTIONS = optionsOf({
  tools: recordOf(optionsOf(TOOL)),
  methods: optional(recordOf(optionsOf(POLICY))),
  toolNames: optional(listOf(text)),
  maxBodyBytes: optional(wholeNumber(1, Number.MAX_SAFE_INTEGER, 'of 1 or more')),
  maxHeldBodies: optional(wholeNumber(1, MAX_HELD_BODIES)),
  authorizeTimeoutMs: optional(wholeNumber(1, MAX_AUTHORIZE_TIMEOUT_MS)),
  list: optional(oneOf(LIST_MODES)),
} satisfies Checks<McpProtectionOptions>);

/** The checked options with their defaults. @throws TypeError that lists every wrong argument of `mcpProtection` */
export function checkMcpOptions(toolServer: ToolServer, given: McpProtectionOptions): Required<McpProtectionOptions> {
  checkArguments('mcpProtection', given, (options, name) => [
    ...toolServerMade(toolServer, 'toolServer'),
    ...OPTIONS(options, name),
  ]);
  for (const [name, { approval }] of Object.entries(given.tools)) {
    checkApprovalKey(`mcpProtection: tools.${name}`, toolServer, approval);
  }
  return {
    methods: {},
    toolNames: [],
    maxBodyBytes: MAX_BODY_BYTES,
    maxHeldBodies: DEFAULT_MAX_HELD_BODIES,
    authorizeTimeoutMs: DEFAULT_AUTHORIZE_TIMEOUT_MS,
    list: LIST_MODES[0],
    ...withoutAbsent(given),
  };
}
