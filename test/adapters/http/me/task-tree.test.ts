/** How the pages show tasks that agents handed to each other. */

import { expect } from 'chai';
import { type Language, languages } from '../../../../adapters/http/browser/language.ts';
import { renderAgent } from '../../../../adapters/http/me/pages/agent.ts';
import { renderTask } from '../../../../adapters/http/me/pages/task.ts';
import { renderMe } from '../../../../adapters/http/me/pages/tasks.ts';
import type { MyTask, MyTaskTree } from '../../../../application/me/my-tasks.ts';
import { makeTaskId } from '../../../../domain/identifiers.ts';
import { plusSeconds } from '../../../../domain/instant.ts';
import { agentIdOf } from '../../../support/domain-fixtures.ts';
import { agentsOf, anAgentView, aTask, aView, now } from './fixtures.ts';

const idOf = (name: string) => makeTaskId(`01JDCK0000000000000000${name}`);
const finder = {
  agentId: agentIdOf('flight-finder'),
  displayName: 'Flight finder',
  audience: 'https://flights.example/',
};
const payer = { agentId: agentIdOf('payer'), displayName: 'Payer', audience: 'https://pay.example/' };
const root = aTask({ taskId: idOf('R00T'), liveBelow: 1 });
const middle = aTask({ ...finder, taskId: idOf('M1DD'), parentTaskId: root.taskId, liveBelow: 1 });
const leaf = aTask({ ...payer, taskId: idOf('1EAF'), parentTaskId: middle.taskId });
const other = aTask({ ...payer, taskId: idOf('0THR') });
const DELEGATION = { refused: new Set<never>(), hasRefusals: false };

const SAID: Readonly<Record<Language, Readonly<Record<string, string>>>> = {
  en: {
    below: 'Handed over to',
    stopsBelow: 'Stopping it also ends the tasks below it.',
    reaches: 'With a task, all tasks end that its agent handed to other agents.',
    link: 'Show the tasks that belong together',
    tree: 'Tasks that belong together',
    means: 'Stopping a task also ends all tasks below it.',
    isOver: 'ended',
    more: 'These are the first 3. There are more below them.',
    stop: 'Stop',
  },
  de: {
    below: 'Weitergegeben an',
    stopsBelow: 'Ein Stopp beendet auch die Aufgaben darunter.',
    reaches: 'Mit einer Aufgabe enden alle Aufgaben, die ihr Agent an andere Agenten weitergegeben hat.',
    link: 'Zusammengehörende Aufgaben zeigen',
    tree: 'Aufgaben, die zusammengehören',
    means: 'Wer eine Aufgabe stoppt, beendet auch alle Aufgaben darunter.',
    isOver: 'beendet',
    more: 'Das sind die ersten 3. Darunter gibt es mehr.',
    stop: 'Stoppen',
  },
};

/** How deep an element with this id or text stands in lists of tasks below. */
function depthOf(page: string, text: string): number {
  const before = page.slice(0, page.indexOf(text));
  const opened = [...before.matchAll(/<ul( class="below")?/g)].map(([, below]) => below !== undefined);
  const open: boolean[] = [];
  let nth = 0;
  for (const [tag] of before.matchAll(/<\/?ul/g)) {
    if (tag === '</ul') open.pop();
    else open.push(opened[nth++] ?? false);
  }
  return open.filter((isBelow) => isBelow).length;
}

function treeOf(tasks: readonly MyTask[], areMore = false): MyTaskTree {
  return {
    areMore,
    tasks: tasks.map((task, nth) => ({
      ...task,
      delegationDepth: nth + 1,
      state:
        nth === 2
          ? ({ kind: 'revoked', at: plusSeconds(now, -9), reason: 'sponsor_stopped' } as const)
          : { kind: 'live' },
    })),
  };
}

