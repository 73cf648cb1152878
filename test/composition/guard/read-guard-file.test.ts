/** The reading of the guard's file, from its bytes to what it says. */

import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { readGuardFile } from '../../../composition/guard/read-guard-file.ts';
import { makeSigningKey } from '../../support/signing-key.ts';

const HEAD = 'issuer: https://mandate.example\naudience: https://jira.example\nmode: decide\n';
const route = (match: string) => `  - {match: ${match}, scope: [jira:read]}\n`;

describe("The reading of the guard's file", () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'mandate-guard-'));
  });
  after(() => rmSync(folder, { recursive: true }));

  async function read(content: string | Uint8Array) {
    const file = join(folder, 'guard.yaml');
    writeFileSync(file, content);
    const found = await readGuardFile(file);
    const lines = found.kind === 'usable' ? found.remarks : found.faults;
    return { ...found, lines: lines.map((line) => line.replace(`${folder}/`, '')) };
  }

  it('gives the configuration of a file that can be used', async () => {
    const found = await read(`${HEAD}routes:\n${route('GET /a')}`);
    expect(found).to.deep.include({ kind: 'usable', lines: [] });
    expect(found).to.have.nested.property('configuration.listen.port', 8099);
  });

  it('names each overlap with its lines', async () => {
    const text = `${HEAD}routes:\n${route('GET /a/*')}${route('GET /a/b')}open: [GET /a/c, GET /d]\n`;
    expect(await read(text)).to.deep.include({
      kind: 'usable',
      lines: [
        'guard.yaml:6: GET /a/b overlaps GET /a/* in line 5, which wins.',
        'guard.yaml:7: GET /a/c overlaps GET /a/* in line 5, which wins.',
      ],
    });
  });

  it('names what reads like a placeholder', async () => {
    const mcp =
      'upstream: https://a.example\nmcp: {path: /mcp, tools: {"*": {scope: [a]}, read_issue: {scope: [a]}}}\n';
    const text = `${HEAD.replace('decide', 'proxy')}${mcp}routes:\n${route('GET /a/:key/b')}${route('POST /v1/a:cancel')}`;
    expect(await read(text)).to.deep.include({
      kind: 'usable',
      lines: [
        'guard.yaml:7: GET /a/:key/b has no placeholder: :key matches only itself.',
        'guard.yaml:5: mcp.tools has no placeholder: * matches only itself.',
      ],
    });
  });

  it('names each pattern that loses mcp.path to the tools, whatever its method, and no other', async () => {
    const mcp = 'upstream: https://a.example\nmcp:\n  path: /mcp/%c3%a9\n  tools: {read: {scope: [jira:read]}}\n';
    const routes = ['GET /mcp/*', 'DELETE /mcp/%C3%A9', 'GET /MCP/%C3%A9', 'GET /mcp/%C3%A9/*', 'POST /a'];
    const text = `${HEAD.replace('decide', 'proxy')}${mcp}routes:\n${routes.map(route).join('')}open: [POST /*]\n`;
    expect((await read(text)).lines).to.deep.equal([
      'guard.yaml:9: GET /mcp/* overlaps mcp.path in line 6, which wins.',
      'guard.yaml:10: DELETE /mcp/%C3%A9 overlaps mcp.path in line 6, which wins.',
      'guard.yaml:14: POST /* overlaps mcp.path in line 6, which wins.',
      'guard.yaml:12: GET /mcp/%C3%A9/* overlaps GET /mcp/* in line 9, which wins.',
      'guard.yaml:14: POST /* overlaps POST /a in line 13, which wins.',
    ]);
  });

  it('names no open pattern that lets preflights reach mcp.path, but names each wildcard, which does not', async () => {
    const mcp = 'upstream: https://a.example\nmcp:\n  path: /mcp\n  tools: {read: {scope: [jira:read]}}\n';
    const text = `${HEAD.replace('decide', 'proxy')}${mcp}open:\n- OPTIONS /mcp\n- OPTIONS /*\n- GET /mcp\n`;
    expect((await read(text)).lines).to.deep.equal([
      'guard.yaml:10: OPTIONS /* overlaps mcp.path in line 6, which wins.',
      'guard.yaml:11: GET /mcp overlaps mcp.path in line 6, which wins.',
      'guard.yaml:10: OPTIONS /* overlaps OPTIONS /mcp in line 9, which wins.',
    ]);
    const routes = `${HEAD.replace('decide', 'proxy')}${mcp}routes:\n${route('OPTIONS /mcp')}`;
    expect((await read(routes)).lines).to.deep.equal([
      'guard.yaml:9: OPTIONS /mcp overlaps mcp.path in line 6, which wins.',
    ]);
  });

  const inFront = (policies: string) =>
    `${HEAD.replace('decide', 'proxy')}upstream: https://a.example\napproval_key: key.pem\n${policies}`;
  const schemas = inFront(`routes:
- match: POST /pay
  scope: [a]
  approval:
    title: Pay
    unless:
      properties:
        amount: {maximum: 5}
        to: {}
      required: [to]
- match: POST /all
  scope: [a]
  approval: {title: Pay, unless: {}}
  arguments:
    properties:
      amount:
        minimum: 5
        maximum: 4
- {match: POST /lists, scope: [a], arguments: {type: [array, object], minItems: 1}}
- {match: POST /objects, scope: [a], arguments: {allOf: [{type: object}]}}
mcp:
  path: /mcp
  tools:
    pay: {scope: [a], approval: {title: Pay, unless: {type: object}}, arguments: {type: array}}
    none: {scope: [a], approval: {title: Pay, unless: false}, arguments: {not: {}}}
    nothing: {scope: [a], arguments: {properties: {to: {enum: []}}}}
    good:
      scope: [a]
      approval:
        title: Pay
        unless: {type: object, properties: {amount: {type: number, maximum: 5}}, required: [amount]}
    nested:
      scope: [a]
      approval:
        title: Pay
        unless:
          type: object
          required: [amount]
          properties:
            amount:
              properties:
                value: {type: string, maximum: 5}
              required: [value]
            to: {type: object, required: [iban], properties: {iban: {const: DE}, name: {type: string}}}
    listed:
      scope: [a]
      approval: {title: Pay, unless: {type: [object], required: [to]}}
`);

  it('names each schema that can never be valid, and each one that may cover more than meant', async () => {
    const key = await makeSigningKey('ES256');
    writeFileSync(join(folder, 'key.pem'), key.privateKey.export({ type: 'pkcs8', format: 'pem' }));
    const found = await read(schemas);
    expect(found.lines.map((line) => line.replace('guard.yaml:', ''))).to.deep.equal([
      '11: routes[0].approval.unless has no type: object at its root: other values can pass without a yes.',
      '13: routes[0].approval.unless.properties.amount is not in required: a call without it can pass without a yes.',
      '13: routes[0].approval.unless.properties.amount.maximum refuses no value of another type: add type.',
      '18: routes[1].approval.unless covers every call: no person is asked.',
      '19: routes[1].arguments has no type: object at its root: a list passes, whatever its items are.',
      '22: routes[1].arguments.properties.amount.minimum refuses no value of another type: add type.',
      '23: routes[1].arguments.properties.amount.maximum excludes minimum: no number is valid here.',
      '29: mcp.tools.pay.approval.unless covers every call: no person is asked.',
      '29: mcp.tools.pay.arguments can never be valid: every call is refused.',
      '30: mcp.tools.none.approval.unless can never be valid: every call asks.',
      '30: mcp.tools.none.arguments can never be valid: every call is refused.',
      '31: mcp.tools.nothing.arguments.properties.to.enum is empty: no value is valid here.',
      '49: mcp.tools.nested.approval.unless.properties.to is not in required: a call without it can pass without a yes.',
      '49: mcp.tools.nested.approval.unless.properties.to.properties.name is not in required: a call without it can pass without a yes.',
      '46: mcp.tools.nested.approval.unless.properties.amount.properties refuses no value of another type: add type.',
      '47: mcp.tools.nested.approval.unless.properties.amount.properties.value.maximum refuses nothing: the type here is string.',
    ]);
    expect(found).to.have.nested.property('configuration.compileSchema').that.is.a('function');
  });

  it('compiles nothing for a file without a schema', async () => {
    const found = await read(`${HEAD}routes:\n${route('GET /a')}`);
    expect(found).not.to.have.nested.property('configuration.compileSchema');
  });

  it('names each fault of a schema with its line, those of patterns too', async () => {
    const faulty = inFront(`routes:
- match: POST /pay
  scope: [a]
  unless: {}
  approval:
    title: Pay
    unless:
      maximun: 5
      properties:
        to: {format: email}
- match: GET /all
  scope: [a]
  arguments: {}
- match: HEAD /all
  scope: [a]
  arguments: {$ref: '#/$defs/a'}
- match: POST /all
  scope: [a]
  arguments: {pattern: '(?=a)b'}
`);
    expect((await read(faulty)).lines.map((line) => line.replace('guard.yaml:', '').slice(0, 78))).to.deep.equal([
      '9: routes[0].unless is not an option (accepted: match, scope, high_risk, requi',
      '13: routes[0].approval.unless.maximun is no keyword of JSON Schema 2020-12',
      '15: routes[0].approval.unless.properties.to.format must be absent: in JSON Sch',
      '18: routes[1].arguments must be absent: a request with GET or HEAD has no body',
      '21: routes[2].arguments.$ref must name a schema within this one, as #/$defs/am',
      '21: routes[2].arguments must be absent: a request with GET or HEAD has no body',
      '24: routes[3].arguments.pattern must be a pattern that RE2 knows too, which ne',
    ]);
    const pattern = inFront(`routes:
- match: POST /pay
  scope: [a]
  arguments:
    properties:
      to:
        pattern: '(?=a)b'
`).replace('approval_key: key.pem\n', '');
    expect((await read(pattern)).lines).to.deep.equal([
      'guard.yaml:11: routes[0].arguments.properties.to.pattern must be a pattern that RE2 knows too, which needs time in proportion to the text: without lookaround, back references, and counts over 1000',
    ]);
    const decide = `${HEAD}routes:\n- {match: POST /a, scope: [a], arguments: {}}\n`;
    expect((await read(decide)).lines).to.deep.equal(['guard.yaml:5: routes[0].arguments is only for the mode proxy']);
  });

  it('names every fault with its line', async () => {
    const { kind, lines } = await read(`${HEAD}rout: 1\nroutes:\n${route('get /a')}`);
    expect(kind).to.equal('unusable');
    expect(lines.map((line) => line.slice(0, 36))).to.deep.equal([
      'guard.yaml:4: rout is not an option ',
      'guard.yaml:6: routes[0].match must b',
    ]);
  });

  const approval = 'approval: {title: Pay, lines: {Amount: $.amount}}';
  const asking = `${HEAD.replace('decide', 'proxy')}upstream: https://a.example\napproval_key: key.pem\nroutes:\n- {match: POST /a, scope: [a], ${approval}}\n`;
  const pemOf = (namedCurve: string) =>
    generateKeyPairSync('ec', { namedCurve }).privateKey.export({ type: 'pkcs8', format: 'pem' });

  it('has the key that approval_key names beside it, with its thumbprint as kid', async () => {
    const key = await makeSigningKey('ES256');
    writeFileSync(join(folder, 'key.pem'), key.privateKey.export({ type: 'sec1', format: 'pem' }));
    const found = await read(asking);
    if (found.kind !== 'usable' || found.configuration.mode !== 'proxy') return expect.fail(found.lines.join());
    const { approvalKey } = found.configuration;
    if (approvalKey === undefined || !('sign' in approvalKey)) return expect.fail('The key does not sign.');
    expect(approvalKey.kid).to.equal(key.kid);
    const { d: _, ...half } = key.privateKey.export({ format: 'jwk' });
    expect(found.approvalJwk).to.deep.equal({ ...half, kid: key.kid, use: 'sig', alg: 'ES256' });
    const signature = await approvalKey.sign(Buffer.from('text'));
    const publicKey = { key: createPublicKey(key.privateKey), dsaEncoding: 'ieee-p1363' } as const;
    expect(verify('sha256', Buffer.from('text'), publicKey, signature)).to.equal(true);
  });

  const badKeys: readonly (readonly [what: string, content: string | Buffer | undefined, problem: string])[] = [
    ['that does not exist', undefined, 'does not exist'],
    ['on another curve', pemOf('P-384'), 'is not an EC key on P-256'],
    ['that is no key', 'secret text', 'is not a private key in PEM (PKCS#8 or SEC1, not encrypted)'],
    [
      'without its private part',
      createPublicKey(pemOf('P-256')).export({ type: 'spki', format: 'pem' }),
      'holds only a public key',
    ],
  ];
  for (const [what, content, problem] of badKeys) {
    it(`refuses a key ${what}, with all other faults`, async () => {
      rmSync(join(folder, 'key.pem'), { force: true });
      if (content !== undefined) writeFileSync(join(folder, 'key.pem'), content);
      const { kind, lines } = await read(asking.replace('[a]', '[]'));
      expect(kind).to.equal('unusable');
      expect(lines).to.deep.equal([
        `guard.yaml:5: approval_key names a file that ${problem}`,
        'guard.yaml:7: routes[0].scope must be a list of at least one scope',
      ]);
    });
  }

  const unusable: readonly (readonly [string, string | Uint8Array, string])[] = [
    ['of 10 MB', `${HEAD}#${'a'.repeat(10_000_000)}`, 'guard.yaml: Is longer than 4194304 bytes.'],
    ['that is empty', '# nothing\n', 'guard.yaml: Is empty.'],
    ['that is not UTF-8', Buffer.from([0x61, 0x3a, 0xff]), 'guard.yaml: Is not text in UTF-8.'],
    ['with an anchor', `${HEAD}routes: &a []\n`, 'guard.yaml:4: Has an anchor or an alias: this file may have none.'],
  ];
  for (const [what, content, line] of unusable) {
    it(`refuses a file ${what}`, async () => {
      expect(await read(content)).to.deep.include({ kind: 'unusable', lines: [line] });
    });
  }

  it('refuses a file that does not exist, and a folder', async () => {
    for (const [file, sentence] of [
      ['/nowhere/guard.yaml', 'Does not exist.'],
      [folder, 'Is a directory.'],
    ] as const) {
      expect(await readGuardFile(file)).to.deep.equal({ kind: 'unusable', faults: [`${file}: ${sentence}`] });
    }
  });
});
