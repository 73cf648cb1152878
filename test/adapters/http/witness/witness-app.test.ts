import { expect } from 'chai';
import { sendBytes } from '../../../support/hostile/send-bytes.ts';
import { type ServedWitness, servedWitness } from '../../../support/log/served-witness.ts';
import { cosignedAt, type WrittenLog, writtenLog } from '../../../support/log/written-log.ts';

describe('The HTTP interface of a witness', () => {
  let witness: ServedWitness;
  let log: WrittenLog;
  let logs = 0;
  // Each has its own bound of log lines a minute.
  beforeEach(async () => {
    witness = await servedWitness();
    log = writtenLog(`log.test/${logs++}`);
    log.grow(3);
    witness.watch(log.vkey);
  });
  afterEach(() => witness.close());

  /** The lines about checkpoints that were not cosigned. */
  const refusals = () => witness.log.lines.map((line) => JSON.parse(line)).filter(({ level }) => level !== 'info');
  const send = async (body: string | Uint8Array<ArrayBuffer>, init: RequestInit = {}, path = '/add-checkpoint') => {
    const answer = await fetch(witness.url + path, { method: 'POST', body, ...init });
    return { status: answer.status, type: answer.headers.get('content-type') ?? '', text: await answer.text() };
  };

  it('answers a cosigned checkpoint with the cosignature, whatever the type of the body is called', async () => {
    for (const type of ['text/plain', 'application/octet-stream', 'application/json']) {
      const oldSize = type === 'text/plain' ? 0 : log.size;
      const answer = await send(log.request(oldSize), { headers: { 'content-type': type } });
      expect(answer).to.include({ status: 200, type: 'text/plain; charset=utf-8' });
      cosignedAt(answer.text, witness.vkey, log.text());
    }
  });

  it('logs what it cosigns, each checkpoint once, with a note that an auditor can use', async () => {
    const answer = await send(log.request(0));
    await send(log.request(3));
    const lines = witness.log.lines.map((line) => JSON.parse(line));
    expect(lines).to.have.length(1);
    expect(lines[0]).to.include({ level: 'info', message: 'a checkpoint was cosigned', origin: log.origin, size: 3 });
    expect(lines[0].note).to.equal(log.note() + answer.text);
    // A log that signs without end fills no disk.
    for (let size = 4; size < 20; size += 1) {
      log.grow(1);
      expect((await send(log.request(size - 1))).status).to.equal(200);
    }
    expect(witness.log.lines).to.have.length(10);
  });

  it('names its size to a request with another old size, in the type that the protocol fixes', async () => {
    expect((await send(log.request(0))).status).to.equal(200);
    log.grow(2);
    expect(await send(log.request(0))).to.deep.equal({ status: 409, type: 'text/x.tlog.size', text: '3\n' });
    expect(await send(log.request(2))).to.deep.equal({ status: 409, type: 'text/x.tlog.size', text: '3\n' });
  });

  for (const [what, status, body] of [
    ['a body of another form', 400, () => 'hello'],
    ['a body that is not UTF-8', 400, () => new Uint8Array(Buffer.concat([Buffer.from('old 0\n\n'), Buffer.of(0xff)]))],
    ['a body over 64 KiB', 400, () => log.request(0) + 'x'.repeat(65_536)],
    ['an old size above the new one', 400, () => log.request(0).replace('old 0', 'old 4')],
    ['a signature that does not verify', 403, () => log.request(0).replace('\n3\n', '\n4\n')],
    ['an unknown origin', 404, () => writtenLog('stranger.test/log').request(0)],
    ['a proof that does not verify', 422, () => log.request(0).replace('old 0\n', `old 0\n${'A'.repeat(43)}=\n`)],
  ] as const) {
    it(`refuses ${what} with ${status} and a sentence that repeats nothing of it`, async () => {
      const answer = await send(body());
      expect(answer).to.include({ status, type: 'application/problem+json; charset=utf-8' });
      expect(JSON.parse(answer.text)).to.have.all.keys('type', 'title', 'status', 'detail');
      expect(answer.text).not.to.match(/log\.test|stranger/);
    });
  }

  it('answers OPTIONS * and OPTIONS /, by which some proxies check health, with 204 and Allow', async () => {
    for (const [target, allow] of [
      ['*', 'GET, HEAD, POST, OPTIONS'],
      ['/', 'OPTIONS'],
    ]) {
      const { answers } = await sendBytes(witness.url, `OPTIONS ${target} HTTP/1.0\r\n\r\n`);
      expect(answers.map(({ status, headers }) => [status, headers.get('allow')])).to.deep.equal([[204, allow]]);
    }
  });

  it('answers 503, and is not ready, while its clock is not to be trusted', async () => {
    expect((await send(log.request(0))).status).to.equal(200);
    witness.clock.jump(60);
    const answer = await send(log.request(3));
    expect(answer).to.include({ status: 503, type: 'application/problem+json; charset=utf-8' });
    expect(JSON.parse(answer.text).detail).to.match(/^The clock of this witness was set/);
    expect((await fetch(`${witness.url}/readyz`)).status).to.equal(503);
    witness.clock.advance(61);
    expect((await send(log.request(3))).status).to.equal(200);
    expect((await fetch(`${witness.url}/readyz`)).status).to.equal(200);
  });

  it('refuses a note that a lenient reader of UTF-8 would change into the one that was signed', async () => {
    const other = writtenLog(`log.test/${logs++}/\ufffd`);
    witness.watch(other.vkey);
    const bytes = Buffer.from(other.request(0));
    const broken = Buffer.from(bytes.toString('latin1').replaceAll('\xef\xbf\xbd', '\xff'), 'latin1');
    expect(broken.toString()).to.equal(other.request(0));
    expect((await send(new Uint8Array(broken))).status).to.equal(400);
    expect((await send(new Uint8Array(bytes))).status).to.equal(200);
  });

  it('refuses another root of the same size with 409, and logs both notes once, as evidence', async () => {
    expect((await send(log.request(0))).status).to.equal(200);
    const fork = log.fork(2);
    fork.grow(1);
    for (let time = 0; time < 3; time += 1) {
      expect(await send(fork.request(3))).to.include({ status: 409, type: 'application/problem+json; charset=utf-8' });
    }
    const lines = refusals();
    expect(lines).to.have.length(1);
    expect(lines[0]).to.include({ level: 'warn', reason: 'other_root', note: fork.note() });
    expect(lines[0].cosigned).to.include(log.note());
  });

  it('logs a published note once, and only text that its log has signed, however often clients send it again', async () => {
    expect((await send(log.request(0))).status).to.equal(200);
    log.grow(5);
    const junk = (nth: number) =>
      Array.from({ length: 90 }, (_, line) => `— x.test/y ${Buffer.alloc(68, nth * 90 + line).toString('base64')}\n`);
    for (let nth = 0; nth < 200; nth += 1) {
      const proof = `${Buffer.alloc(32, nth).toString('base64')}\n`;
      const lines = junk(nth);
      lines.splice(nth % 90, 0, log.note().split('\n\n')[1] ?? '');
      const answer = await send(`old 3\n${proof}\n${log.text()}\n${lines.join('')}`);
      expect(answer.status).to.equal(422);
    }
    const lines = refusals();
    expect(lines).to.have.length(1);
    expect(lines[0]).to.include({ reason: 'inconsistent', note: log.note() });
    expect(witness.log.lines.join('').length).to.be.lessThan(1500);
    // The note is still cosigned with the right proof.
    expect((await send(log.request(3))).status).to.equal(200);
  });

  it('logs ten checkpoints a minute that are not continued, and the evidence of two histories beside them', async () => {
    expect((await send(log.request(0))).status).to.equal(200);
    for (let nth = 0; nth < 20; nth += 1) {
      log.grow(1);
      expect((await send(log.request(3).replace('old 3\n', `old 3\n${'A'.repeat(43)}=\n`))).status).to.equal(422);
    }
    const fork = log.fork(2);
    fork.grow(1);
    expect((await send(fork.request(3))).status).to.equal(409);
    const reasons = refusals().map(({ reason }) => reason);
    expect(reasons).to.deep.equal([...Array(10).fill('inconsistent'), 'other_root']);
  });

  it('answers no other path and no other method', async () => {
    expect((await send('', { method: 'GET', body: null })).status).to.equal(405);
    expect((await send(log.request(0), {}, '/add-checkpoint/')).status).to.equal(404);
    expect((await send(log.request(0), {}, '/')).status).to.equal(404);
    expect((await send('', { method: 'GET', body: null }, '/readyz')).text).to.equal('Healthy');
  });
});
