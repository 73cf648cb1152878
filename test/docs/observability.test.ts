/** Compares docs/observability.md and its files with the code, and runs the page's commands. */

import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { parse } from 'yaml';
import { serviceDefinitions } from '../../adapters/telemetry/service-metrics.ts';
import { ocsfEvent } from '../../domain/ledger/ocsf-event.ts';
import { ledgerEvents, presentRecord } from '../../domain/ledger/record.ts';
import { asProgram } from '../../scripts/from-source.ts';
import { freshDatabase } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { append, fullEntry, seal } from '../support/ledger/fill.ts';
import { makeSealingKey } from '../support/ledger/sealing-key.ts';
import { byLength } from '../support/length.ts';
import { environmentOf } from '../support/mandate.ts';
import { metricsIn, unknownNames } from '../support/metric-names.ts';
import { alertRules, observabilityFile as file, panels, queries } from '../support/observability-files.ts';

const FOLDER = new URL('../../docs/examples/observability/', import.meta.url);
const MAIN = new URL('../../composition/main.ts', import.meta.url);
const page = readFileSync(new URL('../../docs/observability.md', import.meta.url), 'utf8');

/** The first cell of each row of a table, without backticks. @param head the first cell of the head */
function table(head: string): readonly (readonly string[])[] {
  const [, body = ''] = new RegExp(`^\\| ${head} \\|.*\\n\\|[-|]+\\|\\n((?:\\|.*\\n)+)`, 'm').exec(page) ?? [];
  return body
    .trim()
    .split('\n')
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim().replaceAll('`', '')),
    );
}

describe('The files for Prometheus and Grafana', () => {
  it('alert names are unique, and every alert says why and what to do first, as the table in docs/operating.md', () => {
    expect(new Set(alertRules.map(({ alert }) => alert)).size).to.equal(alertRules.length);
    const operating = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');
    const [, section = ''] = operating.split('\n## Alerts worth having\n');
    const rows =
      /^\| Alert \| When \| Why \| First \|\n.*\n((?:\|.*\n)+)/m.exec(section)?.[1]?.trim().split('\n') ?? [];
    // Prometheus and Grafana show the texts unformatted.
    const plain = (markdown: string) =>
      markdown.replaceAll(/\[([^\]]+)\]\(#([^)]+)\)/g, '$1 (docs/operating.md#$2)').replaceAll('`', '');
    expect(rows.map(plain)).to.deep.equal(
      alertRules.map(({ alert, expr, for: holds, annotations: { summary, first_step: first } }) => {
        const when = `${expr.replaceAll('|', '\\|')}${holds === undefined ? '' : ` for ${holds}`}`;
        return `| ${alert} | ${when} | ${summary} | ${first} |`;
      }),
    );
  });

  it('alerts and panels query only existing metrics, labels and label values', () => {
    expect([...queries, ...alertRules].flatMap(({ expr }) => unknownNames(expr))).to.deep.equal([]);
    for (const { expr, legendFormat } of queries) {
      // The query must keep each label that its legend shows.
      const grouped = /\bby \(([^)]*)\)/.exec(expr)?.[1]?.split(', ') ?? ['instance'];
      for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) expect(grouped, expr).to.include(label);
    }
  });

  it('queries of metrics that other programs also have select the job', () => {
    for (const { expr } of [...alertRules, ...queries]) {
      expect(expr).not.to.match(/\b(?:up|(?:process|nodejs)_[a-z0-9_]+)(?!\w|\{job="mandate"\})/);
    }
  });

  it('the dashboard has every metric of the service, and panels that do not overlap', () => {
    expect(queries.flatMap(({ expr }) => metricsIn(expr))).to.include.members(
      serviceDefinitions.map(({ name }) => name),
    );
    const taken = new Set<string>();
    for (const { gridPos } of panels) {
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect(x).to.be.lessThan(24);
          expect(taken.has(`${x},${y}`)).to.equal(false);
          taken.add(`${x},${y}`);
        }
      }
    }
    expect(new Set(panels.map(({ id }) => id)).size).to.equal(panels.length);
  });

  it('the scrape job has the name that the queries select, and Prometheus loads the rules', () => {
    const configuration = parse(file('prometheus.yaml'));
    expect(configuration).to.deep.nested.include({ 'scrape_configs[0].job_name': 'mandate' });
    expect(configuration.rule_files).to.deep.equal(['mandate.rules.yaml']);
  });
});

