import { expect } from 'chai';
import fc from 'fast-check';
import type { AccessEvent } from '../../../adapters/sdk/tool-server/core/tool-server.ts';
import { accessTable } from '../../../scripts/quickstart/access-log.ts';
import { claimsTable } from '../../../scripts/quickstart/claims-table.ts';
import { ledgerTable } from '../../../scripts/quickstart/ledger-table.ts';
import { layOut, type Table } from '../../../scripts/quickstart/table.ts';
import { terminal } from '../../../scripts/quickstart/terminal.ts';
import { withEnvironment } from '../../support/captured-output.ts';

/** The terminal indents by two columns, so this makes one hundred. */
const WIDTH = 98;
const shown = (table: Table) => layOut(table, WIDTH);

describe('a table of the quickstart', () => {
  it('wraps at spaces, and inside a word only if the word is too long', () => {
    const columns = [
      { title: 'a', width: 5 },
      { title: 'b', width: 4 },
    ];
    const lines = layOut({ columns, rows: [['one two', 'abcdefghi']] }, WIDTH);
    expect(lines).to.deep.equal(['a    b', '---  ----', 'one  abcd', 'two  efgh', '     i']);
  });

  it('is never wider than its columns, and keeps every character', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', 'b', ' ', 'ccccccc'), maxLength: 30 });
    fc.assert(
      fc.property(fc.array(fc.tuple(cell, cell), { minLength: 1, maxLength: 5 }), (rows) => {
        const columns = [
          { title: 'x', width: 6 },
          { title: 'y', width: 9 },
        ];
        const [, , ...lines] = layOut({ columns, rows }, WIDTH);
        expect(Math.max(...lines.map((line) => line.length))).to.be.at.most(6 + 2 + 9);
        const letters = (text: string) => [...text.replace(/\s/g, '')].sort().join('');
        expect(letters(lines.join(''))).to.equal(letters(rows.flat().join('')));
      }),
    );
  });
});

describe('a table on a narrow terminal', () => {
  const cell = fc.string({ unit: fc.constantFrom('a', 'b', ' ', 'ccccccc'), maxLength: 40 });
  const columns = ['one', 'two', 'three', ''].map((title) => ({ title, width: 30 }));
  const letters = (text: string) => [...text.replace(/\s/g, '')].sort().join('');

  for (const width of [18, 38, 58, 78]) {
    it(`fits into ${width} columns, and keeps every character of its cells`, () => {
      fc.assert(
        fc.property(fc.array(fc.tuple(cell, cell, cell, cell), { minLength: 1, maxLength: 4 }), (rows) => {
          const lines = layOut({ columns, rows }, width);
          expect(Math.max(...lines.map((line) => line.length))).to.be.at.most(width);
          expect(
            letters(
              lines
                .join('')
                .replaceAll(/(one|two|three):? ?/g, '')
                .replaceAll('-', ''),
            ),
          ).to.equal(letters(rows.flat().join('')));
        }),
      );
    });
  }

  it('wraps a column of several words before it cuts a word of another column', () => {
    const both = [
      { title: 'scope', width: 22 },
      { title: 'held by her', width: 12 },
    ];
    expect(layOut({ columns: both, rows: [['calendar:read', 'yes']] }, 21)).to.deep.equal([
      'scope          held',
      '               by her',
      '-------------  ------',
      'calendar:read  yes',
    ]);
  });

  it('lists the cells of each row with their titles, where the columns would be too narrow', () => {
    expect(
      layOut(
        {
          columns,
          rows: [
            ['aaaa aaaa', 'bb', '', 'deny'],
            ['c', '', '', ''],
          ],
        },
        20,
      ),
    ).to.deep.equal([...['one: aaaa aaaa', 'two: bb', 'deny', ''], ...['one: c', '']]);
  });
});

