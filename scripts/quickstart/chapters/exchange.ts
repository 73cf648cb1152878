/** An exchange in full: the request, the response, its verification by a third party, and a refused replay. */

import { createRemoteJWKSet, decodeJwt, type JWTPayload, type JWTVerifyResult, jwtVerify } from 'jose';
import { type AgentIdentity, discover, exchangeForm, type Form } from '../agent.ts';
import { AGENT_ID, AGENT_SCOPES, ASKED, ada, GRANTED } from '../authority.ts';
import { claimsTable } from '../claims-table.ts';
import { type Answer, outcome, postForm, readMember, send, text } from '../http.ts';
import { showRefusal } from '../refusal.ts';
import type { Stage } from '../stage.ts';
import { must, StoryBroke } from '../story-broke.ts';
import type { Table } from '../table.ts';
import type { Terminal } from '../terminal.ts';

/** The exchange without the library. The quickstart sends it again, as a replay. */
export interface Exchange {
  readonly endpoint: string;
  readonly form: Form;
  readonly answer: Answer;
}

export async function theAgentExchangesHerToken(
  { issuer, jira }: Stage,
  terminal: Terminal,
  identity: AgentIdentity,
  subjectToken: string,
): Promise<Exchange> {
  terminal.chapter('The agent exchanges her token for a task token');
  const form = await exchangeForm(identity, issuer, { subjectToken, resource: jira.audience, scope: ASKED });
  const { token: endpoint } = await discover(issuer);
  terminal.say(`One form, in any language (RFC 8693), sent to ${endpoint}:`);
  terminal.show(formTable(form));

  const answer = await postForm(endpoint, form);
  must(answer.status === 200, `The exchange should answer 200, not ${outcome(answer)}.`);
  const granted = text(answer, 'scope').split(' ');
  must(granted.join(' ') === GRANTED.join(' '), `The scope should be ${GRANTED.join(' ')}, not ${granted.join(' ')}.`);
  terminal.say(
    'It asks for too much. It gets the scopes that Ada holds, that the agent may have, and that were requested:',
  );
  terminal.show(scopeTable(granted));

  terminal.say('Ada stays the subject; the agent appears only as the actor:');
  const subject = decodeJwt(subjectToken);
  const claims = decodeJwt(text(answer, 'access_token'));
  must(claims.sub === subject.sub, 'The subject of the task token should be the person.');
  must(readMember(claims.act, 'sub') === `agent:${AGENT_ID}`, 'The actor of the task token should be the agent.');
  must(readMember(claims.task, 'id') === text(answer, 'task_id'), 'The task token should name its task.');
  must((claims.exp ?? 0) <= Number(readMember(claims.task, 'exp')), 'The task token should not outlive its task.');
  terminal.show(claimsTable({ title: "Ada's access token", claims: subject }, { title: 'the task token', claims }));
  return { endpoint, form, answer };
}

export async function aThirdPartyVerifiesIt({ issuer, jira }: Stage, terminal: Terminal, token: string): Promise<void> {
  terminal.chapter('A third party verifies it');
  terminal.say(`A third party with only the URL ${issuer} verifies the token with a standard library (jose).`);
  const { protectedHeader, payload } = await verifyAsThirdParty(issuer, token, jira.audience);
  terminal.confirm(
    `Signed with ${protectedHeader.alg}, type ${protectedHeader.typ}, by a key that the issuer publishes, for ${payload.aud}.`,
  );
}

/** Verifies the token with only the issuer's URL and a library for signed tokens. */
async function verifyAsThirdParty(
  issuer: string,
  token: string,
  audience: string,
): Promise<JWTVerifyResult<JWTPayload>> {
  const metadata = await send(`${issuer}/.well-known/openid-configuration`);
  const keys = createRemoteJWKSet(new URL(text(metadata, 'jwks_uri')));
  try {
    return await jwtVerify(token, keys, { issuer, audience, typ: 'at+jwt', algorithms: ['ES256'] });
  } catch (error) {
    throw new StoryBroke(
      `A third party should be able to verify the task token, but verification failed: ${String(error)}`,
    );
  }
}

export async function aReplayIsRefused(terminal: Terminal, { endpoint, form }: Exchange): Promise<void> {
  terminal.chapter('A replayed request is refused');
  terminal.say('The exchange is sent again, byte for byte. Its assertion was already used.');
  showRefusal(terminal, 'The replay', await postForm(endpoint, form), '401 invalid_client');
}

/** Descriptions that are shown instead of secrets. */
const SECRETS: Form = {
  subject_token: "(Ada's access token)",
  actor_token: "(a JWT that authenticates the agent, signed with the agent's key, valid for one request)",
};

function formTable(form: Form): Table {
  return {
    columns: [
      { title: 'field', width: 20 },
      { title: 'value', width: 70 },
    ],
    rows: Object.entries({ ...form, ...SECRETS }),
  };
}

function scopeTable(granted: readonly string[]): Table {
  const yes = (so: boolean) => (so ? 'yes' : '-');
  const scopes = [...new Set([...ada.scopes, ...AGENT_SCOPES])].sort();
  return {
    columns: ['scope', 'Ada holds it', 'the agent may', 'asked for', 'granted'].map((title) => ({ title, width: 20 })),
    rows: scopes.map((scope) => [
      scope,
      yes(ada.scopes.includes(scope)),
      yes(AGENT_SCOPES.includes(scope)),
      yes(ASKED.includes(scope)),
      yes(granted.includes(scope)),
    ]),
  };
}
