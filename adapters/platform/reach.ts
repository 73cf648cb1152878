import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Reach } from '../../application/ports/network.ts';

/** Connects as `httpNetwork` would, without a request. */
export const reach: Reach = (url, limitMs) =>
  new Promise((resolve) => {
    const { protocol, hostname, port } = new URL(url);
    // As in the URL, but an IPv6 address without its brackets.
    const host = hostname.replace(/^\[(.*)\]$/, '$1');
    const socket: Socket =
      protocol === 'https:'
        ? connectTls({ host, port: Number(port || 443), servername: /^[\d.:]+$/.test(host) ? '' : host })
        : connectTcp({ host, port: Number(port || 80) });
    const end = (problem: string | undefined) => {
      socket.destroy();
      resolve(problem);
    };
    socket.setTimeout(limitMs, () => end(`The connection failed within ${limitMs} ms.`));
    socket.once(protocol === 'https:' ? 'secureConnect' : 'connect', () => end(undefined));
    socket.on('error', (error) => end(`The connection failed (${'code' in error ? String(error.code) : 'unknown'}).`));
  });