describe('the terminal of the quickstart', () => {
  const table = {
    columns: ['person', 'agent', 'reason'].map((title) => ({ title, width: 24 })),
    rows: [['ada', 'triage-bot', 'scope_intersection_empty']],
  };

  /** All output on a terminal of this width. */
  function output(columns: number, environment: Readonly<Record<string, string>> = {}): Promise<string> {
    const lines: string[] = [];
    const stream = { isTTY: true, columns, on: () => stream, write: (text: string) => lines.push(text) };
    return withEnvironment({ TERM: 'xterm', ...environment }, async () => {
      const screen = terminal(stream as never, stream as never);
      screen.chapter('The agent exchanges her token for a task token');
      screen.say('One form, in any language (RFC 8693), sent to the token endpoint of the service:');
      screen.show(table);
      screen.confirm('The status list shows the kill, and every route refuses the token within seconds.');
      screen.refused('The ordinary route of the server that does not poll.');
      return lines.join('');
    });
  }

  for (const columns of [20, 40, 80, 200, 0]) {
    it(`is as wide as a terminal of ${columns} columns, and one hundred at most`, async () => {
      const plain = await output(columns, { NO_COLOR: '1' });
      const width = columns === 0 ? 100 : Math.min(columns, 100);
      const tooWide = plain.split('\n').filter((line) => line.length > width);
      // A word that is longer than the terminal is not cut, so that it can be copied.
      expect(tooWide.filter((line) => line.trim().includes(' '))).to.deep.equal([]);
      expect(Math.max(...plain.split('\n').map((line) => line.length))).to.be.greaterThan(width / 2);
    });
  }

  it('has colours, but none with NO_COLOR or on a dumb terminal', async () => {
    expect(await output(80)).to.contain('\u001b[1m');
    for (const environment of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) {
      expect(await output(80, environment)).to.match(/^[\n\x20-\x7e]*$/);
    }
  });
});

describe('the claims of two tokens side by side', () => {
  const lines = shown(
    claimsTable(
      {
        title: "Ada's access token",
        claims: { jti: 'j'.repeat(43), sub: 'ada', sid: 's'.repeat(43), exp: 1_795_233_359, auth_time: 1_795_229_759 },
      },
      {
        title: 'the task token',
        claims: { act: { sub: 'agent:triage-bot', depth: 1 }, sub: 'ada', aud: 'https://jira.example/api' },
      },
    ),
  );

  it('fit into one hundred columns', () => {
    expect(Math.max(...lines.map((line) => line.length))).to.be.at.most(WIDTH);
  });

  it('show each member of an object, and the time of day of an instant', () => {
    expect(lines.join('\n'))
      .to.match(/^act\.sub +agent:triage-bot$/m)
      .and.to.match(/^exp +03:55:59 UTC$/m)
      .and.to.match(/^auth_time +02:55:59 UTC$/m);
  });

  it('begin with the person and the agent', () => {
    expect(lines.slice(2, 5).map((line) => line.split(' ')[0])).to.deep.equal(['sub', 'act.sub', 'act.depth']);
  });
});

describe('the ledger of the quickstart', () => {
  it('fits into one hundred columns with its longest values', () => {
    const lines = shown(
      ledgerTable([
        {
          seq: 10,
          ts: '2026-11-21T04:05:06.789Z',
          event: 'authorization.allowed',
          sponsor: 'ada',
          agent_id: 'triage-bot',
          scope: 'jira:read jira:comment calendar:read',
          decision: 'allow',
          reason: 'scope_intersection_empty',
        },
      ]),
    );
    expect(Math.max(...lines.map((line) => line.length))).to.be.at.most(WIDTH);
    expect(lines[2]).to.match(
      /^10 +authorization\.allowed +ada +triage-bot +jira:read +allow +scope_intersection_empty$/,
    );
  });

  it('shows the number of summed-up renewals in one record', () => {
    const [, , line] = shown(
      ledgerTable([{ seq: 11, event: 'token.refreshed', decision: 'allow', reason: null, count: 12 }]),
    );
    expect(line).to.match(/^11 +token\.refreshed +allow +12 more$/);
  });
});

describe('the access events of the quickstart', () => {
  const event: AccessEvent = {
    event: 'tool.access',
    at: '2026-11-21T04:05:06.789Z',
    route: 'POST /api/issues/:key/comments',
    decision: 'deny',
    reason: 'insufficient_scope',
    sub: 'ada',
    act: 'agent:triage-bot',
    depth: 1,
    task_id: 'task_01M7YXMQC78QKPZ3BBB5RQN96R',
    jti: 'tok_01M7YXMQFHN8XTDZX2DRCVPFSX',
  };

  it('fit into one hundred columns with their longest values', () => {
    const lines = shown(accessTable([event]));
    expect(Math.max(...lines.map((line) => line.length))).to.be.at.most(WIDTH);
    expect(lines[2]).to.match(
      /^04:05:06 +POST \/api\/issues\/:key\/comments +deny +insufficient_scope +ada +triage-bot +CVPFSX$/,
    );
  });

  it('omit an unknown person and an unknown agent', () => {
    const unknown = { sub: null, act: null, depth: null, task_id: null, jti: null };
    const [, , line] = shown(accessTable([{ ...event, ...unknown, route: null, reason: 'missing_token' }]));
    expect(line).to.match(/^04:05:06 +deny +missing_token$/);
  });
});
