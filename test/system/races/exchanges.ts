/** Exchanges that meet an event that ends their task or refuses their person or agent. */

import { expect } from 'chai';
import { type Ending, endings } from '../../support/replicas/endings.ts';
import { judgeMeeting, prepareMeeting } from './exchange-meeting.ts';
import { play, type Stage } from './stage.ts';

export function exchangesThatMeetEndings(stage: Stage): void {
  for (const ending of endings) {
    it(`no task outlives ${ending.name} during its exchange`, async () => {
      const fates = new Set(await playMeetings(stage, ending));
      expect(fates).to.have.keys('ended', ending.refuses === undefined ? 'goes on' : 'refused');
    });
  }
}

async function playMeetings(stage: Stage, ending: Ending) {
  const { rounds, ledger } = await play(stage, stage.rounds, (nth) =>
    prepareMeeting(stage.replicas(), ending, nth, stage.agent()),
  );
  return rounds.map((meeting) => judgeMeeting(ending, meeting, ledger));
}
