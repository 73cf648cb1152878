/** JSON as an auditor sees what is verified: invisible characters, and those that change the direction of writing, are escaped. */

/** Not the line breaks and spaces of the indentation. */
const HIDDEN = /(?!\n)\p{C}|(?! )\p{Z}/gu;

export function visibleJson(value: unknown): string {
  const asEscape = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(value, null, 2).replace(HIDDEN, (sign) => sign.split('').map(asEscape).join(''));
}
