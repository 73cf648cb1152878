/**
 * The public signature vectors of C2SP/wycheproof, through the strict reader and the key rules of this service. The
 * service verifies no signature by a shared secret, so vectors with one test only the reader.
 */

import { createHmac, createPublicKey } from 'node:crypto';
import { expect } from 'chai';
import { importKeys, verifyWithRing } from '../../../adapters/jose/key-ring.ts';
import { isSignature } from '../../../adapters/jose/signature.ts';
import { AGENT_KEY_RULES, checkJwkSet, PROVIDER_KEY_RULES, readKeySet } from '../../../domain/agents/key-set.ts';
import type { KeyRules } from '../../../domain/agents/public-key.ts';
import { readJwsEnvelope } from '../../../domain/tokens/compact-jws.ts';
import type { JsonObject } from '../../../domain/tokens/strict-json.ts';
import { describeVectors } from '../../support/public-vectors.ts';

interface JwsVectors {
  readonly testGroups: readonly {
    readonly comment: string;
    readonly public?: JsonObject;
    readonly private: JsonObject;
    readonly tests: readonly {
      readonly tcId: number;
      readonly comment: string;
      readonly jws: string;
      readonly result: 'valid' | 'invalid';
    }[];
  }[];
}

interface EcdsaVectors {
  readonly testGroups: readonly {
    readonly publicKeyPem: string;
    readonly tests: readonly {
      readonly tcId: number;
      readonly msg: string;
      readonly sig: string;
      readonly result: 'valid' | 'invalid';
    }[];
  }[];
}

/** The ids of vectors that the file labels wrongly, or whose payload is empty (README beside the file). */
const LEFT_OUT = [259, 264, 268, 272, 320, 325, 346, 347, 350, 351, 367, 370, 372, 373];

async function verdictOf(jws: string, keySet: JsonObject, rules: KeyRules): Promise<string> {
  const envelope = readJwsEnvelope(jws);
  if (envelope === undefined) return 'malformed';
  const ring = await importKeys(readKeySet(keySet, rules)?.usable ?? []);
  return (await verifyWithRing(ring, envelope, rules.algorithms)).kind;
}

describeVectors<JwsVectors>('The JWS vectors of wycheproof', 'wycheproof_json_web_signature_test.json', (vectors) => {
  const cases = vectors.testGroups.flatMap(({ tests, ...group }) =>
    tests.filter(({ tcId }) => !LEFT_OUT.includes(tcId)).map((test) => ({ ...test, group })),
  );
  const symmetric = cases.filter(({ group }) => group.private.kty === 'oct');
  const asymmetric = cases.filter(({ group }) => group.private.kty !== 'oct');

  it('are complete', () => {
    expect([asymmetric.length, symmetric.length]).to.deep.equal([351, 36]);
  });

  it('have the expected verdict with the algorithms of an identity provider', async () => {
    const wrong: string[] = [];
    for (const { group, tcId, comment, jws, result } of asymmetric) {
      const verdict = await verdictOf(jws, { keys: [group.public ?? null] }, PROVIDER_KEY_RULES);
      if ((verdict === 'verified') !== (result === 'valid')) wrong.push(`${tcId} ${comment}: ${verdict}`);
    }
    expect(wrong).to.deep.equal([]);
  });

  it('have the expected verdict with the algorithms of an agent', async () => {
    const wrong: string[] = [];
    for (const { group, tcId, comment, jws, result } of asymmetric) {
      const expected = result === 'valid' && AGENT_KEY_RULES.algorithms.some((name) => name === group.public?.alg);
      const verdict = await verdictOf(jws, { keys: [group.public ?? null] }, AGENT_KEY_RULES);
      if ((verdict === 'verified') !== expected) wrong.push(`${tcId} ${comment}: ${verdict}`);
    }
    expect(wrong).to.deep.equal([]);
  });

  it('are refused when they are signed with a shared secret', async () => {
    for (const { group, tcId, jws } of symmetric) {
      const verdict = await verdictOf(jws, { keys: [group.private] }, PROVIDER_KEY_RULES);
      expect(verdict, `${tcId}`).to.be.oneOf(['malformed', 'unsupported_algorithm']);
    }
  });

  it('are read only in their canonical encoding, also when they are signed with a shared secret', () => {
    const wrong = symmetric
      .filter(({ group, jws, result }) => {
        const [header, payload, signature = ''] = jws.split('.');
        const envelope = readJwsEnvelope(jws);
        const mac = createHmac('sha256', Buffer.from(String(group.private.k), 'base64url'))
          .update(`${header}.${payload}`)
          .digest();
        const sound = envelope?.algorithm === 'HS256' && mac.equals(Buffer.from(signature, 'base64url'));
        const named = envelope?.keyId === group.private.kid;
        return (sound && named) !== (result === 'valid');
      })
      .map(({ tcId, comment }) => `${tcId} ${comment}`);
    expect(wrong).to.deep.equal([]);
  });
});

