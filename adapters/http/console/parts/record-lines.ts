/** Records of the ledger as screens show them: one line each, which opens to the record as JSON. verify.js reads that JSON. */

import type { Instant } from '../../../../domain/instant.ts';
import { toMillisecondText } from '../../../../domain/instant.ts';
import { type LedgerRecord, presentRecord } from '../../../../domain/ledger/record.ts';
import { type Html, html, type Insert } from '../../browser/html.ts';
import { named } from '../../browser/words.ts';
import { visibleJson } from './visible-json.ts';

/** The links below a record: the field of the search, the words of the link, and the value. */
const FILTERS = [
  ['task_id', 'this task', ({ taskId }) => taskId],
  ['agent_id', 'this agent', ({ agentId }) => agentId],
  ['sponsor', 'this person', ({ sponsor }) => sponsor],
] as const satisfies readonly (readonly [string, string, (record: LedgerRecord) => string | undefined])[];

export function renderRecords(records: readonly LedgerRecord[], now: Instant): Html {
  return html`<div class="records">
<p class="record-line names" aria-hidden="true"><span>Number</span><span>Time (UTC)</span><span>Event</span><span>Decision</span><span>Agent, for person</span><span>Seal</span></p>
<ol>${records.map((record) => renderRecord(record, now))}</ol>
</div>`;
}

function renderRecord(record: LedgerRecord, now: Instant): Html {
  const { seq, decision, reason, count, checkpoint } = record;
  const links = FILTERS.flatMap(([field, words, read]): Insert[] => {
    const value = read(record);
    if (value === undefined) return [];
    return [html`<li><a href="/ledger?${field}=${encodeURIComponent(value)}">Records of ${words}</a></li>`];
  });
  return html`<li><details id="record-${seq}">
<summary class="record-line">
<span class="seq"><span class="hidden">Record </span>${seq}</span>
<span>${clockOf(record.at, now)}</span>
<span class="event">${record.event}</span>
<span>${decision !== undefined && html`<span class="mark ${decision}">${decision}</span>`} ${reason !== undefined && html`<span class="reason">${reason}</span>`}${count !== undefined && html` <span class="quiet">× ${count}</span>`}</span>
<span>${parties(record)}</span>
<span class="seal" data-verdict="${seq}">${checkpoint === undefined ? html`<span class="quiet">not sealed yet</span>` : html`<span class="quiet">sealed in ${checkpoint}</span>`}</span>
</summary>
<pre tabindex="0" translate="no" aria-label="Record ${seq} as JSON" data-record="${seq}">${visibleJson(presentRecord(record))}</pre>
${links.length > 0 && html`<ul class="inline">${links}</ul>`}
</details></li>`;
}

/** The time of day, after the day unless that is today. */
function clockOf(at: Instant, now: Instant): Html {
  const text = toMillisecondText(at);
  const [day = '', time = ''] = text.slice(0, -1).split('T');
  const isToday = toMillisecondText(now).startsWith(day);
  return html`<time datetime="${text}">${!isToday && html`${day} `}${time}</time>`;
}

function parties({ agentId, sponsor }: LedgerRecord): Insert {
  const person = sponsor !== undefined && named(sponsor);
  if (agentId === undefined) return person;
  return sponsor === undefined ? named(agentId) : html`${named(agentId)}, for ${person}`;
}
