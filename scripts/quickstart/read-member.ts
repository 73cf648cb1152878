/** @returns `undefined` if the value is not an object, or has no such member */
export function readMember(value: unknown, member: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).find(([name]) => name === member)?.[1]
    : undefined;
}
