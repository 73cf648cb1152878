// Counts down, and renews the page. Every action works without this script.

const RENEW_EVERY_MS = 15_000;
/** A page that nobody has touched for so long waits until its session is over: renewing it would prolong the session. */
const ATTENDED_MS = 5 * 60_000;
const TICK_MS = 1000;
/** In milliseconds, as times.ts has them in seconds. */
const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
];

const language = document.documentElement.lang;
const relative = new Intl.RelativeTimeFormat(language, { numeric: 'auto' });
const timeOfDay = new Intl.DateTimeFormat(language, { timeStyle: 'short' });
const dateAndTime = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short' });
const main = document.querySelector('#main');
const offline = document.querySelector('#offline');

/** The difference between the server's clock and this one. */
let ahead = aheadOf(main);

function aheadOf(element) {
  return Date.parse(element.dataset.now) - Date.now();
}

function distance(ms) {
  const [unit, size] = UNITS.find(([, size]) => Math.abs(ms) === size || Math.abs(ms) >= 2 * size) ?? UNITS.at(-1);
  return relative.format(Math.trunc(ms / size), unit);
}

/** Shows each time as its distance from now, and in the person's own time zone. */
function showTimes() {
  const now = Date.now() + ahead;
  for (const time of document.querySelectorAll('time')) {
    const at = Date.parse(time.dateTime);
    setText(time.querySelector('[data-distance]'), distance(at - now));
    const isToday = new Date(at).toDateString() === new Date(now).toDateString();
    setText(time.querySelector('[data-clock]'), (isToday ? timeOfDay : dateAndTime).format(at));
  }
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

let touchedAt = Date.now();
let timer;

function renewLater() {
  clearTimeout(timer);
  const isAttended = Date.now() - touchedAt < ATTENDED_MS;
  timer = setTimeout(renew, isAttended ? RENEW_EVERY_MS : Number(main.dataset.sessionMs) + RENEW_EVERY_MS);
}

async function renew() {
  renewLater();
  if (document.visibilityState !== 'visible') return;
  let answer;
  try {
    answer = await fetch(location.href, { redirect: 'manual' });
  } catch {
    offline.hidden = false;
    return;
  }
  // The redirect to the sign-in: the session has ended. The tasks are shown no longer.
  if (answer.type === 'opaqueredirect' || answer.status === 401) {
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', renew);
    main.replaceChildren(document.querySelector('#over').content.cloneNode(true));
    for (const signedIn of document.querySelectorAll('header form, header span')) signedIn.remove();
    return;
  }
  offline.hidden = answer.ok;
  if (answer.ok) replaceWith(new DOMParser().parseFromString(await answer.text(), 'text/html'));
}

/** Replaces the tasks. Keeps the focus, and questions that are open. */
function replaceWith(page) {
  const current = document.querySelector('#renewed');
  const next = page.querySelector('#renewed');
  if (next === null) return;
  for (const { id } of current.querySelectorAll('details[open]')) {
    const same = next.querySelector(`#${CSS.escape(id)}`);
    if (same !== null) same.open = true;
  }
  const focused = current.contains(document.activeElement) ? document.activeElement : null;
  const focus = focused?.id || focused?.closest('details')?.id;
  current.replaceWith(document.adoptNode(next));
  ahead = aheadOf(page.querySelector('#main'));
  showTimes();
  if (!focus) return;
  const found = document.getElementById(focus);
  (found?.querySelector(focused.tagName) ?? found)?.focus({ preventScroll: true });
}

showTimes();
setInterval(showTimes, TICK_MS);
renewLater();
document.addEventListener('visibilitychange', renew);
for (const touch of ['pointerdown', 'keydown', 'scroll']) {
  addEventListener(
    touch,
    () => {
      touchedAt = Date.now();
    },
    { passive: true },
  );
}
