/** Every denial reason of the token, introspection and revocation endpoints: the response and the ledger record. */
import { expect } from 'chai';
import { denialReasons } from '../../domain/denial.ts';
import { type AgentKey, makeAgentKey } from '../support/agents/agent-key.ts';
import { databasesByLength } from '../support/databases.ts';
import { type Answer, type Mandate, startMandate } from '../support/mandate.ts';
import { seconds } from './refusals/case.ts';
import { casesOfAgents } from './refusals/of-agents.ts';
import { casesOfPeople } from './refusals/of-people.ts';

/** Each refusal has its own record. ledger-seal.test.ts tests aggregation. */
const EACH_RECORDED = { 'Service:Audit:Aggregation:Enabled': 'false' };

/** The status and the reasons of each OAuth error. */
const ERRORS: Readonly<Record<string, readonly [status: number, reasons: RegExp]>> = {
  invalid_request: [400, /^invalid_request$/],
  unsupported_grant_type: [400, /^unsupported_grant_type$/],
  unsupported_token_type: [400, /^unsupported_token_type$/],
  temporarily_unavailable: [503, /^(actor|subject)_keys_unavailable$/],
  invalid_client: [401, /^actor_(?!keys_unavailable|not_named)/],
  invalid_grant: [400, /^(subject_(?!keys_unavailable).*|sponsor_key_missing|grant_not_found|grant_revoked)$/],
  invalid_scope: [400, /^scope_/],
  invalid_target: [400, /^audience_/],
  access_denied: [
    400,
    /^(agent_disabled|task_\w+|sponsor_disabled|sponsor_not_found|actor_not_named|delegation_depth_exceeded)$/,
  ],
};

function responseTo(reason: string): readonly [status: number, error: string] {
  const [entry, ...others] = Object.entries(ERRORS).filter(([, [, reasons]]) => reasons.test(reason));
  if (entry === undefined || others.length > 0) throw new Error(`no single response to ${reason}`);
  return [entry[1][0], entry[0]];
}

const cases = [...casesOfAgents, ...casesOfPeople];

/** Reasons that tests of other files cover. */
const ELSEWHERE = [
  'sponsor_status_unavailable', // test/system/sponsor-check.test.ts
  'revocation_not_owner', // test/system/revocation.test.ts
  'rate_limited', // test/system/rate-limits.test.ts
  'subject_logged_out', // test/system/logged-out.test.ts
  'subject_bound_to_key', // test/system/bound-tokens.test.ts
  'actor_not_named', // test/system/may-act.test.ts
  'actor_expiry_in_doubt', // test/system/jumping-clocks.test.ts
  'overloaded', // test/system/overload.test.ts
  'delegation_offer_unknown', // test/system/delegation/refusals.test.ts
  'delegation_offer_expired', // test/system/delegation/refusals.test.ts
  'delegation_offer_spent', // test/system/delegation/refusals.test.ts
  'delegation_not_for_agent', // test/system/delegation/refusals.test.ts
  'delegation_not_allowed', // test/system/delegation/refusals.test.ts
  'delegation_refused_by_person', // test/system/delegation/refusals.test.ts
  'too_many_children', // test/system/delegation/refusals.test.ts
  'parent_ended', // test/system/delegation/refusals.test.ts
  'ancestor_disabled', // test/system/delegation/refusals.test.ts
  'approval_request_malformed', // test/system/approvals.test.ts
  'approval_request_expired', // test/system/approvals.test.ts
  'approval_issuer_unknown', // test/system/approvals.test.ts
  'approval_signature_invalid', // test/system/approvals.test.ts
  'approval_not_for_task', // test/system/approvals.test.ts
  'approval_replayed', // test/system/approvals.test.ts
  'too_many_pending', // test/system/approvals.test.ts
  'too_many_questions', // test/system/approval-limits.test.ts
  'approval_altered', // test/system/approvals-altered.test.ts
  'approval_keys_unavailable', // test/system/approval-keys.test.ts
  'code_unknown', // test/system/authorize/redeeming.test.ts
  'code_expired', // test/system/authorize/redeeming.test.ts
  'code_replayed', // test/system/authorize/redeeming.test.ts
  'code_verifier_mismatch', // test/system/authorize/redeeming.test.ts
  'authorization_altered', // test/system/authorize/altered-answer.test.ts
  'client_not_public', // test/system/authorize/redeeming.test.ts
  'redirect_uri_not_registered', // test/system/authorize/redeeming.test.ts
  'grant_superseded', // test/system/authorize/rotating.test.ts
  'client_unknown', // test/system/authorize/requests.test.ts
  'unsupported_response_type', // test/system/authorize/requests.test.ts
  'request_not_supported', // test/system/authorize/requests.test.ts
  'request_uri_not_supported', // test/system/authorize/requests.test.ts
  'interaction_required', // test/system/authorize/requests.test.ts
  'code_challenge_missing', // test/system/authorize/requests.test.ts
  'sign_in_other_person', // test/system/authorize/person.test.ts
  'consent_refused', // test/system/authorize/person.test.ts
  'request_expired', // test/system/authorize/person.test.ts
];

