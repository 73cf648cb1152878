// Keeps a person from answering by mistake. Every answer works without this script.

const form = document.querySelector('#question form');
let isSent = false;

form.addEventListener('submit', (event) => {
  // Enter in a field is no answer.
  const isAnswer = event.submitter?.tabIndex !== -1;
  // A second press would take the place of the first one's answer.
  if (isSent || !isAnswer) event.preventDefault();
  else isSent = true;
});

// The page came to the front under a finger that aimed at another one: the first second of its choices begins anew.
function settle() {
  for (const choice of form.querySelectorAll('.choices > *')) {
    choice.style.animation = 'none';
    // The browser takes note of the change before it is undone.
    void choice.offsetWidth;
    choice.style.animation = '';
  }
}
addEventListener('focus', settle);
document.addEventListener('visibilitychange', settle);
addEventListener('pageshow', () => {
  isSent = false;
  settle();
});
