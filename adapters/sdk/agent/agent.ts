/** What `mandate/agent` offers: tasks that a program carries out for a person, with a token that is always fresh. */

export type { AgentKey, AssertionAlgorithm, KeySigner } from './agent-key.ts';
export { type Agent, createAgent, type StartTask } from './create-agent.ts';
export { NotNow, Refused, type TaskEnd, TaskOver, type Unacceptable } from './errors.ts';
export type { AgentClock, AgentOptions } from './options.ts';
export type { Task } from './task.ts';
