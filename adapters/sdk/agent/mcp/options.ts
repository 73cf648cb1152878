/** The options of `mcpAuthorization`, and their checks. */

import { type Checks, checkArguments, must, optional, optionsOf } from '../../arguments.ts';
import type { Agent } from '../agent.ts';
import { isAgent } from '../agent-parts.ts';
import { agentScopes, audience, isAccessToken, originList, purposeText } from '../options.ts';

export interface McpAuthorizationOptions {
  readonly agent: Agent;
  /** The person's access token, or a function that returns it. It is sent to the control plane only. */
  readonly subjectToken: string | (() => string | Promise<string>);
  /**
   * The audience of the tokens. The default is the resource in the server's metadata, if the server's address lies within
   * it.
   */
  readonly resource?: string;
  /** The origins at which the server of `resource` is reached. The default is the origin of the resource. */
  readonly origins?: readonly string[];
  /** The scopes to begin with. The default is those that the server asks for, else all in its metadata. */
  readonly scope?: readonly string[];
  /** Why the agent acts for the person: at most 300 characters. The control plane may require it, or ignore it. */
  readonly purpose?: string;
}

export interface CheckedMcpOptions extends Pick<McpAuthorizationOptions, 'subjectToken'> {
  readonly resource: string | undefined;
  readonly origins: readonly string[] | undefined;
  readonly scope: readonly string[] | undefined;
  readonly purpose: string | undefined;
}

const CHECKS: Checks<McpAuthorizationOptions> = {
  agent: must('be made by createAgent', isAgent),
  subjectToken: (value, name) =>
    typeof value === 'function' || isAccessToken(value)
      ? []
      : [`${name} must be an access token (a text without spaces), or a function that returns one`],
  resource: optional(audience),
  origins: optional(originList),
  scope: optional(agentScopes),
  purpose: optional(purposeText),
};

/** @throws TypeError that lists every wrong option */
export function checkMcpOptions(given: McpAuthorizationOptions): CheckedMcpOptions {
  checkArguments('mcpAuthorization', given, (value, name) => {
    const needsResource = given?.origins !== undefined && given.resource === undefined;
    const problems = optionsOf(CHECKS)(value, name);
    return needsResource ? [...problems, 'resource must be given with origins'] : problems;
  });
  const { subjectToken, resource, scope, purpose, origins } = given;
  return { subjectToken, resource, scope, purpose, origins: origins?.map((address) => new URL(address).origin) };
}
