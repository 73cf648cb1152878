/** Whether two JSON values are the same, for `const` and `enum`. */

import { isJsonObject, type Json, member } from '../../../../domain/tokens/strict-json.ts';

export function isSameValue(one: Json, other: Json): boolean {
  if (Array.isArray(one)) {
    return Array.isArray(other) && one.length === other.length && one.every((item, at) => isSameValue(item, other[at]));
  }
  if (!isJsonObject(one)) return one === other;
  const names = Object.keys(one);
  return (
    isJsonObject(other) &&
    names.length === Object.keys(other).length &&
    names.every((name) => {
      const value = member(other, name);
      return value !== undefined && isSameValue(member(one, name) ?? null, value);
    })
  );
}
