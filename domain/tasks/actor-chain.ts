/**
 * The `act` claim of a task token: which agent acts, and by whom it was given the task (RFC 8693 §4.1; specification
 * "Task token claims", nested shape). The outermost actor is the one that calls.
 */

import { AGENT_PREFIX, parseAgentId } from '../identifiers.ts';
import { isJsonObject, type Json, member } from '../tokens/strict-json.ts';

export interface Actor {
  /** `agent:<agent_id>`. */
  readonly sub: string;
  /** What the agent says of itself; nobody verified it. */
  readonly instance?: string;
  /** How many actors the chain has from here inwards; 1 for the innermost. */
  readonly depth: number;
  /** Who acted before, and handed on. */
  readonly act?: Actor;
}

/** Longest `act.instance` (specification "Other limits"). */
export const MAX_INSTANCE_LENGTH = 128;

/** The chain, or `undefined` when any level is malformed or the depths do not go down by one to 1. */
export function readActorChain(value: Json | undefined): Actor | undefined {
  const levels: Actor[] = [];
  // As deep as the reader of JSON lets anything nest.
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

/** One level, without what nests in it. */
function readActor(value: Json): Actor | undefined {
  if (!isJsonObject(value)) return undefined;
  const sub = member(value, 'sub');
  const depth = member(value, 'depth');
  const instance = member(value, 'instance');
  if (typeof sub !== 'string' || !isAgentSubject(sub) || typeof depth !== 'number') return undefined;
  if (instance === undefined) return { sub, depth };
  return isInstance(instance) ? { sub, instance, depth } : undefined;
}

/** Exactly as the control plane writes it, unlike {@link namesAgent}, which is there to find impostors. */
function isAgentSubject(sub: string): boolean {
  return sub.startsWith(AGENT_PREFIX) && parseAgentId(sub.slice(AGENT_PREFIX.length)) !== undefined;
}

function isInstance(value: Json): value is string {
  return typeof value === 'string' && value.trim() !== '' && value.length <= MAX_INSTANCE_LENGTH;
}
