/** A plain read that does not find a grant proves nothing (docs/decisions/0027-a-switch-that-finds-nothing.md). */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { agentKeys } from '../../adapters/jose/agent-keys.ts';
import { strangersWait } from '../../adapters/jose/key-waits.ts';
import { httpNetwork } from '../../adapters/platform/http-network.ts';
import { sha256 } from '../../adapters/platform/system-crypto.ts';
import { recordDenials } from '../../application/ledger/record-denial.ts';
import { StorageUnavailable } from '../../application/ports/decisions.ts';
import { revokeToken } from '../../application/token/revoke.ts';
import { plusSeconds, toSeconds } from '../../domain/instant.ts';
import { type AgentKey, makeAgentKey } from '../support/agents/agent-key.ts';
import { capturedLog } from '../support/captured-log.ts';
import { newKeys } from '../support/ledger-fixture.ts';
import { agreeing, movedClock } from '../support/moved-clock.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { anOpening, recordedBy, registeredAgent } from './storage-fixtures.ts';

const ISSUER = 'https://mandate.example';
const GRANT = 'task_grant_a-secret';

onEveryDatabase('the revocation of a grant that a plain read does not find', ({ storage }) => {
  const clock = movedClock();
  let key: AgentKey;
  let signingKeys: Awaited<ReturnType<typeof newKeys>>;
  before(async () => {
    [key, signingKeys] = await Promise.all([makeAgentKey(), newKeys()]);
  });

  const registered = () => registeredAgent(storage(), { keys: { kind: 'inline', jwks: key.jwks as never } });

  it('is done if the deciding transaction finds the grant of this agent, refused and recorded if not, and 503 without an answer', async () => {
    const [owner, other] = [await registered(), await registered()];
    const times = { createdAt: clock.now(), expiresAt: plusSeconds(clock.now(), 600) };
    await storage().tasks.open({ ...anOpening(owner, times), grantHash: sha256(GRANT) });
    const seconds = toSeconds(clock.now());
    const assertions = [owner, other, owner, owner].map(({ agentId }) =>
      key.signAssertion(agentId, { aud: ISSUER, jti: randomUUID(), iat: seconds, exp: seconds + 60 }),
    );
    let isAway = false;
    const { decide } = storage();
    const decisions = {
      decide: (async (...asked: Parameters<typeof decide>) => {
        if (isAway) throw new StorageUnavailable('the primary is away');
        return decide(...asked);
      }) as typeof decide,
    };
    const service = {
      agents: storage().agents,
      decisions,
      clock,
      sharedTime: agreeing(clock),
      signingKeys,
      agentKeys: agentKeys(httpNetwork(), clock, capturedLog()).at(strangersWait()),
      audiences: [ISSUER],
      issuer: ISSUER,
      // As a standby that is behind.
      tasks: { findGrant: async () => undefined, rotates: async () => false },
      digest: sha256,
      measurements: undefined,
    };
    const exit = recordDenials({ decisions, anonymous: { record: async () => undefined }, clock });
    const revoke = (nth: number, token: string) =>
      exit(() => revokeToken(service, { token, clientAssertion: assertions[nth], clientId: undefined }));

    const records = await recordedBy(storage(), async () => {
      isAway = true;
      for (const nth of [0, 1]) {
        expect(await revoke(nth, GRANT).catch((error: unknown) => error)).to.be.instanceOf(StorageUnavailable);
      }
      isAway = false;
      expect(await revoke(1, GRANT)).to.have.nested.property('denial.reason', 'revocation_not_owner');
      expect(await revoke(2, `${GRANT}-of-none`)).to.have.nested.property('denial.reason', 'revocation_not_owner');
      expect(await revoke(0, GRANT)).to.deep.equal({ kind: 'allowed', value: 'task_revoked' });
      expect(await revoke(3, GRANT)).to.deep.equal({ kind: 'allowed', value: 'nothing_left' });
    });
    expect(records.map(({ event, agentId, reason }) => [event, agentId, reason])).to.deep.equal([
      ['token.denied', other.agentId, 'revocation_not_owner'],
      ['token.denied', owner.agentId, 'revocation_not_owner'],
      ['task.revoked', owner.agentId, 'client_revoked'],
    ]);
  });
});
