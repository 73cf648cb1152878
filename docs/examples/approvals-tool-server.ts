/** A tool server on Express with one route whose every call the person has to approve. */

import { readFileSync } from 'node:fs';
import { createToolServer } from '@mandate/tool-server';
import { claimsOf, expressProtection, refuseUnknownRoutes } from '@mandate/tool-server/express';
import express from 'express';

const { MANDATE_ISSUER = '', AUDIENCE = '', APPROVAL_KEY = '', PORT = '0' } = process.env;

const toolServer = createToolServer({
  issuer: MANDATE_ISSUER,
  audience: AUDIENCE,
  approvalKey: { jwk: JSON.parse(readFileSync(APPROVAL_KEY, 'utf8')) },
});
const protect = expressProtection(toolServer);
const app = express();

app.post(
  '/payments',
  protect({
    scope: ['payments:write'],
    approval({ body }) {
      const { to, amount, currency } = readPayment(body);
      return { title: `Pay ${amount} ${currency}`, lines: [{ label: 'To', value: to }] };
    },
  }),
  (request, response) => {
    const { to, amount, currency } = readPayment(request.body);
    response.json({ paid: `${amount} ${currency}`, to, paidFor: claimsOf(request).sub });
  },
);

app.use(refuseUnknownRoutes(toolServer));

const listening = app.listen(Number(PORT), '127.0.0.1', () => {
  const address = listening.address();
  if (typeof address === 'object') console.log(`Listening on http://127.0.0.1:${address?.port}`);
});

/** Throws for any other body, so that the person is not asked about a payment that would fail. */
function readPayment(body: unknown): { readonly to: string; readonly amount: number; readonly currency: string } {
  const { to, amount, currency } = body as Readonly<Record<string, unknown>>;
  const isPayment = typeof to === 'string' && typeof amount === 'number' && (currency === 'EUR' || currency === 'USD');
  if (!isPayment || !(amount > 0)) throw new TypeError('This is no payment.');
  return { to, amount, currency };
}
