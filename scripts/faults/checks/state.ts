/** Checks that the final state has every answered effect: ended tokens, blocks, users and agents. */

import { type HttpRequest, introspection, type OperatorRequests, scimRequests } from '../../requests.ts';
import type { Session } from '../load/session.ts';
import { ENDINGS, groupBy, isSuccess, type Losses, type Operation, type OperationKind } from '../operations.ts';

const CONCURRENCY = 8;

interface Question {
  readonly request: HttpRequest;
  readonly isAsExpected: (body: Readonly<Record<string, unknown>>, status: number) => boolean;
  readonly loss: string;
}

export async function lostEffects(
  operations: readonly Operation[],
  session: Session,
  operator: OperatorRequests,
): Promise<Losses> {
  const losses: string[] = [];
  const questions = questionsAbout(operations, operator);
  const work = async () => {
    for (let question = questions.pop(); question !== undefined; question = questions.pop()) {
      const { status, body } = await session.send(question.request);
      if (!question.isAsExpected(body, status)) losses.push(`${question.loss} (${status})`);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return losses;
}

/** Operations that block. Each source has its own block, and lifts no other. The load lifts only those of `deactivate`. */
const BLOCKING: ReadonlySet<OperationKind> = new Set<OperationKind>(['block', 'deactivate', 'disable by event']);

function questionsAbout(operations: readonly Operation[], operator: OperatorRequests): Question[] {
  const activationsOf = groupBy(
    operations.filter(({ kind }) => kind === 'activate'),
    ({ sub }) => sub,
  );
  const blocksOf = groupBy(
    operations.filter(({ kind }) => BLOCKING.has(kind)),
    ({ sub }) => sub,
  );
  return operations.filter(isSuccess).flatMap((one): readonly Question[] => {
    const { kind, token, sub = '', user = '', agent = '' } = one;
    const questions: Question[] = [];
    const ask = (request: HttpRequest, isAsExpected: Question['isAsExpected'], problem: string) =>
      questions.push({ request, isAsExpected, loss: `"${kind}" was answered, and ${problem}` });
    if (token !== undefined && (ENDINGS.has(kind) || kind === 'revoke a token')) {
      const isInactive: Question['isAsExpected'] = (body, status) => status === 200 && body.active === false;
      ask(introspection(token), isInactive, `the token ${one.jti} is still active`);
    }
    if (BLOCKING.has(kind) && (kind !== 'deactivate' || activationsOf(sub).length === 0)) {
      ask(operator.findBlock(sub), (_, status) => status === 200, `${sub} is not blocked`);
    }
    if (kind === 'activate' && blocksOf(sub).every((block) => block.kind === 'deactivate')) {
      ask(operator.findBlock(sub), (_, status) => status === 404, `${sub} is still blocked`);
    }
    if (kind === 'provision' || kind === 'activate') {
      const isEffective: Question['isAsExpected'] = (body, status) =>
        status === 200 && (kind === 'provision' || body.active === true);
      ask(scimRequests.findUser(user), isEffective, `the user ${user} is missing or inactive`);
    }
    if (kind === 'register' || kind === 'disable an agent') {
      const isEffective: Question['isAsExpected'] = (body, status) =>
        status === 200 && (kind === 'register' || body.enabled === false);
      ask(operator.findAgent(agent), isEffective, `the agent ${agent} is missing or enabled`);
    }
    return questions;
  });
}
