// How people come in, and go.
import { Type } from 'typebox';
import { bodies } from '../bodies.js';
import { peopleBodies } from '../people-bodies.js';
import { invitationFields } from './members.js';
import { type Area, done, made, ok } from './operation.js';
import { Flag, nullable, Text, view } from './shapes.js';

const session = 'Signed in; the cookie is set.';
const refused = {
  sign_in_refused: 'Which part was wrong is not told.',
  sign_in_throttled: 'Too many attempts failed; wait for `retry-after`.',
};

export const signInArea: Area = {
  title: 'Signing in',
  description: 'Sessions are a cookie, which these routes set.',
  operations: [
    {
      method: 'GET',
      path: '/sign-in-options',
      summary: 'Show the ways in beside a password.',
      who: 'everybody',
      answers: [
        ok(
          view('SignInOptions', {
            sign_up: Type.Boolean({ description: 'People can sign up by themselves.' }),
            password_reset: Type.Boolean({ description: 'Whoever has forgotten their password can have a link mailed.' }),
            oidc: nullable(Type.Object({ name: Text }), 'The identity provider.'),
          }),
        ),
      ],
    },
    {
      method: 'POST',
      path: '/session',
      summary: 'Sign in by address and password.',
      who: 'everybody',
      body: bodies.signIn.schema,
      answers: [done(session)],
      refusals: refused,
    },
    {
      method: 'POST',
      path: '/session/link',
      summary: 'Sign in by the token of a link, once.',
      who: 'everybody',
      body: bodies.link.schema,
      answers: [done(session)],
      refusals: refused,
    },
    { method: 'DELETE', path: '/session', summary: 'Sign out.', who: 'signed in', answers: [done('Signed out; the cookie is gone.')] },
    {
      method: 'POST',
      path: '/sign-up',
      summary: 'Make a person, an account that they own, and a session.',
      who: 'everybody',
      body: peopleBodies.signUp.schema,
      answers: [made(Type.Object({ account_id: Text }), session)],
      refusals: { not_found: 'People cannot sign up here by themselves.', already_exists: 'The address is in use.' },
    },
    {
      method: 'POST',
      path: '/password-reset',
      summary: 'Have a link mailed by which a new password can be set, within an hour.',
      who: 'everybody',
      body: peopleBodies.requestReset.schema,
      answers: [done('The same whether somebody has this address.')],
      refusals: { sign_in_throttled: 'Too many were asked for from this network; wait for `retry-after`.' },
    },
    {
      method: 'POST',
      path: '/password-reset/finish',
      summary: 'Set a new password by the token of such a link, once: all sessions of the person end, and one begins.',
      who: 'everybody',
      body: peopleBodies.finishReset.schema,
      answers: [done(session)],
      refusals: { sign_in_refused: 'The link was used, has ended or never was.' },
    },
    {
      method: 'POST',
      path: '/invitation',
      summary: 'Show what an invitation is for, by its token.',
      who: 'everybody',
      body: bodies.link.schema,
      answers: [
        ok(
          view(
            'InvitationShown',
            { ...invitationFields, is_known: Flag },
            'is_known: somebody of this address has a password here already.',
          ),
        ),
      ],
    },
    {
      method: 'POST',
      path: '/invitation/accept',
      summary: 'Accept an invitation: a membership and a session.',
      who: 'everybody',
      body: bodies.accept.schema,
      answers: [done(session)],
      refusals: refused,
    },
    {
      method: 'GET',
      path: '/oidc/start',
      summary: 'Send a browser to the identity provider.',
      who: 'everybody',
      query: { to: 'The page of the console to be shown afterwards.' },
      answers: [{ status: 303, description: 'To the provider, or to the page of signing in with `?problem=`.' }],
    },
    {
      method: 'GET',
      path: '/oidc/callback',
      summary: 'Take a browser back from the identity provider.',
      who: 'everybody',
      query: { code: 'Of the provider.', state: 'Of the provider.' },
      answers: [{ status: 303, description: 'To a page of the console, or to the page of signing in with `?problem=`.' }],
    },
  ],
};
