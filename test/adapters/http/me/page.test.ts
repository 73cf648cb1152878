import { expect } from 'chai';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { renderMe, renderMessage, renderResume } from '../../../../adapters/http/me/page.ts';
import { type Language, languages, type MeView } from '../../../../adapters/http/me/view.ts';
import { makeTaskId } from '../../../../domain/identifiers.ts';
import { plusSeconds } from '../../../../domain/instant.ts';
import {
  accessibilityFaults,
  browse,
  closeBrowser,
  devices,
  looksByLength,
  screenshot,
} from '../../../support/browser.ts';
import { agentIdOf } from '../../../support/domain-fixtures.ts';
import { aBusyView, anEndedTask, aTask, aView, now } from './fixtures.ts';
import { type ServedPage, servePage } from './served-page.ts';

const RIGHT_TO_LEFT = '\u202e';

describe("The person's page", () => {
  let served: ServedPage;
  before(async () => {
    served = await servePage();
  });
  after(async () => {
    await closeBrowser();
    served.stop();
  });

  async function open(text: string, options?: BrowserContextOptions): Promise<Page> {
    served.show(text);
    const page = await (await browse(options)).newPage();
    await page.clock.setFixedTime(now / 1000);
    await page.goto(served.address);
    return page;
  }

  const views: Readonly<Record<string, MeView>> = {
    busy: aBusyView({ notice: { kind: 'stopped', amount: 1 }, next: 'opaque' }),
    idle: aView({ live: [], history: [] }),
    paused: aView({ live: [], pausedAt: plusSeconds(now, -90) }),
    blocked: aView({ live: [], blockedByOthers: true, canPause: false }),
    'no pause': aBusyView({ isPauseLiftable: false, signsOutEverywhere: true }),
  };
  const documents: Readonly<Record<string, (language: Language) => string>> = {
    ...Object.fromEntries(Object.entries(views).map(([name, view]) => [name, (to: Language) => renderMe(view, to)])),
    resume: (language) => renderResume(aView(), language),
    'too many requests': (language) => renderMessage('rate_limited', language, ''),
  };

  for (const [name, render] of Object.entries(documents)) {
    for (const language of looksByLength(languages)) {
      it(`has no fault that axe finds, and never scrolls sideways: ${name}, ${language}`, async () => {
        const page = await open(render(language), { locale: language });
        const faults: string[] = [];
        for (const [device, colorScheme] of looksByLength([
          ['phone', 'light'],
          ['desktop', 'dark'],
        ] as const)) {
          await page.emulateMedia({ colorScheme });
          await page.setViewportSize(devices[device].viewport);
          faults.push(...(await accessibilityFaults(page)));
          if (Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth')) > 0) faults.push(device);
          await screenshot(page, `me ${name} ${language} ${device} ${colorScheme}`);
        }
        expect(faults).to.deep.equal([]);
        await page.context().close();
      });
    }
  }

  it('shows markup, bidirectional controls and 256 emoji as text, isolated from the words beside them', async () => {
    const displayName = `<img src=x onerror="document.title='owned'">${RIGHT_TO_LEFT}</bdi>`;
    const scope = ['<script>document.title="owned"</script>', "'><b>"];
    const hostile = { displayName, scope, audience: 'https://jira.example/"><script>' };
    const live = [
      aTask(hostile),
      aTask({ ...hostile, taskId: makeTaskId('01JDCK00000000000000000TWO') }),
      aTask({ agentId: agentIdOf('smiling'), displayName: '😀'.repeat(256) }),
    ];
    const scopeWords = new Map([["'><b>", `</li><script>${RIGHT_TO_LEFT}`]]);
    const history = [anEndedTask(hostile), anEndedTask({ ...hostile, displayName: undefined })];
    const view = aView({ live, history, scopeWords, person: `<u>${RIGHT_TO_LEFT}ada`, next: '"><i>' });
    const page = await open(renderMe(view, 'en'));
    expect(await page.title()).to.equal('What acts for you');
    expect(await page.locator('h3').first().textContent()).to.equal(displayName);
    expect(await page.locator('h3').last().textContent()).to.equal('😀'.repeat(256));
    expect(await page.locator('#renewed').locator('script, img, b, i, u').count()).to.equal(0);
    // Whatever the person or the operator named is inside a bdi element.
    const bare = await page.evaluate(`
      [...document.querySelectorAll('body :not(bdi):not(script)')].filter(({ childNodes }) =>
        [...childNodes].some(({ nodeType, data }) => nodeType === 3 && data.includes('${RIGHT_TO_LEFT}'))).length`);
    expect(bare).to.equal(0);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).to.equal(0);
    expect(await accessibilityFaults(page)).to.deep.equal([]);
    await screenshot(page, 'me hostile');
    await page.context().close();
  });

  for (const device of ['phone', 'desktop'] as const) {
    it(`gives the two choices of a resume one size: ${device}`, async () => {
      const page = await open(renderResume(aView(), 'de'), devices[device]);
      const sizes = await page
        .locator('main button, main a')
        .evaluateAll((choices) => choices.map((choice) => [choice.clientWidth, choice.clientHeight].join(' x ')));
      expect(sizes).to.deep.equal([sizes[0], sizes[0]]);
      await page.context().close();
    });
  }

  it('advises a pause only where it would change something', () => {
    for (const [language, advice] of [
      ['en', 'Pause agents to prevent that.'],
      ['de', 'Pausieren Sie Agenten'],
    ] as const) {
      const views = [{}, { canPause: false }, { pausedAt: now }, { blockedByOthers: true }, { isPauseLiftable: false }];
      const saysSo = views.map((changes) => renderMe(aView(changes), language).includes(advice));
      expect(saysSo).to.deep.equal([true, false, false, false, false]);
    }
  });

  it('offers no pause that the person could never lift, and says why, with tasks and without', () => {
    for (const language of languages) {
      for (const live of [[], [aTask()]]) {
        const offers = (changes: Partial<MeView>) => {
          const page = renderMe(aView({ live, ...changes }), language);
          return [page.includes('/me/pause"'), page.includes('id="no-pause"')];
        };
        expect(offers({})).to.deep.equal([true, false]);
        expect(offers({ isPauseLiftable: false })).to.deep.equal([false, true]);
        expect(offers({ isPauseLiftable: false, canPause: false })).to.deep.equal([false, false]);
        expect(offers({ isPauseLiftable: false, pausedAt: now })).to.deep.equal([false, false]);
      }
    }
  });

  it('is used with the keyboard alone: every control has a name of its own and a visible focus', async () => {
    const page = await open(renderMe(aBusyView({ next: 'opaque' }), 'en'));
    const reached: unknown[] = [];
    for (let step = 0; step < 12; step += 1) {
      await page.keyboard.press('Tab');
      const focused = page.locator(':focus');
      if ((await focused.count()) === 0) break;
      const name = (await focused.textContent())?.trim();
      const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineWidth');
      reached.push(name);
      expect(outline, name).to.equal('3px');
      if (name === 'Stop everything') await page.keyboard.press('Enter');
    }
    expect(reached).to.deep.equal([
      ...['Skip to the tasks', 'Sign out', 'Stop everything', 'Stop all my tasks', 'Pause agents'],
      ...['Stop: Jira triage at jira.example', 'Stop: Jira triage at wiki.example/engineering'],
      ...['Stop all 2 tasks of Jira triage', 'Stop: Travel planner at calendar.example', 'More tasks'],
    ]);
    await screenshot(page, 'me asked to stop everything');
    await page.context().close();
  });

  it('counts down, and shows times in the time zone of the person', async () => {
    served.show(renderMe(aView(), 'en'));
    const page = await (await browse({ timezoneId: 'America/New_York' })).newPage();
    await page.clock.install({ time: now / 1000 - 1000 });
    await page.clock.pauseAt(now / 1000);
    await page.goto(served.address);
    const until = page.locator('dd:has(time)').nth(1);
    expect(await until.textContent()).to.match(/^in 45 minutes \(9:50\sAM\)$/);
    await page.clock.runFor(10_000);
    expect(await until.textContent()).to.contain('in 44 minutes');
    await page.context().close();
  });

  it('says the same without script, with times in UTC', async () => {
    const page = await open(renderMe(aView(), 'en'), { javaScriptEnabled: false, timezoneId: 'America/New_York' });
    expect(await page.locator('dd:has(time)').nth(1).textContent()).to.match(/^in 45 minutes \(2:50\sPM UTC\)$/);
    await page.context().close();
  });
});