for (const language of languages) {
  describe(`Tasks that agents handed to each other, on the pages of a person, ${language}`, () => {
    const said = SAID[language];
    const has = (page: string, ...words: string[]) => words.map((word) => page.includes(said[word] ?? word));
    const tasks = [other, leaf, middle, root];

    it('stand below the task that they came from, each with its agent, its tool server and its own stop', () => {
      const page = renderMe(aView({ agents: agentsOf(tasks), handsOver: true, delegation: DELEGATION }), language);
      const depths = [root, middle, leaf, other].map(({ taskId }) => depthOf(page, `id="${taskId}"`));
      expect(depths).to.deep.equal([0, 1, 2, 0]);
      for (const { taskId } of tasks) expect(page).to.contain(`action="/me/tasks/${taskId}/stop"`);
      expect(page).to.contain('<h4><bdi translate="no">Flight finder</bdi></h4>');
      expect(has(page, 'flights.example', 'pay.example', 'below', 'reaches')).to.not.include(false);
      expect(page.split(said.stopsBelow ?? '')).to.have.length(3);
      // The counts of tasks and agents are those of all.
      expect(page).to.match(language === 'en' ? /4 tasks by 3 agents/ : /4 Aufgaben von 3 Agenten/);
      const choices = ['jira-triage', 'flight-finder', 'payer'].map(
        (id) => page.split(`id="delegation-${id}"`).length - 1,
      );
      expect(choices, 'the choice of each agent once').to.deep.equal([1, 1, 1]);
    });

    it('are shown without a tree, and the same to the byte, while the setting is off', () => {
      const page = renderMe(aView({ agents: agentsOf(tasks) }), language);
      const plain = tasks.map((task) => ({ ...task, parentTaskId: undefined, liveBelow: 0 }));
      expect(page).to.equal(renderMe(aView({ agents: agentsOf(plain) }), language));
      expect(has(page, 'below', 'stopsBelow', 'reaches')).to.not.include(true);
    });

    it('are each shown once, with a stop, where rows were altered so that the way up never ends', () => {
      const itself = { ...root, parentTaskId: root.taskId };
      const circle = { ...root, parentTaskId: leaf.taskId };
      for (const altered of [itself, circle]) {
        const agents = agentsOf([other, leaf, middle, altered]);
        const page = renderMe(aView({ agents, handsOver: true, delegation: DELEGATION }), language);
        const stops = tasks.map(({ taskId }) => page.split(`action="/me/tasks/${taskId}/stop"`).length - 1);
        expect(stops).to.deep.equal([1, 1, 1, 1]);
      }
    });

    it('are linked from the page of their agent', () => {
      const shown = { agent: middle, live: 2, tasks: [middle, { ...other, ...finder }], nextAfter: undefined };
      const page = renderAgent(anAgentView({ shown, handsOver: true }), language);
      expect(page.split(said.link ?? '')).to.have.length(2);
      expect(page).to.contain(`href="/me/tasks/${middle.taskId}#tree"`);
      expect(has(page, 'stopsBelow')).to.deep.equal([true]);
      expect(has(renderAgent(anAgentView({ shown }), language), 'link', 'stopsBelow')).to.deep.equal([false, false]);
    });

    it('are all on the page of one of them, those that ended without a stop', () => {
      const view = { ...aView({ handsOver: true }), task: middle, tree: treeOf([root, middle, leaf]) };
      const page = renderTask(view, language);
      const tree = page.slice(page.indexOf('id="tree"'));
      expect(
        [root, middle, leaf].map(({ displayName }) =>
          depthOf(tree, `<strong><bdi translate="no">${displayName}</bdi>`),
        ),
      ).to.deep.equal([0, 1, 2]);
      expect(has(tree, 'means', 'isOver', `action="/me/tasks/${root.taskId}/stop"`)).to.not.include(false);
      expect(has(tree, `/me/tasks/${middle.taskId}/stop`, `/me/tasks/${leaf.taskId}/stop`, 'more')).to.not.include(
        true,
      );
      const cut = renderTask({ ...view, tree: treeOf([root, middle, leaf], true) }, language);
      expect(has(cut, 'more')).to.deep.equal([true]);
      expect(has(renderTask({ ...view, task: other, tree: treeOf([other]) }, language), 'tree')).to.deep.equal([false]);
    });
  });
}
