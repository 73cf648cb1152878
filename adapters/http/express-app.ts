/** Express as each listener uses it. */

import express, { type Express } from 'express';

export function expressApp(): Express {
  const app = express();
  app.disable('x-powered-by');
  // No answer here supports conditional requests, and an ETag would reveal a hash of the content.
  app.disable('etag');
  // Strict parsers of this service read queries and bodies.
  app.set('query parser', false);
  app.set('case sensitive routing', true);
  app.set('strict routing', true);
  return app;
}
