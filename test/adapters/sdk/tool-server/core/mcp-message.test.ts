import { expect } from 'chai';
import { readMessage } from '../../../../../adapters/sdk/tool-server/core/mcp-message.ts';
import { SentNumber } from '../../../../../domain/tokens/json-as-sent.ts';

const TEXT = '{"jsonrpc":"2.0","id":1.0,"method":"tools/call","params":{"name":"pay","arguments":{"amount":1.10}}}';

function calledTool(text: string | undefined) {
  const message = readMessage(JSON.parse(TEXT), text);
  if (message.kind !== 'tool') throw new Error(`It is a ${message.kind}.`);
  return message;
}

describe('A call of a tool', () => {
  it('has its numbers as they were sent, and its text is read once', () => {
    const { sent } = calledTool(TEXT);
    const parts = sent();
    expect(parts?.id).to.deep.equal(new SentNumber('1.0'));
    expect(parts?.arguments).to.deep.equal({ amount: new SentNumber('1.10') });
    expect(parts?.meta).to.equal(null);
    expect(sent()).to.equal(parts);
  });

  it('has no such numbers behind a body parser', () => {
    expect(calledTool(undefined).sent()).to.equal(undefined);
  });
});
