/** The story that the quickstart tells, against the service itself, run from its sources. */

import { expect } from 'chai';
import { sourceProgram } from '../../../scripts/mandate-process.ts';
import { type Stage, setStage } from '../../../scripts/quickstart/stage.ts';
import { tellStory } from '../../../scripts/quickstart/story.ts';
import type { Terminal } from '../../../scripts/quickstart/terminal.ts';

/** A terminal that keeps what it is given. */
function recording(): { readonly terminal: Terminal; readonly chapters: string[]; text(): string } {
  const chapters: string[] = [];
  const lines: string[] = [];
  return {
    chapters,
    text: () => lines.join('\n'),
    terminal: {
      chapter: (title) => chapters.push(title),
      say: (...sentences) => lines.push(...sentences),
      show: (table) => lines.push(...table),
      command: (line) => lines.push(line),
      confirm: (sentence) => lines.push(sentence),
      refused: (sentence) => lines.push(sentence),
      complain: (sentence) => lines.push(sentence),
    },
  };
}

describe('the story of the quickstart', function () {
  this.timeout(60_000);
  let stage: Stage;
  const told = recording();

  before(async () => {
    stage = await setStage(sourceProgram);
    await tellStory(stage, told.terminal);
  });
  after(() => stage?.clear());

  it('is told to its end, the seal of the ledger', () => {
    expect(told.chapters).to.have.lengthOf(10);
    expect(told.text()).to.contain('actor_replayed').and.to.contain('client_revoked');
    expect(told.text()).to.contain('The seal is intact').and.to.contain('The seal is not intact. Checkpoint 1');
  });

  it('shows no token, grant or key', () => {
    expect(told.text()).to.not.contain(stage.adminKey);
    expect(told.text()).to.not.match(/eyJ[\w-]{10}/);
    expect(told.text()).to.not.contain('task_grant_');
  });

  it('fits one hundred columns wherever lines are not wrapped by the terminal', () => {
    const tables = told
      .text()
      .split('\n')
      .filter((line) => / {2,}/.test(line));
    expect(Math.max(...tables.map((line) => line.length))).to.be.at.most(98);
  });
});
