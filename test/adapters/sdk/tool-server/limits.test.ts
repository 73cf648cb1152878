/**
 * Finds in the source of the tool-server library and of the guard what a request can fill or wait for: maps and sets
 * that outlive it, timers, shared waits and connections. Each is named here, with who fills it and what bounds it. A new one
 * fails this test until it has a bound, and its row in docs/guard.md if a client can fill it.
 */

import { expect } from 'chai';
import { growingPlaces, tableBelow } from '../../../support/growing-places.ts';

const ROOT = 'adapters/sdk/tool-server';

/** What can grow, or make a request wait. */
const KINDS =
  /new (?:Weak)?(?:Map|Set)(?:<.*>)?\(\)|\bsetTimeout\(|\bsetInterval\(|\bwithTimeout\(|\?\?= fetchNow|new OfProtocol\(/g;

/** The bound of each, and a part of its row in docs/guard.md if a client can fill it. */
const known: Readonly<Record<string, readonly (readonly [what: string, row?: string])[]>> = {
  'core/approval-text.ts': [['5 seconds for a function of the tool server', 'requests for approval']],
  'core/approvals.ts': [['the time limit of the library, for the signature', 'requests for approval']],
  'core/approved-calls.ts': [
    ['the calls under way, by session', 'calls that a person approved'],
    ['one entry for each session whose client has left', 'calls that a person approved'],
    ['an hour, for such a session', 'calls that a person approved'],
    ['the calls of one session', 'calls that a person approved'],
  ],
  'core/argument-check.ts': [['5 seconds by default, for a function of the tool server']],
  'core/claims.ts': [['one entry for each request object, weak']],
  'core/control-plane-keys.ts': [['one fetch for all requests', "control plane's keys"]],
  'core/held-bodies.ts': [['one entry for each agent with a held body', 'Held bodies']],
  'core/listed-tools.ts': [['the names of the tools of the server that have no policy, until its last page']],
  'core/mcp-access.ts': [['one timer for each stream, until its token expires', 'event stream']],
  'core/status-lists.ts': [
    ['the interval of a poller'],
    ['one poller for each list that the control plane signed', 'Polled status lists'],
  ],
  'core/tool-policies.ts': [['the tools of the file'], ['the tools of the file'], ['the tools of the file']],
  'core/tool-server-change.ts': [['one entry for each tool server, weak']],
  'core/tool-server.ts': [['the policies of the tool server, weak']],
  'fastify/fastify.ts': [['the routes of the app, weak'], ['one entry for each request object, weak']],
  'guard/misread-parts.ts': [['the names of one object of a call']],
  'guard/own-answer.ts': [['the headers of one answer']],
  'guard/patience.ts': [['one timer for each request under way', 'A body that streams']],
  'guard/proxy-mode.ts': [['2 seconds for the rest of a body', 'Rest of a body']],
  'guard/request-body.ts': [['a minute for a held body', 'Held bodies']],
  'guard/upstream.ts': [
    ['a connection for each request under way', 'Connections to the service'],
    ['a connection for each request under way', 'Connections to the service'],
    ['the time limit of the upstream, for an answer to a request of the server', 'Answers to requests of the server'],
  ],
  'schema/gaps.ts': [['the schemas of the file'], ['the schemas of the file']],
  'schema/patterns.ts': [['1000 names of members', 'Names of members']],
  'schema/places.ts': [['the schemas of the file'], ['the schemas of the file'], ['the schemas of the file']],
  'schema/verdict.ts': [['the schemas of the file'], ['the schemas of the file'], ['the schemas of the file']],
};

describe('Everything that a client can fill or make others wait for', () => {
  it('has a bound, and its row on the page of the guard', () => {
    const found = growingPlaces([ROOT], KINDS);
    const expected = Object.fromEntries(
      Object.entries(known).map(([file, bounds]) => [`${ROOT}/${file}`, bounds.length]),
    );
    expect(found).to.deep.equal(expected);
    const table = tableBelow('docs/guard.md', '### Who can fill what');
    const rows = Object.values(known).flatMap((bounds) => bounds.flatMap(([, row]) => row ?? []));
    for (const row of rows) expect(table.toLowerCase()).to.include(row.toLowerCase());
  });
});
