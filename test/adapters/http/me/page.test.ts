import { expect } from 'chai';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { type Language, languages } from '../../../../adapters/http/browser/language.ts';
import { renderMessage } from '../../../../adapters/http/me/message.ts';
import { renderAgent } from '../../../../adapters/http/me/pages/agent.ts';
import { renderApproval } from '../../../../adapters/http/me/pages/approval.ts';
import { renderDelegations } from '../../../../adapters/http/me/pages/delegation.ts';
import { renderEnded } from '../../../../adapters/http/me/pages/ended.ts';
import { renderResume } from '../../../../adapters/http/me/pages/resume.ts';
import { renderTask } from '../../../../adapters/http/me/pages/task.ts';
import { type MeView, renderMe } from '../../../../adapters/http/me/pages/tasks.ts';
import type { TaskApproval } from '../../../../application/ports/approvals.ts';
import { makeApprovalId, makeTaskId } from '../../../../domain/identifiers.ts';
import { plusSeconds } from '../../../../domain/instant.ts';
import {
  accessibilityFaults,
  browse,
  closeBrowser,
  devices,
  looksByLength,
  screenshot,
  turnedAround,
  willBeScanned,
} from '../../../support/browser.ts';
import { agentIdOf } from '../../../support/domain-fixtures.ts';
import { byLength } from '../../../support/length.ts';
import {
  aBusyView,
  aCrowdedView,
  aDelegation,
  aDelegationsView,
  agentsOf,
  anAgentView,
  anApproval,
  anApprovalView,
  anAuthorization,
  anEndedTask,
  anEndedView,
  aTask,
  aView,
  endedOf,
  NO_AGENTS,
  now,
  someSettled,
} from './fixtures.ts';
import { testScript } from './page/script.ts';
import { type ServedPage, servePage } from './served-page.ts';

const RIGHT_TO_LEFT = '\u202e';
/** POP DIRECTIONAL ISOLATE. */
const CLOSING = '\u2069';
/** Whether axe looks at names of every length. */
const isScanned = byLength({ short: false, full: true });
const SECOND = makeApprovalId('01JDCK00000000000000000TWO');

