/** The auditor's screens of the console in a real browser, over a real ledger on both databases. */

import { expect } from 'chai';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { LISTENERS_OF_A_PERSON } from '../../../../application/ledger/record-stream.ts';
import type { LedgerEntry } from '../../../../domain/ledger/record.ts';
import {
  accessibilityFaults,
  browse,
  closeBrowser,
  devices,
  looksByLength,
  screenshot,
} from '../../../support/browser.ts';
import { type ServedConsole, serveConsole, shortlyAfter } from '../../../support/console/served-console.ts';
import { connectOutside, databasesByLength } from '../../../support/databases.ts';
import { eventually } from '../../../support/eventually.ts';
import { startTampering, type Tampering } from '../../../support/ledger/tampering.ts';
import { byLength } from '../../../support/length.ts';
import { type Evidence, evidence } from '../../../support/log/evidence.ts';

/** Whether the browser also verifies altered ledgers, and the stream is paused, hidden and stopped. */
const isWhole = byLength({ short: false, full: true });

const SMALL = { ...devices.phone, viewport: { width: 360, height: 740 } };
const looks: Readonly<Record<string, BrowserContextOptions>> = {
  'light phone': { ...SMALL, colorScheme: 'light' },
  'dark phone': { ...SMALL, colorScheme: 'dark' },
  'light desktop': { ...devices.desktop, colorScheme: 'light' },
  'dark desktop': { ...devices.desktop, colorScheme: 'dark' },
};

