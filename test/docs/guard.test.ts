/** Compares docs/guard.md with the guard. MANDATE_WRITE_GUARD=1 writes its table of fields, and the JSON Schema of the package. */

import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import { refusalReasons } from '../../adapters/sdk/tool-server/core/refusal.ts';
import { REQUEST_LABEL } from '../../adapters/sdk/tool-server/guard/described-call.ts';
import { guardMetrics } from '../../adapters/sdk/tool-server/guard/guard-metrics.ts';
import { identityHeaders } from '../../adapters/sdk/tool-server/guard/identity-headers.ts';
import { OPTIONS } from '../../composition/guard/guard-options.ts';
import { readGuardFile } from '../../composition/guard/read-guard-file.ts';
import { MAX_LABEL, MAX_LINES, MAX_TITLE, MAX_VALUE } from '../../domain/approvals/approval-request.ts';
import { freePort } from '../../scripts/free-port.ts';
import { asProgram } from '../../scripts/from-source.ts';
import { fieldsTable, fixedFields, guardSchema } from '../adapters/sdk/tool-server/guard/guard-file.ts';
import { blocksOf } from '../support/pages/page.ts';
import { openTerminal, shownOutput } from '../support/pages/terminal.ts';
import { makeSigningKey } from '../support/signing-key.ts';
import { AUDIENCE, startFakeControlPlane } from '../support/tool-server/control-plane.ts';

const PAGE = 'docs/guard.md';
const page = await readFile(PAGE, 'utf8');
const TABLE = /^\| Field \| Default \|.*\n(?:\|.*\n)+/m;
const SCHEMA = 'adapters/sdk/tool-server/guard/guard.schema.json';
const GUARD = new URL('../../composition/guard/mandate-guard.ts', import.meta.url);

