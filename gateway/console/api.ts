// The console's API on one screen: what the console's pages ask, as JSON. It owns no data; the services do.
import Router from '@koa/router';
import type { Context, Middleware, Next } from 'koa';
import type { ConsoleDeps } from './deps.js';
import { addOperatorRoutes } from './operator-api.js';
import { createOidc } from './oidc/provider.js';
import { getAlert, listAlertDeliveries, putAlert, testAlert } from './routes/alerts.js';
import { beginPayment, getPayment, getPayments } from './routes/payments.js';
import { getBalance, listEntries, listHolds } from './routes/billing.js';
import { createKey, getKey, listKeys, revokeKey, rotateKey, updateKey } from './routes/keys.js';
import { invite, listAuditEvents, listInvitations, listMembers, putMember, deleteMember, revokeInvitation } from './routes/members.js';
import { finishOidc, startOidc } from './routes/oidc.js';
import { connectIdentity, disconnectIdentity, listIdentities, updateMe } from './routes/profile.js';
import { asKey } from './routes/playground.js';
import { finishPasswordReset, requestPasswordReset } from './routes/password-reset.js';
import {
  acceptInvitation,
  revokeSessions,
  getInvitation,
  getMe,
  listSessions,
  putPassword,
  signIn,
  signInByLink,
  signOut,
} from './routes/session.js';
import { redeemCode } from './routes/redemptions.js';
import { getReceipt, getStatement, listDeposits, listStatements } from './routes/statements.js';
import { getSettings } from './routes/settings.js';
import { listErrors } from './routes/usage-errors.js';
import { getSignInOptions, signUp } from './routes/sign-up.js';
import { exportRecords, getRecord, getRecordHold, getTotals, listRecords } from './routes/usage.js';
import { sameSite, signedIn } from './session.js';

/** The routes below /console/api. `call` is what answers a call in the chat-completions format once its key is known. */
export function consoleApi(deps: ConsoleDeps, call: readonly Middleware[]): Router {
  const router = new Router({ prefix: '/console/api' });
  const known = signedIn(deps);
  const oidc = createOidc(deps.config, deps);
  router.use(unkept(), sameSite());

  router.post('/session', signIn(deps));
  router.post('/session/link', signInByLink(deps));
  router.delete('/session', known, signOut(deps));
  router.post('/invitation', getInvitation(deps));
  router.post('/invitation/accept', acceptInvitation(deps));

  router.get('/sign-in-options', getSignInOptions(deps, oidc));
  router.post('/sign-up', signUp(deps));
  router.post('/password-reset', requestPasswordReset(deps));
  router.post('/password-reset/finish', finishPasswordReset(deps));
  router.get('/oidc/start', startOidc(deps, oidc));
  router.get('/oidc/callback', finishOidc(deps, oidc));

  router.get('/me', known, getMe());
  router.get('/settings', known, getSettings(deps));
  router.patch('/me', known, updateMe(deps));
  router.get('/me/identities', known, listIdentities(deps, oidc));
  router.post('/me/identities', known, connectIdentity(deps, oidc));
  router.delete('/me/identities/:id', known, disconnectIdentity(deps));
  router.put('/me/password', known, putPassword(deps));
  router.get('/me/sessions', known, listSessions(deps));
  router.delete('/me/sessions', known, revokeSessions(deps));
  router.delete('/me/sessions/:id', known, revokeSessions(deps));

  const account = '/accounts/:account';
  router.get(`${account}/keys`, known, listKeys(deps));
  router.post(`${account}/keys`, known, createKey(deps));
  router.get(`${account}/keys/:key`, known, getKey(deps));
  router.patch(`${account}/keys/:key`, known, updateKey(deps));
  router.post(`${account}/keys/:key/rotate`, known, rotateKey(deps));
  router.post(`${account}/keys/:key/revoke`, known, revokeKey(deps));
  router.post(`${account}/keys/:key/chat/completions`, known, asKey(deps), ...call);

  router.get(`${account}/usage/records`, known, listRecords(deps));
  router.get(`${account}/usage/records/:id`, known, getRecord(deps));
  router.get(`${account}/usage/records/:id/hold`, known, getRecordHold(deps));
  router.get(`${account}/usage/errors`, known, listErrors(deps));
  router.get(`${account}/usage/totals`, known, getTotals(deps));
  router.get(`${account}/usage/export`, known, exportRecords(deps));

  router.get(`${account}/balance`, known, getBalance(deps));
  router.get(`${account}/holds`, known, listHolds(deps));
  router.get(`${account}/entries`, known, listEntries(deps));

  router.get(`${account}/statements`, known, listStatements(deps));
  router.get(`${account}/statements/:month`, known, getStatement(deps));
  router.get(`${account}/deposits`, known, listDeposits(deps));
  router.get(`${account}/receipts/:entry`, known, getReceipt(deps));
  router.post(`${account}/redemptions`, known, redeemCode(deps));

  router.get(`${account}/payments`, known, getPayments(deps));
  router.post(`${account}/payments`, known, beginPayment(deps));
  router.get(`${account}/payments/:payment`, known, getPayment(deps));

  router.get(`${account}/alerts`, known, getAlert(deps));
  router.put(`${account}/alerts`, known, putAlert(deps));
  router.post(`${account}/alerts/test`, known, testAlert(deps));
  router.get(`${account}/alerts/deliveries`, known, listAlertDeliveries(deps));

  router.get(`${account}/members`, known, listMembers(deps));
  router.put(`${account}/members/:user`, known, putMember(deps));
  router.delete(`${account}/members/:user`, known, deleteMember(deps));
  router.get(`${account}/invitations`, known, listInvitations(deps));
  router.post(`${account}/invitations`, known, invite(deps));
  router.delete(`${account}/invitations/:id`, known, revokeInvitation(deps));
  router.get(`${account}/audit`, known, listAuditEvents(deps));
  addOperatorRoutes(router, known, deps);
  return router;
}

/** Nothing of it may be kept by a cache. */
function unkept(): Middleware {
  return async (ctx: Context, next: Next) => {
    ctx.set({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
    await next();
  };
}
