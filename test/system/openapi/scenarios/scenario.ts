/** A scenario, and what several of them need. */

import type { Answer } from '../../../support/mandate.ts';
import type { Changes } from '../../../support/openapi/send-example.ts';
import type { World } from '../world.ts';

export interface Scenario {
  readonly changes?: Changes;
  /** The address to which the request is sent, by default that of `mandate`. */
  readonly url?: string;
  /** Keeps a part of the answer for later scenarios, or restores the state. */
  followUp?(answer: Answer): unknown;
}

export type Arrange = (world: World) => Scenario | Promise<Scenario>;

export const sent = (changes: Changes): Scenario => ({ changes });
export const nothing: Arrange = () => ({});
export const withBody = (body: Changes['body'] & object, request?: string): Scenario =>
  sent(request === undefined ? { body } : { body, request });

/** The scenarios of some operations, in their order. */
export type Scenarios = Readonly<Record<string, Arrange>>;

export async function issued({ agent }: World, instance?: string): Promise<Readonly<Record<string, string>>> {
  const answer = await agent.exchange(instance === undefined ? {} : { actor_token: agent.assertion({ instance }) });
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.body as Record<string, string>;
}

export type StartedTask = Awaited<ReturnType<typeof issued>>;

/** Ends the tasks of the person and starts a new one. */
export async function freshTask(world: World, sponsor: string): Promise<void> {
  await world.mandate.admin('DELETE', `/admin/sponsors/${sponsor}/tasks`);
  await issued(world);
}

export const unknown = { path: { agent_id: 'nobody' } };
