import { expect } from 'chai';
import { mePage } from '../../../composition/pages/me.ts';

const page = (settings: Record<string, unknown>) =>
  mePage(
    {
      settings: { 'Service:Me:ClientId': 'people', ...settings },
    } as unknown as Parameters<typeof mePage>[0],
    new Map(),
  );

describe("What the person's page says about a stop", () => {
  it('promises no less time than a tool server with its default settings may take to read the list', () => {
    const lists = { 'Service:StatusLists:Enabled': true, 'Service:StatusLists:Ttl': 5 };
    expect(page(lists)?.statusLists).to.equal(15);
  });

  it('names no status lists without them', () => {
    const lists = { 'Service:StatusLists:Enabled': false, 'Service:StatusLists:Ttl': 5 };
    expect(page(lists)).to.have.property('statusLists', undefined);
  });
});
