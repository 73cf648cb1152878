/** Public test vectors in `../shared/vectors/public`, outside this checkout. Without them their suites are skipped. */

import { existsSync, readFileSync } from 'node:fs';
import { byLength } from './length.ts';

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

/** The JWS vectors of Wycheproof. */
interface JwsVectors {
  readonly testGroups: readonly { readonly tests: readonly { readonly tcId: number; readonly jws: string }[] }[];
}

/** Declares a suite about every JWS of Wycheproof that is not empty, each with the id of its case. */
export function describeForeignJws(
  suite: (vectors: readonly { readonly tcId: number; readonly jws: string }[]) => void,
) {
  describeVectors<JwsVectors>('Wycheproof JWS vectors', 'wycheproof_json_web_signature_test.json', ({ testGroups }) =>
    suite(testGroups.flatMap(({ tests }) => tests).filter(({ jws }) => jws !== '')),
  );
}

/** Requests at once: enough to keep the service busy, and few enough sockets. */
const CONCURRENCY = 24;

/** Tries every vector at full length, otherwise every thirtieth, several at once. */
export async function tryEach<Vector>(
  vectors: readonly Vector[],
  attempt: (vector: Vector) => Promise<void>,
): Promise<void> {
  const step = byLength({ short: 30, full: 1 });
  const tried = vectors.filter((_, index) => index % step === 0);
  for (let at = 0; at < tried.length; at += CONCURRENCY) {
    await Promise.all(tried.slice(at, at + CONCURRENCY).map(attempt));
  }
}
