import { createHash } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { sha256, sha256Bytes } from '../../../adapters/platform/system-crypto.ts';

describe('SHA-256', () => {
  it('equals the digest of node:crypto for all bytes and texts', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const digest = createHash('sha256').update(bytes).digest();
        expect(Buffer.from(sha256Bytes(bytes)).equals(digest)).to.equal(true);
      }),
    );
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(sha256(text)).to.equal(Buffer.from(sha256Bytes(Buffer.from(text, 'utf8'))).toString('hex'));
      }),
    );
  });
});
