/** Serves one document with the files of the page, without the service. */

import { createServer } from 'node:http';
import { assets } from '../../../../adapters/http/me/assets.ts';
import { freePort } from '../../../../scripts/free-port.ts';
import { listen } from '../../../support/listening.ts';

export interface ServedPage {
  readonly address: string;
  show(document: string): void;
  stop(): void;
}

export async function servePage(): Promise<ServedPage> {
  let document = '';
  const server = createServer((request, response) => {
    const asset = Object.values(assets).find(({ path }) => path === request.url);
    response.setHeader('content-type', asset?.type ?? 'text/html; charset=utf-8').end(asset?.bytes ?? document);
  });
  const port = await listen(server, await freePort());
  return {
    address: `http://127.0.0.1:${port}/me`,
    show: (text) => {
      document = text;
    },
    stop: () => void server.close(),
  };
}
