/** Runs the programs of docs/agents.md, chapter "Any OAuth library", against the service: each as the page has it. */

import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { TestDatabase } from '../databases.ts';
import { fieldsOf, JIRA, type Mandate, startMandate } from '../mandate.ts';
import type { RunProgram } from '../other-languages/languages.ts';
import { root } from '../packed-packages.ts';
import { type Block, blocksOf, pageText } from './page.ts';

export const PAGE = 'docs/agents.md';
/** Every JWT with a header of ours, whether a token or an assertion. */
const JWT = /eyJ[\w-]+\.[\w-]+\.[\w-]+/;

export interface Client {
  /** The program's heading on the page. */
  readonly heading: string;
  /** The name of the file to which the test writes the program. */
  readonly file: string;
  readonly run: RunProgram;
  /** A part of its message after a 503. */
  readonly messageOf503: string;
}

/** The one block of code under a heading. */
export function programUnder(heading: string): Block {
  const [, below = ''] = pageText(PAGE).split(`\n### ${heading}\n`);
  const [section = ''] = below.split(/^#{2,3} /m);
  const [block, ...others] = blocksOf(section);
  if (block === undefined || others.length > 0) throw new Error(`${PAGE} has not one program under ${heading}.`);
  return block;
}

/** Tests the programs with one service on each database. */
export function describePrograms(clients: readonly Client[], databases: readonly TestDatabase[]): void {
  for (const database of databases) {
    describe(`${PAGE}, "Any OAuth library", on ${database.name}`, function () {
      this.timeout(60_000);
      let mandate: Mandate;
      let folder: string;
      let environment: Readonly<Record<string, string>>;

      before(async () => {
        mandate = await startMandate({
          database,
          issuer: 'own-address',
          settings: {
            'Service:Exchange:ClientIsActor': 'true',
            'Service:Exchange:AudienceParameter': 'true',
            // Each refusal has its own record.
            'Service:Audit:Aggregation:Enabled': 'false',
          },
        });
        folder = await mkdtemp(join(tmpdir(), 'any-oauth-library-'));
        // The programs import the packages that are installed here.
        await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
        const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
        const keyFile = join(folder, 'agent.pem');
        await writeFile(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }));
        const { id } = await mandate.agent({ jwks: { keys: [publicKey.export({ format: 'jwk' })] } });
        environment = { MANDATE_ISSUER: mandate.issuer, AGENT_ID: id, KEY_FILE: keyFile, RESOURCE: JIRA };
      });
      after(async () => {
        await mandate.stop();
        await rm(folder, { recursive: true });
      });

      /** Runs a program with a subject token that has these claims. */
      async function runFor(
        claims: Readonly<Record<string, string>>,
        { heading, file, run }: Client,
        agentId?: string,
      ) {
        const path = join(folder, file);
        await writeFile(path, programUnder(heading).text);
        const agent = agentId === undefined ? {} : { AGENT_ID: agentId };
        return run(path, { ...environment, ...agent, SUBJECT_TOKEN: mandate.provider.mintAccessToken(claims) });
      }

      for (const client of clients) {
        it(`${client.heading} starts a task, renews its token and ends it`, async () => {
          const lines = await mandate.recorded(async () => {
            const ended = await runFor({ scope: 'jira:read jira:comment' }, client);
            expect(ended).to.deep.equal({ code: 0, output: 'Scope: jira:read\n', errors: '' });
          });
          expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([
            ['token.issued', null],
            ['token.refreshed', null],
            ['task.revoked', 'client_revoked'],
          ]);
          const task_id = lines[0]?.task_id;
          const task = { agent_id: environment.AGENT_ID, sponsor: 'ada', task_id, audience: JIRA, scope: 'jira:read' };
          for (const line of lines) expect(line).to.include(task);
        });

        // How a program reports an error does not depend on the database.
        if (database !== databases[0]) continue;
        it(`${client.heading} reports the error of a refused exchange, and prints no token and no assertion`, async () => {
          const lines = await mandate.recorded(async () => {
            const { code, output, errors } = await runFor({ aud: 'https://other.example' }, client);
            expect(code).not.to.equal(0);
            expect(`${output}${errors}`).to.include('invalid_grant').and.not.match(JWT);
          });
          expect(fieldsOf(lines, 'event', 'agent_id', 'reason')).to.deep.equal([
            ['token.denied', environment.AGENT_ID, 'subject_audience_mismatch'],
          ]);
        });

        it(`${client.heading} reports a 503, and prints no token and no assertion`, async () => {
          const { id } = await mandate.agent({ jwks: undefined, jwks_uri: await mandate.keyServer.unusedUri() });
          const lines = await mandate.recorded(async () => {
            const { code, output, errors } = await runFor({}, client, id);
            expect(code).not.to.equal(0);
            expect(`${output}${errors}`).to.include(client.messageOf503).and.not.match(JWT);
          });
          expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([['token.denied', 'actor_keys_unavailable']]);
        });
      }
    });
  }
}
