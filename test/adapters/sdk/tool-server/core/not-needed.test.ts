/**
 * A call that needs no yes is decided as under the same policy without `approval`: by the status list, `onStale`, `highRisk` and
 * `introspect_required`. The library decides so for `'not_needed'`, and the guard for `unless`.
 */

import { createServer } from 'node:http';
import { expect } from 'chai';
import express, { type RequestHandler } from 'express';
import type { StatusListOptions, ToolServer } from '../../../../../adapters/sdk/tool-server/core/tool-server.ts';
import { expressProtection } from '../../../../../adapters/sdk/tool-server/express/express.ts';
import { mcpProtection } from '../../../../../adapters/sdk/tool-server/mcp/mcp.ts';
import { closeServer, listen } from '../../../../support/listening.ts';
import { answering, type Handler } from '../../../../support/loopback.ts';
import { type FakeApprovals, fakeApprovals } from '../../../../support/tool-server/approvals.ts';
import { type FakeControlPlane, planeForEachTest } from '../../../../support/tool-server/control-plane.ts';
import { matchOf } from '../../../../support/tool-server/decided-app.ts';
import { call } from '../../../../support/tool-server/guarded-messages.ts';
import { proxyConfiguration } from '../../../../support/tool-server/proxied-upstream.ts';
import { serveGuard } from '../../../../support/tool-server/served-guard.ts';
import { sendList, signList, statusMember } from '../../../../support/tool-server/status-lists.ts';

const START = 1_900_000_000;
const INTROSPECTION = '/oauth2/introspect';
const MAX_AGE_MS = 10_000;
const LISTED = { 1: 1, 2: 2, 3: 3 } as const;
const [VALID, REVOKED, SUSPENDED, ASK] = [0, 1, 2, 3];
const refuse: StatusListOptions = { onStale: 'refuse', maxAgeMs: MAX_AGE_MS };
const introspect: StatusListOptions = { ...refuse, onStale: 'introspect' };

interface Row {
  /** Absent if the tool server reads no lists. */
  readonly statusList?: StatusListOptions;
  /** Of the task in the list. Absent for a token without the claim. */
  readonly index?: number;
  readonly claims?: object;
  readonly highRisk?: boolean;
  /** Whether the list in force is older than it may be, and no other one comes. */
  readonly isStale?: boolean;
}

/** What introspection answers, and so why a call is refused that it decides about. */
const ANSWERS = [
  ['active', null, undefined],
  ['inactive', 'not_active', answering({ active: false })],
  ['unreachable', 'introspection_unavailable', answering({}, 503)],
] as const;

const UNKNOWN = 'status_unavailable';

const high = { highRisk: true };
const required = { claims: { introspect_required: true } };

/** Decided without introspection. The last column is `approval` of the event: a fresh list refuses before `unless` is looked at. */
const BY_LIST: readonly (readonly [string, Row, string | null, 'not_needed' | undefined])[] = [
  ['without lists', {}, null, 'not_needed'],
  ['valid in a fresh list', { statusList: refuse, index: VALID }, null, 'not_needed'],
  ['revoked in a fresh list', { statusList: refuse, index: REVOKED }, 'not_active', undefined],
  ['suspended in a fresh list', { statusList: introspect, index: SUSPENDED }, 'not_active', undefined],
  ['revoked in a fresh list, highRisk', { statusList: refuse, index: REVOKED, ...high }, 'not_active', undefined],
  [
    'suspended in a fresh list, introspect_required',
    { statusList: introspect, index: SUSPENDED, ...required },
    'not_active',
    undefined,
  ],
  ['valid in a stale list, refuse', { statusList: refuse, index: VALID, isStale: true }, UNKNOWN, 'not_needed'],
  ['revoked in a stale list, refuse', { statusList: refuse, index: REVOKED, isStale: true }, UNKNOWN, 'not_needed'],
  ['in no list, refuse', { statusList: refuse }, UNKNOWN, 'not_needed'],
];

const BY_INTROSPECTION: readonly (readonly [string, Row])[] = [
  ['highRisk', high],
  ['introspect_required', required],
  ['highRisk, valid in a fresh list', { statusList: refuse, index: VALID, ...high }],
  ['introspect_required, valid in a fresh list', { statusList: refuse, index: VALID, ...required }],
  ['highRisk, valid in a stale list, refuse', { statusList: refuse, index: VALID, isStale: true, ...high }],
  ['introspect_required, in no list, refuse', { statusList: refuse, ...required }],
  ['one of its tokens revoked in a fresh list', { statusList: refuse, index: ASK }],
  ['newer than the list that has it as revoked', { statusList: refuse, index: REVOKED, claims: { iat: START + 1 } }],
  ['valid in a stale list, introspect', { statusList: introspect, index: VALID, isStale: true }],
  ['revoked in a stale list, introspect', { statusList: introspect, index: REVOKED, isStale: true }],
  ['in no list, introspect', { statusList: introspect }],
];

interface Decided {
  readonly what: string;
  readonly row: Row;
  readonly reason: string | null;
  readonly approval: 'not_needed' | undefined;
  readonly introspections: number;
  /** Of introspection. By default the token is active. */
  readonly answer?: Handler;
}

