/** A client made of Go's checksum-database packages drives the witness, and verifies its cosignatures. */

import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { GO, run } from '../../support/go/run.ts';
import { servedWitness } from '../../support/log/served-witness.ts';

const CLIENT = fileURLToPath(new URL('../../support/go/witness-client.go', import.meta.url));

describe("A client of Go's packages", function () {
  this.timeout(300_000);

  it('gets each growth of its log cosigned, no cosignature with a flipped bit verifies, and its forks are refused', async () => {
    const witness = await servedWitness('witness.test/go');
    try {
      const [private_ = '', vkey = ''] = (await run(GO, ['run', CLIENT, 'key'])).out.trim().split('\n');
      witness.watch(vkey);
      const said = await run(GO, ['run', CLIENT, witness.url, private_, vkey, witness.vkey]);
      expect(said).to.deep.equal({ failed: false, out: 'cosigned 13\n' });
    } finally {
      await witness.close();
    }
  });
});
