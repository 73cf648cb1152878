import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { expect } from 'chai';
import express, { type Response } from 'express';
import type { ScreenContext } from '../../../../adapters/http/console/context.ts';
import { proofs } from '../../../../adapters/http/console/parts/verification.ts';
import type { ProofOutcome } from '../../../../application/ledger/prove.ts';
import { closeServer, listen } from '../../../support/listening.ts';

const NOT_FOUND: ProofOutcome = { kind: 'not_found' };

describe('The proofs that a browser asks for', () => {
  const proved: number[] = [];
  /** Ends the first proof, for which the test decides. */
  let endFirst: () => void;
  let begun: Promise<void>;
  let answering: Promise<{ readonly response: Response; readonly done: Promise<void> }>;
  let port: number;
  let server: ReturnType<typeof createServer>;

  beforeEach(async () => {
    proved.length = 0;
    let began: () => void;
    begun = new Promise((resolve) => {
      began = resolve;
    });
    const first = new Promise<void>((resolve) => {
      endFirst = resolve;
    });
    const audit = {
      async prove(seq: number) {
        proved.push(seq);
        began();
        await first;
        return NOT_FOUND;
      },
    } as unknown as ScreenContext['audit'];
    const app = express();
    app.set('query parser', false);
    answering = new Promise((resolve) => {
      app.get('/ledger/proofs', async (asked, response) => {
        const done = proofs.answer({ audit } as ScreenContext, asked, response);
        resolve({ response, done });
        await done;
      });
    });
    server = createServer(app);
    port = await listen(server, 0);
  });
  afterEach(() => closeServer(server));

  it('end when the browser has left: no further record is proved', async () => {
    const browser = request({ port, path: '/ledger/proofs?seqs=1,2,3,4' }).on('error', () => undefined);
    browser.end();
    const { response, done } = await answering;
    await begun;
    browser.destroy();
    if (!response.destroyed) await once(response, 'close');
    endFirst();
    await done;
    expect(proved).to.deep.equal([1]);
  });

  it('are of every number that it asked for while it waits', async () => {
    endFirst();
    const answer = await fetch(`http://127.0.0.1:${port}/ledger/proofs?seqs=1,2,3`);
    const { proofs } = (await answer.json()) as { readonly proofs: readonly unknown[] };
    expect(proofs).to.deep.equal([1, 2, 3].map((seq) => ({ seq, reason: 'no_sealed_record' })));
    expect(proved).to.deep.equal([1, 2, 3]);
  });
});
