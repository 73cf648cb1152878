import { expect } from 'chai';
import fc from 'fast-check';
import type { AccessEvent } from '../../../adapters/sdk/tool-server/core/tool-server.ts';
import { accessTable } from '../../../scripts/quickstart/access-log.ts';
import { claimsTable } from '../../../scripts/quickstart/claims-table.ts';
import { ledgerTable } from '../../../scripts/quickstart/ledger-table.ts';
import { layOut } from '../../../scripts/quickstart/table.ts';

/** The terminal indents by two columns, so this makes one hundred. */
const WIDTH = 98;

describe('a table of the quickstart', () => {
  it('wraps at spaces, and inside a word only if the word is too long', () => {
    const lines = layOut(
      [
        { title: 'a', width: 5 },
        { title: 'b', width: 4 },
      ],
      [['one two', 'abcdefghi']],
    );
    expect(lines).to.deep.equal(['a    b', '---  ----', 'one  abcd', 'two  efgh', '     i']);
  });

  it('is never wider than its columns, and keeps every character', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', 'b', ' ', 'ccccccc'), maxLength: 30 });
    fc.assert(
      fc.property(fc.array(fc.tuple(cell, cell), { minLength: 1, maxLength: 5 }), (rows) => {
        const [, , ...lines] = layOut(
          [
            { title: 'x', width: 6 },
            { title: 'y', width: 9 },
          ],
          rows,
        );
        expect(Math.max(...lines.map((line) => line.length))).to.be.at.most(6 + 2 + 9);
        const letters = (text: string) => [...text.replace(/\s/g, '')].sort().join('');
        expect(letters(lines.join(''))).to.equal(letters(rows.flat().join('')));
      }),
    );
  });
});

describe('the claims of two tokens side by side', () => {
  const lines = claimsTable(
    {
      title: "Ada's access token",
      claims: { jti: 'j'.repeat(43), sub: 'ada', sid: 's'.repeat(43), exp: 1_795_233_359 },
    },
    {
      title: 'the task token',
      claims: { act: { sub: 'agent:triage-bot', depth: 1 }, sub: 'ada', aud: 'https://jira.example/api' },
    },
  );

  it('fit into one hundred columns', () => {
    expect(Math.max(...lines.map((line) => line.length))).to.be.at.most(WIDTH);
  });

  it('show each member of an object, and the time of day of an instant', () => {
    expect(lines.join('\n'))
      .to.match(/^act\.sub +agent:triage-bot$/m)
      .and.to.match(/^exp +03:55:59 UTC$/m);
  });

  it('begin with the person and the agent', () => {
    expect(lines.slice(2, 5).map((line) => line.split(' ')[0])).to.deep.equal(['sub', 'act.sub', 'act.depth']);
  });
});

describe('the ledger of the quickstart', () => {
  it('fits into one hundred columns with its longest values', () => {
    const lines = ledgerTable([
      {
        seq: 10,
        ts: '2026-11-21T04:05:06.789Z',
        event: 'sponsor.unblocked',
        sponsor: 'ada',
        agent_id: 'triage-bot',
        scope: 'jira:read jira:comment calendar:read',
        decision: 'allow',
        reason: 'scope_intersection_empty',
      },
    ]);
    expect(Math.max(...lines.map((line) => line.length))).to.be.at.most(WIDTH);
    expect(lines[2]).to.match(
      /^10 +sponsor\.unblocked +ada +triage-bot +jira:read jira:comment +allow +scope_intersection_empty$/,
    );
  });

  it('shows the number of summed-up renewals in one record', () => {
    const [, , line] = ledgerTable([{ seq: 11, event: 'token.refreshed', decision: 'allow', reason: null, count: 12 }]);
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
    const lines = accessTable([event]);
    expect(Math.max(...lines.map((line) => line.length))).to.be.at.most(WIDTH);
    expect(lines[2]).to.match(
      /^04:05:06 +POST \/api\/issues\/:key\/comments +deny +insufficient_scope +ada +triage-bot +CVPFSX$/,
    );
  });

  it('omit an unknown person and an unknown agent', () => {
    const unknown = { sub: null, act: null, depth: null, task_id: null, jti: null };
    const [, , line] = accessTable([{ ...event, ...unknown, route: null, reason: 'missing_token' }]);
    expect(line).to.match(/^04:05:06 +deny +missing_token$/);
  });
});
