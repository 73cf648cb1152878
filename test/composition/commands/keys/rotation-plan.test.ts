import { expect } from 'chai';
import { type PlannedKey, rotationPlan } from '../../../../composition/commands/keys/rotation-plan.ts';
import { clientSettings, signingClients } from '../../../../composition/commands/keys/signing-clients.ts';
import { catalogue } from '../../../../composition/settings/catalogue.ts';
import { Secret } from '../../../../domain/secret.ts';

const first: PlannedKey = {
  index: 0,
  kid: 'kid-a',
  source: { kind: 'path', path: '/keys/a.pem' },
  isNamed: false,
  canSign: true,
};
const second: PlannedKey = {
  index: 3,
  kid: 'named-b',
  source: { kind: 'pem', pem: new Secret('PEM') },
  isNamed: true,
  canSign: true,
};
const next: PlannedKey = {
  index: 4,
  kid: 'kid-c',
  source: { kind: 'path', path: '/keys/c.pem' },
  isNamed: true,
  canSign: true,
};

const MAX_TOKEN_TTL = 1800;
const plan = (keys: readonly PlannedKey[], active: string, given: Readonly<Record<string, string>> = {}) =>
  rotationPlan(keys, active, next, MAX_TOKEN_TTL, signingClients({ text: (key) => given[key] }));
const settingsOf = (keys: readonly PlannedKey[], active: string) =>
  plan(keys, active).steps.map(({ settings }) => settings.map(({ name, value }) => `${name}=${value ?? '(secret)'}`));

const AS_BEFORE = [
  'Service__Signing__Keys__0__Path=/keys/a.pem',
  'Service__Signing__Keys__3__Pem=(secret)',
  'Service__Signing__Keys__3__Kid=named-b',
];
const NEXT = ['Service__Signing__Keys__4__Path=/keys/c.pem', 'Service__Signing__Keys__4__Kid=kid-c'];

describe('The plan of a key rotation', () => {
  it('publishes the next key, then signs with it, then retires the other keys, whose settings stay', () => {
    expect(settingsOf([first, second], 'named-b')).to.deep.equal([
      [...AS_BEFORE, ...NEXT, 'Service__Signing__ActiveKid=named-b'],
      [...AS_BEFORE, ...NEXT, 'Service__Signing__ActiveKid=kid-c'],
      [...AS_BEFORE, ...NEXT, 'Service__Signing__ActiveKid=kid-c'],
    ]);
    expect(plan([first, second], 'named-b').steps[2]?.acts).to.deep.equal([
      'run mandate keys retire --kid=kid-a for each copy of /keys/a.pem; the setting keeps naming the file.',
      'replace Service__Signing__Keys__3__Pem by the public half, which mandate keys retire --kid=named-b prints.',
    ]);
  });

  it('never names a public half as the key that signs until step 2', () => {
    const [publish] = plan([second, { ...first, canSign: false }, next], 'kid-c').steps;
    expect(publish?.settings.at(-1)).to.deep.equal({ name: 'Service__Signing__ActiveKid', value: 'named-b' });
  });

  for (const [title, keys, active, step, done] of [
    ['without the next key', [first], 'kid-a', 1, [false, false, false]],
    ['with the next key published', [first, next], 'kid-a', 2, [true, false, false]],
    ['with the next key as the active one', [first, next], 'kid-c', 3, [true, true, false]],
    ['with the former key retired', [{ ...first, canSign: false }, next], 'kid-c', undefined, [true, true, true]],
    ['with the next key alone', [next], 'kid-c', undefined, [true, true, true]],
  ] as const) {
    it(`derives the next step from settings ${title}`, () => {
      const planned = plan(keys, active);
      expect(planned.next).to.equal(step);
      expect(planned.steps.map((one) => one.done)).to.deep.equal(done);
    });
  }

  it('waits before step 2 until caches have expired, and before a removal until the last old token has expired', () => {
    const [, second_, third] = plan([first], 'kid-a').steps;
    // Ten minutes in the cache of a tool server, and five in an HTTP cache.
    expect(second_?.conditions?.[0]).to.match(/^wait 15 minutes from when step 1/);
    expect(third?.conditions?.[0]).to.match(/^step 2 has reached every replica/);
    // The lifetime of a token, the clock skew, and ten minutes in the cache of a tool server.
    expect(second_?.conditions?.slice(1).join()).to.match(/private_key_jwt.* These settings have no such client/);
    expect(third?.afterwards).to.match(/ may be removed 41 minutes after step 2 .* a checkpoint by the next key/);
  });

  it('names before step 2 each client that authenticates with the key, and what fails until its provider has read it', () => {
    const poll = { 'Service:UpstreamIdp:SponsorCheck:ClientId': 'mandate' };
    const me = { 'Service:Me:ClientId': 'mandate-me' };
    const console = { 'Service:Operators:ClientId': 'mandate-console' };
    const named = (given: Readonly<Record<string, string>>) =>
      plan([first], 'kid-a', given)
        .steps[1]?.conditions?.slice(1)
        .map((line) => line.replace(/^.* client /, ''));
    const lines = {
      poll: 'mandate (Service:UpstreamIdp:SponsorCheck:ClientId): until then the provider answers for no person, so exchanges are refused.',
      me: 'mandate-me (Service:Me:ClientId): until then no person signs in at /me.',
      console: 'mandate-console (Service:Operators:ClientId): until then no operator signs in at the console.',
    };
    expect(named({ ...poll, ...me, ...console })).to.deep.equal([lines.poll, lines.me, lines.console]);
    const secret = { 'Service:Me:ClientSecret:Path': '/run/secrets/me' };
    expect(named({ ...me, ...secret, ...console })).to.deep.equal([lines.console]);
    const token = { 'Service:UpstreamIdp:SponsorCheck:BearerToken': 'a-token' };
    expect(named({ ...token, ...me })).to.deep.equal([lines.me]);
  });

  it('knows every setting that names a client', () => {
    expect(clientSettings).to.have.members(Object.keys(catalogue).filter((name) => name.endsWith(':ClientId')));
  });
});
