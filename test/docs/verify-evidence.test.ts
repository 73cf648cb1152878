/** docs/verify-evidence.html in a browser: it verifies files that are chosen or dropped, and sends nothing. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import fc from 'fast-check';
import type { BrowserContext, Page } from 'playwright-core';
import { describeQuestion } from '../../adapters/cli/question-line.ts';
import { packageVersion } from '../../adapters/platform/package-version.ts';
import type { BundleQuestion } from '../../domain/log/bundle-questions.ts';
import { visibleWords } from '../../domain/visible.ts';
import { accessibilityFaults, browse, closeBrowser, devices, screenshot } from '../support/browser.ts';
import { runMandate } from '../support/cli-run.ts';
import { sqliteFile } from '../support/databases.ts';
import { byLength } from '../support/length.ts';
import { type Evidence, evidence, ORIGIN } from '../support/log/evidence.ts';
import { contentOf, describedOnPage, pageText, pageUrl, sourceHash } from '../support/log/evidence-page.ts';
import { hostileBundles } from '../support/log/hostile-evidence.ts';

/** Whether axe also looks at pages that differ from the first one in their words only. */
const isScanned = byLength({ short: false, full: true });
const fileOf = (name: string, text: string) => ({ name, mimeType: 'application/json', buffer: Buffer.from(text) });

