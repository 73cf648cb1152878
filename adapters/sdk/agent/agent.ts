/** The exports of `mandate/agent`: an agent starts tasks for people, and each task renews its own token. */

export type { AgentKey, AssertionAlgorithm, KeySigner } from './agent-key.ts';
export { type Agent, createAgent, type StartTask } from './create-agent.ts';
export { NotNow, Refused, type TaskEnd, TaskOver, type Unacceptable } from './errors.ts';
export type { AgentClock, AgentOptions } from './options.ts';
export type { Task } from './task.ts';
