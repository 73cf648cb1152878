import { format, inspect } from 'node:util';
import { expect } from 'chai';
import { Secret } from '../../domain/secret.ts';

const VALUE = 'correct-horse-battery-staple-0123456789';

describe('Secret', () => {
  const secret = new Secret(VALUE);

  const printed: readonly (readonly [string, () => string])[] = [
    ['in a template', () => `${secret}`],
    ['joined to a string', () => `key: ${[secret].join()}`],
    ['by String()', () => String(secret)],
    ['as JSON', () => JSON.stringify({ nested: [secret] })],
    ['by util.inspect', () => inspect(secret)],
    ['by util.inspect with hidden members', () => inspect({ secret }, { showHidden: true, depth: 9, getters: true })],
    ['by util.format', () => format('%s %o %O %j', secret, secret, secret, secret)],
    ['spread into another object', () => inspect({ ...secret }, { showHidden: true })],
    ['as a structured clone', () => inspect(structuredClone({ ...secret }), { showHidden: true })],
    ['by its keys', () => Reflect.ownKeys(secret).map(String).join()],
    ['by an assertion message', () => messageOf(() => expect({ secret }).to.equal('something else'))],
  ];
  for (const [how, print] of printed) {
    it(`does not show its value when printed ${how}`, () => expect(print()).not.to.contain(VALUE.slice(0, 16)));
  }

  it('shows [redacted] in place of the value', () => {
    expect([`${secret}`, JSON.stringify(secret), inspect(secret)]).to.deep.equal([
      '[redacted]',
      '"[redacted]"',
      '[redacted]',
    ]);
  });

  it('returns its value from reveal()', () => expect(secret.reveal()).to.equal(VALUE));
});

function messageOf(act: () => void): string {
  try {
    act();
  } catch (error) {
    return inspect(error);
  }
  throw new Error('Nothing was thrown.');
}
