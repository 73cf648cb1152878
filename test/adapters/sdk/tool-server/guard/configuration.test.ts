/** The form of the guard's file, read by the YAML reader of the command line. */

import { readFile } from 'node:fs/promises';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { findExcess, readYaml } from '../../../../../adapters/cli/yaml/yaml-documents.ts';
import { guardFileFaults } from '../../../../../adapters/sdk/tool-server/guard/configuration.ts';
import { readConfiguration } from '../../../../../adapters/sdk/tool-server/guard/read-configuration.ts';

const decide = `issuer: https://mandate.example
audience: https://jira.example
mode: decide
routes:
  - match: GET /issues/*
    scope: [jira:read]
`;
const proxy = `issuer: https://mandate.example
audience: https://jira.example/mcp
listen: "[::1]:8099"
mode: proxy
upstream: http://127.0.0.1:3000
upstream_timeout_ms: 1000
routes:
  - match: POST /issues
    scope: [jira:write]
    high_risk: true
    require_actor: false
    max_delegation_depth: 2
    approval:
      title: Create an issue
      lines: {Project: $.project}
mcp:
  path: /mcp
  tools:
    search: {scope: [jira:read]}
  methods:
    resources/read: {scope: [jira:read]}
open: [GET /healthz]
status_list: {max_age_ms: 10000, on_stale: refuse}
approval_key: approvals.pem
metrics_port: 9100
max_held_bodies: 40
pass_headers: [Remote-User, X-WEBAUTH-USER]
`;

function faults(text: string): readonly string[] {
  return guardFileFaults(readYaml(text, "the guard's fields")).map(({ line, clause }) => `${line}: ${clause}`);
}

const PATTERN = 'must be an upper-case method, one space and a path, as in GET /issues/*';
const STAR = 'must have * only at its end, after a slash, as in GET /issues/*';
const BRACES = 'must have no names in braces: only * at the end, after a slash, stands for any rest';
const REWRITTEN =
  'must have a path that servers do not rewrite: without //, dot segments and escapes that are not needed';
const UPSTREAM = 'upstream must be an https URL, or http on loopback, without a path, as in http://127.0.0.1:3000';
const OWN = 'upstream must not be the address of listen: the guard would ask itself';
const PATH = 'routes[0].approval.lines.Project must be a path to one value, as $.amount or $.items[0]';
const LINE = 'characters that is not blank, without control characters and line breaks';
const SIGNED_IN = 'must be a header in which a proxy tells who has signed in, as Remote-User';
const LISTEN = 'listen must be a host and a port, as in 127.0.0.1:8099 or "[::1]:8099"';