describeVectors<JwsVectors>('The key set vectors of wycheproof', 'wycheproof_json_web_key_test.json', (vectors) => {
  for (const group of vectors.testGroups) {
    const isSymmetric = JSON.stringify(group.private).includes('"oct"');

    it(`${group.comment}: the private key set is refused as a registration`, () => {
      expect(checkJwkSet(group.private).kind).to.equal('invalid');
    });

    for (const { tcId, comment, jws, result } of group.tests) {
      // The service refuses every signature by a shared secret.
      const refused = result === 'invalid' || isSymmetric;
      it(`${group.comment}: ${comment} (${tcId}) is ${refused ? 'refused' : 'verified'}`, async () => {
        const keySet = group.public ?? group.private;
        const registered = checkJwkSet(keySet);
        const keys =
          registered.kind === 'valid' ? { keys: registered.jwks.keys.map((key) => ({ ...key })) } : { keys: [] };
        const verdict = await verdictOf(jws, keys, AGENT_KEY_RULES);
        expect(verdict === 'verified').to.equal(!refused);
        expect((await verdictOf(jws, keySet, PROVIDER_KEY_RULES)) === 'verified').to.equal(!refused);
      });
    }
  }
});

describeVectors<EcdsaVectors>(
  'The ECDSA vectors of wycheproof',
  'wycheproof_ecdsa_secp256r1_sha256_p1363_test.json',
  (vectors) => {
    // The messages are not JWS signing inputs. So the test imports each key as usual and calls the verifier directly.
    it('have the expected verdict with their imported keys', async () => {
      const wrong: string[] = [];
      for (const { publicKeyPem, tests } of vectors.testGroups) {
        const [key] = await importKeys(readKeySet({ keys: [jwkOf(publicKeyPem)] }, AGENT_KEY_RULES)?.usable ?? []);
        if (key === undefined) throw new Error(`no key: ${publicKeyPem}`);
        for (const { tcId, msg, sig, result } of tests) {
          const verified = isSignature('ES256', key.key, Buffer.from(msg, 'hex'), Buffer.from(sig, 'hex'));
          if (verified !== (result === 'valid')) wrong.push(`${tcId}`);
        }
      }
      expect(wrong).to.deep.equal([]);
    });

    it('are refused without an exception over another message', async () => {
      const header = Buffer.from('{"alg":"ES256"}').toString('base64url');
      for (const { publicKeyPem, tests } of vectors.testGroups) {
        for (const { tcId, msg, sig } of tests) {
          const payload = Buffer.from(msg, 'hex').toString('base64url') || 'AA';
          const jws = `${header}.${payload}.${Buffer.from(sig, 'hex').toString('base64url')}`;
          const verdict = await verdictOf(jws, { keys: [jwkOf(publicKeyPem)] }, AGENT_KEY_RULES);
          expect(verdict, `${tcId}`).to.be.oneOf(['malformed', 'invalid_signature']);
        }
      }
    });
  },
);

function jwkOf(pem: string): JsonObject {
  return { ...(createPublicKey(pem).export({ format: 'jwk' }) as JsonObject) };
}