for (const database of databasesByLength) {
  describe(`The auditor's screens in a browser on ${database.name}`, function () {
    this.timeout(120_000);
    let ledger: Evidence;
    let served: ServedConsole;

    before(async () => {
      ledger = await evidence(database, { hasLog: false });
      await ledger.task(10);
      await ledger.seal();
      await ledger.rotate();
      await ledger.task(13);
      await ledger.seal();
      await ledger.append({ event: 'agent.registered', agentId: 'agent-9' as LedgerEntry['agentId'] });
      served = await serveConsole({ storage: ledger.storage, now: shortlyAfter(ledger) });
    });
    after(async () => {
      await closeBrowser();
      await served.stop();
      await ledger.close();
    });

    const openAnother = async (
      path: string,
      options: BrowserContextOptions = { ...devices.desktop },
    ): Promise<Page> => {
      const page = await (await browse(options)).newPage();
      page.on('pageerror', (error) => {
        throw error;
      });
      await page.goto(`${served.origin}${path}`);
      return page;
    };
    let kept: Page | undefined;
    /** Opens it in a window that all tests share: a new one is dear. */
    const open = async (path: string): Promise<Page> => {
      if (kept === undefined) kept = await openAnother(path);
      else await kept.goto(`${served.origin}${path}`);
      return kept;
    };
    /** Leaves the page as a new window begins: without kept keys, and without a stream. */
    const leave = async (page: Page) => {
      await page.evaluate('sessionStorage.clear()');
      await page.goto('about:blank');
    };
    const openPanel = async (page: Page, keys = ledger.jwks()) => {
      await page.getByText('Verify in this browser').click();
      await page.getByLabel(/^Keys that you trust/).fill(keys);
    };
    const verdict = async (page: Page, button: RegExp | string) => {
      await page.getByRole('button', { name: button }).click();
      await page.locator('#verification-result h3').waitFor();
      return page.locator('#verification-result').innerText();
    };
    /** A click does not wait for the page that it opens. */
    const lines = (page: Page, count: number) =>
      eventually(async () => (await page.locator('.records details').count()) === count);
    const RECORDS = 'Verify the records on this page';
    const CHAIN = 'Verify all checkpoints';

    for (const [look, options] of looksByLength(Object.entries(looks))) {
      it(`are accessible and fit the width: ${look}`, async () => {
        const page = await openAnother('/ledger', options);
        await openPanel(page);
        expect(await verdict(page, RECORDS)).to.match(/^16 records verified/);
        await page.locator('#record-3 > summary').click();
        // At every push, test/system/console/sizes-browser.test.ts scans the screens without an open panel.
        const others = byLength({ short: [], full: ['/ledger?event=nothing&from=x', '/ledger/checkpoints'] });
        for (const path of [undefined, ...others]) {
          if (path !== undefined) await page.goto(`${served.origin}${path}`);
          expect(await accessibilityFaults(page), path).to.deep.equal([]);
          const widths = await page.evaluate('[document.documentElement.scrollWidth, innerWidth]');
          expect((widths as number[])[0], path).to.be.at.most((widths as number[])[1] ?? 0);
          await screenshot(page, `console ${database.name} ${look} ${path?.replace(/\W+/g, '-') ?? 'ledger'}`);
        }
        await page.context().close();
      });
    }

    it('verifies records with pasted keys, by keyboard alone, and says what is not sealed', async () => {
      const page = await open('/ledger');
      await page.locator('#verification > summary').focus();
      await page.keyboard.press('Enter');
      await page.keyboard.press('Tab');
      await page.keyboard.insertText(ledger.jwks());
      await page.keyboard.press('Tab');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.locator('#verification-result h3').waitFor();
      const said = await page.locator('#verification-result').innerText();
      expect(said)
        .to.match(/^16 records verified/)
        .and.include('1 record not sealed yet: not verified.');
      expect(await page.locator('[data-verdict="1"]').innerText()).to.equal('verified');
      expect(await page.locator('[data-verdict="17"]').innerText()).to.equal('not sealed yet');
      // The keys stay for the next page.
      await page.goto(`${served.origin}/ledger/checkpoints`);
      await page.getByText('Verify in this browser').click();
      expect(await verdict(page, CHAIN))
        .to.match(/^All 2 checkpoints verified/)
        .and.match(/2:[0-9a-f]{64}/);
      await leave(page);
    });

    it('refuses other keys, and marks that the ledger contradicts', async () => {
      const page = await open('/ledger');
      const [first] = JSON.parse(ledger.jwks()).keys;
      await openPanel(page, JSON.stringify({ keys: [first] }));
      expect(await verdict(page, RECORDS))
        .to.match(/^8 records NOT verified/)
        .and.include('Record 9: Checkpoint 2 was signed with a key');
      await page.getByLabel(/^Keys that you trust/).fill('no keys');
      expect(await verdict(page, RECORDS)).to.match(/^Not verified\s+The keys are not JSON/);
      await page.getByLabel(/^Keys that you trust/).fill(ledger.jwks());
      await page.getByLabel(/^Marks/).fill(`1:${'0'.repeat(64)}`);
      expect(await verdict(page, CHAIN))
        .to.match(/NOT intact/)
        .and.include('another root than the mark says');
      await leave(page);
    });

    // At every push verify.test.ts, beside this file, runs the page's module over altered records and checkpoints.
    if (isWhole) {
      it('finds records whose signed checkpoints belong to another history than the chain', async () => {
        // Both keys are the auditor's: as if one key had signed two histories.
        const other = await evidence(database, { hasLog: false });
        await other.task(13);
        await other.seal();
        const elsewhere = await serveConsole({ storage: other.storage, now: shortlyAfter(other) });
        const keys = JSON.stringify({ keys: [ledger, other].flatMap((one) => JSON.parse(one.jwks()).keys) });
        const page = await (await browse({ ...devices.desktop })).newPage();
        await page.route(`${served.origin}/ledger/chain*`, async (route) => {
          const url = route.request().url().replace(served.origin, elsewhere.origin);
          await route.fulfill({ response: await route.fetch({ url }) });
        });
        await page.goto(`${served.origin}/ledger`);
        await openPanel(page, keys);
        expect(await verdict(page, CHAIN), 'a chain alone is intact').to.match(/^All 1 checkpoint verified/);
        expect(await verdict(page, RECORDS)).to.match(/^16 records verified/);
        expect(await verdict(page, CHAIN))
          .to.match(/NOT intact/)
          .and.include('Checkpoint 1 has another root than the proof of a record says');
        await page.getByLabel(/^Marks/).fill(`1:${'0'.repeat(64)}`);
        expect(await verdict(page, RECORDS))
          .to.match(/records NOT verified/)
          .and.include('Checkpoint 1 has another root than the mark says');
        await page.context().close();
        await elsewhere.stop();
        await other.close();
      });

      it('names the record that was altered on its way to the browser', async () => {
        const page = await (await browse({ ...devices.desktop })).newPage();
        await page.route(`${served.origin}/ledger`, async (route) => {
          const answer = await route.fetch();
          const body = (await answer.text()).replaceAll('ada+13@example.org', 'eve@example.org');
          await route.fulfill({ response: answer, body });
        });
        await page.goto(`${served.origin}/ledger`);
        await openPanel(page);
        const said = await verdict(page, RECORDS);
        expect(said)
          .to.match(/^4 records NOT verified/)
          .and.include('12 records verified');
        for (const seq of [9, 11, 13, 15]) {
          expect(said).to.include(`Record ${seq}: Checkpoint 2 does not match its records`);
          expect(await page.locator(`[data-verdict="${seq}"]`).innerText()).to.equal('NOT VERIFIED');
        }
        expect(await page.locator('[data-verdict="10"]').innerText()).to.equal('verified');
        await page.getByRole('link', { name: 'Record 9' }).click();
        expect(await page.locator('#record-9 pre').isVisible()).to.equal(true);
        await page.context().close();
      });

      describe('of a ledger that its owner altered', () => {
        let tampering: Tampering;
        let page: Page;
        before(async () => {
          tampering = await startTampering(await connectOutside(ledger.database), database.engine);
        });
        beforeEach(async () => {
          // Trees of earlier proofs are kept for a minute.
          await served.stop();
          served = await serveConsole({ storage: ledger.storage, now: shortlyAfter(ledger) });
        });
        afterEach(async () => {
          await tampering.undo();
          await leave(page);
        });

        const edits: Readonly<Record<string, string>> = {
          altered: "update ledger set sponsor = 'eve' where seq = 11",
          removed: 'delete from ledger where seq = 11',
        };
        for (const [how, statement] of Object.entries(edits)) {
          it(`finds a record that was ${how}, and names the records of its checkpoint`, async () => {
            await tampering.sql(statement);
            page = await open('/ledger');
            await openPanel(page);
            const said = await verdict(page, RECORDS);
            expect(said)
              .to.match(/^[78] records NOT verified/)
              .and.include('8 records verified');
            expect(said).to.include(
              'Record 9: The records of checkpoint 2, numbers 9 to 16, no longer lead to the root',
            );
            expect(await page.locator('[data-verdict="8"]').innerText()).to.equal('verified');
          });
        }

        it('finds an altered checkpoint, and one that is missing', async () => {
          await tampering.sql('update checkpoints set tree_size = 7 where checkpoint_id = 2');
          page = await open('/ledger/checkpoints');
          await openPanel(page);
          expect(await verdict(page, CHAIN)).to.include('Checkpoint 2 has an invalid signature');
          await tampering.undo();
          await tampering.sql('delete from checkpoints where checkpoint_id = 1');
          expect(await verdict(page, CHAIN)).to.include('Checkpoint 2 is in the place of checkpoint 1');
        });
      });
    }

    it('searches with the filters of the API, whose empty fields are none, and follows the pages', async () => {
      const page = await open('/ledger');
      await page.getByLabel('From (UTC)').fill('');
      await page.getByLabel('Decision').selectOption('deny');
      await page.getByLabel('Agent', { exact: true }).fill('agent-1');
      await page.getByRole('button', { name: 'Search' }).click();
      await lines(page, 2);
      expect(await page.getByLabel('Decision').inputValue()).to.equal('deny');
      await page.locator('.records details > summary').first().click();
      await page.getByRole('link', { name: 'Records of this task' }).first().click();
      await lines(page, 4);
      await page.goto(`${served.origin}/ledger?limit=10`);
      await page.getByRole('link', { name: 'Next page' }).click();
      await lines(page, 7);
      await page.getByRole('link', { name: 'First page' }).click();
      await lines(page, 10);
      await leave(page);
    });

    it('answers a search that it cannot read with 400, and names the field', async () => {
      const get = async (path: string) => {
        const answer = await fetch(`${served.origin}${path}`);
        const fields = [...(await answer.text()).matchAll(/<li><code>([^<]+)<\/code>/g)].map(([, field]) => field);
        return [answer.status, ...fields];
      };
      const next = /href="\/ledger\?limit=3&amp;cursor=([\w-]+)"/.exec(
        await (await fetch(`${served.origin}/ledger?limit=3`)).text(),
      );
      const cursor = next?.[1] ?? '';
      expect(cursor).not.to.equal('');
      expect(await get(`/ledger?cursor=${cursor}`)).to.deep.equal([200]);
      expect(await get(`/ledger?cursor=${cursor}&decision=deny`)).to.deep.equal([400, 'cursor']);
      expect(await get('/ledger?event=nothing&from=x&seq=1')).to.deep.equal([400, 'seq', 'from', 'event']);
      expect(await get('/ledger?decision=allow&decision=deny')).to.deep.equal([400, 'decision']);
      expect(await get('/ledger/checkpoints?after=x&limit=0')).to.deep.equal([400, 'after', 'limit']);
      for (const seqs of ['', 'x', '1,', '-1', Array(101).fill(1).join()]) {
        expect((await fetch(`${served.origin}/ledger/proofs?seqs=${seqs}`)).status, seqs).to.equal(400);
      }
      // What was sent and cannot be meant is not sent back.
      const text = await (await fetch(`${served.origin}/ledger?from=%3Cscript%3E`)).text();
      expect(text).not.to.include('<script>');
    });

    describe('the live stream', () => {
      const numbers = (page: Page): Promise<number[]> =>
        page.locator('#stream li .seq').evaluateAll((links) => links.map((link) => Number(link.textContent)));
      const state = (page: Page) => page.locator('#stream-state').innerText();
      let reason = 0;
      const write = async (count: number) => {
        for (let nth = 0; nth < count; nth++) {
          reason += 1;
          await ledger.append({ event: 'token.denied', decision: 'deny', reason: `reason_${reason}`, sponsor: 'ada' });
        }
      };
      const down = (newest: number, oldest: number) =>
        Array.from({ length: newest - oldest + 1 }, (_, nth) => newest - nth);
      const shows = (page: Page, newest: number, oldest: number) =>
        eventually(async () => String(await numbers(page)) === String(down(newest, oldest)));

      it('shows each new decision, the newest on top, and does not prolong the session', async () => {
        const page = await open('/');
        await page.getByText('Live', { exact: true }).waitFor();
        const before = served.uses();
        await shows(page, 17, 1);
        await write(3);
        await shows(page, 20, 1);
        expect(await page.locator('#stream li').first().innerText()).to.match(/token\.denied\s+deny reason_3/);
        expect(served.uses()).to.equal(before);
        if (isWhole) expect(await accessibilityFaults(page)).to.deep.equal([]);
        await screenshot(page, `console ${database.name} stream`);
        await leave(page);
      });

      it('continues at another replica when one dies, and loses and repeats no record', async () => {
        const page = await open('/');
        await page.getByText('Live', { exact: true }).waitFor();
        await write(2);
        await shows(page, 22, 1);
        const { port } = served;
        await served.stop();
        await eventually(async () => (await state(page)).startsWith('The connection is lost'));
        await write(3);
        served = await serveConsole({ storage: ledger.storage, now: shortlyAfter(ledger), port });
        await shows(page, 25, 1);
        await write(1);
        await shows(page, 26, 1);
        expect(await state(page)).to.equal('Live');
        await leave(page);
      });

      if (isWhole) {
        it('pauses by its button and while the page is hidden, and then shows what it missed', async () => {
          const page = await open('/');
          await shows(page, 26, 7);
          await page.getByRole('button', { name: 'Pause' }).click();
          await eventually(async () => (await state(page)) === 'Paused');
          await write(2);
          await page.getByRole('button', { name: 'Continue' }).click();
          await shows(page, 28, 7);
          const see = (visibility: string) =>
            page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: '${visibility}', configurable: true });
            document.dispatchEvent(new Event('visibilitychange'));`);
          await see('hidden');
          expect(await state(page)).to.equal('Waiting: the page is hidden');
          await write(2);
          await see('visible');
          await shows(page, 30, 7);
          await leave(page);
        });

        it('begins again with the newest twenty after more than five minutes, without the older lines', async () => {
          const context = await browse({ ...devices.desktop });
          const page = await context.newPage();
          await page.clock.install();
          await page.goto(`${served.origin}/`);
          await shows(page, 30, 11);
          await page.getByRole('button', { name: 'Pause' }).click();
          await write(30);
          await page.clock.setSystemTime(Date.now() + 6 * 60_000);
          await page.getByRole('button', { name: 'Continue' }).click();
          await shows(page, 60, 41);
          await context.close();
        });

        it('stops while a person reads five newer streams, and goes on by its button, which stops the oldest of these', async () => {
          const page = await open('/');
          await page.getByText('Live', { exact: true }).waitFor();
          const newer: Response[] = [];
          for (let nth = 0; nth < LISTENERS_OF_A_PERSON; nth++) newer.push(await fetch(`${served.origin}/stream`));
          await eventually(async () => (await state(page)).startsWith('Stopped: five newer windows'));
          await page.getByRole('button', { name: 'Continue' }).click();
          await page.getByText('Live', { exact: true }).waitFor();
          const [oldest, ...others] = newer;
          // It ends.
          await oldest?.text();
          expect(await state(page)).to.equal('Live');
          for (const { body } of others) await body?.cancel();
          await leave(page);
        });
      }

      it('ends with the session, and with the role', async () => {
        const { port } = served;
        await served.stop();
        served = await serveConsole({ storage: ledger.storage, now: shortlyAfter(ledger), port, heartbeatMs: 50 });
        for (const [roles, words] of [
          [['viewer'], 'You no longer have the role Auditor.'],
          [undefined, 'Your session has ended: sign in again.'],
        ] as const) {
          served.roles = ['auditor'];
          const page = await open('/');
          await page.getByText('Live', { exact: true }).waitFor();
          served.roles = roles;
          await eventually(async () => (await state(page)) === words);
          await leave(page);
        }
      });
    });
  });
}
