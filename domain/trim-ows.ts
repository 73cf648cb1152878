/**
 * Removes the optional white space around a header's value, a cookie or a member of a list: space and tab, nothing else
 * (RFC 9110 §5.6.3 `OWS`; supplement "Sizes and forms nobody wrote down"). `trim()` would also remove U+00A0, which is
 * the byte 0xA0 of a header: a cookie whose name begins with it would count as ours, though the browser saw no `__Host-`.
 */
export function trimOws(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isOws(text, start)) start += 1;
  while (start < end && isOws(text, end - 1)) end -= 1;
  return text.slice(start, end);
}

const SPACE = 0x20;
const TAB = 0x09;

function isOws(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code === SPACE || code === TAB;
}
