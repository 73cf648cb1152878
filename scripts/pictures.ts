/** `npx tsx scripts/pictures.ts`: takes the pictures of `/me` in docs/people.md, docs/approvals.md and README.md, from the same views as the tests. */

import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Language } from '../adapters/http/browser/language.ts';
import { type MeView, renderMe } from '../adapters/http/me/pages/tasks.ts';
import { plusSeconds } from '../domain/instant.ts';
import {
  aBusyView,
  aCrowdedView,
  agentsOf,
  anApproval,
  aView,
  endedOf,
  NO_AGENTS,
  now,
} from '../test/adapters/http/me/fixtures.ts';
import { servePage } from '../test/adapters/http/me/served-page.ts';
import { browse, closeBrowser, devices } from '../test/support/browser.ts';

interface Picture {
  readonly view: MeView;
  readonly language: Language;
  readonly device: keyof typeof devices;
  readonly colorScheme: 'light' | 'dark';
  /** A question that the picture shows open. */
  readonly opened?: string;
  /** Whether the picture ends at the edge of the screen. */
  readonly endsAtScreen?: true;
}

const twoAgents = aBusyView({
  agents: agentsOf(aBusyView().agents.listed?.slice(1) ?? []),
  ended: endedOf([]),
  signsOutEverywhere: true,
});

const pictures: Readonly<Record<string, Picture>> = {
  'me-first-screen': { view: twoAgents, language: 'en', device: 'phone', colorScheme: 'light', endsAtScreen: true },
  'me-tasks': { view: twoAgents, language: 'en', device: 'phone', colorScheme: 'light' },
  'me-waiting': {
    view: aView({ waiting: [anApproval()], hearsApprovals: true, ended: endedOf([]) }),
    language: 'en',
    device: 'phone',
    colorScheme: 'light',
    endsAtScreen: true,
  },
  'me-many': { view: aCrowdedView(), language: 'en', device: 'phone', colorScheme: 'light' },
  'me-history': {
    view: aBusyView({ agents: NO_AGENTS, notice: { kind: 'stopped', amount: 3 }, signsOutEverywhere: true }),
    language: 'en',
    device: 'desktop',
    colorScheme: 'dark',
    opened: 'ask-pause',
  },
  'me-paused': {
    view: aView({ agents: NO_AGENTS, ended: endedOf([]), pausedAt: plusSeconds(now, -90), signsOutEverywhere: true }),
    language: 'de',
    device: 'phone',
    colorScheme: 'light',
  },
};

const folder = fileURLToPath(new URL('../docs/pictures', import.meta.url));
mkdirSync(folder, { recursive: true });
const served = await servePage();
try {
  for (const [name, picture] of Object.entries(pictures)) {
    const { view, language, device, colorScheme, opened, endsAtScreen = false } = picture;
    served.show(renderMe(view, language));
    // Small files: one pixel for each of CSS.
    const context = await browse({ ...devices[device], deviceScaleFactor: 1, colorScheme, locale: language });
    const page = await context.newPage();
    await page.clock.setFixedTime(now / 1000);
    await page.goto(served.address);
    if (opened !== undefined) await page.locator(`#${opened} > summary`).click();
    await page.mouse.click(1, 1);
    await page.screenshot({ path: `${folder}/${name}.png`, fullPage: !endsAtScreen });
    await context.close();
    console.log(`docs/pictures/${name}.png`);
  }
} finally {
  await closeBrowser();
  served.stop();
}
