import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import {
  type ConflictReason,
  type DenialReason,
  denialReasons,
  describeDenial,
  isTemporary,
  type SignInDemand,
} from '../../domain/denial.ts';
import type { CredentialDenialReason } from '../../domain/ledger/aggregation.ts';
import { logoutDenialReasons } from '../../domain/signals/logout-token.ts';
import { securityEventDenialReasons } from '../../domain/signals/security-event.ts';
import type { MeDenialReason } from '../../domain/sponsors/me-person.ts';

const page = readFileSync(new URL('../../docs/refusals.md', import.meta.url), 'utf8');

describe('the catalogue of refusals', () => {
  it('names every reason in fixed snake_case', () => {
    for (const reason of denialReasons) expect(reason).to.match(/^[a-z]+(_[a-z]+)*$/);
  });

  it('has the same public sentence for an unknown agent, an unknown key and a bad signature', () => {
    const sentences = ['actor_unknown_agent', 'actor_no_registered_keys', 'actor_unknown_key', 'actor_key_mismatch']
      .concat('actor_invalid_signature')
      .map((reason) => describeDenial(reason as (typeof denialReasons)[number]).sentence);
    expect(new Set(sentences).size).to.equal(1);
  });

  it('has the same public sentence for all that can be wrong with the request for an approval', () => {
    const wrong = denialReasons.filter((reason) => /^approval_/.test(reason) && !isTemporary(reason));
    expect(wrong).to.have.lengthOf(6);
    expect(new Set(wrong.map((reason) => describeDenial(reason).sentence)).size).to.equal(1);
  });

  it('marks as temporary exactly the refusals after which a client may retry', () => {
    expect(denialReasons.filter(isTemporary)).to.deep.equal([
      'overloaded',
      'actor_keys_unavailable',
      'actor_expiry_in_doubt',
      'subject_keys_unavailable',
      'sponsor_status_unavailable',
      'approval_keys_unavailable',
      'approval_altered',
      'authorization_altered',
    ]);
  });

  it('ends every public sentence with a full stop, without placeholders', () => {
    for (const reason of denialReasons) {
      const { sentence } = describeDenial(reason);
      expect(sentence).to.match(/^[A-Z].*\.$/);
      expect(sentence).not.to.match(/[{}$<>]/);
    }
  });

  it('is listed in full in the documentation of refusals', () => {
    for (const reason of denialReasons) {
      const { error, sentence } = describeDenial(reason);
      expect(page).to.include(`| \`${reason}\` | \`${error}\` | ${sentence} |`);
    }
  });

  it('has a remedy for every reason in the documentation of refusals', () => {
    const rows = [...page.matchAll(/^\| `(\w+)` \|[^|]*\|[^|]*\| ([^|]*) \|$/gm)];
    expect(rows.map(([, reason]) => reason)).to.deep.equal(denialReasons);
    for (const [, reason, remedy] of rows) expect(remedy, reason).to.match(/^[A-Z`].{3,}\.$/);
  });
});

/** A missing or unknown word does not compile. */
const OF_SURFACES: Readonly<
  Record<CredentialDenialReason | ConflictReason | SignInDemand | Exclude<MeDenialReason, DenialReason>, true>
> = {
  missing_token: true,
  invalid_token: true,
  token_audience_mismatch: true,
  invalid_form_token: true,
  missing_api_key: true,
  invalid_api_key: true,
  agent_already_exists: true,
  agent_has_tasks: true,
  agent_named_by_others: true,
  may_act_name_taken: true,
  client_id_document_taken: true,
  sponsor_block_not_owned: true,
  sign_in_too_old: true,
  sign_in_dpop_demanded: true,
  pause_not_liftable: true,
  approver_not_fresh: true,
  approval_refused: true,
  operator_is_sponsor: true,
  operator_role_missing: true,
};

describe('the documentation of refusals', () => {
  it('has a remedy for every reason of the receivers and of the admin API', () => {
    const rows = [...page.matchAll(/^\| (`[^|]*`) \| [^|]*\. \| ([^|]*) \|$/gm)];
    const named = rows.flatMap(([, reasons = '']) => [...reasons.matchAll(/`(\w+)`/g)].map(([, reason]) => reason));
    const all = [...logoutDenialReasons, ...securityEventDenialReasons, ...Object.keys(OF_SURFACES)];
    expect(named).to.have.members(all).and.to.have.lengthOf(all.length);
    for (const [, reasons, remedy] of rows) expect(remedy, reasons).to.match(/^[A-Z`].{3,}\.$/);
  });
});
