/** The person's page: what acts for them, and the forms that stop it. Every form works without the script. */

import type { MyTask } from '../../../application/me/my-tasks.ts';
import { toMillisecondText } from '../../../domain/instant.ts';
import { documentOf } from '../browser/document.ts';
import { type Html, html, type Insert } from '../browser/html.ts';
import { form as formOf, isolated, placeOf } from '../browser/words.ts';
import { assets } from './assets.ts';
import { de } from './texts/de.ts';
import { en } from './texts/en.ts';
import type { MessageKind, Texts } from './texts/texts.ts';
import { moment } from './times.ts';
import type { Language, MeView } from './view.ts';

/** The field of a form that stops one agent. Its address names no agent, because servers and browsers keep addresses. */
export const AGENT_FIELD = 'agent_id';

const texts: Readonly<Record<Language, Texts>> = { en, de };

/** @returns a whole document */
export function renderMe(view: MeView, language: Language): string {
  const words = texts[language];
  const { base, notice } = view;
  const body = html`<header>
<p><img src="${base}${assets.mark.path}" alt=""><span data-signed-in>${words.signedInAs(isolated(view.person))}</span></p>
<div data-signed-in>${form(view, '/me/sign-out', html`<button class="plain">${words.signOut}</button>`)}</div>
</header>
<main id="main" data-renew-from="" data-session-ms="${view.sessionTtl * 1000}">
<h1>${words.title}</h1>
<div role="status">${notice !== undefined && html`<p class="banner good">${words.notice(notice)}</p>`}</div>
<p class="banner warn" id="offline" role="status" hidden>${words.offline}</p>
<div id="renewed" data-renewed data-now="${toMillisecondText(view.now)}">
${banners(view, words, language)}
${liveTasks(view, words, language)}
${endedTasks(view, words, language)}
${pages(view, words)}
</div>
<section aria-labelledby="reach">
<div class="heading"><h2 id="reach">${words.reach}</h2></div>
<ul class="points quiet">${words.reaches(view.reach, whatAgentsMay(view)).map((point) => html`<li>${point}</li>`)}</ul>
</section>
${view.signsOutEverywhere && signOutEverywhere(view, words)}
</main>
<template id="over"><h1>${words.title}</h1>${overMessage(base, words)}</template>
<script type="module" src="${base}${assets.script.path}"></script>
<script type="module" src="${base}${assets.renewal.path}"></script>`;
  return pageOf({ base, language, title: words.title }, body);
}

/** The page that lifts the pause, after the person has signed in again. */
export function renderResume(
  view: Pick<MeView, 'base' | 'formToken' | 'mayResume' | 'person'>,
  language: Language,
): string {
  const words = texts[language];
  const body = html`<header>
<p><img src="${view.base}${assets.mark.path}" alt=""><span>${words.signedInAs(isolated(view.person))}</span></p>
</header>
<main id="main">
<h1>${words.resume}</h1>
<p>${words.resumeMeans}</p>
<div class="choices">
${resumeButton(view, words.resumeNow)}
<a class="button" href="${view.base}/me">${words.back}</a>
</div>
</main>`;
  return pageOf({ base: view.base, language, title: words.resume }, body);
}

/** A page about no task: an error, or an end. The page `signing_out` opens its link. @param to where its link leads */
export function renderMessage(kind: MessageKind, language: Language, base: string, to = '/me'): string {
  const { title, text, action } = texts[language].messages[kind];
  const body = html`<main id="main">
<h1>${title}</h1>
<p>${text}</p>
<p><a class="button main" href="${to.startsWith('/') ? base : ''}${to}">${action}</a></p>
</main>`;
  return pageOf({ base, language, title, opens: kind === 'signing_out' ? to : undefined }, body);
}

interface Head {
  readonly base: string;
  readonly language: Language;
  readonly title: string;
  /** The address that the browser opens next. */
  readonly opens?: string | undefined;
}

