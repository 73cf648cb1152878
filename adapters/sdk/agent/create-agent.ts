/** An agent: who it is, and the tasks that it starts for people. */

import { audienceProblem } from '../../../domain/agents/address.ts';
import { assertionSigner } from './agent-key.ts';
import { controlPlane } from './control-plane.ts';
import { type AgentOptions, checkAgentOptions } from './options.ts';
import { retryWithBackoff } from './retry-with-backoff.ts';
import { renewingTask, type Task } from './task.ts';

export interface StartTask {
  /** The person's access token, from the identity provider. It is sent to the control plane, and not kept. */
  readonly subjectToken: string;
  /** The audience of the task's token: an absolute URL, letter by letter as it is registered. */
  readonly resource: string;
  /** At least one. */
  readonly scope: readonly string[];
  /** Where the task's `fetch` may send the token; the origin of `resource` when absent. */
  readonly origins?: readonly string[];
}

export interface Agent {
  /**
   * Starts a task for the person whose token this is. While the control plane says "not now" it asks again: an answer
   * that was lost on its way leaves a task behind that nobody uses, and that ends by itself.
   *
   * @throws Refused: the answer is no, `error` and `reason` say why; NotNow, when patience is at its end
   */
  startTask(request: StartTask): Promise<Task>;
}

/** @throws TypeError that says what is wrong with the options, and nothing of the key */
export function createAgent(given: AgentOptions): Agent {
  const options = checkAgentOptions(given);
  const plane = controlPlane(options, assertionSigner(given.key));
  return {
    async startTask({ subjectToken, resource, scope, origins }) {
      const problem = audienceProblem(resource);
      if (problem !== undefined) throw new TypeError(`resource ${problem}.`);
      if (scope.length === 0) throw new TypeError('scope must name at least one scope.');
      // Before there is a task that nobody would end.
      const sentTo = (origins ?? [resource]).map(originOf);
      const issued = await retryWithBackoff(options, () => plane.exchange({ subjectToken, resource, scope }));
      return renewingTask(options, plane, { resource, origins: sentTo }, issued);
    },
  };
}

/** Of other schemes the origin is `null`, which is the same for all of them. */
function originOf(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw new TypeError('origins must be http or https URLs.');
  return url.origin;
}