describe('docs/guard.md', () => {
  it('lists the fields of the file as their rows say, and so does the JSON Schema of the package', async () => {
    const indented = (schema: unknown) => `${JSON.stringify(schema, undefined, 2)}\n`;
    if (process.env.MANDATE_WRITE_GUARD === '1') {
      await writeFile(SCHEMA, indented(guardSchema));
      await writeFile(
        PAGE,
        page.replace(TABLE, () => fieldsTable),
      );
    }
    expect(indented(JSON.parse(await readFile(SCHEMA, 'utf8')))).to.equal(indented(guardSchema));
    expect(TABLE.exec(await readFile(PAGE, 'utf8'))?.[0]).to.equal(fieldsTable);
    expect(page).to.include(`${fixedFields.slice(0, -1).join(', ')} and ${fixedFields.at(-1)} need a new process`);
  });

  it('lists the options', () => {
    const listed = [...page.matchAll(/^\| `--([a-z-]+)/gm)].map(([, name]) => name);
    expect(listed).to.deep.equal([...Object.keys(OPTIONS), 'version']);
  });

  it('leads to an allowed and a refused call in front of a plain service, with the outputs that it shows', async function () {
    this.timeout(60_000);
    const folder = await mkdtemp(join(tmpdir(), 'mandate-guard-tried-'));
    const plane = await startFakeControlPlane(() => Math.floor(Date.now() / 1000));
    const [service, port] = [await freePort(), await freePort()];
    await mkdir(join(folder, 'node_modules/.bin'), { recursive: true });
    const program = ['exec', process.execPath, ...asProgram(GUARD)].join(' ');
    await writeFile(join(folder, 'node_modules/.bin/mandate-guard'), `#!/bin/sh\n${program} "$@"\n`, { mode: 0o755 });
    await writeFile(join(folder, 'task-token'), plane.token());
    const terminal = openTerminal(folder, { MANDATE: plane.issuer, JIRA: AUDIENCE, TOKEN: 'task-token' });
    try {
      const section = page.split('\n## Try it\n')[1]?.split('\n## ')[0] ?? '';
      const text = section.replaceAll('3000', String(service)).replaceAll('8099', String(port));
      const blocks = blocksOf(text.replaceAll('mode: proxy', `mode: proxy\nlisten: 127.0.0.1:${port}`));
      let printed = '';
      for (const block of blocks.filter(({ notRun }) => notRun === undefined)) {
        if (block.language === 'sh') printed = await terminal.run(block.text);
        else expect(printed, printed).to.match(shownOutput(block.text));
      }
      expect(blocks.map(({ language }) => language)).to.deep.equal(['sh', 'sh', 'text', 'sh', 'text']);
    } finally {
      await terminal.close();
      await plane.stop();
      await rm(folder, { recursive: true });
    }
  });

  it('lists the headers and the metrics', () => {
    for (const name of Object.keys(identityHeaders(undefined, { issuer: [], acceptsChains: true })))
      expect(page).to.include(`| \`${name}\` |`);
    const metrics = [
      ...guardMetrics()
        .text()
        .matchAll(/^# TYPE (\S+)/gm),
    ].map(([, name]) => name);
    expect(metrics).to.have.lengthOf(3);
    for (const name of metrics) expect(page).to.include(`| \`${name}\` |`);
  });

  it('explains only refusals that exist', () => {
    const rows =
      page
        .split('\n## If a call is refused\n')[1]
        ?.split('\n## ')[0]
        ?.match(/^\| `.*?(?= \| )/gm) ?? [];
    const reasons = rows.flatMap((row) => [...row.matchAll(/`([a-z]+_\w+|expired)`/g)].map(([, reason]) => reason));
    expect(reasons).to.have.length.above(10);
    expect(refusalReasons).to.include.members(reasons);
  });

  it('names the limits of an approval', () => {
    const words = page.replaceAll(/\s+/g, ' ');
    expect(words).to.include(`\`title\` has at most ${MAX_TITLE} characters`);
    expect(words).to.include(
      `at most ${MAX_LINES} entries, at a route ${MAX_LINES - 1}, with labels of at most ${MAX_LABEL}`,
    );
    expect(words).to.include(`blank, over ${MAX_VALUE} characters`);
    expect(words).to.include(`the first line is always \`${REQUEST_LABEL}\``);
  });

  it('shows configurations of Traefik and Envoy, which no test runs, that remove what a client may not send', async () => {
    const named = ['x-forwarded-method', 'x-forwarded-uri', 'x-original-method', 'x-original-uri'];
    const read = async (name: string) => parse(await readFile(`docs/examples/guard/${name}.yaml`, 'utf8'));
    const own = Object.keys(identityHeaders(undefined, { issuer: [], acceptsChains: true }));
    const replacing = [
      ...['x-http-method', 'x-http-method-override', 'x-method-override', 'x-original-url', 'x-rewrite-url'],
      ...['x-script-name', 'script-name', 'script_name', 'path-info', 'path_info'],
    ];

    const { routers, middlewares } = (await read('traefik')).http;
    expect(routers.service.middlewares).to.deep.equal(Object.keys(middlewares));
    const { blank, guard } = middlewares;
    const blanked = Object.entries(blank.headers.customRequestHeaders);
    expect(blanked.map(([, value]) => value)).to.deep.equal(blanked.map(() => ''));
    expect(blanked.map(([name]) => name.toLowerCase())).to.have.members([
      ...[...named, ...replacing, 'proxy'],
      ...own.flatMap((name) => [name.toLowerCase(), name.toLowerCase().replace('-', '_')]),
    ]);
    expect(guard.forwardAuth.authResponseHeaders).to.deep.equal(own);
    // The guard gets all headers, and refuses the spellings that stay.
    expect(guard.forwardAuth).not.to.have.property('authRequestHeaders');

    const [{ filter_chains: chains }] = (await read('envoy')).static_resources.listeners;
    const { route_config: routes } = chains[0].filters[0].typed_config;
    expect(routes.request_headers_to_remove).to.have.members(named);
  });

  for (const name of ['decide', 'proxy', 'approvals']) {
    it(`shows an example of ${name} that the guard accepts`, async () => {
      const example = `docs/examples/guard/${name}.yaml`;
      const block = new RegExp(`^<!-- from ${example} -->\\n\`\`\`yaml\\n(.*?)^\`\`\`$`, 'ms');
      const [, shown] = block.exec(page) ?? [];
      expect(shown).to.match(/^issuer: /);
      expect(await readFile(example, 'utf8')).to.include(shown ?? '');
      const folder = await mkdtemp(join(tmpdir(), 'mandate-guard-page-'));
      try {
        const { privateKey } = await makeSigningKey('ES256');
        await writeFile(join(folder, 'approval-key.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
        await copyFile(example, join(folder, 'guard.yaml'));
        expect(await readGuardFile(join(folder, 'guard.yaml'))).to.deep.include({ kind: 'usable', remarks: [] });
      } finally {
        await rm(folder, { recursive: true });
      }
    });
  }
});
