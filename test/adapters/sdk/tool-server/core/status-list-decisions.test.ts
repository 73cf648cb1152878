/** The part of status lists in the decision of a tool server. */

import { expect } from 'chai';
import type { StatusListOptions, ToolServerOptions } from '../../../../../adapters/sdk/tool-server/core/tool-server.ts';
import { answering } from '../../../../support/loopback.ts';
import { type FakeControlPlane, planeForEachTest } from '../../../../support/tool-server/control-plane.ts';
import { LIST_ID, listUri, sendList, signList, statusMember } from '../../../../support/tool-server/status-lists.ts';

const PATH = `/status/${LIST_ID}`;
const INTROSPECTION = '/oauth2/introspect';
const seconds = () => Math.floor(Date.now() / 1000);
const LISTED = { 1: 1, 2: 2, 3: 3 } as const;

describe('A tool server with status lists', () => {
  const fixture = planeForEachTest(seconds);
  let plane: FakeControlPlane;
  beforeEach(async () => {
    ({ plane } = fixture);
    plane.answerStatus = sendList(await signList(plane, seconds(), LISTED));
  });

  interface Request {
    /** The index of the task; `undefined` for a token without the claim. */
    readonly index?: number;
    readonly claims?: Readonly<Record<string, unknown>>;
    readonly statusList?: StatusListOptions | undefined;
    readonly highRisk?: boolean;
    readonly options?: Partial<ToolServerOptions>;
  }
  /** The decision, with the numbers of requests for the list and of introspections. */
  async function decide({ index, claims, statusList = {}, highRisk = false, options }: Request) {
    const given = options ?? { statusList, onError: () => undefined };
    const toolServer = fixture.toolServer(given);
    const status = index === undefined ? {} : { status: statusMember(plane, index) };
    // The list is newer than the token.
    const token = plane.token({ iat: seconds() - 60, ...status, ...claims });
    const policy = toolServer.policy({ scope: ['jira:read'], highRisk });
    const access = await toolServer.authorize({ token, route: 'x', policy });
    const decided = access.kind === 'allowed' ? 'allowed' : access.reason;
    expect(fixture.events.at(-1)?.reason).to.equal(decided === 'allowed' ? null : decided);
    return [decided, plane.asked(PATH), plane.asked(INTROSPECTION)];
  }
  const refuse = { onStale: 'refuse' } as const;

  it('decides by a fresh list alone', async () => {
    expect(await decide({ index: 0 })).to.deep.equal(['allowed', 1, 0]);
    expect(await decide({ index: 1 })).to.deep.equal(['not_active', 2, 0]);
    expect(await decide({ index: 2 })).to.deep.equal(['not_active', 3, 0]);
  });

  it('sends no request for a list without the option, whatever the token says', async () => {
    for (const claims of [{}, { status: null }, { status: statusMember(plane, 1) }]) {
      expect(await decide({ claims, options: {} })).to.deep.equal(['allowed', 0, 0]);
    }
  });

  it('introspects a token if one of its task was revoked', async () => {
    expect(await decide({ index: 3, statusList: refuse })).to.deep.equal(['allowed', 1, 1]);
    plane.answerIntrospection = answering({ active: false });
    expect(await decide({ index: 3, statusList: refuse })).to.deep.equal(['not_active', 2, 2]);
  });

  it('introspects a token that is newer than the list, if the list would refuse it', async () => {
    const claims = { iat: seconds() + 1 };
    expect(await decide({ index: 0, claims })).to.deep.equal(['allowed', 1, 0]);
    expect(await decide({ index: 1, claims })).to.deep.equal(['allowed', 2, 1]);
    plane.answerIntrospection = answering({ active: false });
    expect(await decide({ index: 2, claims, statusList: refuse })).to.deep.equal(['not_active', 3, 2]);
  });

  it('introspects a high-risk request whatever its list says, unless the list refuses it', async () => {
    const asked = { highRisk: true, statusList: refuse };
    expect(await decide({ index: 0, ...asked })).to.deep.equal(['allowed', 1, 1]);
    expect(await decide({ index: 1, ...asked })).to.deep.equal(['not_active', 2, 1]);
    expect(await decide({ index: 0, claims: { introspect_required: true } })).to.deep.equal(['allowed', 3, 2]);
    plane.answerStatus = answering({}, 503);
    expect(await decide({ index: 0, ...asked })).to.deep.equal(['allowed', 4, 3]);
    expect(await decide({ ...asked })).to.deep.equal(['allowed', 4, 4]);
  });

  for (const [what, asks, request] of [
    ['a token without a status', 0, {}],
    [
      'a list of another host',
      0,
      { claims: { status: { status_list: { idx: 0, uri: 'https://other.example/status/a' } } } },
    ],
    ['a list that is not served', 1, { index: 1 }],
  ] as const) {
    it(`introspects, or refuses, for ${what}`, async () => {
      if (asks > 0) plane.answerStatus = answering({}, 404);
      expect(await decide(request)).to.deep.equal(['allowed', asks, 1]);
      expect(await decide({ ...request, statusList: refuse })).to.deep.equal(['status_unavailable', 2 * asks, 1]);
      plane.answerIntrospection = answering({ active: false });
      expect(await decide(request)).to.deep.equal(['not_active', 3 * asks, 2]);
      plane.answerIntrospection = answering({}, 503);
      expect(await decide(request)).to.deep.equal(['introspection_unavailable', 4 * asks, 3]);
    });
  }

  it('sends no request for a token that is refused anyway', async () => {
    expect(await decide({ index: 1, claims: { scope: 'wiki:read' } })).to.deep.equal(['insufficient_scope', 0, 0]);
    expect(await decide({ index: 1, claims: { aud: 'https://wiki.example' } })).to.deep.equal(['wrong_audience', 0, 0]);
  });

  it('reports the first failure of a list, and an error in onError changes nothing', async () => {
    plane.answerStatus = answering({}, 500);
    const errors: unknown[] = [];
    const onError = (error: unknown) => {
      errors.push(error);
      throw new Error('The log is full.');
    };
    const options = { statusList: refuse, onError };
    expect(await decide({ index: 0, options })).to.deep.equal(['status_unavailable', 1, 0]);
    expect(errors.map(String)).to.deep.equal([
      `Error: The status list ${listUri(plane)} is not usable. The answer has the status 500.`,
    ]);
  });
});
