/**
 * The whole story, in the order in which it is told: a person signs in, an agent acts for her within bounds, a
 * stranger checks it, authority ends when it is taken back, the ledger knows all of it, and cannot be changed unseen.
 * Each chapter asserts what it shows.
 */

import { decodeJwt } from 'jose';
import { ada } from '../../test/support/identity-provider/people.ts';
import { type Agent, discover, type Endpoints, exchangeForm, introspect, makeAgent, refresh, revoke } from './agent.ts';
import { tamperWithCopy, untilSealed, verifyLedger } from './auditor.ts';
import { claimsTable } from './claims-table.ts';
import { type Answer, outcome, postForm, text } from './http.ts';
import { ledgerTable } from './ledger-table.ts';
import { readLedger, registerAgent } from './operator.ts';
import type { Stage } from './stage.ts';
import { must } from './story-broke.ts';
import { verifyAsStranger } from './stranger.ts';
import { layOut } from './table.ts';
import type { Terminal } from './terminal.ts';

const AUDIENCE = 'https://jira.example/api';
const AGENT_ID = 'triage-bot';
const AGENT_SCOPES = ['jira:read', 'jira:comment', 'jira:admin'];
const ASKED = ['jira:read', 'jira:comment', 'jira:admin', 'calendar:read'];
const GRANTED = 'jira:read jira:comment';

export async function tellStory(stage: Stage, terminal: Terminal): Promise<void> {
  const subjectToken = await adaSignsIn(stage, terminal);
  const agent = await anOperatorRegistersAnAgent(stage, terminal);
  const endpoints = await discover(stage.issuer);
  const exchange = exchangeForm(agent, endpoints, { subjectToken, audience: AUDIENCE, scope: ASKED.join(' ') });
  const task = await theAgentGetsATaskToken(terminal, endpoints, exchange, subjectToken);
  await aStrangerVerifiesIt(terminal, stage.issuer, text(task, 'access_token'));
  const renewed = await theTokenIsRenewed(terminal, agent, endpoints, task);
  await moreThanBothHoldIsRefused(terminal, agent, endpoints, { subjectToken, grant: text(task, 'refresh_token') });
  await authorityIsTakenBack(terminal, agent, endpoints, renewed);
  await aReplayIsRefused(terminal, endpoints, exchange);
  await theLedgerTellsItAll(stage, terminal, text(task, 'task_id'));
  await anAuditorChecksTheSeal(stage, terminal);
}

async function adaSignsIn(stage: Stage, terminal: Terminal): Promise<string> {
  terminal.chapter('A person signs in');
  terminal.say(
    `${ada.name} signs in at her identity provider, ${stage.provider.issuer}: authorization code with PKCE, login and`,
    'consent pages and all. Mandate has no part in it; it will only see the access token.',
  );
  const signedIn = await stage.provider.signIn(ada.username);
  must(signedIn.scope === ada.scopes.join(' '), `Ada should hold ${ada.scopes.join(' ')}, not ${signedIn.scope}.`);
  terminal.confirm(`Ada is signed in. Her token lets her do: ${signedIn.scope}`);
  return signedIn.accessToken;
}

async function anOperatorRegistersAnAgent(stage: Stage, terminal: Terminal): Promise<Agent> {
  terminal.chapter('An operator registers an agent');
  terminal.say(
    `The agent has a key pair of its own. The operator registers its public key, and a ceiling: at ${AUDIENCE}, and`,
    `never more than ${AGENT_SCOPES.join(', ')}. By itself that gives the agent nothing.`,
  );
  const agent = await makeAgent(AGENT_ID);
  const ceiling = { scopes: AGENT_SCOPES, audience: AUDIENCE };
  const answer = await registerAgent(stage.issuer, stage.adminKey, agent, ceiling);
  must(answer.status === 201, `Registering the agent should answer 201, not ${outcome(answer)}.`);
  terminal.confirm(`${text(answer, 'agent_id')} is registered.`);
  return agent;
}

