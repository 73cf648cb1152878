import { expect } from 'chai';
import { delegationsOf } from '../../../../adapters/http/console/delegation/graph.ts';
import { placeDelegations } from '../../../../adapters/http/console/delegation/layout.ts';
import { renderComparison } from '../../../../adapters/http/console/parts/comparison.ts';
import { renderAgent } from '../../../../adapters/http/console/screens/agent.ts';
import { type DelegationView, renderDelegation } from '../../../../adapters/http/console/screens/delegation.ts';
import { renderTask, type TaskView } from '../../../../adapters/http/console/screens/task.ts';
import { timelineOf } from '../../../../adapters/http/console/timeline.ts';
import type { RecentDenials } from '../../../../application/admin/recent-denials.ts';
import { makeRequestId } from '../../../../domain/identifiers.ts';
import { type Instant, plusSeconds, toMillisecondText, toShortText } from '../../../../domain/instant.ts';
import { aListedTask, nothingSuggested } from '../../../support/console/views.ts';
import { aDelegator, agentIdOf, anAgent, NOON } from '../../../support/domain-fixtures.ts';
import { P256_KEY } from '../../../support/registrations.ts';

const now = plusSeconds(NOON, 700);

function delegation(tasks: readonly ReturnType<typeof aListedTask>[], changes: Partial<DelegationView> = {}): string {
  return `${renderDelegation({ filters: {}, suggested: nothingSuggested, ...delegationsOf(tasks), tasks: tasks.length, isComplete: true, mayStop: false, now, ...changes })}`;
}

const many = (count: number) =>
  Array.from({ length: count }, (_, nth) =>
    aListedTask({ person: `p${nth % 900}`, agent: `a${nth % 23}`, audience: `https://s${nth % 6}.example` }),
  );

describe('the screen Delegation', () => {
  it('links each node to its screen, and to the kill switch for a responder only', () => {
    const task = aListedTask();
    const addresses = [
      `/tasks/${task.taskId}`,
      '/agents/jira-triage',
      '/people?sponsor=key-of-ada',
      '/delegation?audience=https%3A%2F%2Fjira.example%2Fmcp',
    ];
    const stops = [`/stop?task_id=${task.taskId}`, '/stop?agent_id=jira-triage', '/stop?sponsor=key-of-ada'];
    for (const mayStop of [true, false]) {
      const page = delegation([task], { mayStop });
      const svg = page.slice(page.indexOf('<svg'), page.indexOf('</svg>'));
      const table = page.slice(page.indexOf('<table>'), page.indexOf('</table>'));
      for (const to of addresses) for (const part of [svg, table]) expect(part).to.include(`href="${to}"`);
      for (const to of stops)
        for (const part of [svg, table]) expect(part.includes(`href="${to}"`), to).to.equal(mayStop);
    }
  });

  it('offers no kill switch for a task that has ended', () => {
    const task = aListedTask({ state: { kind: 'revoked', at: NOON, reason: 'client_revoked' } });
    expect(delegation([task], { mayStop: true })).not.to.include('<a class="stop" href="/stop?task_id');
  });

  it('escapes every name, also in the picture', () => {
    const name = '"><script>&';
    const page = delegation([aListedTask({ person: 'x', displayName: name, sponsor: name })], { mayStop: true });
    expect(page).not.to.include('<script>');
    expect(page.split('&quot;&gt;&lt;script&gt;&amp;').length).to.be.above(4);
  });

  it('draws no two nodes over one another, and each in its column', () => {
    const placed = placeDelegations(delegationsOf(many(150)).graph);
    const columns = new Map<number, number[]>();
    for (const { x, y } of placed.nodes) columns.set(x, [...(columns.get(x) ?? []), y]);
    expect(columns.size).to.equal(4);
    for (const ys of columns.values()) {
      ys.sort((one, other) => one - other).forEach((y, nth) => {
        if (nth > 0) expect(y - (ys[nth - 1] ?? 0)).to.be.at.least(44);
        expect(y).to.be.above(0);
        expect(y + 44).to.be.below(placed.height);
      });
    }
  });

  it('says what is grouped, and that older tasks were not read', () => {
    const page = delegation(many(3000), { isComplete: false });
    expect(page)
      .to.include('people, agents and tool servers with the fewest tasks')
      .and.include('Older ones were not read, so each number is a part.')
      .and.include('<strong>The newest 3,000 live tasks</strong>');
    expect(page).to.match(/other people/);
    expect(page)
      .to.match(/>[\d,]+ or more tasks</)
      .and.not.match(/>[\d,]+ tasks?</);
    expect(delegation(many(3000), { isComplete: false, total: 20_140 })).to.include(
      '<strong>The newest 3,000 of 20,140 live tasks</strong>',
    );
    const one = delegation([aListedTask()], { isComplete: false, mayStop: true });
    expect(one.slice(one.indexOf('<table>')))
      .to.include('1 or more tasks')
      .and.not.include('/stop?task_id');
  });

  it('says that a line does not show which agent handed a task over, only where one was', () => {
    const first = aListedTask();
    const below = aListedTask({ agent: 'jira-reader', delegatedBy: [aDelegator(first.taskId)] });
    expect(delegation([first, below])).to.include('<strong>2 live tasks</strong>. 1 was handed over by another agent');
    expect(delegation([first, below, below])).to.include('2 were handed over by another agent');
    expect(delegation([first])).to.not.include('handed over');
  });

  it('has no picture where there is no task', () => {
    expect(delegation([])).to.include('There is no live task here.').and.not.include('<svg');
    expect(delegation([], { filters: { from: '2026-11-24' } })).to.include('No task ran in this time.');
  });
});

