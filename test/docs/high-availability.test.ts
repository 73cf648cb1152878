import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { FURTHER_FAULTS, STATES } from '../../adapters/storage/postgres/faults.ts';
import { CONNECTIONS_PER_PROCESS } from '../../adapters/storage/postgres/limits.ts';
import { CAPABILITIES } from '../../application/ports/storage.ts';

const page = readFileSync('docs/high-availability.md', 'utf8');

describe('docs/high-availability.md', () => {
  it('lists each code that the log can name, with its meaning and what to do', () => {
    const rows = page.split('\n').filter((line) => /^\| [0-9A-Z_]+…? \|/.test(line));
    const ofStates = Object.entries(STATES)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([code, { meaning, act }]) => `| ${code.length === 2 ? `${code}…` : code} | ${meaning} | ${act} |`);
    const ofOthers = FURTHER_FAULTS.map(({ code, meaning, act }) => `| ${code} | ${meaning} | ${act} |`);
    expect(rows).to.deep.equal([...ofStates, ...ofOthers]);
  });

  it('lists each capability that a hosted Postgres may lack, and what happens without it', () => {
    const rows = page.split('\n').filter((line) => line.startsWith('| `pg_'));
    expect(rows).to.deep.equal(
      Object.values(CAPABILITIES).map(
        ({ needs, without }) => `| ${needs.replaceAll(/\w+_\w+/g, '`$&`')} | ${without} |`,
      ),
    );
  });

  it('computes the connection limit from the pools', () => {
    expect(page).to.include(`-- n replicas: ${CONNECTIONS_PER_PROCESS} * n, and 8 for the commands.`);
    expect(page).to.include(`connection limit ${3 * CONNECTIONS_PER_PROCESS + 8};`);
  });
});
