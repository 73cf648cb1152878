/** Which addresses nobody on the way can pretend to be: https, and plain http that does not leave this machine. */

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/;

/** @param host a name or an address, an IPv6 one in brackets or without */
export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}

/** Whether others on the way can read what is sent there, and answer in its place. */
export function travelsInTheClear({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && !isLoopback(hostname);
}
