/** The cookies in which a browser keeps the requests that it has begun. */

import { expect } from 'chai';
import {
  browserSecrets,
  keepBrowserSecret,
  keepWay,
  makeWaySecrets,
  nameKeptWith,
  openWay,
  removeWay,
  signInOf,
} from '../../../../adapters/http/authorize/cookies.ts';
import { sealing, systemRandomness } from '../../../../adapters/platform/system-crypto.ts';
import { instantFromSeconds } from '../../../../domain/instant.ts';

const randomness = systemRandomness();
const PARAMETERS = [
  { name: 'client_id', value: 'jira-triage' },
  { name: 'state', value: 'a;b="c"\\ü' },
];
const ENDS = { everything: 3, agent: 5 };

/** A browser that keeps the cookies of answers. */
function jar() {
  const cookies = new Map<string, string>();
  return {
    cookies,
    header: () => [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
    take(given: readonly string[] | undefined) {
      for (const cookie of given ?? []) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
        expect(cookie).to.match(/; Max-Age=\d+; Path=\/; HttpOnly; Secure; SameSite=Lax$/);
        if (cookie.includes('Max-Age=0;')) cookies.delete(name);
        else cookies.set(name, value);
      }
    },
  };
}

function begun(seconds = 1_700_000_000, parameters: readonly { name: string; value: string }[] = PARAMETERS) {
  const secrets = makeWaySecrets(randomness);
  return { secrets, way: { secrets, isSecond: false, beganAt: instantFromSeconds(seconds), ends: ENDS, parameters } };
}

describe('The cookies of requests at the authorization endpoint', () => {
  it('keep a request until the person is back, and open it with the state of the sign-in only', () => {
    const browser = jar();
    const { secrets, way } = begun();
    browser.take(keepWay(sealing, browser.header(), way, 600));
    const { state, ...signIn } = signInOf(secrets, false);
    expect(openWay(sealing, browser.header(), state)).to.deep.equal({
      name: secrets.name,
      parameters: PARAMETERS,
      beganAt: way.beganAt,
      ends: ENDS,
      signIn: { state, ...signIn },
    });
    // Neither of the two shows the other, nor the verifier.
    const all = `${browser.header()} ${state}`;
    for (const secret of [signIn.codeVerifier, signIn.nonce, secrets.own, 'jira-triage']) {
      expect(all).not.to.contain(secret);
    }
    expect(browser.header()).not.to.contain(secrets.sealing);
    const other = makeWaySecrets(randomness);
    for (const wrong of [
      undefined,
      '',
      secrets.name,
      `${secrets.name}.${other.sealing}`,
      `${other.name}.${secrets.sealing}`,
      `${state}.x`,
    ]) {
      expect(openWay(sealing, browser.header(), wrong), wrong).to.equal(undefined);
    }
    // Two cookies of one name: neither counts.
    expect(openWay(sealing, `${browser.header()}; ${browser.header()}`, state)).to.equal(undefined);
    expect(
      openWay(
        sealing,
        browser.header().replace(/.$/, (last) => (last === 'A' ? 'Q' : 'A')),
        state,
      ),
    ).to.equal(undefined);
  });

  it('keep a state and a redirect URI of 2 KiB each in several cookies, and no longer request', () => {
    const browser = jar();
    const long = (length: number) => [
      { name: 'state', value: randomness.secret(1536) },
      { name: 'redirect_uri', value: `https://client.example/${'r'.repeat(length)}` },
    ];
    const { secrets, way } = begun(1_700_000_000, long(2025));
    const kept = keepWay(sealing, browser.header(), way, 600);
    browser.take(kept);
    expect(browser.cookies.size).to.equal(2);
    for (const cookie of kept ?? []) expect(cookie.length).to.be.lessThan(4096);
    expect(openWay(sealing, browser.header(), signInOf(secrets, false).state)?.parameters).to.deep.equal(
      way.parameters,
    );
    const back = { secret: secrets.own, person: undefined };
    browser.take(keepBrowserSecret(browser.header(), { name: secrets.name, beganAt: way.beganAt }, back, 60));
    expect(browser.cookies.size).to.equal(1);
    browser.take(removeWay(browser.header(), secrets.name));
    expect(browser.cookies.size).to.equal(0);
    expect(keepWay(sealing, '', begun(1_700_000_000, long(7000)).way, 600)).to.equal(undefined);
  });

  it('are of four requests at most, and leave room in a head of 16 KiB: the oldest go, whether the person is back or not', () => {
    const browser = jar();
    const ways = [1, 2, 3, 4, 5].map((nth) => begun(1_700_000_000 + nth));
    const isKept = () =>
      ways.map(({ secrets }) => [...browser.cookies.keys()].some((name) => name.endsWith(secrets.name)));
    for (const { way } of ways.slice(0, 4)) browser.take(keepWay(sealing, browser.header(), way, 600));
    expect(isKept()).to.deep.equal([true, true, true, true, false]);
    const [first] = ways;
    if (first === undefined) throw new Error('there is a first one');
    const { name } = first.secrets;
    const back = { secret: first.secrets.own, person: undefined };
    browser.take(keepBrowserSecret(browser.header(), { name, beganAt: first.way.beganAt }, back, 60));
    browser.take(keepWay(sealing, browser.header(), ways[4]?.way ?? first.way, 600));
    expect(isKept()).to.deep.equal([false, true, true, true, true]);
    const huge = begun(1_700_000_009, [{ name: 'state', value: 'x'.repeat(5000) }]);
    browser.take(keepWay(sealing, browser.header(), huge.way, 600));
    expect(browser.header().length).to.be.lessThan(7_500);
    expect(openWay(sealing, browser.header(), signInOf(huge.secrets, false).state)).not.to.equal(undefined);
    expect(isKept().filter((kept) => kept).length).to.be.lessThan(4);
  });

  it('hold the secret of the browser and the name of the person once they are back, and no request', () => {
    const browser = jar();
    const [one, two] = [begun(), begun()];
    browser.take(keepWay(sealing, browser.header(), one.way, 600));
    browser.take(keepWay(sealing, browser.header(), two.way, 600));
    expect(browserSecrets(browser.header())).to.deep.equal([]);
    const secret = randomness.secret(32);
    const keep = (person: string | undefined) => {
      const way = { name: one.secrets.name, beganAt: one.way.beganAt };
      browser.take(keepBrowserSecret(browser.header(), way, { secret, person }, 60));
    };
    for (const person of [undefined, 'Ada', 'Zoë; "é" 😀', '名'.repeat(100)]) {
      keep(person);
      expect(browserSecrets(browser.header())).to.deep.equal([secret]);
      expect(nameKeptWith(secret, browser.header())).to.equal(person);
      expect(nameKeptWith(randomness.secret(32), browser.header())).to.equal(undefined);
    }
    expect(openWay(sealing, browser.header(), signInOf(one.secrets, false).state)).to.equal(undefined);
    expect(browserSecrets(`${browser.header()}; ${browser.header()}`)).to.deep.equal([]);
    expect(browserSecrets(undefined)).to.deep.equal([]);
  });
});
