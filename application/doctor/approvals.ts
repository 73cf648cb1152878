/** What `mandate doctor` finds about the tool servers that may ask for approvals. */

import type { Reach } from '../ports/network.ts';
import { type Examination, failed, ok } from './examine.ts';

/** The keys of a tool server, as they were fetched now. */
interface FetchedToolServerKeys {
  readonly audience: string;
  /** A sentence: fixed text with at most the error code of the server; `undefined` if a key can be used. */
  readonly problem: string | undefined;
}

/** More than this is cut: an audience may have 2,048 characters. */
const MAX_NAMED = 3;

/** @param fetchKeys fetches the keys of each tool server with a `JwksUri` @param inline how many have `Jwks` */
export function approvalKeysExamination(
  fetchKeys: () => Promise<readonly FetchedToolServerKeys[]>,
  inline: number,
): Examination {
  return {
    check: 'approval keys',
    async examine() {
      const fetched = await fetchKeys();
      const wrong = fetched.filter(({ problem }) => problem !== undefined);
      if (wrong.length === 0) {
        return ok(`Tool servers that may ask for approvals, with usable keys: ${fetched.length + inline}.`);
      }
      const named = wrong.slice(0, MAX_NAMED).map(({ audience, problem }) => `${audience}: ${problem}`);
      const more = wrong.length > MAX_NAMED ? [`Also ${wrong.length - MAX_NAMED} more.`] : [];
      return failed(
        ['These tool servers cannot ask for approvals.', ...named, ...more].join(' '),
        'See that each JwksUri of Service:Approvals:Resources answers from here with an EC key on P-256.',
      );
    },
  };
}

/** @param url `Service:Approvals:Notify:Url` @param limitMs the time limit for connecting */
export function noticesExamination(url: string, reach: Reach, limitMs: number): Examination {
  return {
    check: 'approval notices',
    async examine() {
      const problem = await reach(url, limitMs);
      if (problem === undefined) return ok('A connection to the receiver of notices was made; nothing was sent.');
      return failed(
        `The receiver of notices cannot be connected to. ${problem}`,
        'See that it runs and is reachable from here. Until then, people see what waits for them only on their page.',
      );
    },
  };
}
