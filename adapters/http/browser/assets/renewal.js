// Renews the parts of a page, while the page is visible. Every page works without this script.
//
// Parts have `data-renewed` and an id. A part with `data-version` is replaced only by another version.
//
// The element with `data-renew-from` holds them, and names the address that answers with the same parts: its own address if
// the value is empty. Its `data-renew-ms` is the time between two requests. Its `data-session-ms` says that a renewal counts
// as a use of the session, and after how long without use the session ends.

/** A page without input for this long waits until its session is over: renewing it would prolong the session. */
const ATTENDED_MS = 5 * 60_000;
const holder = document.querySelector('[data-renew-from]');
const renewEveryMs = Number(holder.dataset.renewMs ?? 15_000);
/** Less than the time between two requests: a later one must not hide that the service does not answer. */
const answerMs = Math.min(10_000, renewEveryMs - 500);

/** A release may get lost, for example in another window. */
const LONGEST_PRESS_MS = 10_000;
/** The click of a finger follows its release after up to 300 ms. */
const CLICK_MS = 500;

const offline = document.querySelector('#offline');

let touchedAt = Date.now();
/** While a pointer or a key is down, and until its click, nothing changes: the click reaches what was pressed. */
let pressedUntil = 0;
let timer;
let requests = 0;

function renewLater() {
  clearTimeout(timer);
  const { sessionMs } = holder.dataset;
  const isAttended = sessionMs === undefined || Date.now() - touchedAt < ATTENDED_MS;
  timer = setTimeout(renew, isAttended ? renewEveryMs : Number(sessionMs) + renewEveryMs);
}

async function renew() {
  renewLater();
  if (document.visibilityState !== 'visible') return;
  requests += 1;
  const mine = requests;
  const answer = await ask().catch(() => 'none');
  // A later request answers instead.
  if (mine !== requests) return;
  if (answer === 'session_over') return end();
  if (Date.now() < pressedUntil) return;
  offline.hidden = answer !== 'none';
  if (answer !== 'none') replaceWith(new DOMParser().parseFromString(answer, 'text/html'));
}

async function ask() {
  const address = holder.dataset.renewFrom || location.href;
  // At the address of a question programs find the API.
  const headers = { accept: 'text/html' };
  const answer = await fetch(address, { headers, redirect: 'manual', signal: AbortSignal.timeout(answerMs) });
  // The redirect to the sign-in.
  if (answer.type === 'opaqueredirect' || answer.status === 401) return 'session_over';
  return answer.ok ? answer.text() : 'none';
}

/** Removes the content of the page: the session has ended. */
function end() {
  clearTimeout(timer);
  document.removeEventListener('visibilitychange', renew);
  holder.replaceChildren(document.querySelector('#over').content.cloneNode(true));
  for (const signedIn of document.querySelectorAll('[data-signed-in]')) signedIn.remove();
}

/** Keeps the focus, text that was typed, questions that are open, and how far tables are scrolled. */
function replaceWith(page) {
  for (const current of document.querySelectorAll('[data-renewed]')) {
    const next = page.getElementById(current.id);
    // Another person has signed in, who does not see this part.
    if (next === null) current.remove();
    else if (!isSame(current, next)) replacePart(current, document.adoptNode(next));
  }
  document.dispatchEvent(new Event('renewed'));
}

function isSame(current, next) {
  const { version } = next.dataset;
  return version === undefined ? current.isEqualNode(next) : current.dataset.version === version;
}

function replacePart(current, next) {
  const focused = current.contains(document.activeElement) ? document.activeElement : null;
  const sameIn = ({ id }) => next.querySelector(`#${CSS.escape(id)}`);
  for (const opened of current.querySelectorAll('details[open]')) {
    const same = sameIn(opened);
    if (same !== null) same.open = true;
  }
  for (const typed of current.querySelectorAll('input[type="text"][id]')) {
    const same = sameIn(typed);
    if (same === null) continue;
    same.value = typed.value;
    same.setSelectionRange(typed.selectionStart, typed.selectionEnd);
  }
  const scrolled = [...current.querySelectorAll('.scroll[id]')].map((element) => [element, element.scrollLeft]);
  current.replaceWith(next);
  for (const [element, left] of scrolled) sameIn(element)?.scrollTo({ left });
  if (focused !== null) focusSame(focused);
}

/** The control that had the focus. If what it was about is gone, the focus goes to what held it, and to no other control. */
function focusSame(focused) {
  const owner = focused.closest('[id]');
  const place = document.getElementById(owner.id);
  if (place !== null) {
    const href = focused.getAttribute('href');
    const which = href === null ? focused.tagName : `a[href="${CSS.escape(href)}"]`;
    return focus(owner === focused ? place : (place.querySelector(which) ?? place));
  }
  for (let around = owner; around !== null; around = around.parentElement?.closest('[id]') ?? null) {
    const found = document.getElementById(around.id);
    if (found !== null) return focus(found);
  }
}

function focus(element) {
  element.focus({ preventScroll: true });
  if (document.activeElement === element) return;
  element.tabIndex = -1;
  element.focus({ preventScroll: true });
}

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
for (const press of ['pointerdown', 'keydown']) {
  addEventListener(press, () => {
    pressedUntil = Date.now() + LONGEST_PRESS_MS;
  });
}
for (const release of ['pointerup', 'pointercancel', 'keyup', 'blur']) {
  addEventListener(release, () => {
    pressedUntil = Date.now() + CLICK_MS;
  });
}