describe('docs/verify-evidence.html', function () {
  this.timeout(120_000);
  let ledger: Evidence;
  let bundle: string;
  let context: BrowserContext;
  let page: Page;
  const requests: string[] = [];

  before(async () => {
    ledger = await evidence(sqliteFile);
    const task = await ledger.task(10);
    await ledger.publish();
    bundle = (await runMandate(['audit-bundle', '--task', task], ledger.settings())).out;
    context = await browse(devices.desktop);
    await context.setOffline(true);
    page = await context.newPage();
    page.on('request', (request) => requests.push(request.url()));
  });
  after(async () => {
    await closeBrowser();
    await ledger.close();
  });
  beforeEach(() => page.goto(pageUrl.href));

  const choose = (label: RegExp, name: string, text: string) =>
    page.getByLabel(label).setInputFiles(fileOf(name, text));
  const heading = () => page.getByRole('heading', { level: 2 }).textContent();

  it('verifies a chosen bundle without a network, and shows its records and keys', async () => {
    await choose(/^Evidence bundle/, 'evidence.json', bundle);
    expect(await heading()).to.equal('Consistent, signed with keys that the bundle itself brings');
    const output = await page.locator('output').innerText();
    expect(output).to.match(/^\d+ records in 1 checkpoint \(/m);
    const amber = 'Intact, by keys that no policy names';
    expect(output).to.include(amber);
    expect(output.replace(amber, '')).not.to.match(/intact/i);
    const colour = await page.evaluate("getComputedStyle(document.querySelector('.verdict')).backgroundColor");
    expect(colour).to.equal('rgb(255, 198, 77)');
    const text = await page.locator('main').innerText();
    for (const shown of [
      ORIGIN,
      'scope_widened',
      ledger.log.thumbprint,
      ledger.thumbprints()[0],
      'Compare these keys',
    ]) {
      expect(text).to.include(shown);
    }
    expect(await accessibilityFaults(page)).to.deep.equal([]);
    await screenshot(page, 'verify-evidence');
    expect(new Set(requests)).to.deep.equal(new Set([pageUrl.href]));
  });

  it('keeps the columns of the records wide enough to read on a phone', async () => {
    await page.setViewportSize(devices.phone.viewport);
    await choose(/^Evidence bundle/, 'evidence.json', bundle);
    const time = page.getByRole('cell', { name: /^\d{4}-.*Z$/ }).last();
    const { height = 0 } = (await time.boundingBox()) ?? {};
    expect(height).to.be.within(1, 60);
    const widths = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
    expect(await page.evaluate(widths)).to.equal(0);
    await page.setViewportSize(devices.desktop.viewport);
  });

  it('requires the keys that a chosen policy names', async () => {
    await choose(/^Evidence bundle/, 'evidence.json', bundle);
    await choose(/^Policy/, 'policy.json', JSON.stringify({ checkpoint_keys: ledger.thumbprints() }));
    await page.getByRole('heading', { name: 'The bundle is intact, and meets the policy' }).waitFor();
    const verdict = page.locator('.verdict');
    expect(await verdict.textContent()).to.equal('Intact, by keys that the policy names');
    if (isScanned) expect(await accessibilityFaults(page)).to.deep.equal([]);
    await choose(/^Policy/, 'policy.json', JSON.stringify({ checkpoint_keys: [ledger.log.thumbprint] }));
    await page.getByRole('heading', { name: 'The bundle agrees with itself, but does not meet the policy' }).waitFor();
    expect(await verdict.textContent()).to.equal('Not to be believed');
    if (isScanned) expect(await accessibilityFaults(page)).to.deep.equal([]);
    await choose(/^Policy/, 'policy.json', '{}');
    await page.getByRole('heading', { name: 'The policy cannot be read' }).waitFor();
  });

  it('verifies files that are dropped on it, and names the altered line', async () => {
    const altered = bundle.replace('scope_widened', 'scope_widenee');
    await page.evaluate(`{
      const files = new DataTransfer();
      files.items.add(new File([${JSON.stringify(altered)}], 'evidence.json'));
      document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: files, bubbles: true, cancelable: true }));
    }`);
    await page.getByRole('heading', { name: 'The bundle is NOT intact' }).waitFor();
    expect(await page.locator('output').innerText()).to.include(
      'Line 8: Record 7 is not the one that checkpoint 1 sealed',
    );
  });

  it('shows the fields of a hostile bundle as text, and signs that hide or turn text by their numbers', async () => {
    const image = '<img src=x onerror="document.title=1">';
    const hostile = `${image}</td></table><h2>The bundle is intact, and meets the policy</h2>\u202eegal`;
    await ledger.append({ event: 'token.denied', decision: 'deny', sponsor: hostile, scope: '\u2066x' });
    await ledger.publish();
    const made = await runMandate(['audit-bundle', '--sponsor', hostile], ledger.settings());
    expect(made.code).to.equal(0);
    // What the command says of it turns no text either.
    expect(made.err)
      .to.include('\\u{202e}egal')
      .and.not.to.match(/[\u202e\u2066]/);
    await choose(/^Evidence bundle/, 'evidence.json', made.out);
    expect(await heading()).to.equal('Consistent, signed with keys that the bundle itself brings');
    expect(await page.locator('img, h2').count()).to.equal(1);
    const text = await page.locator('main').innerText();
    expect(text).to.include(`${image}</td>`).and.to.include('\\u{202e}egal').and.to.include('\\u{2066}x');
    expect(text).not.to.match(/[\u202e\u2066]/);
    expect(await page.title()).to.equal('Verify an evidence bundle');
  });

  it('has a line for each question, which quotes its words, so that a value looks like no other part of it', async () => {
    const { text } = hostileBundles.find(({ title }) => title === 'the words of a request') ?? expect.fail();
    await choose(/^Evidence bundle/, 'evidence.json', text);
    const lines = page.locator('h3', { hasText: 'What people were asked' }).locator('+ ul li');
    const words = '"Delete “é 😀”\\u{202e}", "Issue: <b>\\u{22}PAY-7\\u{22}</b>; Amount: 1 EUR\\u{3164}"';
    expect(await lines.allTextContents()).to.deep.equal([`${words}: asked 2026-09-21 14:13:20`]);
  });

  it('describes a question as the command does', () => {
    const text = fc.constantFrom('Pay "77" EUR', 'To\u202e', ' ACME ', '\\u{22}', '“é 😀”');
    const states = fc.constantFrom('pending', 'granted', 'refused', 'used', 'expired', 'withdrawn');
    const question = fc.record({
      approval_id: fc.constant('approval_01M31S7W68TMK7WDX8YKPSYT00'),
      words: fc.option(fc.record({ title: text, lines: fc.array(fc.record({ label: text, value: text })) })),
      steps: fc.array(
        fc.record(
          {
            state: states,
            seq: fc.nat(),
            ts: fc.constantFrom('2026-11-24T16:23:13.999Z', '2026-11-24T16:23:14.000Z', '2026-11-25T00:00:00.000Z'),
            says: text,
            reason: fc.constant('words_changed'),
          },
          { requiredKeys: ['state', 'seq', 'ts'] },
        ),
      ),
    }) as fc.Arbitrary<BundleQuestion>;
    fc.assert(
      fc.property(question, (given) => describedOnPage(given) === describeQuestion(given)),
      { numRuns: 40 },
    );
  });

  it('shows a record without scrolling sideways on a desk, and what all records share once', async () => {
    await page.setViewportSize({ width: 1280, height: 800 });
    await choose(/^Evidence bundle/, 'evidence.json', bundle);
    const records = page.locator('.scroll', { hasText: 'event' });
    expect(await records.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).to.equal(0);
    const task = JSON.parse(bundle).selection.task_id;
    expect((await page.locator('main').innerText()).split(`task_id: ${task}`)).to.have.lengthOf(2);
    await page.setViewportSize(devices.desktop.viewport);
  });

  it('shows text by the rule of the pages of Mandate, which it has once more', () => {
    const rule = /(const EMPTY = .*?)const element = /s.exec(contentOf('script'))?.[1];
    const shown = new Function(`${rule} return shown;`)() as (text: string) => string;
    const odd = fc.constantFrom(
      ...[
        ' ',
        '  ',
        '\u00a0',
        '\u202f',
        '\u200c',
        '\u200d',
        '\u200f',
        '\u202e',
        '\ufe0f',
        '\u{e0100}',
        '\u3164',
        '\u{1d159}',
      ],
      ...['7', '1', '€', 'EUR', 'kg', 'ACME', 'م', 'ष', '👨', '👩', '⚠', '#', '\u20e3', '\\u{20}', '\\'],
    );
    const text = fc.array(fc.oneof(odd, fc.string({ unit: 'binary' }))).map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, (given) => shown(given) === visibleWords(given)),
      { numRuns: 40 },
    );
  });

  it('says that a bundle is not intact if its values are nested many levels deep', async () => {
    const deep = `{"format":"mandate-evidence/1",\n"selection":${'['.repeat(50_000)}${']'.repeat(50_000)},\n`;
    await choose(/^Evidence bundle/, 'evidence.json', deep);
    await page.getByRole('heading', { name: 'The bundle is NOT intact' }).waitFor();
  });

  it('refuses a file with a byte that is no UTF-8, which must not read as another one', async () => {
    const bytes = (text: string) => Buffer.concat([Buffer.from(text), Buffer.of(0xff)]);
    const file = { name: 'a.json', mimeType: 'application/json' };
    await page.getByLabel(/^Evidence bundle/).setInputFiles({ ...file, buffer: bytes(bundle) });
    await page.getByRole('heading', { name: 'The bundle is NOT intact' }).waitFor();
    expect(await page.locator('output').innerText()).to.include('The text of the file is not UTF-8.');
    await page.getByLabel(/^Policy/).setInputFiles({ ...file, buffer: bytes('{}') });
    await page.getByRole('heading', { name: 'The policy cannot be read' }).waitFor();
  });

  it('says its version and the SHA-256 of its program, and docs/auditing.md has the SHA-256 of the file', async () => {
    const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
    await page.locator('#program', { hasText: sha256(contentOf('script')) }).waitFor();
    expect(await page.locator('footer').innerText()).to.include(`Version ${packageVersion()}.`);
    const auditing = readFileSync(new URL('../../docs/auditing.md', import.meta.url), 'utf8').replaceAll('\n', ' ');
    expect(auditing).to.include(`Version ${packageVersion()} has \`${sha256(pageText)}\``);
  });

  it('runs no script but its own, loads nothing, and cannot send anything', async () => {
    const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(pageText)?.[1]?.split('; ');
    expect(policy).to.deep.equal([
      "default-src 'none'",
      `script-src ${sourceHash(contentOf('script'))}`,
      `style-src ${sourceHash(contentOf('style'))}`,
      "connect-src 'none'",
      "form-action 'none'",
      "base-uri 'none'",
    ]);
    const refused = await page.evaluate(`new Promise((resolve) => {
      addEventListener('securitypolicyviolation', ({ effectiveDirective }) => resolve(effectiveDirective));
      fetch('http://127.0.0.1:9/').catch(() => undefined);
    })`);
    expect(refused).to.equal('connect-src');
    expect(pageText).not.to.match(/https?:\/\//);
  });
});
