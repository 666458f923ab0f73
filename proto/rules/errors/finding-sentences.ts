// The findings of an upstream's test and the results of deliveries, as English templates. Services fill them; the console recognises their texts and
// shows them in its other language. Texts of vendors, receivers and mail servers pass through as {detail}. Pure.
import { fill, type ParamsOf, type Value } from './templates.js';

/** The templates; {finding} and {usage} are findings themselves. */
export const findings = {
  each_credential: 'with each of {count} credentials: {finding}',
  credential: 'credential {name}: {finding}',
  built_in: 'built in',
  no_name: 'the base URL has an IP address, so there is no name to resolve',
  name_missing: 'the name does not exist: {name} (ENOTFOUND)',
  resolver_silent: 'the name servers of this machine do not respond for {name} (EAI_AGAIN)',
  resolved_more: '{name} resolves to {addresses} and {count} more',
  resolved: '{name} resolves to {addresses}',
  connected: '{address} port {port} accepts connections',
  not_encrypted: 'http: the connection is not encrypted',
  certificate: '{protocol}; certificate of {subject}, issued by {issuer}, {days:day} left',
  no_tls: 'the server does not use TLS; should its address begin with http://? ({code})',
  other_certificate: 'the certificate is for another name: {detail}',
  certificate_expired: 'the certificate has expired ({code})',
  certificate_untrusted:
    'the certificate is not trusted: {detail} ({code}); for an authority of your own, start the gateway with NODE_EXTRA_CA_CERTS',
  redirect: 'status {status}: the server redirects to {location}, and redirects are not followed; set the final address as the base URL',
  secret_missing: 'a secret is required, but none is set: {detail}',
  secret_refused: 'the secret is refused: {detail}',
  secret_unclear: 'status {status} does not show whether the secret is valid',
  no_secret: 'no secret is set, and none is required',
  secret_not_refused: 'not refused (some servers check the secret only when a model is called)',
  no_list: 'the server has no model list (status {status}); if calls fail too, check that the base URL ends with the version segment',
  page: 'the server returned a web page, not a list of models; check that the base URL ends with the version segment, such as /v1',
  other_json: 'the server returned JSON that is not a list of models; check that the base URL ends with the version segment, such as /v1',
  list_malformed: 'the list of models is not JSON: {detail}',
  list_long: 'a list longer than {bytes} bytes, which was not read completely',
  models_or_more: 'at least {count} models',
  models_without: '{count:model}, but not {model}',
  models: '{count:model}',
  test_timeout: 'no response; the whole test may take at most {seconds} s',
  called: 'first token after {ms} ms; {usage}; you pay for at most {input} input and {output} output tokens',
  vector: 'a vector of {count} numbers; {usage}; you pay for at most {input} input tokens',
  usage_reported: 'the upstream reported {input} input and {output} output',
  usage_missing: "the upstream reported no usage, so calls are charged by Tollgate's own count",
  usage_implausible: "the figures of the upstream break a rule ({rule}), so calls are charged by Tollgate's own count",
  unfinished: 'the answer did not finish',
  tool_ignored: 'the model did not call the tool; it answered {detail}',
  tool_misfit: 'the model called {tool} with arguments that do not fit its schema: {detail}',
  tool_called: 'called {tool} with {detail}',
  schema_ignored: 'the answer does not follow the schema: {detail}',
  schema_followed: 'the answer follows the schema: {detail}',
  image_unseen: 'the model did not recognise that the image is red; it answered {detail}',
  image_seen: 'the model recognised that the image is red',
  two_answers: 'two answers to one call; the upstream reported the usage of both',
  two_answers_usage_missing: "two answers to one call; the upstream reported no usage, so such calls are charged by Tollgate's own count",
  two_answers_usage_implausible:
    "two answers to one call; the figures of the upstream break a rule ({rule}), so such calls are charged by Tollgate's own count",
  two_answers_rejected: 'the upstream rejects calls for two answers, and callers receive its error: {detail}',

  link_ended: 'the link in it is no longer valid',
  endpoint_disabled: 'the endpoint was disabled',
  endpoint_deleted: 'the endpoint was deleted',
  endpoint_full: 'not sent, because {max} requests are waiting for this endpoint',
  withdrawn_after_restore: 'withdrawn by an operator after a restore',
  lost_key: 'its content was encrypted with a lost key',
  signing_secret_unreadable: 'the signing secret can no longer be decrypted; rotate it',
  content_unreadable: 'its content can no longer be decrypted',
  no_mail_server: 'this installation has no mail server (TOLLGATE_SMTP_URL)',
  too_many_emails: 'too many emails were sent within an hour',
  redirected_with: 'status {status}, a redirect, which is not followed: {detail}',
  redirected: 'status {status}, a redirect, which is not followed',
  responded_with: 'status {status}: {detail}',
  responded: 'status {status}',
  private_name: 'the address of this name is private or reserved, which is not allowed',
  no_response: 'no response within {seconds} s',
  no_such_name: 'the name does not exist (ENOTFOUND)',
  not_reached: 'could not connect: {detail}',
  email_timeout: 'the mail server did not accept the email within {seconds} s',
  email_sign_in: 'the mail server rejected the sign-in: {detail}',
  email_rejected: 'the mail server rejected the email: {detail}',
  email_not_encrypted: 'could not set up an encrypted connection to the mail server: {detail}',
  email_unusable: 'the mail server cannot be used: {detail}',
} as const;

/** One of them. */
export type Finding = keyof typeof findings;

/** Returns the English text of a finding. */
export function finding<F extends Finding>(rule: F, params: Readonly<Record<ParamsOf<(typeof findings)[F]>, Value>>): string {
  return fill(findings[rule], params);
}