describe('docs/observability.md', () => {
  it('lists every file of the folder', () => {
    const listed = table('File').map(([cell = '']) => /\[([^\]]+)\]\(examples\/observability\/\1\)/.exec(cell)?.[1]);
    expect(listed.toSorted()).to.deep.equal(readdirSync(FOLDER).toSorted());
  });

  it('has the class, the activity and the acting user of every event', () => {
    const json = (event: (typeof ledgerEvents)[number]) => {
      const record = { seq: 1, checkpoint: 1, at: NOON, event, sponsor: 'the person', decision: 'allow' } as const;
      return ocsfEvent(record, '0.1.0') as {
        class_name: string;
        activity_name: string;
        actor?: { user: { uid?: string; name?: string } };
      };
    };
    expect(table('Event')).to.deep.equal(
      ledgerEvents.map((event) => {
        const { class_name, activity_name, actor } = json(event);
        return [event, class_name, activity_name, actor?.user.uid ?? actor?.user.name ?? ''];
      }),
    );
  });

  it('says which attribute has each field of a record', () => {
    const record = { ...fullEntry(0, NOON), seq: 1, checkpoint: 2 };
    const fields = table('Field of the record').flatMap(([cell = '']) => cell.split(', '));
    expect(fields.toSorted()).to.deep.equal(Object.keys(presentRecord(record)).toSorted());
  });

  it('names the attributes of an event of each class', () => {
    for (const [column, event] of [
      [1, 'token.issued'],
      [2, 'agent.updated'],
    ] as const) {
      const json = JSON.parse(JSON.stringify(ocsfEvent({ ...fullEntry(0, NOON), seq: 1, checkpoint: 2, event }, '0')));
      for (const cells of table('Field of the record')) {
        const paths = (cells[column] ?? '').match(/\b[a-z_]+(?:\.[a-z_]+)+\b|^(?:time|count|status_code)\b/g) ?? [];
        for (const path of paths) expect(json, `${cells[0]}: ${path}`).to.have.nested.property(path);
      }
    }
  });

  it('has commands that export a ledger as they are printed, except for the folder and the number', async function () {
    this.timeout(60_000);
    const key = await makeSealingKey();
    const database = await freshDatabase('sqlite');
    const storage = await database.open({ clock: { now: () => NOON } });
    const folder = mkdtempSync(join(tmpdir(), 'mandate-page-'));
    try {
      await append(storage, 20, NOON);
      await seal(storage, key.signer, NOON);
      const program = join(folder, 'mandate');
      writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' ${asProgram(MAIN).join(' ')} "$@"\n`, {
        mode: 0o755,
      });
      const [, section = ''] = page.split('\n## Records as events for a SIEM\n');
      const shell = [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text = '']) => text);
      const run = (commands: string) =>
        new Promise<string>((resolve, reject) => {
          const env = { PATH: `${folder}:${process.env.PATH}`, ...environmentOf(database.settings) };
          const cwd = fileURLToPath(FOLDER);
          execFile('sh', ['-e', '-c', commands], { env, cwd }, (error, out) => (error ? reject(error) : resolve(out)));
        });
      const [direct = '', script = ''] = shell;
      // test/system/audit-export.test.ts runs it with these arguments at every push.
      if (byLength({ short: false, full: true }))
        expect((await run(direct.replace('--after 4711', '--after 17'))).trim().split('\n')).to.have.length(20 + 3);
      const events = join(folder, 'events');
      await run(script.replace('/var/lib/mandate-events', events));
      expect(readFileSync(join(events, 'position'), 'utf8')).to.equal('20\n');
      // Vector reads the files with such names.
      const pattern = /mandate-\*\.ndjson/.exec(file('vector.yaml'))?.[0] ?? '';
      expect((await run(`ls '${events}'/${pattern}`)).trim().split('\n')).to.have.length(1);
    } finally {
      await storage.close();
      await database.drop();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('names the packages that traces.mjs imports, and the variables that it needs', () => {
    const imported = [...file('traces.mjs').matchAll(/from '(@opentelemetry\/[\w-]+)'/g)].map(([, name]) => name);
    // The service brings the API.
    const installed = imported.filter((name) => name !== '@opentelemetry/api').join(' ');
    const sorted = (names = '') => names.split(' ').toSorted();
    expect(sorted(/^npm install (.*)$/m.exec(page)?.[1])).to.deep.equal(sorted(installed));
    const development = JSON.parse(
      readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
    ).devDependencies;
    // The versions for Node 20 that the page names are those of the tests.
    for (const [, name = '', version] of page.matchAll(/(@opentelemetry\/[\w-]+)@([\d.]+)/g)) {
      if (name in development) expect(development[name]).to.match(new RegExp(`^\\^${version}\\.`));
    }
    const exported = [...page.matchAll(/^export (\w+)=/gm)].map(([, name]) => name);
    expect(exported).to.deep.equal(['Service__Traces__Enabled', 'OTEL_EXPORTER_OTLP_ENDPOINT']);
  });

  it("vector.yaml connects existing parts, and the page names its environment's variables", () => {
    const { sources, transforms, sinks } = parse(file('vector.yaml')) as Record<string, Record<string, object>>;
    const parts = Object.keys({ ...sources, ...transforms });
    for (const part of Object.values({ ...transforms, ...sinks }) as { inputs: string[] }[]) {
      expect(parts).to.include.members(part.inputs);
    }
    for (const [, name = ''] of file('vector.yaml').matchAll(/\$\{(\w+)\}/g)) expect(page).to.include(`\`${name}\``);
  });
});
