/** Checks the arithmetic of docs/scaling.md, and compares its numbers of connections with the code. */

import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { CONNECTIONS_PER_PROCESS, POOL_SIZE } from '../../adapters/storage/postgres/limits.ts';

const page = await readFile(new URL('../../docs/scaling.md', import.meta.url), 'utf8');

/** The CPU time of one request, in the table of measured costs. */
function measured(what: string) {
  const [, service, postgres] = new RegExp(`^\\| ${what} \\| ([0-9.]+) ms \\| ([0-9.]+) ms \\|`, 'm').exec(page) ?? [];
  return { service: Number(service), postgres: Number(postgres) };
}

/** The numbers of one row of the table of fleets. */
function row(what: string): readonly number[] {
  const [, cells = ''] = new RegExp(`^\\| ${what} \\|(.*)\\|$`, 'm').exec(page) ?? [];
  return cells.split('|').map((cell) => Number(/[0-9][0-9,.]*/.exec(cell)?.[0].replaceAll(',', '')));
}

describe('docs/scaling.md', () => {
  const fleets = [1000, 10_000, 100_000];

  it('names the number of connections of a process', () => {
    expect(page).to.include(
      `${CONNECTIONS_PER_PROCESS} each (\`CONNECTIONS_PER_PROCESS\`), ${POOL_SIZE} of them for requests`,
    );
    const processes = row('processes, one a core');
    expect(row(`connections, ${CONNECTIONS_PER_PROCESS} each`)).to.deep.equal(
      processes.map((count) => count * CONNECTIONS_PER_PROCESS),
    );
  });

  it('computes its fleets from the measured costs', () => {
    const parts = ['exchange', 'first renewal', 'renewal', 'introspection', 'introspection', 'end'].map(measured);
    for (const side of ['service', 'postgres'] as const) {
      const whole = parts.reduce((sum, part) => sum + part[side], 0);
      const cores = row(side === 'service' ? 'cores for the service, 60% busy' : 'cores for Postgres, 60% busy');
      for (const [index, rate] of fleets.entries()) {
        expect(cores[index], `${side} at ${rate}`).to.be.closeTo(
          (rate * whole) / 1000 / 0.6,
          (rate * whole) / 1000 / 10,
        );
      }
    }
  });

  it('computes the size of the ledger from the four records of a task', () => {
    const bytes = ['exchange', 'first renewal', 'end'].map((what) => {
      const [, each = ''] = new RegExp(`^\\| ${what} \\|.*ledger ([0-9,]+) B`, 'm').exec(page) ?? [];
      return each;
    });
    expect(page).to.include(`E × (${bytes.join(' + ')}) B `);
    const whole = bytes.reduce((sum, each) => sum + Number(each.replaceAll(',', '')), 0);
    const [small = Number.NaN, ...large] = row('ledger a day');
    const gigabytes = [small, ...large.map((terabytes) => terabytes * 1000)];
    for (const [index, rate] of fleets.entries()) {
      const day = (rate * whole * 86_400) / 1e9;
      expect(gigabytes[index], `at ${rate}`).to.be.closeTo(day, day / 30);
    }
  });
});
