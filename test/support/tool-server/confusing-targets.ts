/** Random targets of requests that servers could read differently. */

import fc from 'fast-check';

/** Pieces of targets: common ones, and those that servers rewrite. */
const pieces = fc.constantFrom(
  ...[
    'a',
    'issues',
    'B',
    '1',
    '/',
    '/',
    '/',
    '/',
    '/',
    '.',
    '..',
    ';',
    ';x=1',
    '%2e',
    '%2E',
    '%2f',
    '%5C',
    '%41',
    '%7e',
  ],
  ...[
    '%00',
    '%25',
    '%C3%A9',
    '%3B',
    '%',
    '%zz',
    '\\',
    ' ',
    'é',
    '?',
    '#',
    '@',
    ':',
    '*',
    '|',
    'http://h',
    '~',
    '%20',
    '%40',
  ],
);
export const targets = fc
  .tuple(fc.constantFrom('/', '/', '/issues/', '/a', ''), fc.array(pieces, { maxLength: 8 }))
  .map(([start, more]) => start + more.join(''));