describe('the screen Task', () => {
  const agent = anAgent({ allowedScopes: ['jira:read', 'jira:comment', 'jira:admin'], highRiskAudiences: [] });
  const ttl = { registered: 300, since: NOON, longest: 3600 };
  const page = (view: Partial<TaskView> & Pick<TaskView, 'task'>) =>
    `${renderTask({
      agent,
      timeline: timelineOf(view.task, ttl, view.records, now),
      records: undefined,
      recordCount: 2,
      hasMoreRecords: false,
      statusLists: undefined,
      endedBy: [],
      approvals: undefined,
      mayStop: false,
      now,
      ...view,
    })}`;
  const killed = { kind: 'revoked', at: plusSeconds(NOON, 600), reason: 'operator_kill_switch' } as const;

  it('marks the task in its tree, and says if there are more tasks, and if it is not among the shown ones', () => {
    const [root, below] = [aListedTask(), aListedTask({ delegationDepth: 2 })];
    const tasks = [
      { ...root, parentTaskId: undefined },
      { ...below, parentTaskId: root.taskId },
    ];
    const more = (task: typeof root, hasMore = true) => page({ task, tree: { tasks, hasMore } });
    expect(more(below)).to.include(`${below.taskId}</bdi></strong>, this task, depth 2, live`);
    expect(more(below)).to.include(
      `These are the first 2. <code>GET /admin/tasks/${below.taskId}/tree</code> has all.`,
    );
    expect(more(aListedTask())).to.include('These are the first 2, without this task.').and.not.include(', this task,');
    expect(more(below, false)).to.not.include('These are the first');
  });

  it('is the same, to the byte, for a task that is alone in its tree', () => {
    const task = aListedTask();
    const alone = { tasks: [{ ...task, parentTaskId: undefined }], hasMore: false };
    expect(page({ task, tree: alone })).to.equal(page({ task }));
  });

  it('says until when the last token works after a kill, and shows that part of its bar', () => {
    const text = page({ task: aListedTask({ state: killed, renewals: 1, renewedAt: plusSeconds(NOON, 500) }) });
    const until = toMillisecondText(plusSeconds(NOON, 800 + 60)).slice(0, -'.000Z'.length);
    expect(text).to.include(`Its last token works until <time datetime="${until}`);
    expect(text).to.include('This includes 1 minute for clocks that differ.').and.include('<rect class="after"');
    expect(page({ task: aListedTask({ state: killed }) }))
      .to.include('None of its tokens outlived it.')
      .and.not.include('class="after"');
  });

  it('does not say of a killed task that its time is still to come', () => {
    expect(page({ task: aListedTask({ state: killed }) }))
      .to.include('<dt>Would have ended</dt>')
      .and.not.include('<dt>Time is up</dt>');
    expect(page({ task: aListedTask() })).to.include('<dt>Time is up</dt>');
  });

  it('quotes the stated purpose as words of the agent, with markup as text, and has none without one', () => {
    const purpose = { words: '</blockquote><script>alert(1)</script>\u202e', salt: 'secret-salt' };
    expect(page({ task: aListedTask({ purpose }) }))
      .to.include(
        '<dd><blockquote class="stated"><bdi>&lt;/blockquote&gt;&lt;script&gt;alert(1)&lt;/script&gt;\\u{202e}</bdi></blockquote>',
      )
      .and.include('The agent’s words. They are not checked.')
      .and.not.include('<script>')
      .and.not.include('secret-salt');
    expect(page({ task: aListedTask() })).not.to.include('Purpose');
  });

  it('says that the person started it, where the answer went, and whether the program can prove its name', () => {
    const authorization = {
      requestId: makeRequestId('01JDCK0000000000000000TEST'),
      client: 'document',
      redirectUri: 'https://app.example/cb?"><script>',
      isRotating: false,
    } as const;
    const text = page({ task: aListedTask({ authorization }) });
    expect(text)
      .to.match(/<dt>Started by<\/dt><dd>The person\. The answer went to <bdi[^>]*>app\.example<\/bdi>\./)
      .and.include('a client with a document')
      .and.include(authorization.requestId)
      .and.not.include('<script>')
      .and.not.include('cannot prove');
    const onComputer = {
      ...authorization,
      client: 'public',
      redirectUri: 'http://[::1]:7/',
      isRotating: true,
    } as const;
    expect(page({ task: aListedTask({ authorization: onComputer }) }))
      .to.include('a program on the person’s computer')
      .and.include('a public client')
      .and.include('The program cannot prove its name: it needs no key to redeem a code.');
    const withKey = { ...onComputer, isRotating: false };
    expect(page({ task: aListedTask({ authorization: withKey }) })).to.include('cannot prove its name');
    expect(page({ task: aListedTask() })).not.to.include('Started by');
  });

  it('says how soon each kind of tool server refuses it', () => {
    const task = aListedTask({ status: { listId: 'l', index: 1 }, renewals: 1, renewedAt: plusSeconds(NOON, 690) });
    expect(page({ task, statusLists: 15 })).to.include('read status lists refuse them within 15 seconds');
    expect(page({ task })).not.to.include('status lists');
    const highRisk = { ...agent, highRiskAudiences: [task.audience] };
    expect(page({ task, agent: highRisk })).to.include('must ask on every call');
  });

  it('has the four columns: what person, agent and request had, and what was granted of it', () => {
    const origin = {
      held: ['jira:read', 'jira:comment', 'mail:send'],
      asked: ['jira:read', 'jira:comment', 'jira:admin'],
    };
    const cells = (text: string) =>
      [...text.matchAll(/<tr><th scope="row"><bdi class="code" translate="no">([^<]*)<\/bdi><\/th>(.*?)<\/tr>/g)].map(
        ([, name, row = '']) => [
          name,
          ...[...row.matchAll(/<td><span[^>]*>([^<]*)<\/span><\/td>/g)].map(([, cell]) => cell),
        ],
      );
    expect(cells(page({ task: aListedTask({ origin, grantScope: ['jira:read'] }) }))).to.deep.equal([
      ['jira:read', 'yes', 'yes', 'yes', 'yes'],
      ['jira:comment', 'yes', 'yes', 'yes', 'given up by a renewal'],
      ['jira:admin', 'no', 'yes', 'yes', 'no'],
      ['mail:send', 'yes', 'no', 'no', 'no'],
    ]);
    expect(cells(page({ task: aListedTask() }))[2]).to.deep.equal(['jira:admin', 'not kept', 'yes', 'not kept', 'no']);
  });

  it('has its records for an auditor only', () => {
    const task = aListedTask();
    const records = [
      { seq: 7, checkpoint: 3, at: NOON, event: 'token.issued', decision: 'allow', taskId: task.taskId } as const,
    ];
    const shown = page({ task, records });
    expect(shown)
      .to.include(`href="/tasks/${task.taskId}/records/7"`)
      .and.include('checkpoint 3')
      .and.include('&quot;seq&quot;: 7');
    expect(shown).to.include(`href="/ledger?task_id=${task.taskId}&amp;order=oldest"`);
    expect(page({ task })).not.to.include('/records/').and.not.include('/ledger').and.not.include('<pre');
  });

  it('offers the kill switch to a responder, while the task is live', () => {
    const task = aListedTask();
    expect(page({ task, mayStop: true })).to.include(`href="/stop?task_id=${task.taskId}"`);
    expect(page({ task })).not.to.include('/stop');
    expect(page({ task: { ...task, state: killed }, mayStop: true })).not.to.include('/stop');
  });
});

