/** @returns `undefined` for what is no object, or has no such member */
export function readMember(value: unknown, member: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).find(([name]) => name === member)?.[1]
    : undefined;
}