async function theAgentGetsATaskToken(
  terminal: Terminal,
  endpoints: Endpoints,
  exchange: Readonly<Record<string, string>>,
  subjectToken: string,
): Promise<Answer> {
  terminal.chapter('The agent exchanges her token for a task token');
  terminal.say(
    "It presents Ada's access token and an assertion signed with its own key, and asks for more than it can have.",
    'What it gets is what Ada holds, and the agent may, and was asked for:',
  );
  const answer = await postForm(endpoints.token, exchange);
  must(answer.status === 200, `The exchange should answer 200, not ${outcome(answer)}.`);
  must(text(answer, 'scope') === GRANTED, `The scope granted should be ${GRANTED}, not ${text(answer, 'scope')}.`);
  terminal.show(scopeTable(text(answer, 'scope')));

  terminal.say('Side by side, who is who. Ada stays the subject; the agent appears only as the one who acts:');
  const subject = decodeJwt(subjectToken);
  const claims = decodeJwt(text(answer, 'access_token'));
  must(claims.sub === subject.sub, 'The subject of the task token should be the person.');
  must(readMember(claims.act, 'sub') === `agent:${AGENT_ID}`, 'The actor of the task token should be the agent.');
  must(readMember(claims.task, 'id') === text(answer, 'task_id'), 'The task token should name its task.');
  must((claims.exp ?? 0) <= Number(readMember(claims.task, 'exp')), 'The task token should not outlive its task.');
  terminal.show(claimsTable({ title: "Ada's access token", claims: subject }, { title: 'the task token', claims }));
  return answer;
}

async function aStrangerVerifiesIt(terminal: Terminal, issuer: string, token: string): Promise<void> {
  terminal.chapter('A stranger verifies it');
  terminal.say(`Somebody who knows nothing but the URL ${issuer} checks the token with a standard library (jose).`);
  const { protectedHeader, payload } = await verifyAsStranger(issuer, token, AUDIENCE);
  terminal.confirm(
    `Signed with ${protectedHeader.alg}, type ${protectedHeader.typ}, by a key that the issuer publishes, for ${payload.aud}.`,
  );
}

async function theTokenIsRenewed(
  terminal: Terminal,
  agent: Agent,
  endpoints: Endpoints,
  task: Answer,
): Promise<{ readonly token: string; readonly grant: string }> {
  terminal.chapter('The agent renews it');
  terminal.say('Tokens are short-lived. With its task grant and a fresh assertion the agent gets the next one.');
  const grant = text(task, 'refresh_token');
  const answer = await refresh(agent, endpoints, { grant, audience: AUDIENCE });
  must(answer.status === 200, `The renewal should answer 200, not ${outcome(answer)}.`);
  must(text(answer, 'task_id') === text(task, 'task_id'), 'A renewed token should belong to the same task.');
  const token = text(answer, 'access_token');
  const [before, after] = [decodeJwt(text(task, 'access_token')).jti, decodeJwt(token).jti];
  must(before !== after, 'A renewed token should have an identifier of its own.');
  terminal.confirm(`Same task, ${text(answer, 'task_id')}; new token, ${after}.`);
  return { token, grant };
}

async function moreThanBothHoldIsRefused(
  terminal: Terminal,
  agent: Agent,
  endpoints: Endpoints,
  held: { readonly subjectToken: string; readonly grant: string },
): Promise<void> {
  terminal.chapter('More is refused');
  terminal.say(
    'calendar:read: Ada holds it, but the agent may not. jira:admin: the agent may, but Ada does not hold it.',
  );
  const form = exchangeForm(agent, endpoints, {
    subjectToken: held.subjectToken,
    audience: AUDIENCE,
    scope: 'calendar:read',
  });
  showRefusal(terminal, 'A new task for calendar:read', await postForm(endpoints.token, form), '400 invalid_scope');
  const wish = { grant: held.grant, audience: AUDIENCE, scope: `${GRANTED} jira:admin` };
  showRefusal(terminal, 'A renewal that adds jira:admin', await refresh(agent, endpoints, wish), '400 invalid_scope');
}

async function authorityIsTakenBack(
  terminal: Terminal,
  agent: Agent,
  endpoints: Endpoints,
  renewed: { readonly token: string; readonly grant: string },
): Promise<void> {
  terminal.chapter('The agent is done, and gives its authority back');
  const before = await introspect(endpoints, renewed.token);
  must(before.body.active === true, 'Before the revocation the token should be active.');
  terminal.confirm(`Introspection before: active, ${text(before, 'sub')} by ${readMember(before.body.act, 'sub')}.`);

  const revocation = await revoke(agent, endpoints, renewed.grant);
  must(revocation.status === 200, `The revocation should answer 200, not ${outcome(revocation)}.`);
  terminal.say('The agent revokes its task grant, which ends the task and every token of it.');

  const after = await introspect(endpoints, renewed.token);
  must(after.body.active === false, 'After the revocation the token should not be active.');
  must(!('sub' in after.body), 'What introspection says of an inactive token should name nobody.');
  terminal.refused(
    `Introspection after: not active, revoked at ${text(after, 'revoked_at')}, because ${text(after, 'revocation_reason')}.`,
  );
  const wish = { grant: renewed.grant, audience: AUDIENCE };
  showRefusal(terminal, 'Another renewal', await refresh(agent, endpoints, wish), '400 access_denied');
}

