// Shows decisions as they are recorded (docs/console.md), from the newest twenty on. It waits while the page is hidden or
// paused. After a lost connection it continues, at any replica, with the record that follows the last one.

const MOST_SHOWN = 100;
const RETRY_MS = [500, 1000, 2000, 5000, 10_000];
/** The service sends something every 15 seconds. A connection that is silent for longer is dead. */
const SILENCE_MS = 35_000;
/** After a longer pause the table begins again with the newest records: the ledger has those in between. */
const RESUME_MS = 5 * 60_000;

const panel = document.querySelector('#stream');
const list = panel?.querySelector('ol');
const state = panel?.querySelector('#stream-state');
const toggle = panel?.querySelector('button');

let lastId;
let connection;
let failures = 0;
let isPaused = false;
let isOver = false;
let idleSince = Date.now();

const element = (name, style, ...children) => {
  const made = document.createElement(name);
  if (style) made.className = style;
  made.append(...children);
  return made;
};

function say(words, style = 'quiet') {
  state.className = style;
  if (state.textContent !== words) state.textContent = words;
}

function lineOf(record) {
  const time = element('time', 'clock', record.ts.slice(11, 23));
  time.dateTime = record.ts;
  const reason = record.reason === null ? '' : element('span', 'reason', ` ${record.reason}`);
  const count = record.count === undefined ? '' : element('span', 'quiet', ` × ${record.count}`);
  const link = element('a', 'seq', String(record.seq));
  link.href = `/ledger?order=oldest&from=${encodeURIComponent(record.ts)}`;
  link.setAttribute('aria-label', `Record ${record.seq} in the ledger`);
  const parties = [record.agent_id, record.sponsor]
    .filter((each) => each !== null)
    .map((each) => Object.assign(element('bdi', '', each), { translate: false }));
  return element(
    'li',
    'record-line',
    link,
    time,
    element('span', 'event', record.event),
    element('span', '', element('span', `mark ${record.decision ?? ''}`, record.decision ?? ''), reason, count),
    element('span', '', ...parties.flatMap((party, at) => (at === 0 ? [party] : [', for ', party]))),
  );
}

/** The newest on top. */
function show(records) {
  if (records.length === 0) return;
  list.prepend(...records.slice(-MOST_SHOWN).reverse().map(lineOf));
  while (list.children.length > MOST_SHOWN) list.lastElementChild.remove();
}

/** Server-sent events, read with `fetch`: `EventSource` cannot continue after a 503 with the last id. */
async function follow(signal, heard) {
  const headers = { accept: 'text/event-stream', ...(lastId === undefined ? {} : { 'last-event-id': lastId }) };
  const answer = await fetch(panel.dataset.stream, { headers, signal, redirect: 'manual', cache: 'no-store' });
  if (answer.type === 'opaqueredirect' || answer.status === 401) return 'session_over';
  if (answer.status === 403) return 'role_missing';
  // The ledger is another one: begin anew.
  if (answer.status === 400) lastId = undefined;
  if (!answer.ok) return 'refused';
  say('Live', 'live');
  let rest = '';
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return 'ended';
    heard();
    failures = 0;
    const messages = (rest + value).split('\n\n');
    rest = messages.pop();
    const records = [];
    let isDisplaced = false;
    for (const message of messages) {
      const fields = new Map(message.split('\n').map((line) => line.split(/: (.*)/s, 2)));
      isDisplaced ||= fields.get('event') === 'displaced';
      if (fields.get('event') !== 'record') continue;
      records.push(JSON.parse(fields.get('data')));
      lastId = fields.get('id');
    }
    show(records);
    if (isDisplaced) return 'displaced';
  }
}

async function connect() {
  if (connection !== undefined || isPaused || isOver || document.visibilityState !== 'visible') return;
  if (Date.now() - idleSince > RESUME_MS) lastId = undefined;
  // The service then sends the newest records first: older lines would hide that some are missing between.
  if (lastId === undefined) list.replaceChildren();
  const mine = new AbortController();
  connection = mine;
  let silence;
  const heard = () => {
    clearTimeout(silence);
    silence = setTimeout(() => mine.abort(), SILENCE_MS);
  };
  heard();
  const outcome = await follow(mine.signal, heard).catch(() => 'broken');
  clearTimeout(silence);
  idleSince = Date.now();
  if (connection !== mine) return;
  connection = undefined;
  if (outcome === 'session_over' || outcome === 'role_missing') {
    isOver = true;
    say(
      outcome === 'session_over' ? 'Your session has ended: sign in again.' : 'You no longer have the role Auditor.',
      'fault',
    );
    toggle.disabled = true;
    return;
  }
  // A new connection would end that of another window, which would then connect again and end this one.
  if (outcome === 'displaced') {
    isPaused = true;
    toggle.textContent = 'Continue';
    say('Stopped: five newer windows of yours follow the records.', 'fault');
    return;
  }
  // The service ends each stream after some minutes, to check the session again.
  const wait = outcome === 'ended' ? 0 : RETRY_MS[Math.min(failures, RETRY_MS.length - 1)];
  if (outcome !== 'ended') {
    failures += 1;
    say('The connection is lost: trying again …', 'fault');
  }
  setTimeout(connect, wait);
}

function disconnect(words) {
  const current = connection;
  connection = undefined;
  if (current !== undefined) idleSince = Date.now();
  current?.abort();
  if (!isOver) say(words);
}

function changed() {
  if (isPaused) disconnect('Paused');
  else if (document.visibilityState !== 'visible') disconnect('Waiting: the page is hidden');
  else connect();
}

if (panel) {
  panel.hidden = false;
  toggle.addEventListener('click', () => {
    isPaused = !isPaused;
    toggle.textContent = isPaused ? 'Continue' : 'Pause';
    changed();
  });
  document.addEventListener('visibilitychange', changed);
  connect();
}
