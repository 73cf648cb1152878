import { expect } from 'chai';
import { ServerSilent } from '../../../../../adapters/storage/postgres/errors.ts';
import { serverIsThere, unlessSilent } from '../../../../../adapters/storage/postgres/pool/watchdog.ts';

const SHORT_MS = 1;

describe('the watchdog of Postgres', () => {
  it('aborts a call, and its signal, after the server has left two probes unanswered', async () => {
    let questions = 0;
    let refuse: (error: unknown) => void = () => undefined;
    let aborted: AbortSignal | undefined;
    const call = (signal: AbortSignal) =>
      new Promise<never>((_, reject) => {
        aborted = signal;
        refuse = reject;
      });
    const isThere = async () => {
      questions += 1;
      return questions < 3;
    };
    const thrown = await unlessSilent(call, isThere, SHORT_MS).catch((error: unknown) => error);
    expect(thrown).to.be.instanceOf(ServerSilent);
    expect(questions).to.equal(4);
    expect(() => aborted?.throwIfAborted()).to.throw(ServerSilent);
    refuse(new Error('its connection is gone'));
  });

  it('returns the answer of the call while the server answers its probes', async () => {
    expect(
      await unlessSilent(
        async () => 'answer',
        async () => true,
        SHORT_MS,
      ),
    ).to.equal('answer');
  });

  it('sends one probe for concurrent callers', async () => {
    let questions = 0;
    const isThere = serverIsThere(async () => {
      questions += 1;
    });
    expect(await Promise.all([isThere(), isThere()])).to.deep.equal([true, true]);
    expect(questions).to.equal(1);
  });
});
