/** The form of the guard's file, read by the YAML reader of the command line. */

import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { parse, stringify } from 'yaml';
import { findExcess, readYaml } from '../../../../../adapters/cli/yaml/yaml-documents.ts';
import { FIELDS, readConfiguration } from '../../../../../adapters/sdk/tool-server/guard/configuration.ts';
import { guardFileFaults } from '../../../../../adapters/sdk/tool-server/guard/file-faults.ts';
import { fieldOf } from '../../../../../adapters/sdk/tool-server/guard/kind.ts';

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
origins: ["https://app.example"]
max_body_bytes: 4194304
`;

function faults(text: string): readonly string[] {
  return guardFileFaults(readYaml(text, "the guard's fields")).map(({ line, clause }) => `${line}: ${clause}`);
}

const OWN = 'must not be the address of listen: the guard would ask itself';
const ONLY_PROXY = 'is only for the mode proxy';
const PATTERN = 'must be an upper-case method, one space and a path, as in GET /issues/*';
const STAR = 'must have * only at its end, after a slash, as in GET /issues/*';
const BRACES = 'must have no names in braces: only * at the end, after a slash, stands for any rest';
const ASCII = 'must have a path in ASCII without spaces: percent-encode all other characters in UTF-8';
const QUERY = 'must have no query and no fragment: a pattern is compared with the path only';
const LINE = 'characters that is not blank, without control characters and line breaks';
const PATH = 'must be a path to one value, as $.amount or $.items[0]';
const ORIGIN =
  'must be an origin as browsers send it: http or https, a host in lower-case ASCII, and a port only if it is not the default, as in https://app.example';
const TEN = `{${Array.from({ length: 10 }, (_, at) => `L${at}: $`).join(', ')}}`;

const SIXTY_FIVE = `[${Array.from({ length: 65 }, (_, at) => `https://a.example/${at}`).join(', ')}]`;

/** A fault of `proxy`, which has one text in place of another, and these texts. */
type Refused = readonly [fault: string, from: string, ...to: string[]];

const refused: readonly Refused[] = [
  [`8: routes[0].match ${STAR}`, 'POST /issues', 'POST /*/a', 'POST /issues*'],
  [`8: routes[0].match ${BRACES}`, 'POST /issues', '"POST /issues/{key}"'],
  [`8: routes[0].match ${PATTERN}`, 'POST /issues', '/issues', 'post /issues'],
  [`8: routes[0].match ${ASCII}`, 'POST /issues', 'POST /vorg\u00e4nge'],
  [`22: open[0] ${QUERY}`, '[GET /healthz]', '[GET /healthz?a]'],
  ['9: routes[0].scope must be a list of at least one scope', '[jira:write]', '[]', 'jira:write'],
  ['12: routes[0].max_delegation_depth must be a whole number of 1 or more', 'depth: 2', 'depth: 0'],
  ['10: routes[0].high_risk must be true or false', 'high_risk: true', 'high_risk: yes'],
  [`14: routes[0].approval.title must be a text of 1 to 120 ${LINE}`, 'Create an issue', '""', 'a'.repeat(121)],
  [`15: routes[0].approval.lines.Project ${PATH}`, '$.project', 'project', '"$.projects[*]"', `'$["\\u0061"]'`],
  [`15: each name in routes[0].approval.lines must be a text of 1 to 40 ${LINE}`, 'Project:', `${'a'.repeat(41)}:`],
  // At a route the first line is the request.
  ['15: routes[0].approval.lines must have at most 9 members', '{Project: $.project}', TEN],
  ['4: mode must be decide or proxy', 'mode: proxy', 'mode: observe'],
  ['23: status_list.on_stale must be introspect or refuse', 'refuse', 'allow'],
  ['17: mcp.path must be a path that servers do not rewrite, without *, as in /mcp', 'path: /mcp', 'path: /mcp/*'],
  ['26: max_held_bodies must be a whole number from 1 to 10000', 'bodies: 40', 'bodies: 0', 'bodies: 10001'],
  ['29: max_body_bytes must be a whole number from 1 to 16777216', 'bytes: 4194304', 'bytes: 0', 'bytes: 16777217'],
  ['1: issuer must be an absolute https URL', 'https://mandate.example', '7'],
  ['1: issuer must be one text, or a list of 1 to 64', 'https://mandate.example', '[]', SIXTY_FIVE],
  ['27: pass_headers must be a list', '[Remote-User, X-WEBAUTH-USER]', 'Remote-User'],
  [`28: origins[0] ${ORIGIN}`, '"https://app.example"', '"*"', '"null"', 'null', '"https://app.example/"'],
  [`28: origins[0] ${ORIGIN}`, '"https://app.example"', '"https://app.example/a"', '"https://a:b@app.example"'],
  [`28: origins[0] ${ORIGIN}`, '"https://app.example"', '"https://*.example"', 'app.example', '"https://APP.example"'],
  ['18: mcp.tools must have at least one member', '\n    search: {scope: [jira:read]}', ' {}'],
  ['18: mcp.list must be all or allowed', '  tools:', '  list: some\n  tools:', '  list: [allowed]\n  tools:'],
  ['18: mcp.tools must be a mapping of names', '  tools:\n    search:', '  tools:\n    - search:'],
];

const REWRITTEN =
  'must have a path that servers do not rewrite: without //, dot segments and escapes that are not needed';
const LISTEN = '3: listen must be a host and a port, as in 127.0.0.1:8099 or "[::1]:8099"';
const UPSTREAM = 'must be an https URL, or http on loopback, without a path, as in http://127.0.0.1:3000';
const SIGNED_IN = 'must be a header in which a proxy tells who has signed in, as Remote-User';
const ISSUER = 'https://mandate.example';
const ANSWERED = 'http://127.0.0.1:3000';

/** Rules about addresses, paths and headers, which the JSON Schema leaves to the guard. */
const refusedBeyondSchema: readonly Refused[] = [
  [`8: routes[0].match ${REWRITTEN}`, 'POST /issues', 'POST /a/../issues'],
  ['17: mcp.path must be a path that servers do not rewrite, without *, as in /mcp', 'path: /mcp', 'path: /a/../mcp'],
  [
    `5: upstream ${UPSTREAM}`,
    ANSWERED,
    'http://10.0.0.1',
    'https://a.example/b',
    'https://a.example/?b',
    'https://a:b@a.example',
  ],
  [LISTEN, '"[::1]:8099"', 'localhost:65536', '8099'],
  // Of the guard's own, always passed on, of no proxy, and the beginning of names.
  [`27: pass_headers[0] ${SIGNED_IN}`, 'Remote-User', 'Mandate-Subject', 'Accept', 'Proxy', '"X-WEBAUTH-*"'],
  // A browser leaves the default port out.
  [`28: origins[0] ${ORIGIN}`, 'https://app.example', 'https://app.example:443', 'http://app.example:80'],
  ['1: issuer must be an absolute https URL', ISSUER, 'mandate.example'],
  ['1: issuer must be https: plain http is for a control plane on this machine', ISSUER, 'http://mandate.example'],
  [
    '2: issuer[1] must be https: plain http is for a control plane on this machine',
    ISSUER,
    `[${ISSUER},\n  http://b.example]`,
  ],
  ...[ISSUER, `${ISSUER}/`, `${ISSUER}:443`, 'https://MANDATE.example'].map((again): Refused => {
    const fault = '4: issuer[2] must not name a control plane that an earlier one names';
    return [fault, ` ${ISSUER}`, `\n  - ${ISSUER}\n  - https://b.example\n  - ${again}`];
  }),
  // The guard itself, also by its name, and where it listens everywhere.
  [`5: upstream ${OWN}`, ANSWERED, 'http://[::1]:8099', 'http://localhost:8099'],
  [`5: upstream ${OWN}`, '"[::1]:8099"', '0.0.0.0:3000'],
  ['25: metrics_port must differ from the port of listen', '9100', '8099'],
];

