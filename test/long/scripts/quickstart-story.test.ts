/**
 * Runs the quickstart with the service from its sources, then the commands that the quickstart shows at its end. At every
 * push no test runs the quickstart.
 */

import { execFile } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Task, TaskOver } from '@mandate/agent';
import { expect } from 'chai';
import { asProgram } from '../../../scripts/from-source.ts';
import { keepTokenFresh } from '../../../scripts/quickstart/fresh-token.ts';
import { invite } from '../../../scripts/quickstart/invitation.ts';
import { type Stage, setStage } from '../../../scripts/quickstart/stage.ts';
import { leaveAgent } from '../../../scripts/quickstart/startable-agent.ts';
import { type Cast, tellStory } from '../../../scripts/quickstart/story.ts';
import { layOut } from '../../../scripts/quickstart/table.ts';
import type { Terminal } from '../../../scripts/quickstart/terminal.ts';

interface Recording {
  readonly terminal: Terminal;
  readonly chapters: string[];
  readonly commands: string[];
  text(): string;
}

/** A terminal that keeps its output. */
function recording(): Recording {
  const [chapters, commands, lines]: [string[], string[], string[]] = [[], [], []];
  return {
    chapters,
    commands,
    text: () => lines.join('\n'),
    terminal: {
      chapter: (title) => chapters.push(title),
      say: (...sentences) => lines.push(...sentences),
      show: (table) => lines.push(...layOut(table, 98)),
      command: (line) => void [lines, commands].map((list) => list.push(line)),
      confirm: (sentence) => lines.push(sentence),
      refused: (sentence) => lines.push(sentence),
      fail: (sentence) => lines.push(sentence),
    },
  };
}

const MAIN = new URL('../../../composition/main.ts', import.meta.url);

describe('the quickstart', function () {
  this.timeout(90_000);
  let stage: Stage;
  let cast: Cast;
  const told = recording();

  before(async () => {
    stage = await setStage(asProgram(MAIN));
    cast = await tellStory(stage, told.terminal);
  });
  after(() => stage?.clear());

  it('runs to its last chapter, which verifies the ledger', () => {
    expect(told.chapters).to.have.lengthOf(18);
    const reasons = ['invalid_client', 'missing_token', 'insufficient_scope', 'wrong_audience', 'client_revoked'];
    for (const reason of [
      ...reasons,
      'approval_required',
      'approval_spent',
      'approval_refused',
      'sponsor_stopped',
      'operator_kill_switch',
      'task_revoked',
      'expired',
      'sponsor_disabled',
    ])
      expect(told.text()).to.contain(reason);
    // The id of the last checkpoint depends on how long the run took.
    expect(told.text())
      .to.contain('The seal is intact')
      .and.to.match(/The seal is not intact\. Checkpoint \d+ /);
  });

  it('shows the same kill with and without the status list, and how long it takes with it', () => {
    expect(told.text()).to.match(/Its ordinary route, \d+\.\d s after the kill: 401 not_active/);
    expect(told.text()).to.contain('The ordinary route of the Jira that does not poll, at that moment: 200, still.');
    expect(told.text()).to.contain('plus maxAgeMs, here 2 s');
  });

  it('shows no token, grant or key', () => {
    expect(told.text()).to.not.contain(stage.adminKey);
    expect(told.text()).to.not.match(/eyJ[\w-]{10}/);
    expect(told.text()).to.not.match(/task_grant_|mandate_code_/);
    expect(told.text()).to.not.contain('PRIVATE KEY');
  });

  it('fits into one hundred columns, in lines that the terminal does not wrap', () => {
    const tables = told
      .text()
      .split('\n')
      .filter((line) => / {2,}/.test(line));
    expect(Math.max(...[...tables, ...told.commands].map((line) => line.length))).to.be.at.most(98);
  });

  describe('after its end', () => {
    let task: Task;
    let over: Promise<unknown>;
    let stop = (): void => undefined;
    const invited = recording();

    before(async () => {
      task = await cast.agent.startTask({
        subjectToken: cast.subjectToken,
        resource: stage.jira.audience,
        scope: ['jira:read', 'jira:comment'],
      });
      over = new Promise((resolve) => {
        keepTokenFresh(task, stage.taskTokenFile, resolve).then((stopping) => {
          stop = stopping;
        }, resolve);
      });
      leaveAgent(stage, cast);
      while (statSync(stage.taskTokenFile, { throwIfNoEntry: false }) === undefined) await pause(20);
      invite(stage, invited.terminal, task);
    });
    after(() => stop());

    const untilNewToken = async () => {
      const read = () => readFileSync(stage.taskTokenFile, 'utf8');
      for (const former = read(); read() === former; ) await pause(20);
    };

    it('writes the token of a task to a file that only its owner can read', () => {
      expect(statSync(stage.taskTokenFile).mode & 0o777).to.equal(0o600);
      expect(invited.text()).to.not.contain(readFileSync(stage.taskTokenFile, 'utf8'));
    });

    it('leaves an agent that can be started again and again, in any folder, whose key only its owner can read', async () => {
      for (const file of [stage.agentFile, stage.agentKeyFile]) expect(statSync(file).mode & 0o777).to.equal(0o600);
      const start = invited.commands.find((command) => command.startsWith('sh '));
      expect(start).to.equal(`sh ${stage.agentFile}`);
      for (const cwd of [process.cwd(), dirname(stage.agentFile)]) {
        const { stdout } = await promisify(execFile)('sh', [stage.agentFile], { cwd });
        expect(JSON.parse(stdout)).to.deep.equal({ key: 'OPS-7', readFor: 'ada', readBy: 'agent:triage-bot' });
      }
    });

    it('shows commands that work, the last of which ends the task', async () => {
      const answers: number[] = [];
      const requests = invited.commands.filter((command) => command.startsWith('curl '));
      for (const command of requests) {
        // After the last command the test still needs a token that is valid for some seconds.
        if (command === requests.at(-1)) await untilNewToken();
        answers.push(await answerTo(command));
      }
      expect(answers).to.deep.equal([200, 201, 401, 403, 200, 200, 200, 200]);
      // As the quickstart says: the route with introspection refuses at once, the other route some seconds later.
      const [reading = '', commenting = ''] = invited.commands;
      expect([await answerTo(reading), await answerTo(commenting)]).to.deep.equal([200, 401]);
      const end = await over;
      expect(end).to.be.instanceOf(TaskOver).and.to.include({ reason: 'task_revoked' });
    });
  });
});

/** Sends the request of a curl command. Resolves with the status. */
async function answerTo(command: string): Promise<number> {
  const {
    method = 'GET',
    file,
    url = '',
  } = /^curl -s(?: -X (?<method>\w+))?(?: -H "Authorization: Bearer \$\(cat (?<file>\S+)\)")? (?<url>\S+)$/.exec(
    command,
  )?.groups ?? {};
  expect(url, command).to.not.equal('');
  const headers = file === undefined ? {} : { authorization: `Bearer ${readFileSync(file, 'utf8')}` };
  return (await fetch(url, { method, headers })).status;
}
