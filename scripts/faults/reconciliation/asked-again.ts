/** What the service says afterwards of what it had answered: revoked tokens, blocks placed and lifted, users, agents. */

import { type Act, ENDINGS, isDone, type Kept } from '../load/kept.ts';
import type { Requests } from '../load/requests.ts';
import type { Asked, Session } from '../load/session.ts';
import { grouped, type Losses } from './evidence.ts';

const AT_ONCE = 8;

type Asking = Pick<Requests, 'introspect' | 'findBlock' | 'findUser' | 'findAgent'>;

interface Question {
  readonly asked: Asked;
  readonly holds: (body: Readonly<Record<string, unknown>>, status: number) => boolean;
  readonly otherwise: string;
}

export async function askedAgain(kept: readonly Kept[], session: Session, requests: Asking): Promise<Losses> {
  const losses: string[] = [];
  const questions = questionsAbout(kept, requests);
  const work = async () => {
    for (let question = questions.pop(); question !== undefined; question = questions.pop()) {
      const { status, body } = await session.send(question.asked);
      if (!question.holds(body, status)) losses.push(`${question.otherwise} (${status})`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return losses;
}

/** Each source has its own block, and lifts no other. Only a deactivation is ever lifted here. */
const BLOCKING: ReadonlySet<Act> = new Set<Act>(['block', 'deactivate', 'disable by event']);

function questionsAbout(kept: readonly Kept[], requests: Asking): Question[] {
  const liftsOf = grouped(
    kept.filter(({ act }) => act === 'activate'),
    ({ sub }) => sub,
  );
  const blocksOf = grouped(
    kept.filter(({ act }) => BLOCKING.has(act)),
    ({ sub }) => sub,
  );
  return kept.filter(isDone).flatMap((one): readonly Question[] => {
    const { act, token, sub = '', user = '', agent = '' } = one;
    const questions: Question[] = [];
    if (token !== undefined && (ENDINGS.has(act) || act === 'revoke a token')) {
      questions.push({
        asked: requests.introspect(token),
        holds: (body, status) => status === 200 && body.active === false,
        otherwise: `"${act}" was answered, and the token ${one.jti} is still active`,
      });
    }
    if (BLOCKING.has(act) && (act !== 'deactivate' || liftsOf(sub).length === 0)) {
      questions.push({
        asked: requests.findBlock(sub),
        holds: (_, status) => status === 200,
        otherwise: `"${act}" was answered, and ${sub} is not on the list`,
      });
    }
    if (act === 'activate' && blocksOf(sub).every((block) => block.act === 'deactivate')) {
      questions.push({
        asked: requests.findBlock(sub),
        holds: (_, status) => status === 404,
        otherwise: `"${act}" was answered, and ${sub} is still on the list`,
      });
    }
    if (act === 'provision' || act === 'activate') {
      questions.push({
        asked: requests.findUser(user),
        holds: (body, status) => status === 200 && (act === 'provision' || body.active === true),
        otherwise: `"${act}" was answered, and the user ${user} is not so`,
      });
    }
    if (act === 'register' || act === 'disable an agent') {
      questions.push({
        asked: requests.findAgent(agent),
        holds: (body, status) => status === 200 && (act === 'register' || body.enabled === false),
        otherwise: `"${act}" was answered, and the agent ${agent} is not so`,
      });
    }
    return questions;
  });
}