const wrong: readonly (readonly [what: string, from: string, to: string, fault: string])[] = [
  ['a wildcard in the middle', 'POST /issues', 'POST /*/a', `8: routes[0].match ${STAR}`],
  ['a wildcard within a segment', 'POST /issues', 'POST /issues*', `8: routes[0].match ${STAR}`],
  ['a name in braces', 'POST /issues', '"POST /issues/{key}"', `8: routes[0].match ${BRACES}`],
  ['a path without a method', 'POST /issues', '/issues', `8: routes[0].match ${PATTERN}`],
  [
    'a letter beyond ASCII',
    'POST /issues',
    'POST /vorg\u00e4nge',
    '8: routes[0].match must have a path in ASCII without spaces: percent-encode all other characters in UTF-8',
  ],
  ['a path that some servers rewrite', 'POST /issues', 'POST /a/../issues', `8: routes[0].match ${REWRITTEN}`],
  ['a method in lower case', 'POST /issues', 'post /issues', `8: routes[0].match ${PATTERN}`],
  [
    'an open route with a query',
    '[GET /healthz]',
    '[GET /healthz?a]',
    '22: open[0] must have no query and no fragment: a pattern is compared with the path only',
  ],
  ['a route without a scope', '[jira:write]', '[]', '9: routes[0].scope must be a list of at least one scope'],
  ['a depth of 0', 'depth: 2', 'depth: 0', '12: routes[0].max_delegation_depth must be a whole number of 1 or more'],
  ['an unquoted word for a flag', 'high_risk: true', 'high_risk: yes', '10: routes[0].high_risk must be true or false'],
  [
    'an empty field',
    'title: Create an issue',
    'title:',
    `14: routes[0].approval.title must be a text of 1 to 120 ${LINE}`,
  ],
  ['a line of an approval that is no path', '$.project', 'project', `15: ${PATH}`],
  [
    'a title of over 120 characters',
    'Create an issue',
    'a'.repeat(121),
    `14: routes[0].approval.title must be a text of 1 to 120 ${LINE}`,
  ],
  [
    'a label of over 40 characters',
    'Project:',
    `${'a'.repeat(41)}:`,
    `15: each name in routes[0].approval.lines must be a text of 1 to 40 ${LINE}`,
  ],
  [
    'ten lines at a route, whose first line is the request',
    '{Project: $.project}',
    `{${Array.from({ length: 10 }, (_, at) => `L${at}: $`).join(', ')}}`,
    '15: routes[0].approval.lines must have at most 9 members',
  ],
  ['a path to several values', '$.project', '"$.projects[*]"', `15: ${PATH}`],
  ['a path with an escape', '$.project', `'$["\\u0061"]'`, `15: ${PATH}`],
  ['an upstream on plain http elsewhere', 'http://127.0.0.1:3000', 'http://10.0.0.1', `5: ${UPSTREAM}`],
  ['an upstream with a path', 'http://127.0.0.1:3000', 'https://a.example/b', `5: ${UPSTREAM}`],
  ['an upstream with a query', 'http://127.0.0.1:3000', 'https://a.example/?b', `5: ${UPSTREAM}`],
  ['an upstream with a password', 'http://127.0.0.1:3000', 'https://a:b@a.example', `5: ${UPSTREAM}`],
  ['a port beyond 65535', '"[::1]:8099"', 'localhost:65536', `3: ${LISTEN}`],
  ['a port alone', '"[::1]:8099"', '8099', `3: ${LISTEN}`],
  ['another mode', 'mode: proxy', 'mode: observe', '4: mode must be decide or proxy'],
  ['a stale treatment that does not exist', 'refuse', 'allow', '23: status_list.on_stale must be introspect or refuse'],
  [
    'an mcp path with a wildcard',
    'path: /mcp',
    'path: /mcp/*',
    '17: mcp.path must be a path that servers do not rewrite, without *, as in /mcp',
  ],
  [
    'an address of MCP that servers rewrite',
    'path: /mcp',
    'path: /a/../mcp',
    '17: mcp.path must be a path that servers do not rewrite, without *, as in /mcp',
  ],
  [
    'no body that may be held',
    'max_held_bodies: 40',
    'max_held_bodies: 0',
    '26: max_held_bodies must be a whole number from 1 to 10000',
  ],
  ['too many of them', 'bodies: 40', 'bodies: 10001', '26: max_held_bodies must be a whole number from 1 to 10000'],
  ['a header that names the guard’s person', 'Remote-User', 'Mandate-Subject', `27: pass_headers[0] ${SIGNED_IN}`],
  ['a header that the guard passes on anyway', 'Remote-User', 'Accept', `27: pass_headers[0] ${SIGNED_IN}`],
  ['a header that no proxy can mean', 'X-WEBAUTH-USER', 'Proxy', `27: pass_headers[1] ${SIGNED_IN}`],
  ['a beginning of names', 'X-WEBAUTH-USER', '"X-WEBAUTH-*"', `27: pass_headers[1] ${SIGNED_IN}`],
  ['one name in place of a list', '[Remote-User, X-WEBAUTH-USER]', 'Remote-User', '27: pass_headers must be a list'],
  ['no tools', '\n    search: {scope: [jira:read]}', ' {}', '18: mcp.tools must have at least one member'],
  [
    'a list as the routes of a mapping',
    '  tools:\n    search:',
    '  tools:\n    - search:',
    '18: mcp.tools must be a mapping of names',
  ],
];

