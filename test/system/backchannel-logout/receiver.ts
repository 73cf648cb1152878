/** A service that receives logout tokens, and the provider that sends them. */

import { expect } from 'chai';
import { freePort } from '../../../scripts/free-port.ts';
import type { TestDatabase } from '../../support/databases.ts';
import { type IdentityProvider, startIdentityProvider } from '../../support/identity-provider/identity-provider.ts';
import { type Answer, type Mandate, type RegisteredAgent, startMandate } from '../../support/mandate.ts';

export const PATH = '/backchannel-logout';

export type Claims = Readonly<Record<string, unknown>>;

/** Starts it before the tests of the surrounding suite, and stops it after them. */
export function receiverOn(database: TestDatabase) {
  let provider: IdentityProvider;
  let mandate: Mandate;
  let agent: RegisteredAgent;

  before(async () => {
    const port = await freePort();
    provider = await startIdentityProvider({ backchannelLogoutUri: `http://127.0.0.1:${port}${PATH}` });
    mandate = await startMandate({
      database,
      provider,
      settings: {
        PORT: String(port),
        'Service:UpstreamIdp:BackchannelLogout:Audience': provider.clientId,
        'Service:Audit:Aggregation:Enabled': 'false',
      },
    });
    agent = await mandate.agent();
  });

  after(async () => {
    await mandate.stop();
    await provider.stop();
  });

  const sign = (claims: Claims = {}, header: Claims = {}): string => {
    const iat = mandate.clock.seconds();
    return provider.signLogoutToken({ sub: 'ada', iat, exp: iat + 120, ...claims }, header);
  };

  const send = (logout_token: string): Promise<Answer> => mandate.post(PATH, { logout_token });

  const newTask = async (claims: Claims = {}): Promise<Answer> => {
    const issued = await agent.exchangeFor(claims);
    expect(issued.status, issued.text).to.equal(200);
    return issued;
  };

  const introspect = (issued: Answer) => mandate.introspect(issued);

  function expectAccepted(answer: Answer): void {
    expect(answer.status, answer.text).to.equal(200);
    expect(answer.text).to.equal('');
    expect(answer.headers.get('cache-control')).to.equal('no-store');
  }

  return {
    get provider() {
      return provider;
    },
    get mandate() {
      return mandate;
    },
    get agent() {
      return agent;
    },
    sign,
    send,
    newTask,
    introspect,
    expectAccepted,
  };
}

export type Receiver = ReturnType<typeof receiverOn>;
