/** Task tokens for tool servers and gateways that are not ours: one that they accept, and ones that differ in one respect. */

import { expect } from 'chai';
import { decodeJwt } from 'jose';
import { type Form, JIRA, type Mandate, type RegisteredAgent, WIKI } from '../mandate.ts';
import { makeSigningKey, type SigningKey } from '../signing-key.ts';

/** Agents with this registration get tokens that need no introspection. */
export const LOCALLY = { high_risk_audiences: [] };
const HOUR = 3600;

/** The service: a test may start it again with another key. */
interface Issuing {
  readonly mandate: Mandate;
  readonly agent: RegisteredAgent;
  /** The key that signs. */
  readonly key: SigningKey;
  /** Another issuer that has the same key. */
  readonly other: Mandate;
}

interface ForeignTokens {
  issued(changes?: Form, by?: RegisteredAgent): Promise<string>;
  /** A token as issued, with these changes. This key signs it, in place of the service's key. */
  signed(claims: object, header?: object, signer?: SigningKey): Promise<string>;
  /** Each differs in one respect from a token that is accepted. */
  readonly refused: Readonly<Record<string, () => Promise<string>>>;
}

export function foreignTokens(now: () => Issuing): ForeignTokens {
  async function issued(changes: Form = {}, by = now().agent): Promise<string> {
    const { status, body, text } = await by.exchange({ scope: 'jira:read', ...changes });
    expect(status, text).to.equal(200);
    return String(body.access_token);
  }

  async function signed(claims: object, header: object = {}, signer = now().key): Promise<string> {
    const usual = { alg: 'ES256', typ: 'at+jwt', kid: now().key.kid };
    return signer.sign({ ...usual, ...header }, { ...decodeJwt<object>(await issued()), ...claims });
  }

  const refused = {
    'for another server': () => issued({ resource: WIKI }),
    'of another issuer that has the same key': async () => issued({}, await now().other.agent(LOCALLY)),
    'that must be introspected': async () => issued({}, await now().mandate.agent({ high_risk_audiences: [JIRA] })),
    async 'that has expired'() {
      const { mandate, agent } = now();
      mandate.clock.advance(-HOUR);
      try {
        return await issued({ subject_token: agent.subjectToken({ iat: mandate.clock.seconds() }) });
      } finally {
        mandate.clock.advance(HOUR);
      }
    },
    async 'whose claims were changed'() {
      const [header, , signature] = (await issued()).split('.');
      const claims = { ...decodeJwt(await issued()), sub: 'grace' };
      return `${header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.${signature}`;
    },
    'signed by a key that is not published': async () => signed({}, {}, await makeSigningKey('ES256')),
    'that names an unknown key': () => signed({}, { kid: 'unknown' }),
    'without a signature': async () => (await signed({}, { alg: 'none' })).replace(/[^.]*$/, ''),
    'of another type': () => signed({}, { typ: 'JWT' }),
    'without a jti': () => signed({ jti: undefined }),
    'for an agent as its subject': () => signed({ sub: 'agent:triage' }),
    'without an actor': () => signed({ act: undefined }),
    'that was handed on': () => signed({ act: { sub: 'agent:b', depth: 2, act: { sub: 'agent:a', depth: 1 } } }),
  };
  return { issued, signed, refused };
}
