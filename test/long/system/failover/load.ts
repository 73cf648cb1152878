/**
 * Sends a mixed load to the replicas of a world, remembers every answer, and afterwards compares the answers with the
 * database that is left: nothing answered may be lost, and no answer may have been a wrong yes.
 */

import { setTimeout as pause } from 'node:timers/promises';
import type { Answer, Form, Mandate } from '../../../support/mandate.ts';
import type { PostgresPair } from '../../../support/postgres-pair.ts';
import type { ReplicasOnPair } from './world.ts';

interface StartedTask {
  readonly taskId: string;
  readonly token: string;
  readonly grant: string;
  readonly person: string;
}

export interface Load {
  /** Stops the load, and resolves when all its requests are answered. */
  stop(): Promise<void>;
  /** The faults, in sentences: the answers, and what the server holds of them. */
  faults(server: PostgresPair['primary']): Promise<readonly string[]>;
  /** How many requests of a kind were answered with a status. */
  count(kind: string, status: number): number;
}

const PAUSE_MS = 10;

/** @param copies how many workers send each kind of request */
export function startLoad(world: ReplicasOnPair, copies = 1): Load {
  const { replicas, agent } = world;
  const answers = new Map<string, number>();
  const found: string[] = [];
  const issued: StartedTask[] = [];
  const ended = new Map<string, string>();
  const blocked = new Set<string>();
  let people = 0;
  let isOver = false;

  const anyReplica = () => replicas[Math.floor(Math.random() * replicas.length)] as Mandate;
  const note = (kind: string, answer: Answer) => {
    const key = `${kind} ${answer.status}`;
    answers.set(key, (answers.get(key) ?? 0) + 1);
    if (answer.status === 500) found.push(`${kind} answered 500: ${answer.text}`);
    if (answer.status === 503 && answer.headers.get('retry-after') === null)
      found.push(`${kind}: 503 without Retry-After`);
    return answer;
  };
  const post = async (kind: string, path: string, form: Form) => note(kind, await anyReplica().post(path, form));

  async function start(person: string): Promise<{ readonly form: Form; readonly task: StartedTask | undefined }> {
    const form = agent.exchangeForm({ subject_token: agent.subjectToken({ sub: person }) });
    const { status, body } = await post('exchange', '/oauth2/token', form);
    if (status !== 200) return { form, task: undefined };
    const task = {
      taskId: String(body.task_id),
      token: String(body.access_token),
      grant: String(body.refresh_token),
      person,
    };
    issued.push(task);
    return { form, task };
  }
  async function expectEnded({ taskId, token }: StartedTask, how: string): Promise<void> {
    ended.set(taskId, how);
    const { body } = await post('introspect', '/oauth2/introspect', { token });
    if (body.active === true) found.push(`a token is active after its task was ended: ${how}`);
  }

  const workers: readonly (() => Promise<void>)[] = [
    async () => {
      const { form, task } = await start(`person-${people++}`);
      if (task === undefined) return;
      const replayed = await post('replay', '/oauth2/token', form);
      if (replayed.status === 200) found.push('an assertion was accepted twice');
    },
    async () => {
      const { task } = await start(`person-${people++}`);
      if (task === undefined) return;
      const renewed = await post('refresh', '/oauth2/token', agent.refreshForm(task.grant));
      if (![200, 503].includes(renewed.status)) found.push(`a live grant was refused: ${renewed.text}`);
    },
    async () => {
      const { task } = await start(`person-${people++}`);
      if (task === undefined) return;
      const { status, body } = await post('introspect', '/oauth2/introspect', { token: task.token });
      if (status === 200 && body.active !== true) found.push('a live token is inactive');
    },
    async () => {
      const { task } = await start(`person-${people++}`);
      if (task === undefined) return;
      const answer = note('kill task', await anyReplica().admin('DELETE', `/admin/tasks/${task.taskId}`));
      if (answer.status === 200) await expectEnded(task, `DELETE /admin/tasks answered ${answer.text}`);
      else if (answer.status !== 503) found.push(`a kill of a task that exists answered ${answer.status}`);
    },
    async () => {
      const { task } = await start(`person-${people++}`);
      if (task === undefined) return;
      const answer = note('kill person', await anyReplica().admin('DELETE', `/admin/sponsors/${task.person}/tasks`));
      if (answer.status === 200) await expectEnded(task, `DELETE /admin/sponsors/…/tasks answered ${answer.text}`);
    },
    async () => {
      const person = `person-${people++}`;
      const { task } = await start(person);
      if (task === undefined) return;
      const answer = note('block', await anyReplica().admin('PUT', `/admin/sponsors/${person}/block`));
      if (answer.status !== 200) return;
      blocked.add(person);
      await expectEnded(task, `PUT /admin/sponsors/…/block answered ${answer.text}`);
      const { task: another } = await start(person);
      if (another !== undefined) found.push('a blocked person was served');
    },
    async () => {
      const { task } = await start(`person-${people++}`);
      if (task === undefined) return;
      const answer = await post('revoke', '/oauth2/revoke', agent.revokeForm(task.grant));
      if (answer.status === 200) await expectEnded(task, 'POST /oauth2/revoke answered 200');
    },
  ];
  const running = Array.from({ length: copies }, () => workers)
    .flat()
    .map(async (work) => {
      while (!isOver) {
        await work();
        await pause(PAUSE_MS);
      }
    });

  return {
    async stop() {
      isOver = true;
      await Promise.all(running);
    },
    async faults(server) {
      const rows = await world.ask(server, "select event, task_id, sponsor from ledger where decision = 'allow'");
      const named = (event: string, key: 'task_id' | 'sponsor') =>
        new Set(rows.filter((row) => row.event === event).map((row) => String(row[key])));
      const created = named('token.issued', 'task_id');
      const revoked = named('task.revoked', 'task_id');
      const blocks = named('sponsor.blocked', 'sponsor');
      const lost = [
        ...issued.filter(({ taskId }) => !created.has(taskId)).map(() => 'an answered exchange has no record'),
        ...[...ended].flatMap(([taskId, how]) =>
          revoked.has(taskId) ? [] : [`an answered end has no record: ${how}`],
        ),
        ...[...blocked].flatMap((person) => (blocks.has(person) ? [] : ['an answered block has no record'])),
      ];
      for (const { taskId, token } of issued.filter((task) => ended.has(task.taskId))) {
        const { body } = await anyReplica().post('/oauth2/introspect', { token });
        if (body.active === true) lost.push(`a task lives although its end was answered: ${ended.get(taskId)}`);
      }
      return [...found, ...lost];
    },
    count: (kind, status) => answers.get(`${kind} ${status}`) ?? 0,
  };
}