const related: readonly (readonly [what: string, text: string, faults: readonly string[]])[] = [
  ['proxy without an upstream', proxy.replace(/upstream: .*\n/, ''), ['1: upstream must be given in the mode proxy']],
  [
    'decide with an upstream',
    `${decide}upstream: https://a.example\nupstream_timeout_ms: 1\n`,
    ['7: upstream is only for the mode proxy', '8: upstream_timeout_ms is only for the mode proxy'],
  ],
  [
    'decide with what needs a body',
    proxy.replace('mode: proxy', 'mode: decide').replace(/upstream.*\n/g, ''),
    [
      '11: routes[0].approval is only for the mode proxy',
      '14: mcp is only for the mode proxy',
      '22: approval_key is only for the mode proxy',
      '24: max_held_bodies is only for the mode proxy',
      '25: pass_headers is only for the mode proxy',
    ],
  ],
  ['the guard itself as its upstream', proxy.replace('127.0.0.1:3000', '[::1]:8099'), [`5: ${OWN}`]],
  ['the guard itself by its name', proxy.replace('127.0.0.1:3000', 'localhost:8099'), [`5: ${OWN}`]],
  ['the guard itself, which listens everywhere', proxy.replace('[::1]:8099', '0.0.0.0:3000'), [`5: ${OWN}`]],
  [
    'an approval of a tool without a key',
    proxy
      .replace(/approval_key.*\n/, '')
      .replace(/ {4}approval:\n.*\n.*\n/, '')
      .replace('search: {', 'search: {approval: {title: Search}, '),
    ['1: approval_key must be given with an approval'],
  ],
  [
    'an approval without a key',
    proxy.replace(/approval_key.*\n/, ''),
    ['1: approval_key must be given with an approval'],
  ],
  [
    'no route',
    decide.replace(/routes:.*/s, 'routes: []\n'),
    ['1: routes or mcp must be given: otherwise no token allows any request'],
  ],
  [
    'a policy of every tool among those of methods',
    proxy.replace('resources/read:', 'tools/call:'),
    ['21: mcp.methods.tools/call must be absent: mcp.tools has the policies of tools'],
  ],
  ['one port for both', `${decide}metrics_port: 8099\n`, ['7: metrics_port must differ from the port of listen']],
];

/** Rules about addresses, paths and headers that the schema leaves to the guard. */
const BEYOND_SCHEMA =
  /^an upstream|^an address|^a port|^the guard itself|^one port|^a path that some servers|^a header that/;

