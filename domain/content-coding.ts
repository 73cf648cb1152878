/** `Content-Encoding` (RFC 9110 §8.4). */

/** Whether a body with this header is compressed or coded otherwise. `identity` means no coding (RFC 9110 §8.4.1). */
export function isCoded(contentEncoding: string | undefined): boolean {
  return contentEncoding !== undefined && contentEncoding.toLowerCase() !== 'identity';
}
