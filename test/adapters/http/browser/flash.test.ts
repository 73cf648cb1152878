import { expect } from 'chai';
import type { Request, Response } from 'express';
import { flashCookie } from '../../../../adapters/http/browser/flash.ts';

const NAME = '__Host-mandate-test';
const cookie = flashCookie(NAME, ['stopped', 'block_lifted']);

function take(cookies: string | undefined) {
  const set: unknown[] = [];
  const response = { append: (_name: string, value: string) => set.push(value) } as unknown as Response;
  return { flash: cookie.take({ headers: { cookie: cookies } } as Request, response), set };
}

describe('A one-time message', () => {
  it('comes back in the next request, and its answer removes the cookie', () => {
    const given: string[] = [];
    const response = { append: (name: string, value: string) => given.push(`${name}: ${value}`) };
    cookie.give(response as unknown as Response, { kind: 'block_lifted', amount: 12 });
    expect(given).to.deep.equal([
      `Set-Cookie: ${NAME}=block_lifted.12; Max-Age=60; Path=/; HttpOnly; Secure; SameSite=Lax`,
    ]);
    const { flash, set } = take(`a=b; ${NAME}=block_lifted.12; c=d`);
    expect(flash).to.deep.equal({ kind: 'block_lifted', amount: 12 });
    expect(set).to.deep.equal([`${NAME}=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Lax`]);
  });

  it('has the id of what it is about, and no word of it', () => {
    const given: string[] = [];
    const response = { append: (_name: string, value: string) => given.push(value) } as unknown as Response;
    const flash = { kind: 'stopped', amount: 2, about: `task_${'7'.repeat(26)}` } as const;
    cookie.give(response, flash);
    const [value] = String(given).split(';');
    expect(value).to.equal(`${NAME}=stopped.2.${flash.about}`);
    expect(take(value).flash).to.deep.equal(flash);
  });

  const forged = [
    'other.1',
    'toString.1',
    'stopped',
    'stopped.',
    'stopped.-1',
    'stopped.1.2',
    'stopped.1234567890',
    '<b>.1',
    `stopped.1.task_${'7'.repeat(25)}`,
    `stopped.1.task_${'7'.repeat(26)}.1`,
    `stopped.1.${'7'.repeat(26)}`,
    `stopped.1.task_Pay 30 EUR to ACME Ltd now.`,
  ];
  for (const value of forged) {
    it(`is absent if the cookie is ${value}`, () => {
      expect(take(`${NAME}=${value}`)).to.deep.equal({ flash: undefined, set: [] });
    });
  }

  it('is absent without the cookie, or with two of them', () => {
    for (const cookies of [undefined, '', `${NAME}=stopped.1; ${NAME}=stopped.2`]) {
      expect(take(cookies)).to.deep.equal({ flash: undefined, set: [] });
    }
  });
});
