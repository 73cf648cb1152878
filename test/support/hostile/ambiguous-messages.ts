/** Request smuggling: two servers on the way could find the end of such a message in different places. */

export const hex = (text: string) => text.length.toString(16);
export const chunked = (text: string) => `${hex(text)}\r\n${text}\r\n0\r\n\r\n`;

/** Heads with an ambiguous end of the message (RFC 9112 §6.3, §11.2): the headers for a body of this length. */
export const FRAMINGS: readonly (readonly [what: string, framing: (length: number) => string, chunks?: boolean])[] = [
  ['Content-Length and Transfer-Encoding', (n) => `Content-Length: ${n}\r\nTransfer-Encoding: chunked`, true],
  ['Transfer-Encoding and Content-Length', (n) => `Transfer-Encoding: chunked\r\nContent-Length: ${n}`, true],
  ['Transfer-Encoding and Content-Length: 0', () => 'Transfer-Encoding: chunked\r\nContent-Length: 0', true],
  ...[
    ...['xchunked', 'chunked, identity', 'identity, chunked', 'identity', '', 'gzip, chunked', 'chunked, gzip', 'gzip'],
    ...[
      'chunked, chunked',
      '"chunked"',
      'chunked;q=1',
      'chunked,',
      ',chunked',
      '\x0bchunked',
      'chunked\0',
      'x chunked',
    ],
    ...['chunked', 'identity'].map((second) => `chunked\r\nTransfer-Encoding: ${second}`),
    ...['chunke\xe4', 'identity\r\nTransfer-Encoding: chunked'],
  ].map((value): [string, () => string, boolean] => [
    `Transfer-Encoding: ${JSON.stringify(value)}`,
    () => `Transfer-Encoding: ${value}`,
    true,
  ]),
  ['a space before the colon of Transfer-Encoding', () => 'Transfer-Encoding : chunked', true],
  ['a space before the colon of Content-Length', (n) => `Content-Length : ${n}`],
  ['a folded Transfer-Encoding', () => 'Transfer-Encoding:\r\n chunked', true],
  ['a folded Content-Length', (n) => `Content-Length:\r\n ${n}`],
  ['any folded header', (n) => `X-Any: a\r\n\tb\r\nContent-Length: ${n}`],
  ['a line that ends with LF', (n) => `X-Any: a\nContent-Length: ${n}`],
  ['a line that ends with CR', (n) => `X-Any: a\rContent-Length: ${n}`],
  ['a head that ends with LF', (n) => `Content-Length: ${n}\r\n\nX-Any: a`],
  ['NUL in a value', (n) => `X-Any: a\0b\r\nContent-Length: ${n}`],
  ['NUL in a name', (n) => `X-An\0y: a\r\nContent-Length: ${n}`],
  ['another control character in a value', (n) => `X-Any: a\x01b\r\nContent-Length: ${n}`],
  ['a non-ASCII byte in a name', (n) => `X-An\xff: a\r\nContent-Length: ${n}`],
  ['a line without a colon', (n) => `X-Any\r\nContent-Length: ${n}`],
  ['an empty header name', (n) => `: a\r\nContent-Length: ${n}`],
  ['two equal Content-Lengths', (n) => `Content-Length: ${n}\r\nContent-Length: ${n}`],
  ['two different Content-Lengths', (n) => `Content-Length: ${n}\r\nContent-Length: 0`],
  ['two Content-Lengths in the other order', (n) => `Content-Length: 0\r\nContent-Length: ${n}`],
  ...['+N', '-N', 'N,N', 'N, N', 'N N', '0xN', 'N.0', 'Ne0', '"N"', '', '18446744073709551616', '9'.repeat(400)].map(
    (value): [string, (n: number) => string] => [
      `Content-Length: ${value.slice(0, 30)}`,
      (n) => `Content-Length: ${value.replaceAll('N', String(n))}`,
    ],
  ),
];

/** Versions in which no chunks are read. */
export const VERSIONS = ['1.0', '0.9', '1.2', '2.0', '3.0', '1.10', '11'];

/** HTTP/0.9, and the beginnings of HTTP/2 and of TLS. */
export const NO_HTTP_1 = [
  ...['GET /admin/agents\r\n\r\n', 'GET /healthz HTTP/0.9\r\n\r\n', 'GET /healthz\r\n\r\n'],
  ...['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
];

/** After any other expectation than 100-continue, a client may or may not send the body. */
export const EXPECTATIONS = [
  '200-ok',
  '',
  '100-continue, 200-ok',
  '100-continue\r\nExpect: 100-continue',
  'x 100-continue',
];

/** Malformed chunked bodies after a well-formed head. */
export const CHUNKS: readonly (readonly [what: string, body: (text: string) => string])[] = [
  ['the prefix 0x', (text) => `0x${chunked(text)}`],
  ['a plus sign', (text) => `+${chunked(text)}`],
  ['a minus sign', (text) => `-${chunked(text)}`],
  ['a space before the size', (text) => ` ${chunked(text)}`],
  ['a space after the size', (text) => `${hex(text)} \r\n${text}\r\n0\r\n\r\n`],
  ['an empty size', (text) => `\r\n${text}\r\n0\r\n\r\n`],
  ['a size of more than 64 bits', (text) => `1${hex(text).padStart(17, '0')}\r\n${text}\r\n0\r\n\r\n`],
  ['LF after the size', (text) => `${hex(text)}\n${text}\r\n0\r\n\r\n`],
  ['an extension that ends with LF', (text) => `${hex(text)};a\n${text}\r\n0\r\n\r\n`],
  ['an extension with CR', (text) => `${hex(text)};a\rb\r\n${text}\r\n0\r\n\r\n`],
  ['a size below the length of the data', (text) => `${hex(text.slice(1))}\r\n${text}\r\n0\r\n\r\n`],
  ['data without a line end', (text) => `${hex(text)}\r\n${text}0\r\n\r\n`],
  ['an end with LF', (text) => `${hex(text)}\r\n${text}\r\n0\r\n\n`],
  ['a trailer Content-Length', (text) => `${hex(text)}\r\n${text}\r\n0\r\nContent-Length: 9\r\n\r\n`],
  ['a trailer Transfer-Encoding', (text) => `${hex(text)}\r\n${text}\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n`],
  ['a malformed trailer', (text) => `${hex(text)}\r\n${text}\r\n0\r\nX Y: z\r\n\r\n`],
];
