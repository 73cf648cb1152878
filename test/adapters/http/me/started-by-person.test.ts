/** What the page says of a task that the person started at `/oauth2/authorize`. */

import { expect } from 'chai';
import { renderEnded } from '../../../../adapters/http/me/pages/ended.ts';
import { renderTask } from '../../../../adapters/http/me/pages/task.ts';
import { anAgentView, anAuthorization, anEndedTask, anEndedView, aTask, endedOf } from './fixtures.ts';

const textOf = (page: string) =>
  page
    .replaceAll('</dt>', ' ')
    .replaceAll(/<[^>]+>/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();

describe('A task that the person started', () => {
  const PLACES = [
    ['https://app.example:8443/callback', 'app.example:8443', 'app.example:8443'],
    [
      'http://localhost:3/callback',
      'a program on the computer that you used',
      'ein Programm auf dem Computer, den Sie benutzt haben',
    ],
    [
      'cursor://anysphere/callback',
      'a program on the device that you used (cursor:)',
      'ein Programm auf dem Gerät, das Sie benutzt haben (cursor:)',
    ],
  ] as const;

  for (const [redirectUri, en, de] of PLACES) {
    it(`says where the answer went, and no more of the address: ${redirectUri}`, () => {
      const authorization = anAuthorization({ redirectUri, client: 'key', isRotating: false });
      for (const [language, words] of [
        ['en', `Started by you Your answer went to ${en}.`],
        ['de', `Von Ihnen gestartet Ihre Antwort ging an ${de}.`],
      ] as const) {
        const page = renderTask({ ...anAgentView(), task: aTask({ authorization }) }, language);
        expect(textOf(page)).to.include(words).and.not.include('callback');
        expect(textOf(page)).not.to.match(/cannot prove|nicht beweisen/);
      }
    });
  }

  it('says that a program that needs no key cannot prove its name, also after the end', () => {
    for (const [language, words] of [
      ['en', 'This program cannot prove its name.'],
      ['de', 'Dieses Programm kann seinen Namen nicht beweisen.'],
    ] as const) {
      // The second redeemed its code with a key that it did not need. The third needed one, and did not any more.
      for (const changes of [{}, { isRotating: false }, { client: 'key' }] as const) {
        const authorization = anAuthorization(changes);
        const live = renderTask({ ...anAgentView(), task: aTask({ authorization }) }, language);
        const ended = endedOf([anEndedTask({ authorization })]);
        const over = renderEnded({ ...anEndedView(), ended }, language);
        for (const page of [live, over]) expect(textOf(page)).to.include(words);
      }
    }
  });

  it('is told from a task of an exchange, of which the page says nothing', () => {
    const page = renderTask({ ...anAgentView(), task: aTask() }, 'en');
    expect(textOf(page)).not.to.match(/Started by you|answer went/);
  });

  it('shows a host as text', () => {
    const authorization = anAuthorization({ redirectUri: 'https://xn--e1afmkfd.example/"><script>' });
    const page = renderTask({ ...anAgentView(), task: aTask({ authorization }) }, 'en');
    expect(page)
      .to.match(/<bdi[^>]*>xn--e1afmkfd\.example<\/bdi>/)
      .and.not.include('"><script>');
  });
});
