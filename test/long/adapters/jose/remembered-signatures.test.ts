/** The memory of signatures is bounded: 100,000 subject tokens, each presented once. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import {
  documentsForEachTest,
  fetchingForEachTest,
  read,
  unverifiable,
} from '../../../support/identity-provider/fetched-keys.ts';
import { makeSigningKey } from '../../../support/signing-key.ts';

const TOKENS = 100_000;
/** More than 10,000 entries of 100 bytes, and far less than 100,000 of them. */
const MOST_BYTES = 4 * 1024 * 1024;

describe('The memory of signatures of subject tokens', function () {
  this.timeout(180_000);
  const fetching = fetchingForEachTest();
  const provider = documentsForEachTest();

  it('stays small, and forgets the oldest first', async () => {
    const key = await makeSigningKey('ES256');
    provider.publish(key.publicJwk);
    const keys = fetching.keysOf(provider.server.url);
    const exp = fetching.clock.seconds() + 10_000;
    const token = (nth: number) => read(key.sign({ alg: key.alg, kid: key.kid }, { sub: `person-${nth}`, exp }));
    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');
    const [first, last] = [token(0), token(TOKENS)];
    const verified = async (jws: typeof first) => (await keys.verify(jws)).kind === 'verified';
    expect(await verified(first)).to.equal(true);
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let nth = 1; nth < TOKENS; nth += 1) expect(await verified(token(nth))).to.equal(true);
    expect(await verified(last)).to.equal(true);
    collect();
    expect(process.memoryUsage().heapUsed - before).to.be.lessThan(MOST_BYTES);
    expect(await verified(unverifiable(last))).to.equal(true);
    expect(await verified(unverifiable(first))).to.equal(false);
  });
});
