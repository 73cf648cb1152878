import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { describeFileProblem, readAgentFiles } from '../../../../adapters/cli/agent-files/read-agent-files.ts';
import { judgeDraft } from '../../../../application/admin/register-agent.ts';
import { CERTAIN_RULES, type Declaration, draftOf } from '../../../../domain/agents/declaration.ts';
import { P256_KEY } from '../../../support/registrations.ts';

const SECRET = 'whatever-is-in-the-file-is-not-repeated';

const judge = (declaration: Declaration) =>
  judgeDraft({ agentKeys: { isUsable: async () => true }, rules: CERTAIN_RULES }, draftOf(declaration));

const good = [
  'agent_id: jira-triage',
  'display_name: Jira triage',
  'sponsor_required: true',
  'allowed_scopes: [jira:read, jira:comment]',
  'allowed_audiences:',
  '  - https://jira.example',
  'max_task_ttl: PT20M',
  'max_token_ttl: PT4M',
  'max_delegation_depth: 2',
  'high_risk_audiences: []',
  `jwks: ${JSON.stringify({ keys: [P256_KEY] })}`,
  'enabled: false',
] as const;

/** The good lines, with the one that begins so in place of its own; without it where `line` is undefined. */
function changed(start: string, line?: string): string {
  return good
    .filter((each) => line !== undefined || !each.startsWith(start))
    .map((each) => (each.startsWith(start) ? (line ?? '') : each))
    .join('\n');
}

