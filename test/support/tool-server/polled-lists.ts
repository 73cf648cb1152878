/** Pollers of status lists on a moved clock, in front of a control plane whose lists a test sets. */

import { controlPlane } from '../../../adapters/sdk/tool-server/core/control-plane.ts';
import { controlPlaneKeys } from '../../../adapters/sdk/tool-server/core/control-plane-keys.ts';
import { noSpan } from '../../../adapters/sdk/tool-server/core/span.ts';
import type { StatusLists } from '../../../adapters/sdk/tool-server/core/status-lists.ts';
import { statusLists } from '../../../adapters/sdk/tool-server/core/status-lists.ts';
import { claimsOf } from '../claims.ts';
import type { Handler } from '../loopback.ts';
import { type FakeControlPlane, planeForEachTest } from './control-plane.ts';
import { type MovedPollClock, movedPollClock } from './poll-clock.ts';
import { LIST_ID, type ListChanges, listUri, sendList, signList, statusMember } from './status-lists.ts';

export const MAX_AGE_MS = 10_000;
export const INTERVAL_MS = MAX_AGE_MS / 2;
export const FIRST_RETRY_MS = INTERVAL_MS / 4;
export const START = 1_900_000_000_000;
export const PATH = `/status/${LIST_ID}`;
export const KEYS = '/.well-known/jwks.json';
export const SKEW = 60;
export const OTHER_LISTS = ['AAAAAAAAAAAAAAAAAAAAAA', 'BBBBBBBBBBBBBBBBBBBBBA'];

/** Index 7 is over in the usual list, all others are valid. */
export const LISTED = { 7: 1 } as const;
export const [VALID, OVER] = [3, 7] as const;
export const DECIDED = ['active', 'not_active'];
export const UNKNOWN = ['unknown', 'unknown'];

export const NO_ANSWER = 'No complete answer came.';
export const NOT_SENT = 'The answer is 304 for an ETag that was not sent.';
export const NOT_NEWER = 'It is not newer than the list before.';
export const OLD = 'Its iat is over 5 times its ttl ago.';

/** What a test may replace. */
interface Polled {
  clock: MovedPollClock;
  lists: StatusLists;
  /** The reports of the pollers. */
  problems: string[];
  plane: FakeControlPlane;
}

export function pollingForEachTest() {
  const polling = {} as Polled;
  const seconds = () => Math.floor(polling.clock.now() / 1000);
  const fixture = planeForEachTest(seconds);
  beforeEach(async () => {
    polling.clock = movedPollClock(START);
    polling.problems = [];
    polling.plane = fixture.plane;
    polling.lists = make();
    await serve();
  });

  function make(timeoutMs = 60_000, maxAgeMs = MAX_AGE_MS): StatusLists {
    const { issuer } = polling.plane;
    const server = controlPlane({ issuer, timeoutMs, fetch, startSpan: noSpan, now: () => Date.now() });
    return statusLists({
      plane: server,
      keys: controlPlaneKeys(server, polling.clock.now),
      maxAgeMs,
      clock: polling.clock,
      options: { issuer, clockSkewSeconds: SKEW, timeoutMs, now: polling.clock.now },
      report: ({ message }) => void polling.problems.push(message),
    });
  }
  const askFor = async (claims: object) => (await polling.lists.statusOf(claimsOf(claims))).kind;
  const ask = (index: number, listId?: string) => askFor({ status: statusMember(polling.plane, index, listId) });
  const asked = () => polling.plane.asked(PATH);
  const both = async () => [await ask(VALID), await ask(OVER)];
  const sentence = (problem: string) => `The status list ${listUri(polling.plane)} is not usable. ${problem}`;

  const list = (changes?: ListChanges) => signList(polling.plane, seconds(), LISTED, changes);
  async function serve(changes?: ListChanges, headers?: Readonly<Record<string, string>>): Promise<void> {
    polling.plane.answerStatus = sendList(await list(changes), headers);
  }
  const raw =
    (status: number, body: string | Uint8Array = '', headers: Readonly<Record<string, string>> = {}): Handler =>
    (_, response) =>
      response.writeHead(status, { 'content-type': 'application/statuslist+jwt', ...headers }).end(body);

  return Object.assign(polling, { make, seconds, askFor, ask, asked, both, sentence, list, serve, raw });
}
