/** The bytes of a JSON text, changed so that decoders read them differently: some drop, replace or accept what others refuse. */
export function misreadBytes(json: string): readonly (readonly [what: string, bytes: Buffer])[] {
  const at = (place: number, ...bytes: number[]) =>
    Buffer.concat([Buffer.from(json.slice(0, place)), Buffer.from(bytes), Buffer.from(json.slice(place))]);
  const quote = json.lastIndexOf('"');
  return [
    ['a byte order mark', at(0, 0xef, 0xbb, 0xbf)],
    ['a byte order mark between its tokens', at(1, 0xef, 0xbb, 0xbf)],
    ['its text in UTF-16', Buffer.from(`\ufeff${json}`, 'utf16le')],
    ['a slash in two bytes', at(quote, 0xc0, 0xaf)],
    ['half a character at its end', at(json.length, 0xe2, 0x82)],
  ];
}