describe('Files of agents', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'mandate-agents-'));
  });
  after(() => rmSync(folder, { recursive: true }));

  const write = (name: string, text: string | Uint8Array): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const problemsOf = async (...texts: readonly (string | Uint8Array)[]): Promise<readonly string[]> => {
    const files = texts.map((text, index) => write(`${index + 1}.yaml`, text));
    const read = await readAgentFiles(files, judge);
    const said = read.kind === 'sound' ? [] : read.problems.map(describeFileProblem);
    return said.map((each) => each.replaceAll(`${folder}/`, ''));
  };

  it('say everything of an agent, and nothing that is not said', async () => {
    const read = await readAgentFiles([write('one.yaml', good.join('\n'))], judge);
    if (read.kind === 'wrong') throw new Error('it is not wrong');
    expect(read.agents.map(({ declaration }) => declaration)).to.deep.equal([
      {
        agentId: 'jira-triage',
        displayName: 'Jira triage',
        sponsorRequired: true,
        allowedScopes: ['jira:read', 'jira:comment'],
        allowedAudiences: ['https://jira.example'],
        maxTaskTtl: 1200,
        maxTokenTtl: 240,
        maxDelegationDepth: 2,
        highRiskAudiences: [],
        jwksUri: undefined,
        jwks: { keys: [P256_KEY] },
        enabled: false,
      },
    ]);
    const bare = ['sponsor_required', 'max_task_ttl', 'max_token_ttl', 'high_risk', 'enabled'].reduce(
      (lines, start) => lines.filter((line) => !line.startsWith(start)),
      [...good],
    );
    const quiet = await readAgentFiles([write('bare.yaml', bare.join('\n'))], judge);
    expect(quiet.kind === 'sound' && quiet.agents[0]?.declaration).to.include({
      sponsorRequired: true,
      maxTaskTtl: undefined,
      maxTokenTtl: undefined,
      highRiskAudiences: undefined,
      enabled: undefined,
    });
  });

  it('hold one agent or many, in their order, with comments, anchors and an empty document at the end', async () => {
    const many = [
      '# The first.',
      ...good,
      '---',
      ...changed('agent_id', 'agent_id: second')
        .replace('[jira:read, jira:comment]', '&scopes [jira:read]')
        .split('\n'),
      '---',
      '',
    ].join('\n');
    const other = write('other.yaml', changed('agent_id', 'agent_id: third'));
    const read = await readAgentFiles([write('many.yaml', many), other], judge);
    expect(read.kind === 'sound' && read.agents.map(({ registration }) => registration.agentId)).to.deep.equal([
      'jira-triage',
      'second',
      'third',
    ]);
  });

  const DURATION = 'Must be an ISO 8601 duration above zero, such as PT30M, without years, months or fractions.';
  const wrong: readonly (readonly [string, string | Uint8Array, readonly string[]])[] = [
    ['a file with nothing in it', '', ['1.yaml: Contains no registration.']],
    ['a file of comments', '# nothing\n---\n---\n', ['1.yaml: Contains no registration.']],
    ['what is no UTF-8', new Uint8Array([0x61, 0x3a, 0xff]), ['1.yaml: Is not text in UTF-8.']],
    ['a list', '\n- agent_id: a', ['1.yaml:2: Must be a mapping: the fields of one registration.']],
    ['a word', SECRET, ['1.yaml:1: Must be a mapping: the fields of one registration.']],
    ['a name that is there twice', `${good.join('\n')}\nagent_id: ${SECRET}`, ['1.yaml:13: The name is repeated.']],
    [
      'a name that is there twice within a key',
      changed('jwks', `jwks: {keys: [{kty: EC, kty: ${SECRET}}]}`),
      ['1.yaml:11: The name is repeated.'],
    ],
    [
      'a bracket that is left open',
      `a: [${SECRET}`,
      ['1.yaml:1: Is indented wrongly, or a bracket before it is not closed.'],
    ],
    [
      'a quote that is left open',
      `a: "${SECRET}`,
      ['1.yaml:1: A character is missing: a quote, a bracket, a colon or a comma.'],
    ],
    ['a tab', `a:\n\tb: ${SECRET}`, ['1.yaml:2: Is indented with a tab: YAML needs spaces.']],
    ['a tag', changed('agent_id', `agent_id: !${SECRET} x`), ['1.yaml:1: Has a tag: tags are not supported.']],
    [
      'an anchor that is not there',
      changed('agent_id', `agent_id: *${SECRET}`),
      ['1.yaml:1: Contains a value that JSON does not have, an unknown anchor, or too many repetitions.'],
    ],
    ['a name that is no string', `${good.join('\n')}\n? [a]\n: b`, ['1.yaml:13: A name must be a string.']],
    [
      'a number without an end',
      changed('max_delegation_depth', 'max_delegation_depth: .inf'),
      ['1.yaml:9: Contains a value that JSON does not have, an unknown anchor, or too many repetitions.'],
    ],
    [
      'a field that there is not',
      `${good.join('\n')}\nallowed_scope: ${SECRET}`,
      ['1.yaml:13: allowed_scope: Is not a field of a registration.'],
    ],
    [
      'what slipped to the left of a colon',
      `${good.join('\n')}\n"${SECRET} ${SECRET}": 1`,
      ['1.yaml:13: Is not a field of a registration.'],
    ],
    ['merging', `${good.join('\n')}\n<<: {enabled: true}`, ['1.yaml:13: Is not a field of a registration.']],
    ['a field that is missing', changed('display_name'), ['1.yaml:1: display_name: Must be set.']],
    ['an id that is a number', changed('agent_id', 'agent_id: 7'), ['1.yaml:1: agent_id: Must be a string.']],
    [
      'a boolean in words',
      changed('sponsor', 'sponsor_required: yes'),
      ['1.yaml:3: sponsor_required: Must be true or false.'],
    ],
    [
      'one scope that is no list',
      changed('allowed_scopes', 'allowed_scopes: jira:read'),
      ['1.yaml:4: allowed_scopes: Must be an array of strings.'],
    ],
    [
      'a list with a number',
      changed('allowed_scopes', 'allowed_scopes: [a, 1]'),
      ['1.yaml:4: allowed_scopes: Must be an array of strings.'],
    ],
    ['a time span', changed('max_task', 'max_task_ttl: 00:20:00'), [`1.yaml:7: max_task_ttl: ${DURATION}`]],
    ['a lifetime of nothing', changed('max_task', 'max_task_ttl:'), [`1.yaml:7: max_task_ttl: ${DURATION}`]],
    [
      'a depth with a fraction',
      changed('max_del', 'max_delegation_depth: 1.5'),
      ['1.yaml:9: max_delegation_depth: Must be an integer.'],
    ],
    ['keys that are a text', changed('jwks', `jwks: ${SECRET}`), ['1.yaml:11: jwks: Must be an object.']],
    [
      'everything of a shape at once',
      'agent_id: [x]\nallowed_scopes: x\nallowed_audiences: []\nmax_delegation_depth: 1\nnope: 1\n',
      [
        '1.yaml:5: nope: Is not a field of a registration.',
        '1.yaml:1: display_name: Must be set.',
        '1.yaml:1: agent_id: Must be a string.',
        '1.yaml:2: allowed_scopes: Must be an array of strings.',
        '1.yaml:3: allowed_audiences: Must name at least one audience.',
        '1.yaml:1: jwks_uri: Exactly one of jwks_uri and jwks must be set.',
        '1.yaml:1: jwks: Exactly one of jwks_uri and jwks must be set.',
      ],
    ],
    [
      'faults of YAML, of a shape and of a rule at once',
      changed('display_name', 'display_name: one\ndisplay_name: two')
        .replace('max_task_ttl: PT20M', 'max_task_ttl: soon')
        .replace('max_token_ttl: PT4M', 'max_token_ttl: PT9999H')
        .replace('max_delegation_depth: 2', 'max_delegation_depth: 7')
        .replace('[jira:read, jira:comment]', '[a, a]'),
      [
        '1.yaml:3: The name is repeated.',
        `1.yaml:8: max_task_ttl: ${DURATION}`,
        '1.yaml:5: allowed_scopes: Must not name anything twice.',
        '1.yaml:10: max_delegation_depth: Must be from 1 to 5.',
      ],
    ],
    [
      'what the domain refuses, every field of it',
      [
        'agent_id: Jira',
        'display_name: " "',
        'sponsor_required: false',
        'allowed_scopes: [a, a]',
        'allowed_audiences: [ftp://x]',
        'max_task_ttl: PT1M',
        'max_token_ttl: PT2M',
        'max_delegation_depth: 6',
        'high_risk_audiences: [x]',
        'jwks_uri: http://keys.example/jwks.json',
      ].join('\n'),
      [
        '1.yaml:1: agent_id: Must be 1 to 128 lowercase letters, digits, hyphens, underscores and dots, and start with a letter or digit.',
        '1.yaml:2: display_name: Must be 1 to 256 characters, not all of them blank and none a control character.',
        '1.yaml:3: sponsor_required: Must be true.',
        '1.yaml:4: allowed_scopes: Must not name anything twice.',
        '1.yaml:5: allowed_audiences: Item 1 must be an absolute http or https URL of at most 2048 characters, without userinfo or fragment.',
        '1.yaml:8: max_delegation_depth: Must be from 1 to 5.',
        '1.yaml:9: high_risk_audiences: Item 1 must be an absolute http or https URL of at most 2048 characters, without userinfo or fragment.',
        '1.yaml:7: max_token_ttl: Must not be longer than max_task_ttl.',
        '1.yaml:10: jwks_uri: Must be an absolute https URL of at most 2048 characters, without userinfo or fragment.',
      ],
    ],
    [
      'keys in both ways',
      `${good.join('\n')}\njwks_uri: https://keys.example/jwks.json`,
      [
        '1.yaml:13: jwks_uri: Exactly one of jwks_uri and jwks must be set.',
        '1.yaml:11: jwks: Exactly one of jwks_uri and jwks must be set.',
      ],
    ],
    [
      'a private key',
      changed('jwks', `jwks: ${JSON.stringify({ keys: [{ ...P256_KEY, d: SECRET }] })}`),
      ['1.yaml:11: jwks: keys[0] carries a private member.'],
    ],
  ];
  for (const [what, text, problems] of wrong) {
    it(`are refused for ${what}, by line, without repeating it`, async () => {
      const said = await problemsOf(text);
      expect(said).to.deep.equal(problems);
      expect(said.join('\n')).not.to.contain(SECRET);
    });
  }

  it('are all read before anything is said, and an agent stands in one place only', async () => {
    const said = await problemsOf(good.join('\n'), 'nope: 1', `${good.join('\n')}\n---\nagent_id: 7`);
    expect(said).to.include('3.yaml:1: agent_id: Is already declared at 1.yaml:1.');
    expect(said.filter((each) => each.startsWith('2.yaml:1: '))).to.have.length.above(5);
    expect(said).to.include('3.yaml:14: agent_id: Must be a string.');
  });

  it('are told of an agent that is declared twice, whatever else is wrong with it', async () => {
    const twice = changed('max_del', 'max_delegation_depth: 9');
    expect(await problemsOf(twice, twice)).to.deep.equal([
      '1.yaml:9: max_delegation_depth: Must be from 1 to 5.',
      '2.yaml:9: max_delegation_depth: Must be from 1 to 5.',
      '2.yaml:1: agent_id: Is already declared at 1.yaml:1.',
    ]);
  });

  it('are told of a key that cannot be imported beside everything else', async () => {
    const agentKeys = { isUsable: async () => false };
    const file = write('key.yaml', changed('max_del', 'max_delegation_depth: 9'));
    const read = await readAgentFiles([file], (declaration) =>
      judgeDraft({ agentKeys, rules: CERTAIN_RULES }, draftOf(declaration)),
    );
    expect(read.kind === 'wrong' && read.problems.map(({ line, field }) => [line, field])).to.deep.equal([
      [9, 'max_delegation_depth'],
      [11, 'jwks'],
    ]);
  });

  it('that are not there, or no files, or far too long, are named', async () => {
    const files = [join(folder, 'nowhere.yaml'), folder, write('long.yaml', ' '.repeat(4 * 1_048_576 + 1))];
    const read = await readAgentFiles(files, judge);
    expect(read.kind === 'wrong' && read.problems.map(describeFileProblem)).to.deep.equal([
      `${files[0]}: Cannot be read.`,
      `${files[1]}: Cannot be read.`,
      `${files[2]}: Is longer than 4194304 bytes.`,
    ]);
  });

  it('cannot exhaust the reader by nesting or by repeating', async () => {
    expect(await problemsOf(`a: ${'['.repeat(20_000)}`)).to.have.length(10);
    expect(await problemsOf(`a: ${'['.repeat(20_000)}${']'.repeat(20_000)}`)).to.have.length.within(1, 10);
    const laughs = ['a: &a [x, x, x, x, x, x, x, x, x]'];
    for (const [name, before] of ['ba', 'cb', 'dc', 'ed', 'fe', 'gf', 'hg'].map((pair) => pair.split(''))) {
      laughs.push(`${name}: &${name} [${Array.from({ length: 9 }, () => `*${before}`).join(', ')}]`);
    }
    const said = await problemsOf(laughs.join('\n'));
    expect(said.some((each) => each.endsWith('or too many repetitions.'))).to.equal(true);
  });
});