const related: readonly (readonly [what: string, text: string, faults: readonly string[]])[] = [
  ['proxy without an upstream', proxy.replace(/upstream: .*\n/, ''), ['1: upstream must be given in the mode proxy']],
  [
    'decide with an upstream',
    `${decide}upstream: https://a.example\nupstream_timeout_ms: 1\n`,
    [`7: upstream ${ONLY_PROXY}`, `8: upstream_timeout_ms ${ONLY_PROXY}`],
  ],
  [
    'decide with fields that need a body',
    proxy.replace('mode: proxy', 'mode: decide').replace(/upstream.*\n/g, ''),
    [
      `11: routes[0].approval ${ONLY_PROXY}`,
      `14: mcp ${ONLY_PROXY}`,
      `22: approval_key ${ONLY_PROXY}`,
      `24: max_held_bodies ${ONLY_PROXY}`,
      `25: pass_headers ${ONLY_PROXY}`,
      `27: max_body_bytes ${ONLY_PROXY}`,
    ],
  ],
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
];

describe("The guard's file", () => {
  const schema = JSON.parse(readFileSync('adapters/sdk/tool-server/guard/guard.schema.json', 'utf8'));
  const validate = new Ajv2020({ formats: { uri: true }, strict: false }).compile(schema);
  const isValid = (text: string) => {
    const fields = readYaml(text).mappings[0]?.fields ?? new Map();
    return validate(Object.fromEntries([...fields].map(([name, field]) => [name, field.value])));
  };

  it('is accepted with the least and with every field, also by its JSON Schema', () => {
    expect([...faults(decide), ...faults(proxy)]).to.deep.equal([]);
    expect([decide, proxy].map(isValid)).to.deep.equal([true, true]);
    const named = new Set(proxy.match(/^[a-z_]+(?=:)/gm));
    expect([...named]).to.have.members(Object.keys(FIELDS).map(fieldOf));
  });

  it('is refused with any field under another name, also by its JSON Schema', () => {
    const names = new Set(proxy.match(/\b[a-z_]+(?=:[ \n])/g));
    for (const each of ['search', 'read']) names.delete(each);
    const renamed = [...names].map((name) => proxy.replace(new RegExp(`\\b${name}:`), `${name}x:`));
    expect(renamed.filter((text) => isValid(text) || faults(text).length === 0)).to.deep.equal([]);
  });

  it('is refused with a value that no field has, in each field, also by its JSON Schema', () => {
    const document = parse(proxy);
    const changed = Object.keys(document).map((name) => stringify({ ...document, [name]: [[]] }));
    expect(changed.filter((text) => isValid(text) || faults(text).length === 0)).to.deep.equal([]);
  });

  it('is read with every default, and with every field', () => {
    const read = (text: string) => readYaml(text).mappings.map((mapping) => readConfiguration(mapping, key));
    const key = { alg: 'ES256', kid: 'key', sign: () => new Uint8Array(64) } as const;
    const match = { pattern: 'GET /issues/*', method: 'GET', path: '/issues/', isPrefix: true };
    const least = {
      issuer: 'https://mandate.example',
      audience: 'https://jira.example',
      listen: { host: '127.0.0.1', port: 8099 },
      mode: 'decide',
      routes: [{ match, scope: ['jira:read'] }],
      open: [],
      upstreamTimeoutMs: 60_000,
      maxHeldBodies: 100,
      maxBodyBytes: 1048576,
      origins: new Set(),
      passHeaders: new Set(),
      approvalKey: key,
    };
    expect(read(decide)).to.deep.equal([least]);
    const more = `upstream: https://a.example/\nstatus_list: {}\nmcp: {path: /mcp, tools: {a: {scope: [a]}}}\n`;
    expect(read(`${decide.replace('decide', 'proxy')}${more}`)).to.deep.equal([
      {
        ...least,
        mode: 'proxy',
        upstream: 'https://a.example',
        statusList: { maxAgeMs: 10_000, onStale: 'introspect' },
        mcp: { path: '/mcp', tools: { a: { scope: ['a'] } }, methods: {} },
      },
    ]);
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
        maxBodyBytes: 4194304,
        passHeaders: new Set(['remote-user', 'x-webauth-user']),
        origins: new Set(['https://app.example']),
        mcp: {
          path: '/mcp',
          tools: { search: { scope: ['jira:read'] } },
          methods: { 'resources/read': { scope: ['jira:read'] } },
        },
        approvalKey: key,
      },
    ]);
  });

  it('may list origins of pages on this machine, and of IPv6', () => {
    const listed = '"http://localhost:5173", "http://[::1]:8000"';
    const text = proxy.replace('"https://app.example"', listed);
    expect([faults(text), isValid(text)]).to.deep.equal([[], true]);
  });

  it('may have the port of the upstream at another address', () => {
    expect(faults(proxy.replace('[::1]:8099', '10.0.0.1:3000'))).to.deep.equal([]);
  });

  for (const [what, text, expected] of related) {
    it(`is refused with ${what}`, () => {
      expect(faults(text)).to.deep.equal(expected);
      expect(isValid(text)).to.equal(false);
    });
  }

  for (const [rows, isBeyondSchema] of [
    [refused, false],
    [refusedBeyondSchema, true],
  ] as const) {
    for (const [fault, from, ...to] of rows) {
      it(`says "${fault}" of ${to.map((text) => text.slice(0, 40).replace(/\s+/g, ' ')).join(' and of ')}`, () => {
        for (const each of to) {
          const changed = proxy.replace(from, each);
          expect(changed).not.to.equal(proxy);
          expect(faults(changed)).to.deep.equal([fault]);
          if (!isBeyondSchema) expect(isValid(changed)).to.equal(false);
        }
      });
    }
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
    at(9, 'mcp must be a mapping (accepted: path, tools, methods, list)');
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