function pageOf({ base, language, title, opens }: Head, body: Html): string {
  const { mark, common, style } = assets;
  const styles = [common, style].map(({ path }) => `${base}${path}`);
  return documentOf(
    { language, title, icon: `${base}${mark.path}`, styles, opens },
    html`<div class="page">
<a class="skip button" href="#main">${texts[language].skip}</a>
${body}
</div>`,
  );
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

function liveTasks(view: MeView, words: Texts, language: Language): Insert {
  const agents = new Map<string, MyTask[]>();
  for (const task of view.live) agents.set(task.agentId, [...(agents.get(task.agentId) ?? []), task]);
  const count = view.live.length;
  // On a later page without live tasks nobody knows here whether an earlier page shows some.
  if (count === 0 && !view.isFirst) return undefined;
  const isWhole = view.isFirst && (view.next === undefined || view.history.length > 0);
  const groups = [...agents.values()].map((tasks) => {
    const [first] = tasks;
    const agent = first && agentName(first, words);
    return html`<li class="card"><h3>${agent}</h3>
${tasks.map((task) => liveTask(view, task, words, language))}
${
  (tasks.length > 1 || !isWhole) &&
  html`<div class="task">${form(view, '/me/agents/stop', html`<button class="stop" id="agent-${first?.agentId}" name="${AGENT_FIELD}" value="${first?.agentId}">${words.stopAgent(isWhole ? tasks.length : undefined, agent ?? html``)}</button>`)}</div>`
}</li>`;
  });
  return html`<section aria-labelledby="live">
<div class="heading"><h2 id="live">${words.live}</h2>${count > 0 && html`<span class="quiet">${words.count(count, agents.size, isWhole)}</span>`}</div>
${everything(view, words)}
${count === 0 ? html`<p class="card">${words.nothingLive}</p>` : html`<ul>${groups}</ul>`}
</section>`;
}

function liveTask(view: MeView, task: MyTask, words: Texts, language: Language): Html {
  const where = isolated(placeOf(task.audience));
  return html`<div class="task" id="${task.taskId}">
<dl>
<dt>${words.where}</dt><dd class="where">${where}</dd>
<dt>${words.may}</dt><dd>${scopeList(view, task, language)}</dd>
<dt>${words.since}</dt><dd>${moment(language, task.startedAt, view.now)}</dd>
<dt>${words.until}</dt><dd>${moment(language, task.expiresAt, view.now)}</dd>
<dt>${words.renewed}</dt><dd>${task.renewedAt === undefined ? words.neverRenewed : moment(language, task.renewedAt, view.now)}</dd>
</dl>
${form(view, `/me/tasks/${encodeURIComponent(task.taskId)}/stop`, html`<button class="stop" id="stop-${task.taskId}">${words.stop}<span class="hidden">: ${words.stopWhat(agentName(task, words), where)}</span></button>`)}
</div>`;
}

function everything(view: MeView, words: Texts): Insert {
  const hasTasks = view.live.length > 0;
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

function endedTasks(view: MeView, words: Texts, language: Language): Html {
  const items = view.history.map(
    (task) => html`<li>
<p><strong>${agentName(task, words)}</strong> <span class="quiet">${isolated(placeOf(task.audience))}</span></p>
<p>${(task.reason && words.ended[task.reason]) ?? words.endedOtherwise}${task.endedAt !== undefined && html` · ${moment(language, task.endedAt, view.now)}`}</p>
<p class="quiet">${scopeWords(view, task, language).map((words, at) => [at > 0 && ' · ', isolated(words)])}</p>
</li>`,
  );
  return html`<section aria-labelledby="history">
<div class="heading"><h2 id="history">${words.history}</h2></div>
${items.length === 0 ? html`<p class="quiet">${words.nothingEnded}</p>` : html`<ul class="history">${items}</ul>`}
</section>`;
}

/** Who signed in long ago signs in again. This is a link: a redirect of a form to the provider would need its origin in the policy. */
function resumeButton(view: Pick<MeView, 'base' | 'formToken' | 'mayResume'>, label: string): Html {
  if (!view.mayResume) return html`<a class="button" id="resume" href="${view.base}/me/sign-in?to=resume">${label}</a>`;
  return form(view, '/me/resume', html`<button id="resume">${label}</button>`);
}

function pages({ base, next, isFirst }: MeView, words: Texts): Insert {
  if (next === undefined && isFirst) return undefined;
  return html`<nav class="pages">
${!isFirst && html`<a class="button" href="${base}/me">${words.first}</a>`}
${next !== undefined && html`<a class="button" href="${base}/me?after=${encodeURIComponent(next)}">${words.next}</a>`}
</nav>`;
}

/** `data-signed-in`: the script removes it when the session is over. */
function signOutEverywhere(view: MeView, words: Texts): Html {
  const { title, means } = words.everywhere;
  return html`<section aria-labelledby="everywhere" data-signed-in>
<div class="heading"><h2 id="everywhere">${title}</h2></div>
<p class="quiet">${means}</p>
${form(view, '/me/sign-out', html`<input type="hidden" name="everywhere" value="yes"><button>${title}</button>`)}
</section>`;
}

function overMessage(base: string, words: Texts): Html {
  return html`<p class="banner warn" role="alert">${words.over}</p>
<p><a class="button main" href="${base}/me">${words.signIn}</a></p>`;
}

function form({ base, formToken }: Pick<MeView, 'base' | 'formToken'>, path: string, button: Html): Html {
  return formOf(formToken, `${base}${path}`, button);
}

function agentName({ displayName, agentId }: MyTask, words: Texts): Html {
  return displayName === undefined ? html`${isolated(agentId)} (${words.removedAgent})` : isolated(displayName);
}

function scopeWords({ scopeWords: known }: MeView, { scope }: MyTask, language: Language): readonly string[] {
  return scope.map((name) => {
    const words = known.get(name);
    return (typeof words === 'string' ? words : (words?.[language] ?? words?.en)) ?? name;
  });
}

function scopeList(view: MeView, task: MyTask, language: Language): Html {
  return html`<ul>${scopeWords(view, task, language).map((words) => html`<li>${isolated(words)}</li>`)}</ul>`;
}
