/** Go's packages `sumdb/note` and `sumdb/tlog`, which verify Go's checksum database, read a transparency log over HTTP. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { sha256Bytes } from '../../../adapters/platform/system-crypto.ts';
import { planConsistency, planInclusion, readProof } from '../../../domain/log/tree-proofs.ts';
import { databases } from '../../support/databases.ts';
import { GO, run } from '../../support/go/run.ts';
import { treeHash } from '../../support/independent-ledger/tree-recursion.ts';
import { type Loopback, startLoopback } from '../../support/loopback.ts';
import { type Mandate, startMandate } from '../../support/mandate.ts';
import { logKeySettings, readNote } from '../../support/transparency-log.ts';

const SOURCE = fileURLToPath(new URL('../../support/go/log-reader.go', import.meta.url));
const SIZE = 300;
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

for (const database of databases) {
  describe(`A reader of the log written in Go, on ${database.name}`, function () {
    this.timeout(900_000);
    let folder: string;
    let program: string;
    let proofs: string;
    let mandate: Mandate;
    let proxy: Loopback;
    let vkey: string;
    /** Changes a response on its way to the reader. */
    let change: (path: string, bytes: Buffer) => Buffer = (_, bytes) => bytes;
    before(async () => {
      folder = mkdtempSync(join(tmpdir(), 'mandate-log-'));
      program = join(folder, 'log-reader');
      const built = await run(GO, ['build', '-o', program, SOURCE]);
      if (built.failed) throw new Error(built.out);
      mandate = await startMandate({ database, settings: { ...logKeySettings(), 'Service:Audit:Log:Public': 'true' } });
      for (let nth = 0; nth < SIZE; nth += 1) {
        await mandate.block(`person-${nth}`, 'disabled');
        await mandate.jobs.seal();
        if (nth % 37 === 0) await mandate.jobs.growLog();
      }
      await mandate.jobs.growLog();
      mandate.clock.advance(1);
      proxy = await startLoopback((request, response) => void forward(request.path, response));
      const keys = (await mandate.get('/log/keys')).body.keys as readonly { readonly vkey?: string }[];
      vkey = keys.find((key) => key.vkey !== undefined)?.vkey ?? '';
      proofs = join(folder, 'proofs.json');
      writeFileSync(proofs, JSON.stringify(await madeProofs()));
    });
    after(async () => {
      await mandate?.stop();
      await proxy?.close();
      rmSync(folder, { recursive: true, force: true });
    });

    const bytesAt = async (path: string) => Buffer.from(await (await fetch(`${mandate.url}${path}`)).arrayBuffer());

    async function forward(path: string, response: ServerResponse): Promise<void> {
      const answer = await fetch(`${mandate.url}${path}`);
      response.statusCode = answer.status;
      response.end(change(path, Buffer.from(await answer.arrayBuffer())));
    }

    /** Proofs that the service makes, and proofs from its tiles. */
    async function madeProofs() {
      const { size, root } = readNote((await mandate.get('/log/checkpoint')).text, vkey);
      expect(size).to.equal(SIZE);
      const tiles = new Map<string, Buffer>();
      for (const [name, path] of [
        ['0/0', '0/000'],
        ['0/1', `0/001.p/${SIZE - 256}`],
        ['1/0', '1/000.p/1'],
      ] as const) {
        tiles.set(name, await bytesAt(`/log/tile/${path}`));
      }
      const read = (level: number, index: number) => tiles.get(`${level}/${index}`) ?? Buffer.of();
      const level0 = Buffer.concat([read(0, 0), read(0, 1)]);
      const leaves = Array.from({ length: size }, (_, nth) => level0.subarray(nth * 32, nth * 32 + 32));
      const inclusion = [0, 1, 255, 256, SIZE - 1].map((index) => ({
        index,
        size,
        root: hex(root),
        path: readProof(sha256Bytes, planInclusion(index, size), read).map(hex),
      }));
      const consistency = [1, 2, 3, 128, 255, 256, 257, SIZE - 1].map((old) => ({
        old,
        oldRoot: hex(treeHash(leaves.slice(0, old))),
        size,
        root: hex(root),
        path: readProof(sha256Bytes, planConsistency(old, size), read).map(hex),
      }));
      for (const seq of [2, 40, SIZE]) {
        const { log } = (await mandate.admin('GET', `/audit/records/${seq}/proof?log=true`)).body;
        const made = log as { checkpoint_index: number; inclusion_path: string[]; note: string };
        const head = readNote(made.note, vkey);
        inclusion.push({
          index: made.checkpoint_index,
          size: head.size,
          root: hex(head.root),
          path: made.inclusion_path,
        });
      }
      return { inclusion, consistency };
    }

    it('verifies the note, each entry, and all proofs', async () => {
      change = (_, bytes) => bytes;
      expect(await run(program, [proxy.url, vkey, proofs])).to.deep.equal({ failed: false, out: 'verified\n' });
    });

    it('refuses each response with a flipped bit', async () => {
      const paths = ['/log/checkpoint', '/log/tile/0/000', `/log/tile/0/001.p/${SIZE - 256}`, '/log/tile/1/000.p/1'];
      for (const path of [...paths, '/log/tile/entries/000', `/log/tile/entries/001.p/${SIZE - 256}`]) {
        const { length } = await bytesAt(path);
        for (let nth = 0; nth < 20; nth += 1) {
          const bit = Math.floor(((length * 8 - 1) * nth) / 19);
          change = (asked, bytes) => {
            if (asked !== path) return bytes;
            bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
            return bytes;
          };
          const { failed, out } = await run(program, [proxy.url, vkey, proofs]);
          expect(failed, `bit ${bit} of ${path}: ${out}`).to.equal(true);
        }
      }
    });

    it('refuses a proof of the log with a flipped bit', async () => {
      change = (_, bytes) => bytes;
      const made = await madeProofs();
      const flipped = (path: readonly string[]) =>
        path.with(
          -1,
          (path.at(-1) ?? '').replace(/^./, (c) => (c === '0' ? '1' : '0')),
        );
      const wrong = join(folder, 'wrong.json');
      for (const kind of ['inclusion', 'consistency'] as const) {
        for (const [at, proof] of made[kind].entries()) {
          if (proof.path.length === 0) continue;
          writeFileSync(wrong, JSON.stringify({ [kind]: [{ ...made[kind][at], path: flipped(proof.path) }] }));
          const { failed, out } = await run(program, [proxy.url, vkey, wrong]);
          expect(failed, `${kind} ${at}: ${out}`).to.equal(true);
        }
      }
    });
  });
}
