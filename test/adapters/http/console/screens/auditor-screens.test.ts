/** What the auditor's screens show of their views. */

import { expect } from 'chai';
import { renderCheckpoints } from '../../../../../adapters/http/console/screens/checkpoints.ts';
import { renderDoctor } from '../../../../../adapters/http/console/screens/doctor.ts';
import { type LedgerView, renderLedger } from '../../../../../adapters/http/console/screens/ledger.ts';
import { failed, ok, skipped, warning } from '../../../../../application/doctor/examine.ts';
import { plusSeconds, toMillisecondText } from '../../../../../domain/instant.ts';
import type { LedgerRecord } from '../../../../../domain/ledger/record.ts';
import { nothingSuggested } from '../../../../support/console/views.ts';
import { NOON } from '../../../../support/domain-fixtures.ts';

const MARKUP = `"><script>alert('&')</script>`;
const ESCAPED = '&quot;&gt;&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;';

const record = (changes: Partial<LedgerRecord>): LedgerRecord => ({
  seq: 7,
  checkpoint: 2,
  at: NOON,
  event: 'token.denied',
  decision: 'deny',
  reason: 'scope_widened',
  ...changes,
});

type Page = Extract<LedgerView['outcome'], { readonly kind: 'page' }>;
const ledger = (page: Partial<Page>, search: LedgerView['search'] = {}) =>
  renderLedger({
    now: plusSeconds(NOON, 60),
    sealsEvery: 1800,
    search,
    suggested: nothingSuggested,
    outcome: { kind: 'page', records: [], next: undefined, first: undefined, archivedBefore: undefined, ...page },
  }).toString();

describe('The screen Ledger', () => {
  it('escapes what records and searches hold, and links only to encoded values', () => {
    const [task, agent] = ['task_"&<', 'agent 1'];
    const shown = ledger(
      { records: [record({ sponsor: MARKUP, event: MARKUP, detail: MARKUP, taskId: task, agentId: agent })] },
      { sponsor: MARKUP, from: MARKUP },
    );
    expect(shown).not.to.include('<script>');
    expect(shown).to.include(`<bdi translate="no">${ESCAPED}</bdi>`).and.include(`name="sponsor" value="${ESCAPED}"`);
    expect(shown).to.include('/ledger?task_id=task_%22%26%3C"').and.include('/ledger?agent_id=agent%201"');
  });

  it('shows the JSON that the API answers, for the verification of what is seen', () => {
    const shown = ledger({ records: [record({ sponsor: 'ada', count: 3 })] });
    const json = /<pre [^>]*data-record="7">(.*?)<\/pre>/s.exec(shown)?.[1]?.replaceAll('&quot;', '"') ?? '';
    expect(JSON.parse(json)).to.deep.equal({
      seq: 7,
      checkpoint: 2,
      event: 'token.denied',
      task_id: null,
      agent_id: null,
      sponsor: 'ada',
      audience: null,
      scope: null,
      jti: null,
      delegation_depth: null,
      decision: 'deny',
      reason: 'scope_widened',
      count: 3,
      ts: toMillisecondText(NOON),
    });
  });

  it('keeps a browser that translates the page from the JSON, which would not verify', () => {
    expect(ledger({ records: [record({})] })).to.match(/<pre [^>]*translate="no"[^>]*data-record="7">/);
  });

  it('escapes invisible characters in the JSON, which still parses to the same text', () => {
    const sponsor = 'ada\u202egro.elpmaxe\u00a0\u{e0041}é😀';
    const shown = ledger({ records: [record({ sponsor })] });
    const json = /<pre [^>]*data-record="7">(.*?)<\/pre>/s.exec(shown)?.[1]?.replaceAll('&quot;', '"') ?? '';
    expect(json).to.include('"ada\\u202egro.elpmaxe\\u00a0\\udb40\\udc41é😀"');
    expect(JSON.parse(json).sponsor).to.equal(sponsor);
  });

  it('says whether a record is sealed, and that nothing or no more matches', () => {
    expect(ledger({ records: [record({})] })).to.include('sealed in 2');
    expect(ledger({ records: [record({ checkpoint: undefined })] })).to.include('not sealed yet');
    expect(ledger({})).to.include('None matches.').and.not.include('Verify the records on this page');
    expect(ledger({ next: '/ledger?cursor=x' })).to.include('the search goes on, on the next page');
    expect(ledger({ first: '/ledger' }))
      .to.include('First page')
      .and.not.include('Next page');
    expect(ledger({ archivedBefore: NOON })).to.include('have been archived');
  });

  it('says the interval of checkpoints that is configured', () => {
    expect(ledger({})).to.include('about 30 minutes apart');
  });

  it('names each field that cannot be read, and shows no records', () => {
    const outcome = { kind: 'invalid', errors: [{ field: MARKUP, sentence: 'Is not a parameter here.' }] } as const;
    const shown = renderLedger({
      now: NOON,
      sealsEvery: 60,
      search: {},
      suggested: nothingSuggested,
      outcome,
    }).toString();
    expect(shown).to.include(`<code>${ESCAPED}</code>: Is not a parameter here.`).and.not.include('records-title');
  });
});

describe('The screen Checkpoints', () => {
  it('says that no checkpoint exists yet, or no earlier one', () => {
    const shown = (before: number | undefined) =>
      renderCheckpoints({
        now: NOON,
        outcome: { kind: 'page', checkpoints: [], before, nextBefore: undefined },
      }).toString();
    expect(shown(undefined)).to.include('There is no checkpoint yet.').and.not.include('First page');
    expect(shown(3)).to.include('There is no earlier checkpoint.').and.include('First page');
  });
});

describe('The screen Doctor', () => {
  const shown = (findings: Parameters<typeof renderDoctor>[0]['findings']) =>
    renderDoctor({ findings, at: NOON, now: NOON }).toString();

  it('shows first what needs an operator, with what to do', () => {
    const text = shown([
      { check: 'settings', ...ok('Every setting is known and valid.') },
      { check: 'sink', ...skipped('No sink is configured.') },
      { check: 'database clock', ...warning('It is 9 seconds behind.', 'Run `ntpd -q`.') },
      { check: 'provider', ...failed(MARKUP, 'Look at it.') },
    ]);
    const checks = [...text.matchAll(/<th scope="row">([^<]*)</g)].map(([, check]) => check);
    expect(checks).to.deep.equal(['provider', 'database clock', 'settings', 'sink']);
    expect(text).to.include('Run <bdi class="code" translate="no">ntpd -q</bdi>.');
    expect(text).to.include('<strong>1 check failed.</strong> 1 warning.').and.include('<strong>Look at it.</strong>');
    expect(text).to.include(ESCAPED).and.not.include('<script>');
  });

  it('says that no check failed', () => {
    expect(shown([{ check: 'settings', ...ok('Fine.') }])).to.match(/banner good"><strong>No check failed/);
    expect(shown([{ check: 'x', ...warning('Late.', 'Wait.') }])).to.match(/banner warn"><strong>No check failed/);
  });
});
