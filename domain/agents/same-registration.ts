/** Whether two registrations are equal (decisions "Agents": `agent.updated` with `no_change`). */

import type { Registration } from './agent.ts';

export function isSameRegistration(one: Registration, other: Registration): boolean {
  const fields = Object.keys(one) as readonly (keyof Registration)[];
  return fields.every((field) => isSame(one[field], other[field]));
}

/** Lists compare in order. Objects compare in any order: a database may return their members in another one. */
function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (!isStructure(one) || !isStructure(other) || Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isSame(one[name], other[name]))
  );
}

function isStructure(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