describe('the screen Agent', () => {
  const agent = anAgent({ keys: { kind: 'inline', jwks: { keys: [P256_KEY] } }, keysSince: plusSeconds(NOON, 100) });
  const page = (mayChange: boolean, mayStop: boolean, enabled = true) =>
    `${renderAgent({ agent: { ...agent, enabled }, tasks: [], live: { tasks: 0, lastExpiry: undefined, longestTokenTtl: undefined }, denials: undefined, hasApprovals: false, mayChange, mayStop, formToken: 't', typed: () => undefined, now })}`;

  it('says how many tasks are live, also if it shows only the newest', () => {
    const text = (tasks: number, shown: number) => {
      const live = { tasks, lastExpiry: undefined, longestTokenTtl: undefined };
      const listed = Array.from({ length: shown }, () => aListedTask());
      return `${renderAgent({ agent, tasks: listed, live, denials: undefined, hasApprovals: false, mayChange: false, mayStop: false, formToken: 't', typed: () => undefined, now })}`;
    };
    expect(text(1001, 50)).to.include('<span class="quiet">the newest 50 of 1,001</span>');
    expect(text(2, 2)).to.include('<span class="quiet">2</span>');
    expect(text(0, 0)).to.include('It has no live task.');
  });

  it('offers a registrar to disable or enable it, and a responder to stop its tasks', () => {
    const has = (text: string) =>
      ['/agent/disable', '/agent/enable', '/stop?agent_id=jira-triage'].map((path) => text.includes(path));
    expect(has(page(true, true))).to.deep.equal([true, false, true]);
    expect(has(page(true, true, false))).to.deep.equal([false, true, true]);
    expect(has(page(true, false))).to.deep.equal([true, false, false]);
    expect(has(page(false, true))).to.deep.equal([false, false, true]);
    expect(has(page(false, false))).to.deep.equal([false, false, false]);
  });

  it('shows the agents that it may hand work to, each with its page, and nothing without any', () => {
    const shown = (delegatesTo: typeof agent.delegatesTo) =>
      `${renderAgent({ agent: { ...agent, delegatesTo }, tasks: [], live: { tasks: 0, lastExpiry: undefined, longestTokenTtl: undefined }, denials: undefined, hasApprovals: false, mayChange: false, mayStop: false, formToken: 't', typed: () => undefined, now })}`;
    expect(shown([agentIdOf('wiki-reader'), agentIdOf('jira-triage')])).to.match(
      /<dt>May hand work to<\/dt><dd><ul class="inline"><li><a href="\/agents\/wiki-reader">.*?<li><a href="\/agents\/jira-triage">/,
    );
    expect(shown(undefined)).not.to.include('hand work');
  });

  it('says that other agents are refused too, if it may hand work to them, where it disables and is disabled', () => {
    const shown = (delegatesTo: typeof agent.delegatesTo, enabled: boolean) =>
      `${renderAgent({ agent: { ...agent, delegatesTo, enabled }, tasks: [], live: { tasks: 0, lastExpiry: undefined, longestTokenTtl: undefined }, denials: undefined, hasApprovals: false, mayChange: true, mayStop: false, formToken: 't', typed: () => undefined, now })}`;
    const others = [agentIdOf('wiki-reader')];
    expect(shown(others, true)).to.include('so are other agents in tasks that it handed to them');
    expect(shown(others, false)).to.include('The same holds for tasks that it handed to other agents.');
    for (const enabled of [true, false]) expect(shown(undefined, enabled)).not.to.include('other agents');
  });

  it('shows how the provider names it, isolated and escaped, and nothing without such names', () => {
    const named = { ...agent, mayActNames: [{ sub: '<b>\u202e"', clientId: undefined }] };
    const shown = (one: typeof agent) =>
      `${renderAgent({ agent: one, tasks: [], live: { tasks: 0, lastExpiry: undefined, longestTokenTtl: undefined }, denials: undefined, hasApprovals: false, mayChange: false, mayStop: false, formToken: 't', typed: () => undefined, now })}`;
    const text = '{&quot;sub&quot;:&quot;&lt;b&gt;\\u{202e}\\&quot;&quot;}';
    expect(shown(named)).to.include(
      `<dt>At the provider</dt><dd><ul class="inline"><li><bdi class="code" translate="no">${text}</bdi>`,
    );
    expect(shown({ ...agent, mayActNames: undefined })).not.to.include('At the provider');
  });

  it('shows an auditor its denials of the last minutes, with links to its records, and others nothing of them', () => {
    const { agentId } = agent;
    const denials = (completeFrom: Instant | undefined) =>
      ({
        minutes: [NOON, plusSeconds(NOON, 60)],
        reasons: [],
        agents: [{ agentId, denials: 6000 }],
        completeFrom,
      }) as const;
    const shown = (given: RecentDenials | undefined) =>
      `${renderAgent({ agent, tasks: [], live: { tasks: 0, lastExpiry: undefined, longestTokenTtl: undefined }, denials: given, hasApprovals: true, mayChange: false, mayStop: false, formToken: 't', typed: () => undefined, now })}`.replaceAll(
        '&amp;',
        '&',
      );
    const since = encodeURIComponent(toShortText(NOON));
    expect(shown(denials(undefined)))
      .to.include(`<a href="/ledger?from=${since}&decision=deny&agent_id=jira-triage">6,000</a></p>`)
      .and.include('<a href="/ledger?agent_id=jira-triage">')
      .and.include('<a href="/ledger?decision=deny&agent_id=jira-triage">');
    expect(shown(denials(NOON))).to.include('>6,000</a> or more</p>');
    expect(shown({ ...denials(undefined), agents: [] })).to.include(
      'Denials in the last 2 minutes: <span class="quiet">0</span>',
    );
    expect(shown(undefined)).not.to.include('/ledger').and.not.include('enials');
  });

  it('says how old its keys are', () => {
    expect(page(false, false)).to.match(/Registered <time datetime="[^"]*">.*?\(10 minutes ago\)/);
  });
});

