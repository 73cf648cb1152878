import { expect } from 'chai';
import { systemRandomness } from '../../../adapters/platform/system-crypto.ts';
import { makeTaskId, parseTaskId } from '../../../domain/identifiers.ts';

describe('systemRandomness', () => {
  it('makes ULIDs that are valid identifiers in ascending order', () => {
    const randomness = systemRandomness();
    const ulids = Array.from({ length: 5000 }, () => randomness.ulid());
    for (const ulid of ulids) expect(parseTaskId(makeTaskId(ulid))).to.equal(`task_${ulid}`);
    expect([...ulids].sort()).to.deep.equal(ulids);
    expect(new Set(ulids).size).to.equal(ulids.length);
  });

  it('makes a ULID that begins with the time', () => {
    const letters = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
    const time = [...systemRandomness().ulid().slice(0, 10)].reduce(
      (sum, letter) => sum * 32 + letters.indexOf(letter),
      0,
    );
    expect(Math.abs(time - Date.now())).to.be.lessThan(5000);
  });

  it('uses every character evenly in the random part of a ULID', () => {
    // A new source each time, because a source increments the ULID within a millisecond.
    const counts = new Map<string, number>();
    for (let made = 0; made < 2000; made += 1) {
      for (const letter of systemRandomness().ulid().slice(10)) counts.set(letter, (counts.get(letter) ?? 0) + 1);
    }
    // Each of the 32 characters is expected 1,000 times, with a standard deviation of 31.
    expect(counts.size).to.equal(32);
    for (const count of counts.values()) expect(count).to.be.within(750, 1250);
  });

  it('draws unsigned 32-bit numbers, of which every bit is set in about half', () => {
    const draws = systemRandomness().draws(2000);
    expect(draws).to.have.length(2000);
    for (const draw of draws) expect(Number.isInteger(draw) && draw >= 0 && draw < 2 ** 32, `${draw}`).to.equal(true);
    for (let bit = 0; bit < 32; bit += 1) {
      const set = draws.filter((draw) => Math.floor(draw / 2 ** bit) % 2 === 1).length;
      // A standard deviation is 22.
      expect(set, `bit ${bit}`).to.be.within(850, 1150);
    }
  });

  it('makes unique secrets of the given size in base64url', () => {
    const randomness = systemRandomness();
    const secrets = Array.from({ length: 1000 }, () => randomness.secret(32));
    for (const secret of secrets) {
      expect(secret).to.match(/^[A-Za-z0-9_-]{43}$/);
      expect(Buffer.from(secret, 'base64url')).to.have.length(32);
    }
    expect(new Set(secrets).size).to.equal(secrets.length);
    expect(randomness.secret(16)).to.have.length(22);
  });

  it('uses every byte of a secret evenly, also where a block of random bytes ends within a secret', () => {
    const randomness = systemRandomness();
    const counts = new Uint32Array(256);
    for (let made = 0; made < 3000; made += 1) {
      randomness.ulid();
      for (const byte of Buffer.from(randomness.secret(1 + (made % 67)), 'base64url'))
        counts[byte] = (counts[byte] ?? 0) + 1;
    }
    // Each value is expected about 398 times, with a standard deviation of 20. A byte that was given out twice would be 0.
    for (const count of counts) expect(count).to.be.within(278, 518);
  });

  it('makes no secret of more bytes than it draws at once', () => {
    const randomness = systemRandomness();
    expect(Buffer.from(randomness.secret(4096), 'base64url')).to.have.length(4096);
    expect(() => randomness.secret(4097)).to.throw(RangeError);
  });
});