describe('The tests of all denial reasons', () => {
  it('cover every denial reason', () => {
    const covered = new Set([...cases.map((one) => one.reason), ...ELSEWHERE]);
    expect(denialReasons.filter((reason) => !covered.has(reason))).to.deep.equal([]);
  });
});

for (const database of databasesByLength) {
  describe(`The OAuth endpoints on ${database.name}`, () => {
    let mandate: Mandate;
    let stranger: AgentKey;
    before(async () => {
      mandate = await startMandate({ database, settings: EACH_RECORDED });
      stranger = await makeAgentKey();
    });
    after(() => mandate.stop());

    for (const { reason, when, act, sponsor } of cases) {
      it(`refuse and record ${reason} if ${when}`, async () => {
        const agent = await mandate.agent();
        let answer: Answer | undefined;
        const lines = await mandate.recorded(async () => {
          answer = await act({ mandate, agent, stranger });
        });
        const [status, error] = responseTo(reason);
        expect(answer?.status, answer?.text).to.equal(status);
        expect(answer?.body.error).to.equal(error);
        expect(answer?.body.error_description).to.be.a('string').that.matches(/\.$/);
        if (error === 'access_denied') expect(answer?.body.reason).to.equal(reason);
        else expect(answer?.body).to.have.all.keys('error', 'error_description');
        expect(answer?.headers.get('cache-control')).to.equal('no-store');
        expect(answer?.headers.get('pragma')).to.equal('no-cache');
        expect(answer?.headers.get('www-authenticate')).to.equal(null);

        const record = lines.at(-1);
        expect(record).to.include({ event: 'token.denied', decision: 'deny', reason, jti: null });
        if (sponsor === undefined) {
          expect(record).to.include({ agent_id: null, sponsor: null, task_id: null, audience: null, scope: null });
        } else {
          expect(record?.agent_id).to.be.a('string');
          expect(record?.sponsor).to.equal(sponsor);
        }
        expect(lines.filter((line) => line.reason === reason)).to.have.lengthOf(1);
      });
    }

    it('record the requested audience and scope once the agent is authenticated', async () => {
      const agent = await mandate.agent();
      const lines = await mandate.recorded(() =>
        agent.exchange({ resource: 'https://other.example', scope: 'jira:read' }),
      );
      expect(lines.at(-1)).to.deep.include({
        agent_id: agent.id,
        sponsor: 'ada',
        audience: 'https://other.example',
        scope: 'jira:read',
        task_id: null,
        delegation_depth: null,
        checkpoint: null,
      });
    });

    it('answer agent_disabled only to a valid assertion, and mark that assertion as used', async () => {
      const agent = await mandate.agent();
      await mandate.admin('PATCH', `/admin/agents/${agent.id}`, { enabled: false });
      for (const [reason, claims] of [
        ['actor_expired', { iat: seconds() - 900, exp: seconds() - 600 }],
        ['actor_wrong_audience', { aud: 'https://other.example' }],
      ] as const) {
        const lines = await mandate.recorded(async () => {
          const answer = await agent.exchange({ actor_token: agent.assertion(claims) });
          expect(answer.body.error).to.equal('invalid_client');
        });
        expect(lines.at(-1)).to.include({ reason, agent_id: agent.id });
      }
      const form = agent.exchangeForm();
      expect((await mandate.post('/oauth2/token', form)).body.reason).to.equal('agent_disabled');
      await mandate.admin('PATCH', `/admin/agents/${agent.id}`, { enabled: true });
      const lines = await mandate.recorded(async () => {
        expect((await mandate.post('/oauth2/token', form)).status).to.equal(401);
      });
      expect(lines.at(-1)).to.include({ reason: 'actor_replayed', agent_id: agent.id });
    });
  });
}
