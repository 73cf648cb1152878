import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import {
  COMMITS_UNANSWERED,
  NO_ANSWER,
  NO_CONNECTION,
  POOLER_FAULTS,
  STATES,
  WENT_BACK_FAULT,
} from '../../adapters/storage/postgres/faults.ts';
import { CONNECTIONS_PER_PROCESS } from '../../adapters/storage/postgres/limits.ts';

const page = readFileSync('docs/high-availability.md', 'utf8');

describe('docs/high-availability.md', () => {
  it('lists each code that the log can name, with its meaning and what to do', () => {
    const rows = page.split('\n').filter((line) => /^\| [0-9A-Z_]{2,}…? \|/.test(line));
    const ofStates = Object.entries(STATES)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([code, { meaning, act }]) => `| ${code.length === 2 ? `${code}…` : code} | ${meaning} | ${act} |`);
    const others = [...POOLER_FAULTS, NO_ANSWER, NO_CONNECTION, COMMITS_UNANSWERED, WENT_BACK_FAULT];
    const ofOthers = others.map(({ code, meaning, act }) => `| ${code} | ${meaning} | ${act} |`);
    expect(rows).to.deep.equal([...ofStates, ...ofOthers]);
  });

  it('computes the connection limit from the pools', () => {
    expect(page).to.include(`-- n replicas: ${CONNECTIONS_PER_PROCESS} * n, and 8 for the commands.`);
    expect(page).to.include(`connection limit ${3 * CONNECTIONS_PER_PROCESS + 8};`);
  });
});
