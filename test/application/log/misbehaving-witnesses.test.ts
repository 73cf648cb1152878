import { expect } from 'chai';
import { formatVerifierKey } from '../../../domain/log/verifier-key.ts';
import { type ServedWitness, servedWitness } from '../../support/log/served-witness.ts';
import { PATIENCE_MS, witnessedLogForEachTest } from '../../support/log/witnessed-log.ts';
import { answering, type Handler, loopbackForSuite } from '../../support/loopback.ts';
import { movedClock } from '../../support/moved-clock.ts';

describe('The witnessing of the log', function () {
  this.timeout(60_000);
  const logged = witnessedLogForEachTest();
  const { all, clock, log, witnesses, grown, witnessed, stateOf, problems, published } = logged;

  describe('with a witness that misbehaves', () => {
    const server = loopbackForSuite();
    const redirect: Handler = (_, response) => response.writeHead(307, { location: `${server.url}/elsewhere` }).end();
    const unusable = "The answer holds no valid cosignature of the witness's key.";
    const conflict =
      (size: number | string): Handler =>
      (_, response) =>
        response.writeHead(409, { 'content-type': 'text/x.tlog.size' }).end(`${size}\n`);
    for (const [what, kind, detail, handler] of [
      ['redirects', 'wrong_answer', "The answer's status was 307.", redirect],
      ['answers 10 MB', 'wrong_answer', 'The answer is longer than 65536 bytes.', answering('x'.repeat(10_000_000))],
      ['never answers', 'unavailable', `There was no complete answer within ${PATIENCE_MS} ms.`, () => undefined],
      ['cuts the connection', 'unavailable', 'There was no answer (ECONNRESET).', (_, response) => response.destroy()],
      ['answers 500', 'unavailable', "The answer's status was 500.", answering('', 500)],
      ['answers 429', 'unavailable', "The answer's status was 429.", answering('', 429)],
      ['answers 400', 'wrong_answer', "The answer's status was 400.", answering('', 400)],
      ['answers 403', 'unknown_key', undefined, answering('', 403)],
      ['answers 404', 'unknown_log', undefined, answering('', 404)],
      ['answers 422', 'contradicted', undefined, answering('', 422)],
      ['answers 409 without a size', 'contradicted', undefined, answering('no', 409)],
      ['answers nothing with 200', 'wrong_answer', unusable, answering('')],
      ['signs with another key', 'wrong_answer', unusable, answering(`— x.test/y ${'A'.repeat(100)}\n`)],
      ['refuses the size that it named', 'wrong_answer', 'It refused the size that it named.', conflict(0)],
      ['names the size of the tree each time', 'wrong_answer', 'It refused the size that it named.', conflict(2)],
    ] as const satisfies readonly (readonly [string, string, string | undefined, Handler])[]) {
      it(`names a witness that ${what}, and goes on with the others`, async () => {
        const [good, bad] = (await witnesses(2)) as [ServedWitness, ServedWitness];
        server.answer = handler;
        await grown(2);
        const asked = [good, { url: server.url, vkey: bad.vkey }];
        await witnessed(asked);
        await witnessed(asked);
        expect(await problems()).to.deep.equal([['witness.test/1', kind, detail]]);
        const shown = kind === 'contradicted' ? { size: undefined, names: [] } : { size: 2, names: ['witness.test/0'] };
        expect(await published()).to.deep.equal(shown);
        expect([log.lines.length, (await stateOf()).halted]).to.deep.equal([1, undefined]);
        expect(server.received.every(({ path }) => path === '/add-checkpoint')).to.equal(true);
      });
    }

    for (const [what, handler] of [
      ['answers 422', answering('', 422)],
      ['answers 409 without a size', answering('no', 409)],
    ] as const) {
      it(`shows readers the earlier note once the witness ${what}, and a later note once the witness cosigns that`, async () => {
        const [good, other] = (await witnesses(2)) as [ServedWitness, ServedWitness];
        const bad = { url: server.url, vkey: other.vkey };
        await grown(1);
        await witnessed([good, other]);
        await grown(2);
        server.answer = answering('', 500);
        await witnessed([good, bad]);
        expect(await published()).to.deep.equal({ size: 3, names: ['witness.test/0'] });
        server.answer = handler;
        await witnessed([good, bad]);
        const before = { size: 1, names: ['witness.test/0', 'witness.test/1'] };
        expect(await published()).to.deep.equal(before);
        // Another replica may still have the cosignatures of a quorum.
        await witnessed([good]);
        expect(await published()).to.deep.equal(before);
        await grown(1);
        await witnessed([good, bad]);
        expect(await published()).to.deep.equal(before);
        expect((await stateOf()).size).to.equal(4);
        await grown(1);
        await witnessed([good, other]);
        expect(await published()).to.deep.equal({ size: 5, names: ['witness.test/0', 'witness.test/1'] });
      });
    }

    it('publishes no cosignature that is dated more than five minutes from its own time', async () => {
      const [good] = (await witnesses(1)) as [ServedWitness];
      await grown(1);
      for (const [nth, [difference, isAccepted]] of (
        [
          [-290, true],
          [290, true],
          [-310, false],
          [310, false],
          [-clock.seconds(), false],
          [1e9, false],
        ] as const
      ).entries()) {
        const own = movedClock();
        const witness = await servedWitness(`clock.test/${nth}`, own);
        witness.watch(formatVerifierKey(logged.signer.key));
        all.push(witness);
        own.advance(clock.seconds() - own.seconds() + difference);
        await witnessed([good, witness]);
        const names = ['witness.test/0', ...(isAccepted ? [`clock.test/${nth}`] : [])];
        expect(await published(), String(difference)).to.deep.equal({ size: 1, names });
        const found = (await logged.fixture.storage.transparencyLog.problems()).find(
          ({ witness: name }) => name === `clock.test/${nth}`,
        );
        expect(found?.kind).to.equal(isAccepted ? undefined : 'wrong_clock');
        if (found === undefined) continue;
        expect(Date.parse(found.detail?.slice('It dated a cosignature '.length, -1) ?? '') / 1000).to.be.closeTo(
          clock.seconds() + difference,
          3,
        );
      }
    });

    it('accuses no witness whose time is that of one of its two clocks', async () => {
      const [good] = (await witnesses(1)) as [ServedWitness];
      await grown(1);
      for (const [nth, difference] of [3600, -3600].entries()) {
        const wrong = movedClock();
        wrong.advance(clock.seconds() - wrong.seconds() + difference);
        const [earlier, later] = difference > 0 ? [clock, wrong] : [wrong, clock];
        const sharedTime = { earliest: () => earlier.now(), latest: () => later.now() };
        await grown(1);
        await witnessed([good], { clock: wrong, sharedTime });
        expect(await problems()).to.deep.equal([]);
        expect(await published()).to.deep.equal({ size: 2 + nth, names: ['witness.test/0'] });
      }
    });

    it('publishes no stored cosignature that had another time than its own when it was stored', async () => {
      const [good, other] = (await witnesses(2)) as [ServedWitness, ServedWitness];
      await grown(1);
      await witnessed([good, other]);
      expect((await published()).names).to.have.length(2);
      logged.fixture.withoutTriggers.exec(
        "update log_cosignatures set at = at - 400000000 where witness = 'witness.test/1'; update log_state set published_size = null, published_note = null",
      );
      await other.goDown();
      await witnessed([good, other]);
      expect((await published()).names).to.deep.equal(['witness.test/0']);
      await other.comeBack();
    });

    it('gives up after four requests to a witness that names another size each time', async () => {
      const [bad] = (await witnesses(1)) as [ServedWitness];
      await grown(9);
      let size = 0;
      server.answer = (request, response) => {
        size += 1;
        conflict(size)(request, response);
      };
      await witnessed([{ url: server.url, vkey: bad.vkey }]);
      expect(server.received).to.have.length(4);
      expect((await stateOf()).published).to.equal(undefined);
      expect(await problems()).to.deep.equal([
        ['witness.test/0', 'wrong_answer', 'It named another size at each of 4 requests.'],
      ]);
    });

    it('keeps the begin of a problem while only its detail changes, and logs it once', async () => {
      const [bad] = (await witnesses(1)) as [ServedWitness];
      await grown(1);
      const begins: number[] = [];
      for (const status of [500, 502, 503]) {
        server.answer = answering('', status);
        await witnessed([{ url: server.url, vkey: bad.vkey }]);
        const [{ since } = { since: 0 }] = await logged.fixture.storage.transparencyLog.problems();
        begins.push(since);
        clock.advance(3600);
      }
      expect(new Set(begins)).to.have.property('size', 1);
      expect((await problems())[0]?.[2]).to.equal("The answer's status was 503.");
      expect(log.lines).to.have.length(1);
    });

    it('refuses the cosignature of an older tree, and a cosignature whose bits were changed', async () => {
      const [witness] = (await witnesses(1)) as [ServedWitness];
      await grown(1);
      await witnessed([witness]);
      const [{ line } = { line: '' }] = await logged.fixture.storage.transparencyLog.cosignatures();
      await grown(1);
      const [name = '', encoded = ''] = line.slice(2).split(' ');
      for (let at = 0; at < 76; at += 5) {
        const bytes = Buffer.from(encoded, 'base64');
        bytes[at] = (bytes[at] ?? 0) ^ 1;
        server.answer = answering(at === 0 ? `${line}\n` : `— ${name} ${bytes.toString('base64')}\n`);
        await witnessed([{ url: server.url, vkey: witness.vkey }]);
        expect(await problems()).to.deep.equal([['witness.test/0', 'wrong_answer', unusable]]);
      }
      expect((await published()).size).to.equal(1);
    });
  });
});
