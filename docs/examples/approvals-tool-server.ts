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
      if (!isPayment(body)) return false;
      return { title: `Pay ${body.amount} ${body.currency}`, lines: [{ label: 'To', value: body.to }] };
    },
  }),
  (request, response) => {
    const { to, amount, currency }: Payment = request.body;
    response.json({ paid: `${amount} ${currency}`, to, paidFor: claimsOf(request).sub });
  },
);

app.use(refuseUnknownRoutes(toolServer));

const listening = app.listen(Number(PORT), '127.0.0.1', () => {
  const address = listening.address();
  if (typeof address === 'object') console.log(`Listening on http://127.0.0.1:${address?.port}`);
});

interface Payment {
  readonly to: string;
  readonly amount: number;
  readonly currency: 'EUR' | 'USD';
}

/** Another body is refused, so that the person is not asked about a payment that would fail. */
function isPayment(body: unknown): body is Payment {
  const { to, amount, currency } = (body ?? {}) as Readonly<Record<string, unknown>>;
  const isAmount = typeof amount === 'number' && amount > 0;
  return typeof to === 'string' && isAmount && (currency === 'EUR' || currency === 'USD');
}
