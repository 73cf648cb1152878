/** The headers for the upstream. */

import { execFileSync } from 'node:child_process';
import { expect } from 'chai';
import fc from 'fast-check';
import type { TaskTokenClaims } from '../../../../../adapters/sdk/tool-server/core/claims.ts';
import { identityHeaders, namingOf } from '../../../../../adapters/sdk/tool-server/guard/identity-headers.ts';
import { PYTHON } from '../../../../support/other-languages/languages.ts';
import { matchOf } from '../../../../support/tool-server/decided-app.ts';

const claims: TaskTokenClaims = {
  iss: 'https://mandate.example',
  sub: 'ada',
  aud: 'https://jira.example',
  exp: 1_789_654_061,
  iat: 1_789_653_821,
  jti: 'tok_01M31S7W68TMK7WDX8YKPSYTES',
  scope: ['jira:read', 'jira:comment'],
  clientId: 'agent:other',
  act: { sub: 'agent:triage', depth: 1 },
  chain: [{ sub: 'agent:triage', depth: 1 }],
  task: { id: 'task_01M31S7W68TMK7WDX8YKPSYTES', exp: 1_789_654_721, sponsor: 'ada' },
  introspectRequired: false,
};

const ONE = { issuer: claims.iss };

describe('The headers of an allowed request', () => {
  it('name the person, the agent that acts, the task and the scope', () => {
    expect(identityHeaders(claims, ONE)).to.deep.equal({
      'Mandate-Subject': 'ada',
      'Mandate-Agent': 'agent:triage',
      'Mandate-Task': 'task_01M31S7W68TMK7WDX8YKPSYTES',
      'Mandate-Scope': 'jira:read jira:comment',
    });
  });

  it('are all four, empty where the token has nothing', () => {
    const bare = { ...claims, scope: [], act: undefined, chain: [], task: undefined };
    expect(identityHeaders(bare, ONE)).to.deep.equal({
      'Mandate-Subject': 'ada',
      'Mandate-Agent': '',
      'Mandate-Task': '',
      'Mandate-Scope': '',
    });
  });

  it('name the control plane too where the file has a list, also of one; empty without a token', () => {
    const issuers = { issuer: [claims.iss] };
    const { 'Mandate-Issuer': issuer, ...others } = identityHeaders({ ...claims, iss: `${claims.iss}/%7Ea` }, issuers);
    expect(issuer).to.equal('https://mandate.example/%257Ea');
    expect(others).to.deep.equal(identityHeaders(claims, ONE));
    expect(identityHeaders(undefined, issuers)['Mandate-Issuer']).to.equal('');
  });

  it('name every agent too where a policy accepts work that was handed on; empty without one', () => {
    const naming = { ...ONE, acceptsChains: true };
    const handedOn = { ...claims, chain: [{ sub: 'agent:reader', instance: 'run-2', depth: 2 }, ...claims.chain] };
    const { 'Mandate-Chain': agents, ...others } = identityHeaders(handedOn, naming);
    expect(agents).to.equal('agent:reader agent:triage');
    expect(others).to.deep.equal(identityHeaders(handedOn, ONE));
    expect(identityHeaders(undefined, naming)['Mandate-Chain']).to.equal('');
  });

  it('are those of chains only if a route, a tool or a method accepts more than one agent', () => {
    const scope = ['jira:read'];
    const policy = (maxDelegationDepth?: number) => ({ scope, ...(maxDelegationDepth && { maxDelegationDepth }) });
    const route = (depth?: number) => [{ match: matchOf('GET /*'), ...policy(depth) }];
    const mcp = (tool?: number, method?: number) => ({
      path: '/mcp',
      tools: { read: policy(tool) },
      methods: { 'resources/read': policy(method) },
    });
    const files = [
      { routes: route(), mcp: undefined },
      { routes: route(1), mcp: mcp(1, 1) },
      { routes: route(2), mcp: mcp() },
      { routes: [], mcp: mcp(3) },
      { routes: [], mcp: mcp(1, 2) },
    ];
    const accepting = files.map((file) => namingOf({ ...ONE, ...file }).acceptsChains);
    expect(accepting).to.deep.equal([false, false, true, true, true]);
  });

  const subjects: readonly (readonly [string, string])[] = [
    ['Ada Lovelace', 'Ada Lovelace'],
    [' ada  ', '%20ada%20%20'],
    ['100%', '100%25'],
    ['Zoë', 'Zo%C3%AB'],
    ['a\r\nMandate-Agent: b', 'a%0D%0AMandate-Agent: b'],
    ['😀', '%F0%9F%98%80'],
    ['a\ud800', 'a%EF%BF%BD'],
    ['a\u007f\u00a0"\\', 'a%7F%C2%A0"\\'],
  ];
  it('are percent-encoded but for printable ASCII', () => {
    const encoded = subjects.map(([sub]) => [sub, identityHeaders({ ...claims, sub }, ONE)['Mandate-Subject']]);
    expect(encoded).to.deep.equal(subjects);
  });

  it('give every text back to the decoder of paths in Python, also a plus sign', () => {
    const texts = ['ada+test@example.com', ...subjects.map(([sub]) => sub.toWellFormed())];
    const sent = texts.map((sub) => identityHeaders({ ...claims, sub }, ONE)['Mandate-Subject']);
    const program =
      'import json, sys, urllib.parse as u; print(json.dumps([u.unquote(s) for s in json.load(sys.stdin)]))';
    const decoded = execFileSync(PYTHON, ['-c', program], { input: JSON.stringify(sent), encoding: 'utf8' });
    expect(JSON.parse(decoded)).to.deep.equal(texts);
  });

  it('give every text back to a decoder, and survive HTTP', () => {
    const run = fc.property(fc.string({ unit: 'binary' }), (sub) => {
      const header = identityHeaders({ ...claims, sub }, ONE)['Mandate-Subject'];
      expect(decodeURIComponent(header)).to.equal(sub);
      expect(header).to.match(/^[ -~]*$/);
      expect(header.trim()).to.equal(header);
    });
    fc.assert(run, { numRuns: 500 });
  });
});
