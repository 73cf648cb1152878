/** What the screens for people on call say and link to. */

import { expect } from 'chai';
import { MOST_COUNTED, type ScreenContext } from '../../../../../adapters/http/console/context.ts';
import { taskTable } from '../../../../../adapters/http/console/parts/task-table.ts';
import { renderNow } from '../../../../../adapters/http/console/screens/now.ts';
import { renderPerson } from '../../../../../adapters/http/console/screens/people.ts';
import { renderStop, type StopTarget, stopScreen } from '../../../../../adapters/http/console/screens/stop.ts';
import type { RecentDenials } from '../../../../../application/admin/recent-denials.ts';
import { parseAgentId, parseSponsorKey, type SponsorKey } from '../../../../../domain/identifiers.ts';
import { plusSeconds, toShortText } from '../../../../../domain/instant.ts';
import type { BlockSource } from '../../../../../domain/sponsors/block.ts';
import { aListedTask, nothingSuggested } from '../../../../support/console/views.ts';
import { agentIdOf, NOON } from '../../../../support/domain-fixtures.ts';

const LIVE = { tasks: 2, lastExpiry: plusSeconds(NOON, 600), longestTokenTtl: 300 };
const nothingTyped = () => () => undefined;
const ada = parseSponsorKey('ada') as SponsorKey;

describe('The kill switch', () => {
  it('links to what prevents new tasks: the block of the person, the registration of the agent', () => {
    const task = aListedTask();
    const [person, agent] = ['/people?sponsor=ada', '/agents/jira-triage'];
    const targets: readonly (readonly [StopTarget, readonly string[]])[] = [
      [{ kind: 'person', sponsorKey: ada }, [person]],
      [{ kind: 'agent', agentId: agentIdOf('jira-triage'), displayName: 'Jira triage' }, [agent]],
      [{ kind: 'task', task }, ['/people?sponsor=key-of-ada', agent]],
    ];
    for (const [target, links] of targets) {
      const text = `${renderStop({ now: NOON, target, live: LIVE, statusLists: undefined, formToken: 't', typed: nothingTyped })}`;
      const list = text.slice(text.indexOf('<ul'), text.indexOf('</ul>'));
      expect([...list.matchAll(/href="([^"]+)"/g)].map(([, to]) => to)).to.deep.equal(links);
    }
  });

  it('says how many tasks have ended if time is up: each was counted, also above the most that a page counts', async () => {
    const admin = { stopEverything: async () => ({ kind: 'time_up', tasks: MOST_COUNTED + 5 }) };
    const done = await stopScreen.forms.stopEverything.change(
      { admin } as unknown as ScreenContext,
      (name) => ({ typed: 'stop everything' })[name],
    );
    expect(done).to.include({ kind: 'refused', status: 503 });
    expect(done).to.have.property('text').that.includes('Ended 100,005 tasks. Time was up');
  });
});

describe('The screen of a person', () => {
  const page = (...sources: readonly BlockSource[]) =>
    `${renderPerson({
      blocks: sources.map((source) => ({ sponsorKey: ada, source, kind: 'disabled', blockedAt: NOON, acts: [] })),
      now: NOON,
      sponsorKey: ada,
      live: { ...LIVE, tasks: 0 },
      newest: [],
      mayRespond: true,
      twoPersons: false,
      pending: undefined,
      suggested: nothingSuggested,
      history: undefined,
      unknown: undefined,
      typed: nothingTyped,
      formToken: 't',
    })}`;

  it('promises that agents may act again only if no other source blocks', () => {
    expect(page('admin')).to.include('Agents may act for this person again.').and.not.include('still may not');
    expect(page('admin', 'scim'))
      .to.include('Agents still may not act')
      .and.not.include('may act for this person again');
  });
});

describe('A table of tasks', () => {
  const columns = (text: string) => [...text.matchAll(/<th scope="col">([^<]*)</g)].map(([, name]) => name);

  it('begins with the stop, which a phone must show, and links to the task, its agent and its person', () => {
    const task = aListedTask();
    const text = `${taskTable([task], { now: NOON, mayStop: true })}`;
    expect(columns(text)).to.deep.equal(['Stop', 'Agent', 'Person', 'Tool server', 'Ends', 'Task']);
    for (const to of [`/tasks/${task.taskId}`, '/agents/jira-triage', '/people?sponsor=key-of-ada'])
      expect(text).to.include(`href="${to}"`);
    expect(`${taskTable([task], { now: NOON, mayStop: false })}`).not.to.include('/stop');
  });

  it('links to no agent that has been removed', () => {
    const agentId = parseAgentId('gone') as ReturnType<typeof aListedTask>['agentId'];
    const text = `${taskTable([aListedTask({ agentId, displayName: undefined })], { now: NOON, mayStop: false })}`;
    expect(text).to.include('<bdi translate="no">gone</bdi> (removed)').and.not.include('/agents/gone');
  });
});

describe('The denials on Now', () => {
  const backlog = {
    sealing: { unsealed: 0, oldestUnsealedAt: undefined, newestCheckpoint: undefined },
    outbox: { waiting: 0, failing: 0, oldestAt: undefined },
  };
  const denials = {
    minutes: [NOON, plusSeconds(NOON, 60), plusSeconds(NOON, 120)],
    reasons: [{ reason: 'scope_widened', counts: [0, 3, 4], total: 7 }],
    completeFrom: undefined,
  };
  const rowOf = (shown: RecentDenials) => {
    const view = { now: NOON, live: LIVE, newest: [], blocked: { people: 0, bySource: {} }, backlog, denials: shown };
    const text = `${renderNow({ ...view, hasSink: false, mayStop: false } as never, undefined)}`;
    const row = /<code>scope_widened<\/code>.*?<\/tr>/.exec(text)?.[0] ?? '';
    const cells = [...row.matchAll(/<td[^>]*>(.*?)<\/td>/g)].map(([, cell = '']) => cell);
    return { cells: cells.map((cell) => cell.replace(/<[^>]*>/g, '')), links: cells.flatMap(linksIn), text };
  };
  const linksIn = (cell: string) =>
    [...cell.matchAll(/href="([^"]+)"/g)].map(([, to = '']) => to.replaceAll('&amp;', '&'));

  it('begin with the sum and the newest minute, which a phone must show, and link to the records', () => {
    const { cells, links } = rowOf(denials);
    expect(cells).to.deep.equal(['7', '4', '3', '0']);
    const at = (nth: number) => encodeURIComponent(toShortText(plusSeconds(NOON, 60 * nth)));
    const why = 'decision=deny&reason=scope_widened';
    expect(links).to.deep.equal([
      `/ledger?from=${at(0)}&${why}`,
      `/ledger?from=${at(2)}&${why}`,
      `/ledger?from=${at(1)}&to=${at(2)}&${why}`,
    ]);
  });

  it('show no 0 for a minute that was not counted completely', () => {
    const { cells, text } = rowOf({ ...denials, completeFrom: plusSeconds(NOON, 120) });
    expect(cells).to.deep.equal(['7', '4', '3 or more', '?']);
    expect(text).to.include('There are more denials than are counted at once.');
  });
});