describe('the comparison with a file', () => {
  const stored = anAgent();

  it('shows both values of each field that differs, and marks what only one list has', () => {
    const registration = anAgent({ allowedScopes: ['jira:read', 'jira:write'], maxTaskTtl: 60 });
    const fields = ['allowed_scopes', 'max_task_ttl'] as const;
    const declaration = { ...registration, maxTaskTtl: 60, maxTokenTtl: 60, jwksUri: undefined };
    const page = `${renderComparison({ kind: 'compared', agents: [{ stored, registration, declaration, fields, errors: [] }] })}`;
    expect(page)
      .to.include('<bdi class="code" translate="no">PT30M</bdi>')
      .and.include('<bdi class="code" translate="no">PT1M</bdi>');
    expect(
      [...page.matchAll(/<mark><bdi class="code" translate="no">([^<]*)/g)].map(([, scope]) => scope),
    ).to.deep.equal(['jira:comment', 'jira:write']);
    expect(page).to.include(
      '<strong>1 agent</strong> differs, <strong>0</strong> are not registered, <strong>0</strong> are the same',
    );
  });

  it('says which agents are new, which the same, and what this service would refuse', () => {
    const fresh = anAgent({ agentId: agentIdOf('fresh') });
    const errors = [{ field: 'max_task_ttl', sentence: 'Must be from PT1M to P1D.' }];
    const agents = [
      { stored: undefined, registration: fresh, declaration: { ...fresh }, fields: [], errors },
      { stored, registration: stored, declaration: { ...stored }, fields: [], errors: [] },
    ];
    const page = `${renderComparison({ kind: 'compared', agents })}`;
    expect(page)
      .to.include('the file would register it')
      .and.include('Must be from PT1M to P1D.')
      .and.include('The same, as far as the file says.');
  });

  it('names the problems of a file that is none', () => {
    const page = `${renderComparison({ kind: 'wrong', problems: ['The file:3: <b>'] })}`;
    expect(page).to.include('The file:3: &lt;b&gt;').and.include('Nothing was compared.');
  });
});
