/** The part of *Now* that shows decisions as they are recorded. stream.js fills it; without script it is not shown. */

import { type Html, html } from '../../browser/html.ts';
import { feeds } from '../screens.ts';

export function renderLiveRecords(): Html {
  return html`<section class="live-records" id="stream" data-stream="${feeds.stream.path}" aria-labelledby="stream-title" hidden>
<div class="heading"><h2 id="stream-title">Decisions, live</h2> <span id="stream-state" role="status" class="quiet">Connecting …</span>
<button class="small" type="button">Pause</button> <a href="/ledger">Ledger</a></div>
<div class="records"><p class="record-line names" aria-hidden="true"><span>Number</span><span>Time (UTC)</span><span>Event</span><span>Decision</span><span>Agent, for person</span></p>
<ol></ol></div>
</section>`;
}
