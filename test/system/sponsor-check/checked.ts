/** A service that asks a user endpoint about people. */

import type { TestDatabase } from '../../support/databases.ts';

import { answering, type Handler, type Loopback } from '../../support/loopback.ts';
import { type Mandate, type RegisteredAgent, startMandate } from '../../support/mandate.ts';
import { startUserDirectory } from '../../support/user-directory.ts';

export const ACTIVE = { id: 'ada', username: 'ada', enabled: true };

/** Starts it before the tests of the surrounding suite, and stops it after them. */
export function checkedService(database: TestDatabase) {
  let admin: Loopback;
  let mandate: Mandate;
  let agent: RegisteredAgent;
  let person: { status: number; body: unknown };
  let users: Handler;

  /** Runs during a query, before the provider answers. */
  let meanwhile: () => Promise<unknown>;

  const questions = () => admin.received.filter((request) => request.path.startsWith('/users/'));

  before(async () => {
    const directory = await startUserDirectory((...asked) => void meanwhile().then(() => users(...asked)));
    admin = directory.server;
    mandate = await startMandate({ database, settings: directory.settings });
  });

  beforeEach(async () => {
    person = { status: 200, body: ACTIVE };
    users = (request, response) => answering(person.body, person.status)(request, response);
    meanwhile = async () => undefined;
    agent = await mandate.agent();
    admin.received.length = 0;
  });

  after(async () => {
    await mandate.stop();
    await admin.close();
  });

  return {
    get admin() {
      return admin;
    },
    get mandate() {
      return mandate;
    },
    get agent() {
      return agent;
    },
    get person() {
      return person;
    },
    set person(value) {
      person = value;
    },
    get users() {
      return users;
    },
    set users(value) {
      users = value;
    },
    get meanwhile() {
      return meanwhile;
    },
    set meanwhile(value) {
      meanwhile = value;
    },
    questions,
  };
}

export type Checked = ReturnType<typeof checkedService>;