async function aReplayIsRefused(
  terminal: Terminal,
  endpoints: Endpoints,
  exchange: Readonly<Record<string, string>>,
): Promise<void> {
  terminal.chapter('An overheard request is worth nothing');
  terminal.say('The very first exchange is sent again, byte for byte. Its assertion was used once already.');
  showRefusal(terminal, 'The replay', await postForm(endpoints.token, exchange), '401 invalid_client');
}

/** What the ledger has to say, in order: event, decision, reason. */
const EXPECTED_LEDGER = [
  'agent.registered allow',
  'token.issued allow',
  'token.refreshed allow',
  'token.denied deny scope_intersection_empty',
  'token.denied deny scope_widened',
  'task.revoked allow client_revoked',
  'token.denied deny task_revoked',
  'token.denied deny actor_replayed',
];

async function theLedgerTellsItAll(stage: Stage, terminal: Terminal, taskId: string): Promise<void> {
  terminal.chapter('The ledger tells all of it');
  terminal.say(`The operator reads who did what for whom (GET /audit). The task was ${taskId}.`);
  const rows = await readLedger(stage.issuer, stage.adminKey);
  terminal.show(ledgerTable(rows));
  const told = rows.map(({ event, decision, reason }) => [event, decision, reason ?? []].flat().join(' '));
  const missing = EXPECTED_LEDGER.findIndex((line, index) => told[index] !== line);
  must(
    missing === -1 && told.length === EXPECTED_LEDGER.length,
    `Record ${missing + 1} of the ledger should be "${EXPECTED_LEDGER[missing]}", not "${told[missing]}".`,
  );
  const issued = rows.find(({ event }) => event === 'token.issued');
  must(issued?.sponsor === ada.username && issued.agent_id === AGENT_ID, 'token.issued should name Ada and the agent.');
  must(issued.task_id === taskId && issued.scope === GRANTED, 'token.issued should name the task and its scope.');
  terminal.confirm('Every decision above is there: what was allowed, what was refused, and why.');
}

async function anAuditorChecksTheSeal(stage: Stage, terminal: Terminal): Promise<void> {
  terminal.chapter('An auditor trusts nobody');
  terminal.say(
    'Every second what is new in the ledger is sealed: a Merkle tree, its root signed and linked to the last.',
  );
  await untilSealed(stage);
  const verified = await verifyLedger(stage, stage.databaseFile);
  const [verdict = '', mark = ''] = verified.lines;
  must(verified.exitCode === 0, `The seal should be intact, not: ${verified.lines.join(' ')}`);
  terminal.confirm(`mandate audit-verify: "${verdict}"`);
  terminal.say('Its last line is a mark to keep elsewhere. It shows should the end of the ledger ever be cut off:');
  terminal.command(mark);

  terminal.say(
    'Now somebody who owns the database changes one word of it, in a copy: the agent had been given jira:admin.',
  );
  tamperWithCopy(stage.databaseFile, stage.tamperedFile, `${GRANTED} jira:admin`);
  const tampered = await verifyLedger(stage, stage.tamperedFile);
  must(tampered.exitCode === 3, `Tampering should end with 3, not ${tampered.exitCode}.`);
  terminal.refused(`mandate audit-verify: "${tampered.lines[0]}"`);
}

function scopeTable(granted: string): readonly string[] {
  const yes = (so: boolean) => (so ? 'yes' : '-');
  const scopes = [...new Set([...ada.scopes, ...AGENT_SCOPES])].sort();
  return layOut(
    ['scope', 'Ada holds it', 'the agent may', 'asked for', 'granted'].map((title) => ({ title, width: 20 })),
    scopes.map((scope) => [
      scope,
      yes(ada.scopes.includes(scope)),
      yes(AGENT_SCOPES.includes(scope)),
      yes(ASKED.includes(scope)),
      yes(granted.split(' ').includes(scope)),
    ]),
  );
}

/** @param expected status and error code */
function showRefusal(terminal: Terminal, what: string, answer: Answer, expected: string): void {
  must(outcome(answer) === expected, `${what} should be answered ${expected}, not ${outcome(answer)}.`);
  terminal.refused(`${what}: ${expected}. "${text(answer, 'error_description')}"`);
}

function readMember(value: unknown, member: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).find(([name]) => name === member)?.[1]
    : undefined;
}
