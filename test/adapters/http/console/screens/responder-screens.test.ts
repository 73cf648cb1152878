/** What the screens for people on call say and link to. */

import { expect } from 'chai';
import { MOST_COUNTED, type ScreenContext } from '../../../../../adapters/http/console/context.ts';
import { noticeText } from '../../../../../adapters/http/console/notices.ts';
import { taskTable } from '../../../../../adapters/http/console/parts/task-table.ts';
import { renderNow } from '../../../../../adapters/http/console/screens/now.ts';
import { renderPerson } from '../../../../../adapters/http/console/screens/people.ts';
import { renderStop, type StopTarget, stopScreen } from '../../../../../adapters/http/console/screens/stop.ts';
import { renderTasks } from '../../../../../adapters/http/console/screens/tasks.ts';
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
      {},
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
      hasApprovals: false,
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

describe('The list of tasks', () => {
  it('does not say the number of a page as the number of all tasks', () => {
    const view = { filters: {}, state: 'live', tasks: [aListedTask()], suggested: nothingSuggested, mayStop: false };
    const summary = (isFirst: boolean, nextCursor: string | undefined) =>
      /<p class="summary">(.*?) <a /.exec(`${renderTasks({ ...view, isFirst, nextCursor, now: NOON } as never)}`)?.[1];
    expect(summary(true, undefined)).to.equal('<strong>1 live task</strong>, the newest first.');
    expect(summary(true, 'c')).to.equal('<strong>The newest 1 live task</strong>. More are on the next page.');
    expect(summary(false, 'c')).to.equal('<strong>1 older live task</strong>. More are on the next page.');
    expect(summary(false, undefined)).to.equal('<strong>1 older live task</strong>.');
  });
});

describe('The notice after a form', () => {
  it('writes large numbers as the page before did', () => {
    expect(noticeText({ kind: 'stopped', amount: 1004 })).to.equal('Ended 1,004 tasks.');
    expect(noticeText({ kind: 'blocked', amount: 1004 })).to.equal('Blocked. Ended 1,004 tasks.');
  });
});

describe('The oldest unsealed record on Now', () => {
  it('is late after five minutes, or after two intervals of checkpoints if they are longer', () => {
    const isLate = (age: number, sealsEvery: number) => {
      const sealing = { unsealed: 1, oldestUnsealedAt: plusSeconds(NOON, -age), newestCheckpoint: undefined };
      const outbox = { waiting: 0, failing: 0, oldestAt: undefined, queueing: false };
      const backlog = { sealing, outbox };
      const view = { now: NOON, live: LIVE, newest: [], blocked: { people: 0, bySource: {} }, backlog, sealsEvery };
      const text = `${renderNow({ ...view, denials: undefined, hasSink: false, mayStop: false }, undefined)}`;
      expect(text).to.include('No person is blocked.');
      return text.includes('class="figure late"');
    };
    const cases = [
      [300, 60],
      [301, 60],
      [301, 1],
      [301, 3600],
      [7200, 3600],
      [7201, 3600],
    ] as const;
    expect(cases.map(([age, interval]) => isLate(age, interval))).to.deep.equal([
      false,
      true,
      true,
      false,
      false,
      true,
    ]);
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
    agents: [
      { agentId: agentIdOf('fleet-117'), denials: 6000 },
      { agentId: agentIdOf('other'), denials: 1 },
    ],
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

  it('name the agents with the most, each linked to its page, its figure to the records', () => {
    const since = encodeURIComponent(toShortText(NOON));
    const rowsOf = (shown: RecentDenials) =>
      [...rowOf(shown).text.matchAll(/<li><a href="\/ledger\?[^"]*agent_id.*?<\/li>/g)].map(([row]) => ({
        words: row
          .replace(/<[^>]*>/g, ' ')
          .trim()
          .split(/ +/),
        links: linksIn(row),
      }));
    expect(rowsOf(denials)).to.deep.equal([
      {
        words: ['6,000', 'fleet-117'],
        links: [`/ledger?from=${since}&decision=deny&agent_id=fleet-117`, '/agents/fleet-117'],
      },
      {
        words: ['1', 'other'],
        links: [`/ledger?from=${since}&decision=deny&agent_id=other`, '/agents/other'],
      },
    ]);
    expect(rowsOf({ ...denials, completeFrom: NOON }).map(({ words }) => words.join(' '))).to.deep.equal([
      '6,000 or more fleet-117',
      '1 or more other',
    ]);
    expect(rowOf({ ...denials, agents: [] }).text).not.to.include('Denials by agent');
  });

  it('show no 0 for a minute that was not counted completely', () => {
    const { cells, text } = rowOf({ ...denials, completeFrom: plusSeconds(NOON, 120) });
    expect(cells).to.deep.equal(['7', '4', '3 or more', '?']);
    expect(text).to.include('There are more denials than are counted at once.');
  });
});