describe("The guard's file", () => {
  it('has a JSON Schema that accepts and refuses what the guard does', async () => {
    const schema = await readFile('adapters/sdk/tool-server/guard/guard.schema.json', 'utf8');
    const validate = new Ajv2020({ formats: { uri: true }, strict: false }).compile(JSON.parse(schema));
    const isValid = (text: string) => {
      const fields = readYaml(text).mappings[0]?.fields ?? new Map();
      return validate(Object.fromEntries([...fields].map(([name, field]) => [name, field.value])));
    };
    expect([decide, proxy].map(isValid)).to.deep.equal([true, true]);
    const faulty = [...wrong.map(([what, from, to]) => [what, proxy.replace(from, to)] as const), ...related];
    const accepted = faulty.filter(([what, text]) => !BEYOND_SCHEMA.test(what) && isValid(text));
    expect(accepted.map(([what]) => what)).to.deep.equal([]);
    // Every field of the whole example, renamed: neither knows the new name.
    const names = [...new Set(proxy.match(/\b[a-z_]+(?=: )|\b[a-z_]+(?=:\n)/g))].filter(
      (name) => !/^(search|read)$/.test(name),
    );
    const renamed = names.map((name) => proxy.replace(new RegExp(`\\b${name}:`), `${name}x:`));
    expect(renamed.filter((text) => isValid(text) || faults(text).length === 0)).to.deep.equal([]);
  });

  it('is read with every default, and with every field', () => {
    const read = (text: string) => readYaml(text).mappings.map((mapping) => readConfiguration(mapping, key));
    const key = { alg: 'ES256', kid: 'key', sign: () => new Uint8Array(64) } as const;
    const match = { pattern: 'GET /issues/*', method: 'GET', path: '/issues/', isPrefix: true };
    expect(read(decide)).to.deep.equal([
      {
        issuer: 'https://mandate.example',
        audience: 'https://jira.example',
        listen: { host: '127.0.0.1', port: 8099 },
        mode: 'decide',
        routes: [{ match, scope: ['jira:read'] }],
        open: [],
        statusList: undefined,
        metricsPort: undefined,
      },
    ]);
    const least = read(`${decide.replace('decide', 'proxy')}upstream: https://a.example/\nstatus_list: {}\n`);
    expect(least[0]).to.deep.include({ upstream: 'https://a.example', upstreamTimeoutMs: 60_000, maxHeldBodies: 100 });
    expect(least[0]?.statusList).to.deep.equal({});
    expect(read(proxy)).to.deep.equal([
      {
        issuer: 'https://mandate.example',
        audience: 'https://jira.example/mcp',
        listen: { host: '::1', port: 8099 },
        mode: 'proxy',
        routes: [
          {
            match: { pattern: 'POST /issues', method: 'POST', path: '/issues', isPrefix: false },
            scope: ['jira:write'],
            highRisk: true,
            requireActor: false,
            maxDelegationDepth: 2,
            approval: { title: 'Create an issue', lines: [{ label: 'Project', path: ['project'] }] },
          },
        ],
        open: [{ pattern: 'GET /healthz', method: 'GET', path: '/healthz', isPrefix: false }],
        statusList: { maxAgeMs: 10_000, onStale: 'refuse' },
        metricsPort: 9100,
        upstream: 'http://127.0.0.1:3000',
        upstreamTimeoutMs: 1000,
        maxHeldBodies: 40,
        passHeaders: new Set(['remote-user', 'x-webauth-user']),
        mcp: {
          path: '/mcp',
          tools: { search: { scope: ['jira:read'] } },
          methods: { 'resources/read': { scope: ['jira:read'] } },
        },
        approvalKey: key,
      },
    ]);
  });

  it('may have the port of the upstream at another address', () => {
    expect(faults(proxy.replace('[::1]:8099', '10.0.0.1:3000'))).to.deep.equal([]);
  });

  for (const [what, text, expected] of related) {
    it(`is refused with ${what}`, () => expect(faults(text)).to.deep.equal(expected));
  }

  it('is accepted with the least and with every field', () => {
    expect([...faults(decide), ...faults(proxy)]).to.deep.equal([]);
  });

  for (const [what, from, to, fault] of wrong) {
    it(`is refused at its line with ${what}`, () => {
      const changed = proxy.replace(from, to);
      expect(changed).not.to.equal(proxy);
      expect(faults(changed)).to.deep.equal([fault]);
    });
  }

  it('has all its faults reported at once, by line, also unknown members in each place', () => {
    const text = `audience: x\nmode: both\nroutes:\n- match: GET /a\n  scopes: [a]\n- scope: [a]\n  match: GET a\nmode: decide\nmcp: 1\nrout: []\n`;
    const found = faults(text);
    const at = (line: number, start: string) =>
      expect(
        found.filter((fault) => fault.startsWith(`${line}: ${start}`)),
        `${line} ${start}`,
      ).to.have.lengthOf(1);
    at(1, 'issuer is missing: it must be an absolute https URL');
    at(1, 'audience must be an absolute http or https URL');
    at(5, 'routes[0].scopes is not an option (accepted: match, scope, high_risk,');
    at(4, 'routes[0].scope is missing: it must be a list of at least one scope');
    at(7, 'routes[1].match must be');
    at(8, 'The name is repeated.');
    at(9, 'mcp must be a mapping (accepted: path, tools, methods)');
    at(10, 'rout is not an option');
    expect(found).to.have.lengthOf(8);
  });

  it('repeats no value, and no name that could be a secret', () => {
    const secret = 'eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9.eyJzdWIiOiJhZGEifQ.c2ln';
    const text = `issuer: ${secret}\n${secret}: ${secret}\nmode: ${secret}\nroutes:\n- {match: ${secret}, ${secret}: 1}\nmcp: {path: /, tools: {${secret}: 1}}\n`;
    expect(faults(text)).to.have.length.above(5);
    expect(faults(text).join('\n')).not.to.include(secret);
  });

  it('holds one mapping', () => {
    expect(faults(`${decide}---\n${decide}`)).to.deep.equal(['8: the file must hold one document']);
    expect(faults('[]')).to.deep.equal(["1: Must be a mapping: the guard's fields."]);
  });

  it('has no anchors and no aliases, if its limit is 0', () => {
    const limits = { tokens: 500_000, escapes: 50_000, entries: 2000, depth: 32, aliases: 0 };
    const sentence = 'Has an anchor or an alias: this file may have none.';
    expect(findExcess(proxy, limits)).to.equal(undefined);
    expect(findExcess(decide.replace('[jira:read]', '&read [jira:read]'), limits)).to.deep.equal({ line: 6, sentence });
    expect(findExcess(decide.replace('[jira:read]', '*read'), limits)).to.deep.equal({ line: 6, sentence });
  });
});
