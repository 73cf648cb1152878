import { expect } from 'chai';
import { readAgentFiles } from '../../../../adapters/cli/agent-files/read-agent-files.ts';
import { describeFileProblem } from '../../../../adapters/cli/yaml/yaml-file.ts';
import { judgeDraft } from '../../../../application/admin/register-agent.ts';
import { CERTAIN_RULES, draftOf } from '../../../../domain/agents/declaration.ts';
import { CLEARED } from '../../../../domain/agents/registration-patch.ts';
import { P256_KEY } from '../../../support/registrations.ts';
import { agentFolder, changed, good, judge, SECRET, withLine, withValue } from './agent-files.ts';

describe('Agent files', () => {
  const { path, write, problemsOf } = agentFolder();

  it('set every field of an agent, and leave absent fields undefined', async () => {
    const names = 'may_act_names: [{ sub: 7f3c, client_id: jira-client }]';
    const read = await readAgentFiles([write('one.yaml', withLine(names))], judge);
    if (read.kind === 'wrong') throw new Error('the file was refused');
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
        mayActNames: [{ sub: '7f3c', clientId: 'jira-client' }],
        redirectUris: undefined,
        publicClient: undefined,
        clientIdDocument: undefined,
        clientNames: undefined,
        delegatesTo: undefined,
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
      mayActNames: undefined,
      enabled: undefined,
    });
    const none = await readAgentFiles([write('none.yaml', withLine('may_act_names: null'))], judge);
    expect(none.kind === 'sound' && none.agents[0]?.declaration).to.include({ mayActNames: CLEARED });
  });

  it('contain one or more agents in order, with comments, anchors and an empty last document', async () => {
    const many = [
      '# The first.',
      ...good,
      '---',
      ...withValue('agent_id', 'second').replace('[jira:read, jira:comment]', '&scopes [jira:read]').split('\n'),
      '---',
      '',
    ].join('\n');
    const other = write('other.yaml', withValue('agent_id', 'third'));
    const read = await readAgentFiles([write('many.yaml', many), other], judge);
    expect(read.kind === 'sound' && read.agents.map(({ registration }) => registration.agentId)).to.deep.equal([
      'jira-triage',
      'second',
      'third',
    ]);
  });

  const URL_FORM = 'of at most 2048 characters, without userinfo or fragment.';
  const UNREADABLE = 'Contains a value that JSON does not have, an unknown anchor, or too many repetitions.';
  const STRAY =
    'Has a sign in a place where YAML has another meaning for it: a text with brackets or braces needs quotes.';
  const ONE_SOURCE = 'Exactly one of jwks_uri and jwks must be set.';
  const DURATION = 'Must be an ISO 8601 duration above zero, such as PT30M, without years, months or fractions.';
  const NAMES = 'Must be an array of objects that have sub, client_id or both, as strings, and nothing else.';
  const wrong: readonly (readonly [what: string, file: string | Uint8Array, ...problems: readonly string[]])[] = [
    ['an empty file', '', ' Contains no registration.'],
    ['a file of comments', '# nothing\n---\n---\n', ' Contains no registration.'],
    ['bytes that are not UTF-8', new Uint8Array([0x61, 0x3a, 0xff]), ' Is not text in UTF-8.'],
    ['a list', '\n- agent_id: a', '2: Must be a mapping: the fields of one registration.'],
    ['a word', SECRET, '1: Must be a mapping: the fields of one registration.'],
    ['a repeated name', withLine(`agent_id: ${SECRET}`), '13: The name is repeated.'],
    [
      'a repeated name within a key',
      withValue('jwks', `{keys: [{kty: EC, kty: ${SECRET}}]}`),
      '11: The name is repeated.',
    ],
    ['an open bracket', `a: [${SECRET}`, '1: Is indented wrongly, or a bracket before it is not closed.'],
    ['an open quote', `a: "${SECRET}`, '1: A character is missing: a quote, a bracket, a colon or a comma.'],
    ['an unquoted bracket', `a: [${SECRET}]:1`, `1: ${STRAY}`],
    [
      'a sign of YAML at the start',
      `a: @${SECRET}`,
      '1: A text begins with a sign that YAML keeps for itself: it needs quotes.',
    ],
    [
      'two colons in a line',
      `a: ${SECRET}: b`,
      '1: Has two colons in one line: a text with a colon and a space needs quotes.',
    ],
    ['a colon without a space', `a:${SECRET}\nb: 1`, '1: A name needs a colon and a space after it, in the same line.'],
    [
      'a backslash in double quotes',
      `a: "\\p${SECRET}"`,
      '1: Has a backslash that begins no escape: a text with backslashes needs single quotes.',
    ],
    [
      'faults of a line that YAML finds twice',
      `a: {b: $[0].c${SECRET}, d: $[0].c}`,
      `1: ${STRAY}`,
      '1: Is indented wrongly, or a bracket before it is not closed.',
    ],
    ['a tab', `a:\n\tb: ${SECRET}`, '2: Is indented with a tab: YAML needs spaces.'],
    ['a tag', withValue('agent_id', `!${SECRET} x`), '1: Has a tag: tags are not supported.'],
    ['an unknown anchor', withValue('agent_id', `*${SECRET}`), `1: ${UNREADABLE}`],
    ['a name that is not a string', withLine('? [a]\n: b'), '13: A name must be a string.'],
    ['an infinite number', withValue('max_delegation_depth', '.inf'), `9: ${UNREADABLE}`],
    [
      'a number beyond all doubles, in its line',
      withLine('many:\n  - 1\n  - {a: 2,\n     b: 1e400}'),
      `16: ${UNREADABLE}`,
    ],
    ['an unknown field', withLine(`allowed_scope: ${SECRET}`), '13: allowed_scope: Is not a field of a registration.'],
    ['a value in the place of a name', withLine(`"${SECRET} ${SECRET}": 1`), '13: Is not a field of a registration.'],
    ['a merge key', withLine('<<: {enabled: true}'), '13: Is not a field of a registration.'],
    ['a missing field', changed('display_name'), '1: display_name: Must be set.'],
    ['an id that is a number', withValue('agent_id', '7'), '1: agent_id: Must be a string.'],
    ['a word as a boolean', withValue('sponsor_required', 'yes'), '3: sponsor_required: Must be true or false.'],
    [
      'a scope that is not a list',
      withValue('allowed_scopes', 'jira:read'),
      '4: allowed_scopes: Must be an array of strings.',
    ],
    ['a list with a number', withValue('allowed_scopes', '[a, 1]'), '4: allowed_scopes: Must be an array of strings.'],
    ['a duration in clock notation', withValue('max_task_ttl', '00:20:00'), `7: max_task_ttl: ${DURATION}`],
    ['an empty lifetime', withValue('max_task_ttl', ''), `7: max_task_ttl: ${DURATION}`],
    [
      'a depth with a fraction',
      withValue('max_delegation_depth', '1.5'),
      '9: max_delegation_depth: Must be an integer.',
    ],
    ['names that are texts', withLine(`may_act_names: [${SECRET}]`), `13: may_act_names: ${NAMES}`],
    ['a name that is a number', withLine('may_act_names: [{ sub: 7 }]'), `13: may_act_names: ${NAMES}`],
    ['a name with another member', withLine('may_act_names: [{ sub: a, iss: b }]'), `13: may_act_names: ${NAMES}`],
    ['no names', withLine('may_act_names: []'), '13: may_act_names: Must have 1 to 16 items.'],
    ['keys that are a string', withValue('jwks', SECRET), '11: jwks: Must be an object.'],
    [
      'several wrong shapes',
      'agent_id: [x]\nallowed_scopes: x\nallowed_audiences: []\nmax_delegation_depth: 1\nnope: 1\n',
      '5: nope: Is not a field of a registration.',
      '1: display_name: Must be set.',
      '1: agent_id: Must be a string.',
      '2: allowed_scopes: Must be an array of strings.',
      '3: allowed_audiences: Must name at least one audience.',
      `1: jwks_uri: ${ONE_SOURCE}`,
      `1: jwks: ${ONE_SOURCE}`,
    ],
    [
      'errors of YAML, of a shape and of a rule',
      withValue('display_name', 'one\ndisplay_name: two')
        .replace('max_task_ttl: PT20M', 'max_task_ttl: soon')
        .replace('max_token_ttl: PT4M', 'max_token_ttl: PT9999H')
        .replace('max_delegation_depth: 2', 'max_delegation_depth: 7')
        .replace('[jira:read, jira:comment]', '[a, a]'),
      '3: The name is repeated.',
      `8: max_task_ttl: ${DURATION}`,
      '5: allowed_scopes: Must not name anything twice.',
      '10: max_delegation_depth: Must be from 1 to 5.',
    ],
    [
      'a wrong value in every field',
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
      '1: agent_id: Must be 1 to 128 lowercase letters, digits, hyphens, underscores and dots, and start with a letter or digit.',
      '2: display_name: Must be 1 to 256 characters, not all of them blank and none a control character.',
      '3: sponsor_required: Must be true.',
      '4: allowed_scopes: Must not name anything twice.',
      `5: allowed_audiences: Item 1 must be an absolute http or https URL ${URL_FORM}`,
      '8: max_delegation_depth: Must be from 1 to 5.',
      `9: high_risk_audiences: Item 1 must be an absolute http or https URL ${URL_FORM}`,
      '7: max_token_ttl: Must not be longer than max_task_ttl.',
      `10: jwks_uri: Must be an absolute https URL ${URL_FORM}`,
    ],
    [
      'two sources of keys',
      withLine('jwks_uri: https://keys.example/jwks.json'),
      `13: jwks_uri: ${ONE_SOURCE}`,
      `11: jwks: ${ONE_SOURCE}`,
    ],
    [
      'a private key',
      withValue('jwks', JSON.stringify({ keys: [{ ...P256_KEY, d: SECRET }] })),
      '11: jwks: keys[0] carries a private member.',
    ],
  ];
  for (const [what, text, ...problems] of wrong) {
    it(`are refused for ${what}, with the line, and the problem does not repeat the value`, async () => {
      const said = await problemsOf(text);
      expect(said).to.deep.equal(problems.map((problem) => `1.yaml:${problem}`));
      expect(said.join('\n')).not.to.contain(SECRET);
    });
  }

  it('are all read before problems are reported, and may declare an agent only once', async () => {
    const said = await problemsOf(good.join('\n'), 'nope: 1', withLine('---\nagent_id: 7'));
    expect(said).to.include('3.yaml:1: agent_id: Is already declared at 1.yaml:1.');
    expect(said.filter((each) => each.startsWith('2.yaml:1: '))).to.have.length.above(5);
    expect(said).to.include('3.yaml:14: agent_id: Must be a string.');
  });

  it('are refused for an agent that is declared twice and also wrong', async () => {
    const twice = withValue('max_delegation_depth', '9');
    expect(await problemsOf(twice, twice)).to.deep.equal([
      '1.yaml:9: max_delegation_depth: Must be from 1 to 5.',
      '2.yaml:9: max_delegation_depth: Must be from 1 to 5.',
      '2.yaml:1: agent_id: Is already declared at 1.yaml:1.',
    ]);
  });

  it('are refused for a key that cannot be imported and for every other problem', async () => {
    const agentKeys = { isUsable: async () => false };
    const file = write('key.yaml', withValue('max_delegation_depth', '9'));
    const read = await readAgentFiles([file], (declaration) =>
      judgeDraft({ agentKeys, rules: CERTAIN_RULES }, draftOf(declaration)),
    );
    expect(read.kind === 'wrong' && read.problems.map(({ line, field }) => [line, field])).to.deep.equal([
      [9, 'max_delegation_depth'],
      [11, 'jwks'],
    ]);
  });

  it('are refused, with their path, when they are absent, directories or over 4 MiB', async () => {
    const files = [path('absent.yaml'), path('.'), write('long.yaml', ' '.repeat(4 * 1_048_576 + 1))];
    const read = await readAgentFiles(files, judge);
    expect(read.kind === 'wrong' && read.problems.map(describeFileProblem)).to.deep.equal([
      `${files[0]}: Does not exist.`,
      `${files[1]}: Is a directory.`,
      `${files[2]}: Is longer than 4194304 bytes.`,
    ]);
  });
});
