import type { IncomingMessage } from 'node:http';
import { expect } from 'chai';
import { readMultipart } from '../../../../adapters/http/browser/multipart.ts';

const request = (type: string | undefined) =>
  ({
    rawHeaders: type === undefined ? [] : ['Content-Type', type],
    headers: { 'content-type': type },
  }) as IncomingMessage;

/** As long as browsers and curl make it. */
const BOUNDARY = '----WebKitFormBoundary7MA4YWxkTrZu0gW';
const part = (head: string, body: string) => `--${BOUNDARY}\r\n${head}\r\n\r\n${body}\r\n`;
const TOKEN = part('Content-Disposition: form-data; name="form_token"', 'secret');
const FILE = part(
  'Content-Disposition: form-data; name="file"; filename="a.yaml"\r\nContent-Type: application/yaml',
  'agent_id: a\r\n',
);
const END = `--${BOUNDARY}--\r\n`;

const read = (body: string, type: string | undefined = `multipart/form-data; boundary=${BOUNDARY}`) =>
  readMultipart(request(type), Buffer.from(body));

describe('a form with a file', () => {
  it('has each part by its name, with the bytes of its value unchanged', async () => {
    const parts = await read(`${TOKEN}${FILE}${END}`);
    expect([...(parts ?? [])].map(([name, { bytes }]) => [name, bytes.toString()])).to.deep.equal([
      ['form_token', 'secret'],
      ['file', 'agent_id: a\r\n'],
    ]);
    expect((await read(`${TOKEN}--${BOUNDARY}--`))?.get('form_token')?.bytes.toString()).to.equal('secret');
    expect((await read(`${FILE}${END}`, `multipart/form-data; boundary="${BOUNDARY}"`))?.has('file')).to.equal(true);
  });

  it('may have an empty value, or one that looks like a delimiter of another form', async () => {
    const parts = await read(
      `${part('Content-Disposition: form-data; name="file"', '')}${part('content-disposition: form-data; name="x"', '--b8--')}${END}`,
    );
    expect(parts?.get('file')?.bytes.length).to.equal(0);
    expect(parts?.get('x')?.bytes.toString()).to.equal('--b8--');
  });

  const wrong: readonly (readonly [string, string, string?])[] = [
    ['no boundary', `${TOKEN}${END}`, 'multipart/form-data'],
    ['another boundary', `${TOKEN}${END}`, `multipart/form-data; boundary=${BOUNDARY}x`],
    ['a boundary of other characters', `${TOKEN}${END}`, `multipart/form-data; boundary="b ${BOUNDARY}"`],
    ['another type', `${TOKEN}${END}`, `text/plain; boundary=${BOUNDARY}`],
    ['no body', ''],
    ['no end', TOKEN],
    ['a preamble', `hello\r\n${TOKEN}${END}`],
    ['an epilogue', `${TOKEN}${END}more`],
    ['a part whose header has no colon', `${part('Content-Disposition: form-data; name="a"\r\nname', 'x')}${END}`],
    ['a repeated part', `${TOKEN}${TOKEN}${END}`],
    ['a part without a name', `${part('Content-Disposition: form-data', 'x')}${END}`],
    [
      'a part without an end of its head',
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="a"\r\n--${BOUNDARY}--`,
    ],
    ['an attachment', `${part('Content-Disposition: attachment; name="a"', 'x')}${END}`],
    [
      'nine parts',
      `${Array.from({ length: 9 }, (_, nth) => part(`Content-Disposition: form-data; name="p${nth}"`, 'x')).join('')}${END}`,
    ],
  ];
  for (const [what, body, type] of wrong) {
    it(`is refused with ${what}`, async () => expect(await read(body, type)).to.equal(undefined));
  }
});
