/** Files that would exhaust the reader are refused before they are parsed. */

import { expect } from 'chai';
import { agentFolder, changed, withValue } from '../../adapters/cli/agent-files/agent-files.ts';

const ENTRIES = '2000 entries are in one mapping or list';
const NESTED = '32 mappings and lists are within one another';
const ESCAPES = '50000 escapes and line breaks are in values';

/** Lists, one for each letter, of which each has the one before nine times, and the first has nine items. */
function nineTimes(item: string, letters: string): string {
  const list = (letter: string, index: number) => {
    const items = Array(9).fill(index === 0 ? item : `*${letters[index - 1]}`);
    return `${letter}: &${letter} [${items.join(', ')}]`;
  };
  return [...letters].map(list).join('\n');
}

describe('Agent files', () => {
  const { problemsOf } = agentFolder();

  it('cannot exhaust the reader by nesting or repetition', async () => {
    const nested = [`1.yaml:1: More than ${NESTED} up to this line.`];
    expect(await problemsOf(`a: ${'['.repeat(20_000)}`)).to.deep.equal(nested);
    expect(await problemsOf(`a: ${'['.repeat(20_000)}${']'.repeat(20_000)}`)).to.deep.equal(nested);
    const said = await problemsOf(nineTimes('x', 'abcdefgh'));
    expect(said.some((each) => each.endsWith('or too many repetitions.'))).to.equal(true);
  });

  const lines = (number: number, line: (nth: number) => string) =>
    Array.from({ length: number }, (_, nth) => `${line(nth)}\n`).join('');
  const excess: readonly (readonly [string, () => string, at: number, what: string])[] = [
    ['40,000 names', () => lines(40_000, (nth) => `k${nth}: 1`), 2001, ENTRIES],
    ['names in braces', () => `a: {${'k,'.repeat(9000)}}`, 1, ENTRIES],
    ['a list', () => `allowed_scopes:\n${lines(2001, (nth) => `- x${nth}`)}`, 2002, ENTRIES],
    ['4 MB of brackets', () => '['.repeat(4_000_000), 1, NESTED],
    ['dashes', () => `${'- '.repeat(7000)}\na: 1`, 1, NESTED],
    ['question marks', () => '? '.repeat(7000), 1, NESTED],
    ['names on one line', () => 'a: '.repeat(7000), 1, NESTED],
    ['names within lines', () => `a: b${'\n c: d'.repeat(7000)}`, 33, NESTED],
    ['indents', () => lines(100, (nth) => `${' '.repeat(nth)}a:`), 33, NESTED],
    ['aliases', () => lines(101, (nth) => `k${nth}: *a`), 101, '100 anchors and aliases are in one registration'],
    ['wrong escapes in one value', () => `a: "${'\\q'.repeat(2_000_000)}"`, 1, ESCAPES],
    ['wrong escapes in values', () => lines(60, () => `- "${'\\x'.repeat(900)}"`), 56, ESCAPES],
    ['lines that are indented less', () => `a: |\n x\n${'\t\n'.repeat(1_000_000)}`, 2, ESCAPES],
    ['registrations', () => '--- {}\n'.repeat(101_000), 100_000, '500000 names, values and signs are in the file'],
  ];
  for (const [what, text, at, sentence] of excess) {
    it(`are refused before they are parsed, for too much: ${what}`, async () => {
      const before = process.cpuUsage();
      expect(await problemsOf(text())).to.deep.equal([`1.yaml:${at}: More than ${sentence} up to this line.`]);
      const { user, system } = process.cpuUsage(before);
      expect((user + system) / 1e6, 'seconds of CPU').to.be.below(5);
    }).timeout(10_000);
  }

  it('may have the longest lists of a registration, and anchors in each of many', async () => {
    const urls = lines(1000, (nth) => `  - https://${nth}.example`);
    const longest = changed('allowed_audiences:', `allowed_audiences:\n${urls}`)
      .replace('  - https://jira.example\n', '')
      .replace('[jira:read, jira:comment]', `[${Array.from({ length: 1000 }, (_, nth) => `scope:${nth}`).join(', ')}]`)
      .replace('high_risk_audiences: []', `high_risk_audiences: # all of them\n${urls}`);
    expect(await problemsOf(longest)).to.deep.equal([]);
    const anchored = (nth: number) =>
      withValue('agent_id', `agent-${nth}`).replace('[jira:read, jira:comment]', '&scopes [jira:read]');
    const many = Array.from({ length: 300 }, (_, nth) => anchored(nth)).join('\n---\n');
    expect(await problemsOf(many)).to.deep.equal([]);
  });

  it('cannot exhaust the reader by repeating lists that are empty', async () => {
    const said = await problemsOf(nineTimes('[]', 'abcdefghij'));
    expect(said.some((each) => each.endsWith('or too many repetitions.'))).to.equal(true);
  }).timeout(5000);
});
