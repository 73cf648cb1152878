/** The person's page: which agents act for them, and the forms that stop them. Every form works without the script. */

import type { MyAgent } from '../../../application/me/my-agents.ts';
import type { MyTask } from '../../../application/me/my-tasks.ts';
import { type Html, html, type Insert } from '../browser/html.ts';
import { agentAddress } from './agent-page.ts';
import { waitingApprovals } from './approval-page.ts';
import { endedAddress } from './ended-page.ts';
import { form, pageLinks, pageOfPerson, texts } from './frame.ts';
import { resumeButton } from './message-page.ts';
import { agentName, endedTasks, liveTask, stopAgent } from './task-parts.ts';
import type { Texts } from './texts/texts.ts';
import { distance, moment } from './times.ts';
import type { Language, MeView } from './view.ts';

/** @returns a whole document */
export function renderMe(view: MeView, language: Language): string {
  const words = texts[language];
  const { base, agents, isFirst } = view;
  const renewed = html`${banners(view, words, language)}
${liveAgents(view, words, language)}
${pageLinks([
  isFirst ? undefined : [`${base}/me`, words.back],
  agents.nextAfter && [`${base}/me?after=${agents.nextAfter}`, words.moreAgents],
])}
${ended(view, words, language)}`;
  const below = html`<section aria-labelledby="reach">
<div class="heading"><h2 id="reach">${words.reach}</h2></div>
<ul class="points quiet">${words.reaches(view.reach, whatAgentsMay(view)).map((point) => html`<li>${point}</li>`)}</ul>
</section>
${view.signsOutEverywhere && signOutEverywhere(view, words)}`;
  const approvals = view.hearsApprovals ? waitingApprovals(view, words, language) : undefined;
  return pageOfPerson(view, language, { title: words.title, heading: words.title, approvals, renewed, below });
}

function whatAgentsMay(view: MeView): { mayBegin: boolean; mayPause: boolean } {
  const mayBegin = view.pausedAt === undefined && !view.blockedByOthers;
  return { mayBegin, mayPause: mayBegin && view.canPause && view.isPauseLiftable };
}

function banners(view: MeView, words: Texts, language: Language): Insert {
  const { pausedAt } = view;
  return [
    view.blockedByOthers && html`<div class="banner warn"><h2>${words.blocked}</h2><p>${words.blockedMeans}</p></div>`,
    pausedAt !== undefined &&
      html`<div class="banner warn"><h2>${words.paused}</h2>
<p>${words.pausedSince(moment(language, pausedAt, view.now))}</p>
${!view.blockedByOthers && resumeButton(view, words.resume)}</div>`,
  ];
}

function liveAgents(view: MeView, words: Texts, language: Language): Html {
  const { tasks, agents, page, listed } = view.agents;
  const cards = page.map((agent) =>
    listed === undefined
      ? agentLine(view, agent, words, language)
      : agentWithTasks(
          view,
          listed.filter(({ agentId }) => agentId === agent.agentId),
          words,
          language,
        ),
  );
  return html`<section aria-labelledby="live">
<div class="heading"><h2 id="live">${words.live}</h2>${tasks > 0 && html`<span class="quiet">${words.count(tasks, agents)}</span>`}</div>
${everything(view, words)}
${tasks === 0 ? html`<p class="card">${words.nothingLive}</p>` : html`<ul>${cards}</ul>`}
</section>`;
}

/** One agent of a person with many tasks. The link has an id, by which a renewal keeps its focus: its address may change. */
function agentLine(view: MeView, agent: MyAgent, words: Texts, language: Language): Html {
  const { agentId, tasks, newestTask, activeAt } = agent;
  const name = agentName(agent, words);
  const address = `${view.base}${agentAddress({ of: newestTask, after: undefined })}`;
  return html`<li class="card agent" id="card-${agentId}">
<a id="tasks-${agentId}" href="${address}"><h3>${name}</h3><span class="quiet">${words.tasks(tasks)} · ${words.active(distance(language, activeAt, view.now))}</span></a>
${stopAgent(view, agent, html`${words.stop}<span class="hidden">: ${words.stopWhole(tasks, name)}</span>`)}
</li>`;
}

function agentWithTasks(view: MeView, tasks: readonly MyTask[], words: Texts, language: Language): Insert {
  const [first] = tasks;
  if (first === undefined) return undefined;
  const name = agentName(first, words);
  return html`<li class="card"><h3>${name}</h3>
${tasks.map((task) => liveTask(view, task, words, language))}
${tasks.length > 1 && html`<div class="task">${stopAgent(view, first, words.stopAgent(tasks.length, name))}</div>`}</li>`;
}

function everything(view: MeView, words: Texts): Insert {
  const hasTasks = view.agents.tasks > 0;
  const wouldPause = view.canPause && view.pausedAt === undefined;
  const mayPause = wouldPause && view.isPauseLiftable;
  if (!hasTasks && !wouldPause) return undefined;
  const ask = (id: string, style: string, label: string, means: string, action: Html): Html =>
    html`<details class="ask" id="${id}"><summary class="button ${style}">${label}</summary><p>${means}</p>${action}</details>`;
  return html`<div class="all">
${
  hasTasks &&
  ask(
    'ask-stop',
    'stop',
    words.stopAll,
    words.stopAllMeans,
    form(view, '/me/tasks/stop', html`<button class="danger">${words.stopAllNow}</button>`),
  )
}
${
  mayPause &&
  ask(
    'ask-pause',
    '',
    words.pause,
    words.pauseMeans,
    form(view, '/me/pause', html`<button class="danger">${words.pauseNow}</button>`),
  )
}
${wouldPause && !mayPause && html`<p class="quiet" id="no-pause">${words.noPause}</p>`}
</div>`;
}

function ended(view: MeView, words: Texts, language: Language): Insert {
  if (view.ended === undefined) return undefined;
  const { tasks, nextAfter } = view.ended;
  return html`<section aria-labelledby="history">
<div class="heading"><h2 id="history">${words.history}</h2></div>
${endedTasks(view, tasks, words, language)}
${pageLinks([nextAfter && [`${view.base}${endedAddress(nextAfter)}`, words.moreEnded]])}
</section>`;
}

function signOutEverywhere(view: MeView, words: Texts): Html {
  const { title, means } = words.everywhere;
  return html`<section aria-labelledby="everywhere" data-signed-in>
<div class="heading"><h2 id="everywhere">${title}</h2></div>
<p class="quiet">${means}</p>
${form(view, '/me/sign-out', html`<input type="hidden" name="everywhere" value="yes"><button>${title}</button>`)}
</section>`;
}
