import { expect } from 'chai';
import { sealing } from '../../../adapters/platform/system-crypto.ts';

const SECRET = 's'.repeat(43);

describe('A sealed text', () => {
  it('is opened by its secret alone, and is another one each time', () => {
    for (const text of ['', 'an.id.token', 'é😀'.repeat(2000)]) {
      const [one, other] = [sealing.seal(SECRET, text), sealing.seal(SECRET, text)];
      expect(one).not.to.equal(other);
      expect(one).to.match(/^[\w-]+$/);
      expect(sealing.open(SECRET, one)).to.equal(text);
      expect(sealing.open(SECRET.replace('s', 't'), one)).to.equal(undefined);
    }
  });

  it('is not opened if it is altered, cut or no sealed text', () => {
    const sealed = sealing.seal(SECRET, 'an.id.token');
    const bytes = Buffer.from(sealed, 'base64url');
    for (let at = 0; at < bytes.length; at++) {
      const altered = Buffer.from(bytes);
      altered[at] = (altered[at] ?? 0) ^ 1;
      expect(sealing.open(SECRET, altered.toString('base64url')), String(at)).to.equal(undefined);
    }
    for (const other of ['', 'x', sealed.slice(0, 20), sealed.slice(0, -2)]) {
      expect(sealing.open(SECRET, other), other).to.equal(undefined);
    }
  });
});
