import { expect } from 'chai';
import fc from 'fast-check';
import {
  type DelegatedTask,
  type DelegationGraph,
  delegationsOf,
  MAX_EDGES,
  MAX_NODES,
  MAX_OVERVIEW_NODES,
} from '../../../../../adapters/http/console/delegation/graph.ts';
import { makeTaskId, parseAgentId, parseSponsorKey } from '../../../../../domain/identifiers.ts';
import { instantFromSeconds } from '../../../../../domain/instant.ts';

let made = 0;

function task(person: string, agent: string, audience: string, state: DelegatedTask['state'] = { kind: 'live' }) {
  made += 1;
  return {
    taskId: makeTaskId(String(made).padStart(26, '0')),
    agentId: parseAgentId(agent) ?? expect.fail(),
    displayName: `The ${agent}`,
    sponsorKey: parseSponsorKey(person) ?? expect.fail(),
    sponsor: `sub of ${person}`,
    audience,
    state,
    delegatedBy: [],
  };
}

const kinds = (graph: DelegationGraph) => graph.nodes.map(({ kind }) => kind);
const many = <Value>(count: number, make: (nth: number) => Value) =>
  Array.from({ length: count }, (_, nth) => make(nth));

describe('the graph of delegations', () => {
  it('leads from each person over the agent and the task to the tool server', () => {
    const tasks = [
      task('ada', 'triage', 'https://crm.test'),
      task('ada', 'triage', 'https://mail.test', { kind: 'expired', at: instantFromSeconds(5) }),
      task('bob', 'triage', 'https://crm.test'),
    ];
    const { graph } = delegationsOf(tasks);
    expect(graph.grouped).to.equal('nothing');
    expect(kinds(graph)).to.deep.equal(['person', 'person', 'agent', 'task', 'task', 'task', 'server', 'server']);
    expect(graph.nodes.slice(0, 3)).to.deep.equal([
      { id: 'person ada', kind: 'person', sponsorKey: 'ada', sponsor: 'sub of ada', tasks: 2 },
      { id: 'person bob', kind: 'person', sponsorKey: 'bob', sponsor: 'sub of bob', tasks: 1 },
      { id: 'agent triage', kind: 'agent', agentId: 'triage', displayName: 'The triage', tasks: 3 },
    ]);
    const [, mail] = tasks.map(({ taskId }) => taskId);
    expect(graph.nodes[4]).to.deep.equal({ id: mail, kind: 'task', taskId: mail, state: 'expired', tasks: 1 });
    expect(graph.edges.map(({ from, to, tasks }) => [from, to, tasks])).to.deep.include.members([
      ['person ada', 'agent triage', 2],
      ['person bob', 'agent triage', 1],
      ['agent triage', mail, 1],
      [mail, 'server https://mail.test', 1],
    ]);
    expect(graph.edges).to.have.lengthOf(2 + 3 + 3);
  });

  it('has no nodes without tasks', () => {
    expect(delegationsOf([])).to.deep.equal({
      graph: { nodes: [], edges: [], grouped: 'nothing' },
      rows: [],
      handedOver: 0,
    });
  });

  it('groups the tasks between the same three once there are too many', () => {
    const { graph } = delegationsOf(many(500, (nth) => task(`p${nth % 3}`, `a${nth % 2}`, 'https://crm.test')));
    expect(graph.grouped).to.equal('tasks');
    expect(kinds(graph).filter((kind) => kind === 'tasks')).to.have.lengthOf(6);
    expect(kinds(graph)).not.to.include('task');
    expect(sum(graph, 'person')).to.equal(500);
  });

  it('then groups tasks of all people', () => {
    const { graph } = delegationsOf(many(500, (nth) => task(`p${nth % 120}`, 'triage', 'https://crm.test')));
    expect(graph.grouped).to.equal('tasks');
    expect(graph.nodes).to.have.lengthOf(120 + 1 + 1 + 1);
  });

  it('then groups the people, agents and tool servers with the fewest tasks, and never a single one', () => {
    const { graph } = delegationsOf([
      ...many(1000, (nth) => task(`p${nth}`, 'triage', 'https://crm.test')),
      ...many(9, () => task('p7', 'triage', 'https://crm.test')),
      task('p8', 'second', 'https://crm.test'),
    ]);
    expect(graph.grouped).to.equal('smallest');
    expect(graph.nodes[0]).to.deep.equal({ id: 'other_people', kind: 'other_people', members: 960, tasks: 960 });
    expect(graph.nodes[1]).to.include({ id: 'person p7', tasks: 10 });
    expect(kinds(graph)).not.to.include.oneOf(['other_agents', 'other_servers']);
  });

  it('is also a table: the tasks between the same three in one row, the most tasks first', () => {
    const [first, second, third] = [
      task('ada', 'b', 'https://x.test'),
      task('bob', 'a', 'https://x.test'),
      task('bob', 'a', 'https://x.test'),
    ];
    expect(
      delegationsOf([third, second, first]).rows.map(({ sponsorKey, tasks, newest }) => [sponsorKey, tasks, newest]),
    ).to.deep.equal([
      ['bob', 2, third.taskId],
      ['ada', 1, first.taskId],
    ]);
  });

  it('is small enough to draw, and loses no task, whatever acts for whom', () => {
    const sizes = fc.record({
      tasks: fc.integer({ min: 0, max: 3000 }),
      people: fc.integer({ min: 1, max: 3000 }),
      agents: fc.integer({ min: 1, max: 400 }),
      servers: fc.integer({ min: 1, max: 400 }),
      step: fc.integer({ min: 1, max: 97 }),
    });
    fc.assert(
      fc.property(sizes, ({ tasks, people, agents, servers, step }) => {
        const { graph } = delegationsOf(
          many(tasks, (nth) =>
            task(`p${nth % people}`, `a${(nth * step) % agents}`, `https://s${(nth * 31) % servers}.test`),
          ),
        );
        const most = graph.grouped === 'smallest' ? MAX_OVERVIEW_NODES : MAX_NODES;
        expect(graph.nodes.length).to.be.at.most(most);
        expect(graph.edges.length).to.be.at.most(MAX_EDGES);
        const ids = graph.nodes.map(({ id }) => id);
        expect(new Set(ids).size).to.equal(ids.length);
        for (const { from, to } of graph.edges) expect(ids).to.include.members([from, to]);
        expect(graph.nodes.reduce((total, node) => total + node.tasks, 0)).to.equal(4 * tasks);
        expect(graph.edges.reduce((total, edge) => total + edge.tasks, 0)).to.equal(3 * tasks);
      }),
      { numRuns: 40 },
    );
  });
});

function sum(graph: DelegationGraph, wanted: string): number {
  return graph.nodes.filter(({ kind }) => kind === wanted).reduce((total, { tasks }) => total + tasks, 0);
}
