/** Paths in the guard's file to a value of a call, as `$.items[0]`: a JSONPath that names one value (RFC 9535 §2.3). */

export type ArgumentPath = readonly (string | number)[];

/** A name other than of letters, digits and `_` stands in brackets and quotes. */
const STEP = /\.([A-Za-z_]\w*)|\[(0|[1-9]\d{0,8})\]|\['([^'\\]+)'\]|\["([^"\\]+)"\]/g;
const PATH = new RegExp(`^\\$(?:${STEP.source})*$`);

/** @returns `undefined` if the text is no such path */
export function readArgumentPath(text: string): ArgumentPath | undefined {
  if (!PATH.test(text)) return undefined;
  return [...text.matchAll(STEP)].map(([, name, index, ...quoted]) =>
    index === undefined ? (name ?? quoted.find((each) => each !== undefined) ?? '') : Number(index),
  );
}

/** @returns `undefined` if the value has nothing there */
export function valueAt(value: unknown, path: ArgumentPath): unknown {
  return path.reduce<unknown>((found, step) => {
    if (typeof found !== 'object' || found === null) return undefined;
    const isThere = Array.isArray(found) === (typeof step === 'number') && Object.hasOwn(found, step);
    return isThere ? Reflect.get(found, step) : undefined;
  }, value);
}
