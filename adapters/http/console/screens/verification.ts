/** The part of a screen where auditors verify what it shows, in their browser. verify.js does it. */

import { type Html, html } from '../../browser/html.ts';
import { feeds } from '../screens.ts';

/** @param hasRecords whether the screen shows records, as `renderRecords` does */
export function renderVerification({ hasRecords }: { readonly hasRecords: boolean }): Html {
  return html`<section class="verification" aria-labelledby="verification-title">
<details id="verification" data-proofs="${feeds.proofs.path}" data-chain="${feeds.chain.path}">
<summary class="opener"><h2 id="verification-title">Verify in this browser</h2></summary>
<p>The keys are yours: paste a copy that you kept, not one that this service has just sent you. They stay in this browser.</p>
<noscript><p class="banner warn">This needs JavaScript. Without it use <code>mandate audit-verify</code>.</p></noscript>
<form id="verification-form" hidden>
<p class="field"><label for="keys">Keys that you trust, as a key set (JWKS)</label>
<textarea id="keys" name="keys" rows="4" required spellcheck="false" autocomplete="off" placeholder='{"keys": [ … ]}'></textarea></p>
<p class="field"><label for="marks">Marks that you kept, <code>checkpoint_id:root</code> (optional)</label>
<input id="marks" name="marks" spellcheck="false" autocomplete="off"></p>
<div class="choices">
${hasRecords && html`<button name="what" value="records">Verify the records on this page</button>`}
<button name="what" value="chain">Verify all checkpoints</button>
</div>
</form>
<div id="verification-result" role="status"></div>
</details>
</section>`;
}
