import { expect } from 'chai';
import { type PlannedKey, rotationPlan } from '../../composition/rotation-plan.ts';
import { Secret } from '../../domain/secret.ts';

const first: PlannedKey = { index: 0, kid: 'kid-a', source: { kind: 'path', path: '/keys/a.pem' }, isNamed: false };
const second: PlannedKey = { index: 3, kid: 'named-b', source: { kind: 'pem', pem: new Secret('PEM') }, isNamed: true };
const next: PlannedKey = { index: 4, kid: 'kid-c', source: { kind: 'path', path: '/keys/c.pem' }, isNamed: true };

const MAX_TOKEN_TTL = 1800;
const plan = (keys: readonly PlannedKey[], active: string) => rotationPlan(keys, active, next, MAX_TOKEN_TTL);
const settingsOf = (keys: readonly PlannedKey[], active: string) =>
  plan(keys, active).steps.map(({ settings }) => settings.map(({ name, value }) => `${name}=${value ?? '(secret)'}`));

const AS_BEFORE = [
  'Service__Signing__Keys__0__Path=/keys/a.pem',
  'Service__Signing__Keys__3__Pem=(secret)',
  'Service__Signing__Keys__3__Kid=named-b',
];
const NEXT = ['Service__Signing__Keys__4__Path=/keys/c.pem', 'Service__Signing__Keys__4__Kid=kid-c'];

describe('The plan of a key rotation', () => {
  it('publishes the next key, then signs with it, then removes the other keys', () => {
    expect(settingsOf([first, second], 'named-b')).to.deep.equal([
      [...AS_BEFORE, ...NEXT, 'Service__Signing__ActiveKid=named-b'],
      [...AS_BEFORE, ...NEXT, 'Service__Signing__ActiveKid=kid-c'],
      [...NEXT, 'Service__Signing__ActiveKid=kid-c'],
    ]);
    expect(plan([first, second], 'named-b').steps[2]?.unset).to.deep.equal([
      'Service__Signing__Keys__0__Path',
      'Service__Signing__Keys__3__Pem',
      'Service__Signing__Keys__3__Kid',
    ]);
  });

  for (const [title, keys, active, step, done] of [
    ['without the next key', [first], 'kid-a', 1, [false, false, false]],
    ['with the next key published', [first, next], 'kid-a', 2, [true, false, false]],
    ['with the next key as the active one', [first, next], 'kid-c', 3, [true, true, false]],
    ['with the next key alone', [next], 'kid-c', undefined, [true, true, true]],
  ] as const) {
    it(`derives the next step from settings ${title}`, () => {
      const planned = plan(keys, active);
      expect(planned.next).to.equal(step);
      expect(planned.steps.map((one) => one.done)).to.deep.equal(done);
    });
  }

  it('waits before step 2 until caches have expired, and before step 3 until the last old token has expired', () => {
    const [, second_, third] = plan([first], 'kid-a').steps;
    // Ten minutes in the cache of a tool server, and five in an HTTP cache.
    expect(second_?.conditions[0]).to.match(/^wait PT15M from when step 1/);
    // The lifetime of a token, the clock skew, and ten minutes in the cache of a tool server.
    expect(third?.conditions[0]).to.match(/^wait PT41M from when step 2/);
    expect(third?.conditions[1]).to.match(/^checkpoints verify only with keys that are published/);
  });
});
