import { createHash, createHmac } from 'node:crypto';
import { expect } from 'chai';
import { agentKeys } from '../../../adapters/jose/agent-keys.ts';
import { strangersWait } from '../../../adapters/jose/key-waits.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import type { Agent } from '../../../domain/agents/agent.ts';
import type { JwkSet } from '../../../domain/agents/public-key.ts';
import { readCompactJws } from '../../../domain/tokens/compact-jws.ts';
import { CLAIMS, es, jwsBy, ps, rs, stranger, without } from '../../support/agents/signed-assertion.ts';
import { capturedLog } from '../../support/captured-log.ts';
import { agentIdOf, anAgent } from '../../support/domain-fixtures.ts';
import { movedClock } from '../../support/moved-clock.ts';

function setOf(...keys: readonly object[]): JwkSet {
  return { keys: keys as JwkSet['keys'] };
}

function inline(...keys: readonly object[]): Agent {
  return anAgent({ keys: { kind: 'inline', jwks: setOf(...keys) } });
}

describe('The inline keys of an agent', () => {
  const keys = agentKeys(httpNetwork(), movedClock(), capturedLog()).at(strangersWait());
  let revision = 0;

  /** Gives the agent a new revision in each call, so that no call uses a key that an earlier call imported. */
  async function verdict(agent: Agent, jws: ReturnType<typeof jwsBy>): Promise<string> {
    revision += 1;
    return (await keys.verify({ ...agent, revision }, jws)).kind;
  }

  it('verify ES256, RS256 and PS256, with and without a kid', async () => {
    for (const key of [es, rs, ps]) {
      expect(await verdict(inline(es.publicJwk, rs.publicJwk, ps.publicJwk), jwsBy(key))).to.equal('verified');
      const nameless = inline(...[es, rs, ps].map((one) => without(one.publicJwk, 'kid', 'alg', 'use')));
      expect(await verdict(nameless, jwsBy(key, { kid: undefined }))).to.equal('verified');
    }
  });

  it('verify RS256 and PS256 with an RSA key without an alg', async () => {
    const either = inline(without(rs.publicJwk, 'alg'));
    expect(await verdict(either, jwsBy(rs))).to.equal('verified');
    const inPss = { ...ps, kid: rs.kid };
    expect(await verdict(inline({ ...without(ps.publicJwk, 'alg'), kid: rs.kid }), jwsBy(inPss))).to.equal('verified');
  });

  it('verify with any key_ops and ext in the JWK', async () => {
    const decorated = { ...es.publicJwk, key_ops: ['sign', 'verify'], ext: 'yes', x5c: 7 };
    expect(await verdict(inline(decorated), jwsBy(es))).to.equal('verified');
  });

  it('refuse an unlisted algorithm, also without any key', async () => {
    for (const alg of ['none', 'HS256', 'ES384', 'RS384', 'RS512', 'PS384', 'EdDSA', 'es256', '', 'constructor']) {
      const jws = { ...jwsBy(es), algorithm: alg };
      expect(await verdict(inline(), jws), alg).to.equal('unsupported_algorithm');
    }
  });

  it('refuse HS256 with a public key as the shared secret', async () => {
    const header = Buffer.from(JSON.stringify({ alg: 'HS256', kid: es.kid })).toString('base64url');
    const input = `${header}.${Buffer.from(JSON.stringify(CLAIMS)).toString('base64url')}`;
    const secret = Buffer.from(JSON.stringify(es.publicJwk));
    const jws = readCompactJws(`${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`);
    if (jws === undefined) throw new Error('malformed');
    expect(await verdict(inline(es.publicJwk), jws)).to.equal('unsupported_algorithm');
  });

  it('return no_registered_keys when no key is usable', async () => {
    expect(await verdict(inline(), jwsBy(es))).to.equal('no_registered_keys');
    expect(await verdict(inline(offCurve(es.publicJwk)), jwsBy(es))).to.equal('no_registered_keys');
  });

  it('return unknown_key when no key has the kid', async () => {
    expect(await verdict(inline(es.publicJwk), jwsBy(es, { kid: 'another' }))).to.equal('unknown_key');
    expect(await verdict(inline(without(es.publicJwk, 'kid')), jwsBy(es))).to.equal('unknown_key');
    expect(await verdict(inline(es.publicJwk), jwsBy(es, { kid: '' }))).to.equal('unknown_key');
  });

  it('return key_mismatch when the named key, or every key, is of another algorithm', async () => {
    expect(await verdict(inline(es.publicJwk, rs.publicJwk), jwsBy(rs, { kid: es.kid }))).to.equal('key_mismatch');
    expect(await verdict(inline(rs.publicJwk), jwsBy({ ...ps, kid: rs.kid }))).to.equal('key_mismatch');
    expect(await verdict(inline(rs.publicJwk), jwsBy(es, { kid: undefined }))).to.equal('key_mismatch');
  });

  it('return invalid_signature for a wrong signature, also of another registered key', async () => {
    const both = inline(es.publicJwk, stranger.publicJwk);
    expect(await verdict(both, jwsBy(stranger, { kid: es.kid }))).to.equal('invalid_signature');
    expect(await verdict(inline(es.publicJwk), jwsBy(stranger, { kid: undefined }))).to.equal('invalid_signature');
  });

  it('ignore a key in the header of the token', async () => {
    const embedded = { kid: es.kid, jwk: stranger.publicJwk, jku: 'https://evil.example/jwks', x5c: ['AAAA'] };
    expect(await verdict(inline(es.publicJwk), jwsBy(stranger, embedded))).to.equal('invalid_signature');
  });

  it('are those of the given agent and revision', async () => {
    const before = { ...inline(es.publicJwk), revision: 70_000 };
    const after = { ...inline(stranger.publicJwk), revision: 70_001 };
    expect((await keys.verify(before, jwsBy(es))).kind).to.equal('verified');
    expect((await keys.verify(after, jwsBy(es))).kind).to.equal('unknown_key');
    const another = { ...before, agentId: agentIdOf('another'), keys: after.keys };
    expect((await keys.verify(another, jwsBy(es))).kind).to.equal('unknown_key');
  });

  it('are usable when they can be imported', async () => {
    const publicOnes = setOf(es.publicJwk, rs.publicJwk, offCurve(es.publicJwk)).keys;
    expect(await Promise.all(publicOnes.map((key) => keys.isUsable(key)))).to.deep.equal([true, true, false]);
  });
});

/** The same key with a y that does not belong to its x. */
function offCurve(key: object): object {
  const y = createHash('sha256').update('another y').digest('base64url');
  return { ...key, y };
}
