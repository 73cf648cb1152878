import { PassThrough, Readable } from 'node:stream';
import { expect } from 'chai';
import { keyGivenAsSetting, readAdminKey } from '../../../adapters/cli/admin-key.ts';

const KEY = 'an-admin-key-0123456789-0123456789';

async function read(variable: string | undefined, stdin: Readable & { isTTY?: boolean }) {
  const reading = await readAdminKey({ environment: { MANDATE_ADMIN_KEY: variable }, stdin });
  return reading.kind === 'read' ? reading.key.reveal() : reading.sentence;
}

const MISSING = 'There is no admin key: set MANDATE_ADMIN_KEY, or write it to standard input.';
const UNUSABLE = 'The admin key contains a character that no key can have, or is too long.';

describe('The admin key of a command', () => {
  it('is the value of MANDATE_ADMIN_KEY, and standard input is then not read', async () => {
    const stdin = Readable.from(['other']);
    expect(await read(KEY, stdin)).to.equal(KEY);
    expect(stdin.readableDidRead).to.equal(false);
  });

  it('is the first line of standard input when MANDATE_ADMIN_KEY is absent or empty', async () => {
    expect(await read(undefined, Readable.from([KEY]))).to.equal(KEY);
    expect(await read('', Readable.from([KEY.slice(0, 9), `${KEY.slice(9)}\r\n`, 'a comment']))).to.equal(KEY);
  });

  it('is read up to the end of its line while the pipe stays open', async () => {
    const stdin = new PassThrough();
    stdin.write(`${KEY}\n`);
    expect(await read(undefined, stdin)).to.equal(KEY);
  });

  it('is reported as missing, also when standard input is a terminal or fails', async () => {
    expect(await read(undefined, Readable.from([]))).to.equal(MISSING);
    expect(await read(undefined, Readable.from(['\n', KEY]))).to.equal(MISSING);
    expect(await read(undefined, Object.assign(Readable.from([KEY]), { isTTY: true }))).to.equal(MISSING);
    const broken = new Readable({
      read() {
        this.destroy(new Error('gone'));
      },
    });
    expect(await read(undefined, broken)).to.equal(MISSING);
  });

  it('is refused when a header cannot contain it, and the sentence does not repeat it', async () => {
    for (const key of ['two words', 'line\u0000', 'é', 'x'.repeat(2049)]) {
      expect(await read(key, Readable.from([])), key).to.equal(UNUSABLE);
      expect(await read(undefined, Readable.from([key])), key).to.equal(UNUSABLE);
    }
  });

  it('is refused as a setting on the command line', () => {
    expect(keyGivenAsSetting([{ key: 'Service:Issuer', value: 'x' }])).to.equal(undefined);
    expect(keyGivenAsSetting([{ key: 'service:admin:ApiKey', value: KEY }]))
      .to.contain('never an argument')
      .and.not.contain(KEY);
  });
});
