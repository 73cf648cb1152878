/** What the owner of the database can make of a purpose and of the reason of an operator, as SQL. */

import type { TestDatabase } from './databases.ts';

export function alteredPurposes(engine: TestDatabase['engine']): Readonly<Record<string, (taskId: string) => string>> {
  return {
    'other words': (id) => `update task_purposes set purpose = 'Read the news' where task_id = '${id}'`,
    'a letter more': (id) => `update task_purposes set purpose = purpose || '.' where task_id = '${id}'`,
    'another salt': (id) => `update task_purposes set salt = 'x' where task_id = '${id}'`,
    'a letter moved into the salt': (id) =>
      `update task_purposes set salt = salt || substr(purpose, 1, 1), purpose = substr(purpose, 2) where task_id = '${id}'`,
    'another time of the task': (id) =>
      engine === 'sqlite'
        ? `update tasks set created_at = created_at - 3600000000 where task_id = '${id}'`
        : `update tasks set created_at = created_at - interval '1 hour' where task_id = '${id}'`,
    'another person': (id) => `update tasks set sponsor = 'mallory' where task_id = '${id}'`,
  };
}

/** Assignments to the row of an act, and what then differs from its record. */
export function alteredReasons(engine: TestDatabase['engine']): Readonly<Record<string, readonly [string, string]>> {
  return {
    'another reason': ["reason = 'Routine'", 'text'],
    'another salt': ["salt = 'x'", 'text'],
    'a letter moved into the salt': ['salt = salt || substr(reason, 1, 1), reason = substr(reason, 2)', 'text'],
    'no salt': ['salt = null', 'text'],
    'another operator': ["sub = 'mallory'", 'names'],
    'another provider': ["iss = 'https://other.example'", 'names'],
    'another role': ["role = 'key'", 'names'],
    'another route': ["act = 'DELETE /admin/tasks'", 'names'],
    'another first record': ['explains = 1', 'names'],
    'another operator and another time': [
      `sub = 'mallory', at = at - ${engine === 'sqlite' ? '3600000000' : "interval '1 hour'"}`,
      'names',
    ],
  };
}

/** What the owner makes of an approval that was answered: its state before, and assignments to its row. */
export const alteredStates: Readonly<Record<string, readonly ['refused' | 'used', string]>> = {
  'a used yes, granted again': ['used', "state = 'granted', closed_at = null"],
  'a used yes, waiting again': ['used', "state = 'pending', decided_at = null, closed_at = null"],
  'a no, waiting again': ['refused', "state = 'pending', decided_at = null, closed_at = null"],
  'a no, granted': ['refused', "state = 'granted', closed_at = null"],
  'a no, used': ['refused', "state = 'used', closed_at = decided_at"],
};

/** Assignments to the row of a task, about the origin of its scope. */
export const alteredScopes: Readonly<Record<string, string>> = {
  'a granted part that the person did not have': "held_scope = 'other:scope'",
  'a granted part that was not asked for': "asked_scope = 'other:scope'",
  'nothing held': "held_scope = ''",
  'another granted scope': "scope = 'other:scope', held_scope = 'other:scope', asked_scope = 'other:scope'",
  'more held than it was': "held_scope = held_scope || ' other:scope'",
  'no origin': 'held_scope = null, asked_scope = null',
};
