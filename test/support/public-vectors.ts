/** Public test vectors in `../shared/vectors/public`, outside this checkout. Without them their suites are skipped. */

import { existsSync, readFileSync } from 'node:fs';

const FOLDER = new URL('../../../shared/vectors/public/', import.meta.url);

/** Reads a file of the folder. Returns `undefined` if it does not exist. */
function publicVectors<Content>(name: string): Content | undefined {
  const file = new URL(name, FOLDER);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Content) : undefined;
}

/** Declares a suite about this file of vectors, or one skipped test if the file does not exist. */
export function describeVectors<Content>(title: string, name: string, suite: (content: Content) => void): void {
  const content = publicVectors<Content>(name);
  describe(title, () => {
    if (content !== undefined) {
      suite(content);
      return;
    }
    it(`is skipped: the public vectors (${name}) are not beside this checkout`, function () {
      this.skip();
    });
  });
}
