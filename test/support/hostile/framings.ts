/** Heads whose message may end in different places for two readers in a chain (RFC 9112 §6.3, §11.2). */

/** How a body may not be framed: the headers for a body of that length, and whether it comes in chunks. */
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
    ...['chunked\r\nTransfer-Encoding: chunked', 'chunked\r\nTransfer-Encoding: identity', 'chunke\xe4'],
    ...['identity\r\nTransfer-Encoding: chunked'],
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
  ['a line that ends in LF alone', (n) => `X-Any: a\nContent-Length: ${n}`],
  ['a line that ends in CR alone', (n) => `X-Any: a\rContent-Length: ${n}`],
  ['a head that ends in LF alone', (n) => `Content-Length: ${n}\r\n\nX-Any: a`],
  ['NUL in a value', (n) => `X-Any: a\0b\r\nContent-Length: ${n}`],
  ['NUL in a name', (n) => `X-An\0y: a\r\nContent-Length: ${n}`],
  ['another control character in a value', (n) => `X-Any: a\x01b\r\nContent-Length: ${n}`],
  ['a byte beyond ASCII in a name', (n) => `X-An\xff: a\r\nContent-Length: ${n}`],
  ['a line without a colon', (n) => `X-Any\r\nContent-Length: ${n}`],
  ['a name of nothing', (n) => `: a\r\nContent-Length: ${n}`],
  ['an equal Content-Length twice', (n) => `Content-Length: ${n}\r\nContent-Length: ${n}`],
  ['two Content-Lengths', (n) => `Content-Length: ${n}\r\nContent-Length: 0`],
  ['two Content-Lengths, the other way round', (n) => `Content-Length: 0\r\nContent-Length: ${n}`],
  ...['+N', '-N', 'N,N', 'N, N', 'N N', '0xN', 'N.0', 'Ne0', '"N"', '', '18446744073709551616', '9'.repeat(400)].map(
    (value): [string, (n: number) => string] => [
      `Content-Length: ${value.slice(0, 30)}`,
      (n) => `Content-Length: ${value.replaceAll('N', String(n))}`,
    ],
  ),
];
