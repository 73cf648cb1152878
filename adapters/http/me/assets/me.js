// Counts down, and lets a screen reader say what is new. Every action works without this script.
//
// A browser that translates the page changes its words and its language, and keeps the elements. So this script reads the
// language once, and writes a time only when its words change.

const TICK_MS = 1000;
/** In milliseconds; browser/times.ts has the same units in seconds. */
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

/** The difference between the server's clock and this one. */
let ahead = readAhead();

function readAhead() {
  return Date.parse(document.querySelector('#renewed').dataset.now) - Date.now();
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
    const clock = time.querySelector('[data-clock]');
    if (clock === null) continue;
    const isToday = new Date(at).toDateString() === new Date(now).toDateString();
    setText(clock, (isToday ? timeOfDay : dateAndTime).format(at));
  }
}

/** The text that this script wrote last, or found already right. */
const written = new WeakMap();

function setText(element, text) {
  if ((written.get(element) ?? element.textContent) !== text) element.textContent = text;
  written.set(element, text);
}

/** The titles of the actions that wait for a yes, by the id of each. */
function readAsked() {
  const titles = [...document.querySelectorAll('#approvals [id] > h3')];
  return new Map(titles.map((title) => [title.parentElement.id, title.textContent]));
}

let asked = readAsked();

function sayNewOnes() {
  const before = asked;
  asked = readAsked();
  const titles = [...asked].flatMap(([id, title]) => (before.has(id) ? [] : [title]));
  if (titles.length > 0) document.querySelector('#asked').textContent = titles.join('. ');
}

/** The link to what waits leads nowhere while nothing waits. */
function showSkip() {
  const skip = document.querySelector('.skip[href="#approvals"]');
  if (skip !== null) skip.hidden = document.querySelector('#approvals > *') === null;
}

showTimes();
setInterval(showTimes, TICK_MS);
// renewal.js sends this event.
document.addEventListener('renewed', () => {
  ahead = readAhead();
  showTimes();
  sayNewOnes();
  showSkip();
});
