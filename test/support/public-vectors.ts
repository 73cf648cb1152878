/**
 * Public test vectors that lie beside the checkout, in `../shared/vectors/public`. They are not part of the product: a
 * suite that uses them says so and is skipped where they are absent.
 */

import { existsSync, readFileSync } from 'node:fs';
import { byLengthOf } from './length.ts';

const FOLDER = new URL('../../../shared/vectors/public/', import.meta.url);

/** Reads a file of the folder; `undefined` when it is not there. */
function publicVectors<Content>(name: string): Content | undefined {
  const file = new URL(name, FOLDER);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Content) : undefined;
}

/** Declares a suite over such a file, or one skipped test that says why there is none. */
export function describeVectors<Content>(title: string, name: string, suite: (content: Content) => void): void {
  const content = publicVectors<Content>(name);
  describe(title, () => {
    if (content !== undefined) {
      suite(content);
      return;
    }
    it(`is not tried: the public vectors (${name}) are not beside this checkout`, function () {
      this.skip();
    });
  });
}

/** As many requests at once as keep the service busy, and not so many that they wait for a socket. */
const AT_A_TIME = 24;

/** Tries every vector at full length, every tenth otherwise; several at once. */
export async function atATime<Vector>(
  vectors: readonly Vector[],
  attempt: (vector: Vector) => Promise<void>,
): Promise<void> {
  const tried = byLengthOf(vectors);
  for (let at = 0; at < tried.length; at += AT_A_TIME) {
    await Promise.all(tried.slice(at, at + AT_A_TIME).map(attempt));
  }
}