const DECIDED: readonly Decided[] = [
  ...BY_LIST.map(([what, row, reason, approval]) => ({ what, row, reason, approval, introspections: 0 })),
  ...BY_INTROSPECTION.flatMap(([what, row]) =>
    ANSWERS.map(([said, reason, answer]) => ({
      what: `${what}, ${said}`,
      row,
      reason,
      approval: 'not_needed' as const,
      introspections: 1,
      ...(answer && { answer }),
    })),
  ),
];

describe('A call that needs no yes', () => {
  let now = 0;
  const fixture = planeForEachTest(() => Math.floor(now / 1000));
  const closing: (() => Promise<void>)[] = [];
  let plane: FakeControlPlane;
  let approvals: FakeApprovals;
  let ran = 0;

  beforeEach(async () => {
    now = START * 1000;
    ran = 0;
    ({ plane } = fixture);
    plane.answerStatus = sendList(await signList(plane, START, LISTED));
    approvals = await fakeApprovals(plane, () => Math.floor(now / 1000));
  });
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  const run: RequestHandler = (_, response) => {
    ran += 1;
    response.json({ done: true });
  };
  async function served(app: express.Express): Promise<string> {
    const server = createServer(app);
    closing.push(() => closeServer(server));
    return `http://127.0.0.1:${await listen(server)}`;
  }

  /** Two routes, and two tools at /mcp. Each pair has the same policy, `with` and `without` an approval. @returns its origin */
  function startLibrary(toolServer: ToolServer, policy: { readonly highRisk: boolean }): Promise<string> {
    const without = { scope: ['jira:read'], ...policy };
    const asking = { ...without, approval: () => 'not_needed' as const };
    const protect = expressProtection(toolServer);
    const app = express().post('/with', protect(asking), run).post('/without', protect(without), run);
    return served(app.post('/mcp', mcpProtection(toolServer, { tools: { with: asking, without } }).guard, run));
  }

  /** The same in the guard's file. @returns its origin */
  async function startProxy(toolServer: ToolServer, policy: { readonly highRisk: boolean }): Promise<string> {
    const without = { scope: ['jira:read'], ...policy };
    const unless = { type: 'object', properties: { amount: { maximum: 50 } }, required: ['amount'] };
    const asking = { ...without, approval: { title: 'Pay', lines: [], unless } };
    const more = {
      routes: [
        { match: matchOf('POST /with'), ...asking },
        { match: matchOf('POST /without'), ...without },
      ],
      mcp: { path: '/mcp', tools: { with: asking, without }, methods: {}, list: 'all' as const },
    };
    const guard = await serveGuard(
      toolServer,
      proxyConfiguration(plane.issuer, await served(express().use(run)), more),
    );
    closing.push(() => guard.stop());
    return guard.url;
  }

  /** @returns the answer, and how often the control plane was asked, and the call ran */
  async function answerTo(url: string, token: string, body: object) {
    const [introspections, runs] = [plane.asked(INTROSPECTION), ran];
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
    return {
      status: response.status,
      json: (await response.json()) as Readonly<Record<string, unknown>>,
      challenge: response.headers.get('www-authenticate'),
      introspections: plane.asked(INTROSPECTION) - introspections,
      runs: ran - runs,
    };
  }

  for (const { what, row, answer, reason, approval, introspections } of DECIDED) {
    it(`is decided as without approval: ${what}`, async () => {
      const { statusList, index, claims, highRisk = false, isStale = false } = row;
      const toolServer = fixture.toolServer({
        ...(statusList && { statusList }),
        approvalKey: { jwk: { ...approvals.key.privateJwk } },
        now: () => now,
        onError: () => undefined,
      });
      const places = [await startLibrary(toolServer, { highRisk }), await startProxy(toolServer, { highRisk })];
      // The list is newer than the token.
      const status = index === undefined ? {} : { status: statusMember(plane, index) };
      const token = plane.token({ iat: START - 60, ...status, ...claims });
      const args = { amount: 5 };
      if (isStale) {
        await answerTo(`${places[0]}/without`, token, args);
        plane.answerStatus = answering({}, 503);
        now += MAX_AGE_MS + 1;
      }
      if (answer !== undefined) plane.answerIntrospection = answer;
      fixture.events.length = 0;
      for (const url of places) {
        for (const send of [
          (way: string) => answerTo(`${url}/${way}`, token, args),
          (way: string) => answerTo(`${url}/mcp`, token, call(way, { arguments: args })),
        ]) {
          const decided = await send('with');
          expect(decided).to.deep.equal(await send('without'));
          expect(decided.json.reason ?? null).to.equal(reason);
          expect([decided.introspections, decided.runs]).to.deep.equal([introspections, reason === null ? 1 : 0]);
        }
      }
      const pair = [
        [reason, approval],
        [reason, undefined],
      ];
      const outcomes = fixture.events.map((event) => [event.reason, event.approval]);
      expect([outcomes, approvals.asked]).to.deep.equal([[...pair, ...pair, ...pair, ...pair], []]);
    });
  }
});
