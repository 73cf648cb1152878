import { expect } from 'chai';
import type { Refusal } from '../../../application/decisions/refuse.ts';
import { recordDenials } from '../../../application/ledger/record-denial.ts';
import { allowed, type Denial, denied } from '../../../application/outcome.ts';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import type { DenialReason } from '../../../domain/denial.ts';
import { parseSponsorKey } from '../../../domain/identifiers.ts';
import { agentIdOf, aTask, NOON } from '../../support/domain-fixtures.ts';

const agentId = agentIdOf('jira-triage');
const assertion = { agentId, jti: 'an-assertion', forgetAt: NOON };

describe('the recording of denials', () => {
  let refusals: Refusal[];
  let anonymous: unknown[];
  let recorded: DenialReason | undefined;
  let away: StorageUnavailable | undefined;
  beforeEach(() => {
    refusals = [];
    anonymous = [];
    recorded = undefined;
    away = undefined;
  });

  const refuse = (reason: DenialReason, more: Omit<Denial, 'reason'> = {}) =>
    recordDenials({
      decisions: {
        async decide(_decision, input) {
          if (away !== undefined) throw away;
          const refusal = input as Refusal;
          refusals.push(refusal);
          return (recorded ?? refusal.entry.reason) as never;
        },
      },
      anonymous: { record: async (denial) => void anonymous.push(denial) },
      clock: { now: () => NOON },
    })(async () => denied(reason, more));

  it('returns an allowed outcome unchanged', async () => {
    const service = { decisions: { decide: async () => 'invalid_request' as never }, clock: { now: () => NOON } };
    const exit = recordDenials({ ...service, anonymous: { record: async () => void anonymous.push('recorded') } });
    expect(await exit(async () => allowed('a token'))).to.deep.equal({ kind: 'allowed', value: 'a token' });
    expect(anonymous).to.deep.equal([]);
  });

  it('passes on only the event and the reason of an anonymous denial, no data of the request', async () => {
    const about = { audience: 'https://sent.example', scope: 'sent' };
    expect(await refuse('actor_invalid_signature', { about, detail: 'A sentence.' })).to.deep.equal(
      denied('actor_invalid_signature', { about, detail: 'A sentence.' }),
    );
    expect(anonymous).to.deep.equal([{ event: 'token.denied', reason: 'actor_invalid_signature' }]);
    expect(refusals).to.deep.equal([]);
  });

  const attributable: readonly (readonly [string, Omit<Denial, 'reason'>])[] = [
    ['an agent', { about: { agentId } }],
    ['a person', { about: { sponsor: 'ada' } }],
    ['a task', { about: { taskId: aTask().taskId } }],
    ['no one, but has an assertion to use up', { assertion }],
    ['no one, but has a person to look up', { sponsorKey: parseSponsorKey('object-7') }],
  ];
  for (const [who, more] of attributable) {
    it(`records a denial that names ${who} at once, and throws if the database is unavailable`, async () => {
      await refuse('scope_widened', more);
      expect(anonymous).to.deep.equal([]);
      expect(refusals).to.have.lengthOf(1);
      expect(refusals[0]).to.deep.include({ assertion: more.assertion, sponsorKey: more.sponsorKey });
      expect(refusals[0]?.entry).to.deep.include({ event: 'token.denied', at: NOON, ...more.about });
      away = new StorageUnavailable('away');
      const thrown: unknown = await refuse('scope_widened', more).catch((error: unknown) => error);
      expect(thrown).to.equal(away);
    });
  }

  it('returns the reason that was recorded', async () => {
    recorded = 'actor_replayed';
    expect(await refuse('scope_widened', { about: { agentId }, assertion })).to.deep.equal(denied('actor_replayed'));
  });

  it('does not mark the assertion as used if the denial is temporary', async () => {
    await refuse('subject_keys_unavailable', { about: { agentId }, assertion });
    expect(refusals[0]).to.include({ assertion: undefined });
  });
});