describe("The person's page", () => {
  let served: ServedPage;
  before(async () => {
    served = await servePage();
  });
  after(async () => {
    await closeBrowser();
    served.stop();
  });

  const pages = new Map<string, Promise<Page>>();
  /** Shows the document in the window of these options, which all tests share: a new one takes half a CPU second. */
  async function open(text: string, options: BrowserContextOptions = {}): Promise<Page> {
    const key = JSON.stringify(options);
    const known = pages.get(key) ?? newPage(options);
    pages.set(key, known);
    await show(await known, text);
    return known;
  }
  async function newPage(options: BrowserContextOptions): Promise<Page> {
    const page = await (await browse(options)).newPage();
    await page.clock.setFixedTime(now / 1000);
    return page;
  }
  async function show(page: Page, text: string): Promise<void> {
    served.show(text);
    await page.goto(served.address);
  }

  async function scannedPage(locale: Language): Promise<Page> {
    const page = await newPage({ locale });
    await willBeScanned(page);
    return page;
  }

  const views: Readonly<Record<string, MeView>> = {
    busy: aBusyView({ notice: { kind: 'stopped', amount: 1 } }),
    crowded: aCrowdedView(),
    idle: aView({ agents: NO_AGENTS, ended: endedOf([]) }),
    paused: aView({ agents: NO_AGENTS, pausedAt: plusSeconds(now, -90) }),
    blocked: aView({ agents: NO_AGENTS, blockedByOthers: true, canPause: false }),
    waiting: aBusyView({
      waiting: [anApproval(), anApproval({ approvalId: SECOND, lines: [] })],
      hearsApprovals: true,
    }),
    'no pause': aBusyView({ isPauseLiftable: false, signsOutEverywhere: true }),
  };
  const documents: Readonly<Record<string, (language: Language) => string>> = {
    ...Object.fromEntries(Object.entries(views).map(([name, view]) => [name, (to: Language) => renderMe(view, to)])),
    agent: (language) => renderAgent(anAgentView({ delegation: aDelegation() }), language),
    'answered and missed': (language) =>
      renderMe(aView({ hearsApprovals: true, settled: someSettled(), person: 'Ada Lovelace' }), language),
    task: (language) =>
      renderTask(
        { ...anAgentView(), task: aTask({ purpose: 'Clean up', authorization: anAuthorization() }) },
        language,
      ),
    "another person's question": (language) =>
      renderMessage('unknown_approval', language, '', '/me', { as: 'Ada Lovelace', to: '/me/sign-in?to=other' }),
    answered: (language) =>
      renderApproval(anApprovalView({ approval: anApproval({ state: 'refused', decidedAt: now }) }), language),
    delegations: (language) => renderDelegations(aDelegationsView({ mayAllow: false }), language),
    'handing-over refused': (language) =>
      renderAgent(anAgentView({ delegation: aDelegation({ isRefused: true }) }), language),
    ended: (language) => renderEnded(anEndedView(), language),
    'approval, after an old sign-in': (language) => renderApproval(anApprovalView({ mayApprove: false }), language),
    resume: (language) => renderResume(aView(), language),
    'too many requests': (language) => renderMessage('rate_limited', language, ''),
  };

  /** One document of each page. At full length, all states of each. */
  const ONE_OF_EACH: readonly string[] = byLength({
    short: [
      'crowded',
      'waiting',
      'agent',
      'task',
      "another person's question",
      'answered',
      'ended',
      'resume',
      'delegations',
    ],
    full: Object.keys(documents),
  });
  for (const language of looksByLength(languages)) {
    let page: Page | undefined;
    for (const [name, render] of Object.entries(documents).filter(([name]) => ONE_OF_EACH.includes(name))) {
      it(`has no fault that axe finds, and never scrolls sideways: ${name}, ${language}`, async () => {
        page ??= await scannedPage(language);
        await show(page, render(language));
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
      });
    }
  }

  it('shows markup, bidirectional controls and 256 emoji as text, isolated from the words beside them', async () => {
    const displayName = `<img src=x onerror="document.title='owned'">${RIGHT_TO_LEFT}</bdi>`;
    const scope = ['<script>document.title="owned"</script>', "'><b>"];
    const purpose = `</blockquote><script>document.title="owned"</script>${RIGHT_TO_LEFT}${CLOSING}${RIGHT_TO_LEFT}`;
    const shown = (text: string) => text.replaceAll(RIGHT_TO_LEFT, '\\u{202e}').replaceAll(CLOSING, '\\u{2069}');
    const hostile = { displayName, scope, purpose, audience: 'https://jira.example/"><script>' };
    const tasks = [
      aTask(hostile),
      aTask({ ...hostile, taskId: makeTaskId('01JDCK00000000000000000TWO') }),
      aTask({ agentId: agentIdOf('smiling'), displayName: '😀'.repeat(256), purpose: '😀'.repeat(150) }),
    ];
    const scopeWords = new Map([["'><b>", `</li><script>${RIGHT_TO_LEFT}`]]);
    const history = [anEndedTask(hostile), anEndedTask({ ...hostile, displayName: undefined })];
    const strange = { scopeWords, person: `<u>${RIGHT_TO_LEFT}ada` };
    const ended = endedOf(history);
    const crowded = aView({ ...strange, agents: agentsOf(tasks, 100), ended });
    const lines = await open(renderMe(crowded, 'en'));
    expect(await lines.locator('h3').allTextContents()).to.deep.equal([shown(displayName), '😀'.repeat(256)]);
    expect(await accessibilityFaults(lines)).to.deep.equal([]);
    await screenshot(lines, 'me hostile crowd');
    const page = await open(renderMe(aView({ ...strange, agents: agentsOf(tasks), ended }), 'en'));
    expect(await page.title()).to.equal('What acts for you');
    expect(await page.locator('h3').first().textContent()).to.equal(shown(displayName));
    expect(await page.locator('h3').last().textContent()).to.equal('😀'.repeat(256));
    expect(await page.locator('.stated').allTextContents()).to.deep.equal([
      ...[shown(purpose), shown(purpose), '😀'.repeat(150)],
      ...[shown(purpose), shown(purpose)],
    ]);
    // Once below each purpose of a live task, and once above those of all ended ones.
    expect(await page.locator('.stated + p').count()).to.equal(3);
    expect(await page.locator('#history').locator('xpath=ancestor::section').getByText('not checked').count()).to.equal(
      1,
    );
    expect(await turnedAround(page, '.stated + p')).to.deep.equal([]);
    expect(await page.locator('#renewed').locator('script, img, b, i, u').count()).to.equal(0);
    // A control of direction is nowhere in the page: its number is there.
    expect(await page.content()).not.to.match(/[\u202e\u2069]/);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).to.equal(0);
    // The crowd of these names is scanned above.
    if (isScanned) expect(await accessibilityFaults(page)).to.deep.equal([]);
    await screenshot(page, 'me hostile');
  });

  it("shows a tool server's words as a quotation, with hidden characters as signs and in their order", async () => {
    const hostile = `</blockquote><script>document.title="owned"</script>${CLOSING}${RIGHT_TO_LEFT}\u200b`;
    const seen = `</blockquote><script>document.title="owned"</script>\\u{2069}\\u{202e}\\u{200b}`;
    const lines = [...Array(10)].map(() => ({ label: hostile.slice(0, 40), value: `Answer: yes ${hostile}` }));
    for (const render of [
      (approval: TaskApproval) => renderMe(aView({ waiting: [approval], hearsApprovals: true }), 'en'),
      (approval: TaskApproval) => renderApproval(anApprovalView({ approval }), 'en'),
    ]) {
      const page = await open(render(anApproval({ title: hostile, lines })));
      expect(await page.title()).not.to.equal('owned');
      const quotation = page.locator('blockquote.action');
      expect(await quotation.locator('strong').textContent()).to.equal(seen);
      expect(await quotation.locator('dd').allTextContents()).to.deep.equal(lines.map(() => `Answer: yes ${seen}`));
      const widths = await quotation
        .locator('dd')
        .evaluateAll((all) => all.map((value) => value.clientWidth / (value.closest('dl')?.clientWidth ?? 0)));
      expect(Math.min(...widths)).to.be.at.least(0.5);
      // No word of the tool server is elsewhere, but for the hidden names of the two buttons.
      expect(await page.getByText('owned').count()).to.equal(
        await page.locator('blockquote, .hidden').getByText('owned').count(),
      );
      expect(await quotation.locator('script').count()).to.equal(0);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).to.equal(0);
      expect(await accessibilityFaults(page)).to.deep.equal([]);
      await screenshot(page, 'me hostile approval');
    }
  });

  it('shows nothing of approvals where tool servers may ask for none', () => {
    for (const language of languages) {
      for (const page of [renderMe(aBusyView(), language), renderAgent(anAgentView(), language)]) {
        expect(page).not.to.match(/approval|data-renew-ms|data-version|id="waiting"/);
      }
    }
  });

  for (const device of looksByLength(['phone', 'desktop'] as const)) {
    it(`gives the two choices of a resume one size: ${device}`, async () => {
      const page = await open(renderResume(aView(), 'de'), devices[device]);
      const sizes = await page
        .locator('main button, main a')
        .evaluateAll((choices) => choices.map((choice) => [choice.clientWidth, choice.clientHeight].join(' x ')));
      expect(sizes).to.deep.equal([sizes[0], sizes[0]]);
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
      for (const agents of [NO_AGENTS, agentsOf([aTask()])]) {
        const offers = (changes: Partial<MeView>) => {
          const page = renderMe(aView({ agents, ...changes }), language);
          return [page.includes('/me/pause"'), page.includes('id="no-pause"')];
        };
        expect(offers({})).to.deep.equal([true, false]);
        expect(offers({ isPauseLiftable: false })).to.deep.equal([false, true]);
        expect(offers({ isPauseLiftable: false, canPause: false })).to.deep.equal([false, false]);
        expect(offers({ isPauseLiftable: false, pausedAt: now })).to.deep.equal([false, false]);
      }
    }
  });

  it('is used with the keyboard alone: every control has a distinct name and a visible focus', async () => {
    const page = await open(renderMe(aBusyView(), 'en'));
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
      ...['Stop all 2 tasks of Jira triage', 'Stop: Travel planner at calendar.example'],
    ]);
    await screenshot(page, 'me asked to stop everything');
  });

  it('has links to what waits, if anything waits, and to the tasks', async () => {
    const skips = (text: string) =>
      [...text.matchAll(/<a class="skip button" href="(#\w+)"(?: data-signed-in)?( hidden)?>([^<]+)/g)].map(
        ([, ...found]) => found,
      );
    const [waits, tasks] = [
      ['#approvals', undefined, 'Skip to what waits for you'],
      ['#live', undefined, 'Skip to the tasks'],
    ];
    expect(skips(renderMe(aView({ hearsApprovals: true, waiting: [anApproval()] }), 'en'))).to.deep.equal([
      waits,
      tasks,
    ]);
    expect(skips(renderMe(aView({ hearsApprovals: true, altered: 1 }), 'en'))).to.deep.equal([waits, tasks]);
    const idle = renderMe(aView({ hearsApprovals: true }), 'en');
    expect(skips(idle)).to.deep.equal([['#approvals', ' hidden', 'Skip to what waits for you'], tasks]);
    expect(skips(renderMe(aView(), 'en'))).to.deep.equal([tasks]);
    const other = [['#main', undefined, 'Skip to the content']];
    expect(skips(renderAgent(anAgentView(), 'en'))).to.deep.equal(other);
    expect(skips(renderMessage('rate_limited', 'en', ''))).to.deep.equal(other);
  });

  it('says what a question is about: the purpose of its task, since when that runs, and how long each answer holds', async () => {
    const page = await open(renderMe(aView({ hearsApprovals: true, waiting: [anApproval()] }), 'en'));
    const card = await page.locator('#waiting').locator('xpath=ancestor::section').innerText();
    for (const words of [
      'Clean up the backlog of PAY',
      'These are the agent’s words. They are not checked.',
      'Task since\n15 minutes ago',
      'A yes counts for this one action, once, within 10 minutes. A no counts for 1 hour.',
    ]) {
      expect(card).to.contain(words);
    }
    const link = page.getByRole('link', { name: /^Open the task.*Delete the issue PAY-7$/ });
    expect(await link.getAttribute('href')).to.equal(`/me/tasks/${aTask().taskId}`);
    const altered = { what: 'purpose', id: aTask().taskId, how: 'text' } as const;
    const tasks = new Map([[aTask().taskId, aTask({ purposeDiffers: altered })]]);
    expect(renderApproval(anApprovalView({ tasks }), 'en')).to.contain('Not shown: the purpose was changed');
  });

  it('lists what was answered or missed with its first three lines and its outcome, each with a link to its page', () => {
    const text = renderMe(aView({ hearsApprovals: true, settled: someSettled() }), 'en');
    const lines = [...text.matchAll(/<li id="settled-(\w+)">([\s\S]*?)<\/li>/g)].map(([, id, line = '']) => {
      expect(line).to.contain(`href="/me/approvals/${id}"`);
      return line.replaceAll(/ <span class="quiet">· <time.*?<\/time>|<[^>]*>/g, '').trim();
    });
    const comments = 'Issue: PAY-7: Refund of order 4711 · Comments: 12, which are deleted too';
    expect(lines).to.deep.equal([
      'Delete the issue PAY-7 Jira triage\nTo: ACME · Amount: 30 · Currency: EUR · …\nYou said yes. The agent may do this once.',
      'Delete the issue PAY-8 Jira triage\nYou said no.\nYou wrote: Not “PAY-8”\\u{202e}',
      `Delete the issue PAY-7 Jira triage\n${comments}\nYou said yes, and the agent has used it.`,
      `Delete the issue PAY-7 Jira triage\n${comments}\nYou did not answer in time.`,
      `Delete the issue PAY-7 Jira triage\n${comments}\nYou said yes, and the agent did not use it in time.`,
      `Delete the issue PAY-7 Jira triage\n${comments}\nThe task of the agent has ended, so this can no longer be done.`,
      `Delete the issue PAY-7 jira-triage (removed agent)\n${comments}\nYou said yes, and then the task of the agent ended.`,
      `Delete the issue PAY-7 Jira triage\n${comments}\nThe service now describes this action in other words, so this question does not wait any more.`,
      `Delete the issue PAY-7 Jira triage\n${comments}\nYou said yes. Then the service described this action in other words, so your yes no longer counts. It was not used.`,
    ]);
    expect(text.indexOf('id="settled"')).to.be.within(text.indexOf('id="approvals"'), text.indexOf('id="live"'));
  });

  it('says until when an answer holds, at its page', () => {
    const shown = (changes: Partial<TaskApproval>) =>
      renderApproval(anApprovalView({ approval: anApproval(changes) }), 'en').replaceAll(/<[^>]*>/g, '');
    const decidedAt = plusSeconds(now, -60);
    expect(shown({ state: 'refused', decidedAt }))
      .to.match(/Answered1 minute ago|Answered60 seconds ago/)
      .and.match(/The no endsin 59 minutes/);
    expect(shown({ state: 'granted', decidedAt, expiresAt: plusSeconds(now, 300) })).to.match(
      /The yes endsin 5 minutes/,
    );
    const past = shown({ state: 'refused', decidedAt: plusSeconds(now, -3600) });
    expect(past).not.to.contain('The no ends');
  });

  it('says once that purposes of ended tasks are not checked, however many there are', () => {
    const many = endedOf([...Array(10)].map(() => anEndedTask({ purpose: 'Pay the invoices' })));
    const text = renderMe(aView({ ended: many, agents: NO_AGENTS }), 'en');
    expect([text.split('not checked').length - 1, text.split('Pay the invoices').length - 1]).to.deep.equal([1, 10]);
    expect(renderMe(aView({ agents: NO_AGENTS }), 'en')).not.to.contain('not checked');
  });

  it('breaks a date with its time on a screen of 320 pixels without script, in place of reaching beyond its column', async () => {
    const [before, later] = [plusSeconds(now, -86_400 * 13), plusSeconds(now, 86_400 * 13)];
    const approval = anApproval({ state: 'granted', requestedAt: before, decidedAt: before, expiresAt: later });
    const options = { javaScriptEnabled: false, viewport: { width: 320, height: 700 }, isMobile: false };
    for (const language of languages) {
      const page = await open(renderApproval(anApprovalView({ approval }), language), options);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).to.equal(0);
      const beyond = await page.locator('dd .clock').evaluateAll((clocks) =>
        clocks.map((clock) => {
          const column = clock.closest('dd')?.getBoundingClientRect().right ?? 0;
          return Math.ceil(clock.getBoundingClientRect().right - column);
        }),
      );
      expect(beyond).to.have.lengthOf(4);
      expect(Math.max(...beyond)).to.be.at.most(0);
    }
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
  });

  it('shows a person with 1,000 tasks the totals first, and all eight agents with their stops on the first screen of a phone', async () => {
    const page = await open(renderMe(aCrowdedView(), 'en'));
    expect(await page.locator('#live ~ span').textContent()).to.equal('1000 tasks by 8 agents');
    const cards = page.locator('.card.agent');
    expect(await cards.count()).to.equal(8);
    const ends = await cards.evaluateAll((all) => all.map((card) => card.getBoundingClientRect().bottom));
    expect(Math.max(...ends)).to.be.at.most(devices.phone.viewport.height);
    const heights = await cards
      .locator('a, button')
      .evaluateAll((all) => all.map((control) => control.getBoundingClientRect().height));
    expect(Math.min(...heights)).to.be.at.least(44);
    expect(await cards.first().locator('a').innerText()).to.equal('Nightly report bot\n993 tasks · active now');
    expect(await cards.nth(1).getByRole('button').textContent()).to.equal('Stop: the task of Calendar assistant');
  });

  it('wraps names of 112 characters and of 256 without a space, and keeps every stop on the screen', async () => {
    const names = [
      'Assistant that reconciles the expense reports of all people of the department with the receipts in the archive x',
      'W'.repeat(256),
    ];
    for (const more of [100, 0]) {
      const tasks = names.map((displayName, nth) =>
        aTask({
          displayName,
          agentId: agentIdOf(`long-${nth}`),
          audience: `https://${'w'.repeat(60)}.example/${'p'.repeat(180)}`,
        }),
      );
      const agents = agentsOf(tasks, more);
      const page = await open(renderMe(aView({ agents, person: names[1] ?? '', ended: endedOf(tasks) }), 'de'));
      for (const [width, colorScheme] of looksByLength([
        [390, 'light'],
        [1280, 'dark'],
      ] as const)) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 844 });
        expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).to.equal(0);
        const rights = await page
          .locator('button:visible')
          .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().right));
        expect(Math.max(...rights)).to.be.at.most(width);
        // The test of markup as text scans names of such lengths at every push.
        if (isScanned) expect(await accessibilityFaults(page)).to.deep.equal([]);
        await screenshot(page, `me long names ${more} ${width} ${colorScheme}`);
      }
    }
  });

  it('says how long a stop may take in whole units that are never too short', () => {
    for (const [acceptedFor, english, german] of [
      [150, '3 minutes', '3 Minuten'],
      [240, '4 minutes', '4 Minuten'],
      [90, '90 seconds', '90 Sekunden'],
      [3660, '61 minutes', '61 Minuten'],
      [7200, '2 hours', '2 Stunden'],
      [7201, '2 hours, 1 minute', '2 Stunden, 1 Minute'],
      [14_460, '4 hours, 1 minute', '4 Stunden, 1 Minute'],
    ] as const) {
      const view = aView({ reach: { acceptedFor, statusLists: 130 } });
      expect(renderMe(view, 'en')).to.contain(`at most ${english} later`).and.to.contain('within 3 minutes');
      expect(renderMe(view, 'de')).to.contain(`höchstens ${german} lang`).and.to.contain('innerhalb von 3 Minuten');
    }
  });

  testScript((document) => {
    served.show(document);
    return served.address;
  });
});
