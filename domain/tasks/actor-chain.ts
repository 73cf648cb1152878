/**
 * The `act` claim of a task token: the acting agent, and the agents that delegated to it (RFC 8693 §4.1; specification
 * "Task token claims", nested shape). The outermost actor is the caller.
 */

import { type AgentId, agentSubject, MAX_INSTANCE_LENGTH, parseAgentSubject } from '../identifiers.ts';
import { isJsonObject, type Json, type JsonObject, member } from '../tokens/strict-json.ts';
import type { Task } from './task.ts';

export interface Actor {
  /** `agent:<agent_id>`. */
  readonly sub: string;
  /** The agent's own claim about its instance; not verified. */
  readonly instance?: string;
  /** Length of the chain from this actor inwards; 1 for the innermost. */
  readonly depth: number;
  /** The previous actor, which delegated to this one. */
  readonly act?: Actor;
}

/** The `act` claim of a task's tokens. @param instance of the acting agent; the task has those of the agents that delegated it */
export function actorChain(
  { agentId, delegatedBy }: Pick<Task, 'agentId' | 'delegatedBy'>,
  instance: string | undefined,
): JsonObject {
  const levels: readonly { readonly agentId: AgentId; readonly instance: string | undefined }[] = [
    { agentId, instance },
    ...delegatedBy,
  ];
  return levels.reduceRight<JsonObject | undefined>(
    (act, level, index) => ({
      sub: agentSubject(level.agentId),
      ...(level.instance === undefined ? {} : { instance: level.instance }),
      depth: levels.length - index,
      ...(act === undefined ? {} : { act }),
    }),
    undefined,
  ) as JsonObject;
}

/** `undefined` if a level is malformed or the depths do not count down by one to 1. */
export function readActorChain(value: Json | undefined): Actor | undefined {
  const levels: Actor[] = [];
  // The strict JSON reader limits the nesting.
  for (let next = value; next !== undefined; next = isJsonObject(next) ? member(next, 'act') : undefined) {
    const actor = readActor(next);
    if (actor === undefined) return undefined;
    levels.push(actor);
  }
  const descending = levels.every(({ depth }, index) => depth === levels.length - index);
  return descending ? levels.reduceRight<Actor | undefined>(nested, undefined) : undefined;
}

function nested(inner: Actor | undefined, outer: Actor): Actor {
  return inner === undefined ? outer : { ...outer, act: inner };
}

/** One level, without its nested `act`. */
function readActor(value: Json): Actor | undefined {
  if (!isJsonObject(value)) return undefined;
  const sub = member(value, 'sub');
  const depth = member(value, 'depth');
  const instance = member(value, 'instance');
  if (typeof sub !== 'string' || parseAgentSubject(sub) === undefined || typeof depth !== 'number') return undefined;
  if (instance === undefined) return { sub, depth };
  return isInstance(instance) ? { sub, instance, depth } : undefined;
}

function isInstance(value: Json): value is string {
  return typeof value === 'string' && value.trim() !== '' && value.length <= MAX_INSTANCE_LENGTH;
}
