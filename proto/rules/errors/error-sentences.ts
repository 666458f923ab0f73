// Tollgate's own error messages: one English sentence per rule, with {parameters} (templates.ts). Services throw by these rules
// (proto/client/errors/fault.ts), so that an error carries its rule and parameters; the console words them in both of its languages. Pure.
import type { Reason } from './reasons.js';

/** What a field must be. Each completes the sentence "<field> …". */
export const fieldRules = {
  required: 'is required',
  unknown_field: 'is not a field of this request; its fields are {fields}',
  constant: 'must be {value}',
  one_of: 'must be one of {values}',
  words_of: 'must be a comma-separated list of {values}',
  update_mask: 'must name the fields to change: one or more of {values}',
  type: 'must be of type {type}',
  integer: 'must be an integer',
  number: 'must be a number',
  at_least: 'must be at least {min}',
  at_most: 'must be at most {max}',
  not_empty: 'must not be empty',
  min_length: 'must have at least {min:character}',
  max_length: 'must have at most {max:character}',
  length: 'must have {min} to {max} characters',
  min_items: 'must have at least {min:entry}',
  max_items: 'must have at most {max:entry}',
  items: 'must have {min} to {max} entries',
  name: 'must have 1 to {max} characters, not only spaces',
  no_control_characters: 'must not have control characters such as line breaks',
  printable: 'must have at most {max} characters and no control characters',
  pattern: 'must be {form}',
  usd: 'must be a decimal USD amount, for example "5" or "0.25"',
  max_decimals: 'must have at most {max} decimals',
  timestamp: 'must be a valid timestamp with a zone, for example 2027-01-31T12:00:00Z',
  date: 'must be a date or a timestamp, for example 2026-11-20 or 2026-11-20T12:00:00Z',
  email: 'must be an email address such as ada@example.com',
  totp_code: "must be the code that the authenticator app shows now; check that your phone's clock is correct",
  passkey: "must be the browser's response to these options; try again",
  http_url: 'must be a URL that begins with https:// or http://',
  no_credentials: 'must not contain a user name or password',
  no_query: 'must have neither a query nor a fragment',
  public_address: 'must be a public address; private addresses are not allowed',
  private_address: 'resolves to the private address {address}; allow private addresses to use it',
  refused_address: 'is or resolves to {address}, which is link-local, multicast or reserved; such addresses are not allowed',
  month: 'must be a month such as 2026-11',
  given: 'is required; it appears in the journal',
  emails: 'must be email addresses such as ada@example.com',
  max_emails: 'must have at most {max} addresses',
  upstream_id: 'must have 1 to {max} characters and contain only a-z, 0-9, - and _',
  secret_characters: 'must have at most {max} printable ASCII characters without spaces',
  field_paths:
    'must be at most {max} names of request fields, each of up to {chars} characters, such as options.num_ctx; fields that set the model, the output cap, the number of answers or an account are not allowed',
  single_credential: 'must be left out, because the upstream has a single credential; it is drained or ejected with the whole target',
  new_secret: 'must be sent again, or be empty, because base_url now points to a different server',
  range: 'must be from {min} to {max}',
  range_or_zero: 'must be from {min} to {max}, or 0 if unknown',
  known: 'must be a known value',
  distinct_known: 'must contain only known values, each once',
  some_distinct_known: 'must contain at least one value, and only known values, each once',
  no_embedding: 'must not contain embedding, which is only an output modality',
  embedding_alone: 'must not contain other values in addition to embedding: a model that returns vectors returns nothing else',
  at_most_field: 'must not exceed {other}',
  distinct_aliases: 'must differ from each other and from the id',
  hash: 'must be 64 lowercase hexadecimal digits',
  id: 'must be "{prefix}_" followed by 32 lowercase hexadecimal digits',
  account_search: 'looks like an account id, but is not "acct_" followed by up to 32 lowercase hexadecimal digits',
  role: 'must be owner, admin, developer, billing, viewer or member',
  page_token: 'must be a cursor that an earlier page of the same list returned',
  audit_action: 'must be an action such as key.create, or the word before its dot',
  actor: 'must be the id of a user or a management key, or operator',

  unit_name: 'must have 1 to 32 characters, contain only a-z, 0-9 and _, begin with a letter, and not be a class of tokens',
  unit_price: 'must have a valid name, a price of 0 or more, and a max_per_call of at least 1',
  distinct_units: 'must name a different unit in each entry',
  positive: 'must be above 0',
  nonzero: 'must not be 0',
  positive_limit: 'must be above 0; leave it out for a key without a limit',
  whole_cents: 'must be in whole cents',
  amount_range: 'must be from {min_nano_usd} to {max_nano_usd}',
  confirm_amount: 'must repeat the amount, {amount_nano_usd}, because it is above {above_nano_usd}',
  confirm_mismatch: 'must equal the amount, {amount_nano_usd}',
  future: 'must be in the future',
  future_expiry: 'must be in the future; disable or revoke a key to stop it now',
  before_year: 'must be before the year {year}',
  future_start: 'must be in the future; leave it out for a price that takes effect when it is published',
  model_ids: 'must be ids of models: 1 to 200 ASCII characters without spaces',
  no_models: 'must be empty when all models are permitted',
  some_models: 'must name at least one model; leave it out to permit all models',
  max_models: 'must name at most {max} models',
  distinct_models: 'must be ids of models, each once: 1 to 200 ASCII characters without spaces',
  distinct_periods: 'must be lifetime, month, week or day, each once',
  lifetime_of_key: 'must not be lifetime for a key; set the lifetime limit of the key instead',
  budgets_beside_limit: 'must have fewer than {max} entries, because the lifetime limit of the key counts as one of its {max} budgets',
  some_percents: 'must name at least one percentage, because a soft budget only sends alerts',
  scopes: 'must contain at least one of {values}, each once',
  project_scopes: 'must not contain {values} for a key of a single project, because they concern the whole account',
  address_block: 'must be IP addresses or CIDR blocks such as 192.0.2.7, 198.51.100.0/24 or 2001:db8::/32; "{address}" is neither',
  time_zone: 'must be the IANA name of a time zone, such as Europe/Berlin or UTC',
  model_name: 'must have 1 to {max} characters, contain only a-z, 0-9 and . _ : / -, and begin with a letter or a digit',

  needs_group_by: 'requires group_by',
  other_group: 'must differ from group_by',
  tz_offset: 'must be minutes east of UTC, a multiple of 15 from {min} to {max}',
  whole_request_id: 'must be the complete id of a call: "req_" followed by 32 hexadecimal digits',
  member_or_none: 'must be the id of a user, or {none}',
  keys_of_member: 'covers more than {max} keys; filter by key or project instead',
  not_with_sums: 'cannot be combined with totals, which include all calls that match the filters',
  number_and_hash: 'is required: number and hash must be sent together',
} as const;

/** One of them. */
export type FieldRule = keyof typeof fieldRules;

/** Whole sentences by reason, each under the name of its rule. Every reason has one under its own name, without parameters, for cases in which nothing more is known.
 */
export const sentences = {
  invalid_request: { invalid_request: 'Something in the request is missing, malformed or out of range.' },
  unsupported_field: { unsupported_field: 'Something in the request is not supported here.' },
  context_length_exceeded: {
    context_length_exceeded:
      'The conversation and the requested output are longer than the context of the model. Shorten the conversation, lower the output cap, or use a model with a longer context.',
  },
  body_too_large: { body_too_large: 'The request is too large. Make it smaller and try again.' },
  upload_too_slow: { upload_too_slow: 'The request arrived too slowly. Try again on a faster connection.' },
  idempotency_mismatch: {
    idempotency_mismatch: 'This idempotency key was already used with different parameters. Nothing was changed.',
    idempotency_key_used: 'The idempotency key "{key}" was already used with different parameters. Nothing was changed.',
    id_mismatch: '"{id}" was already used with different parameters. Nothing was changed.',
    already_reversed: 'Entry no. {seq} was already reversed by entry no. {reversal}. Nothing was changed.',
    batch_mismatch: 'This batch id was already used for other codes. Use a new one.',
  },
  idempotency_in_progress: { idempotency_in_progress: 'The same operation is still in progress. Try again shortly.' },
  idempotency_answer_gone: {
    idempotency_answer_gone: 'This call was charged, but its answer is no longer kept. Send it again with a new idempotency key.',
  },
  not_found: {
    not_found: 'The requested resource does not exist.',
    no_path: 'This path does not exist.',
    no_such_id: 'There is no {what} with this id.',
    no_such_name: 'There is no {what} with this name.',
    no_account_of_yours: 'The account does not exist, or you are not a member of it.',
    no_member: 'The account has no member with this id. Invite the user first.',
    no_sign_up: 'Sign-up is closed here. Ask for an invitation.',
    no_provider: 'No identity provider is configured here.',
    receipts_of_deposits: 'Only deposits have receipts.',
    no_statement: 'The account has no statement for {month}.',
    no_entry: 'The account has no such entry, or it is archived.',
    no_hold: 'The account has no hold for the call {id}.',
    no_charge: 'The account has no charge for the call {id}.',
    no_draft: 'There is no price draft for "{model}".',
  },
  not_offered: { not_offered: 'Tollgate does not offer this.' },
  already_exists: {
    already_exists: 'The resource already exists.',
    email_taken: 'A user with this email address already exists.',
    member_exists: 'This user already belongs to the account. Change the role instead.',
    identity_taken: 'This identity is connected to another user here.',
    passkey_exists: 'This passkey has already been added.',
    model_exists: 'The model "{id}" already exists.',
    upstream_exists: 'The upstream "{id}" already exists.',
    credential_exists: 'The upstream "{upstream}" already has a credential "{id}".',
    name_taken: '"{name}" is already the id or an alias of the model "{model}". Choose a different name.',
    start_taken: 'Another price of "{model}" starts at the same millisecond. Choose a different start.',
  },
  failed_precondition: {
    failed_precondition: 'The current state does not allow this operation.',
    key_unchangeable: 'The key is revoked and cannot be changed. Create a new key.',
    project_deleted: 'The project is deleted. Choose another project.',
    prompts_never_logged: 'The account never logs prompts and answers. An owner can change this under Projects and budgets → Privacy.',
    default_project: 'The default project of an account cannot be deleted.',
    project_in_use: 'The project has keys that are not revoked. Revoke them or move them to another project first.',
    management_keys_full: 'An account can have at most {max} management keys. Revoke one first.',
    keys_full: 'An account can have at most {max} keys that are not revoked. Revoke one first.',
    projects_full: 'An account can have at most {max} projects. Delete one first.',
    key_unrotatable: 'The key is revoked and cannot be rotated. Create a new key.',
    last_owner: 'An account needs at least one owner. Make another member an owner first.',
    last_operator: 'This is the last operator who can sign in. Make another user an operator first.',
    only_sign_in: 'This is the only way for you to sign in. Set a password first.',
    reauthenticate: 'Enter your password, use a second factor, or sign in again first: this changes how you sign in.',
    no_second_factor: 'You have no second factor. Set one up first.',
    totp_present: 'You already have an authenticator app. Remove it before you set up another one.',
    factors_full: 'A user can have at most {max} second factors. Remove one first.',
    enrolment_ended: 'The setup took too long. Start again.',
    no_passkeys: 'Passkeys cannot be used here: they need a public address with HTTPS and a host name (TOLLGATE_GATEWAY_PUBLIC_URL).',
    identities_full: 'A user can have at most {max} identities. Disconnect one first.',
    invitations_full:
      'This account has {max} open invitations, which is the maximum. Revoke some, or wait until one is accepted or expires.',
    not_yourself: 'You cannot disable yourself. Ask another operator.',
    no_payments: 'No payment provider is configured here. Ask the operator to add funds.',
    nothing_to_reverse: 'This entry did not change the balance of the account, so there is nothing to reverse.',
    nothing_left: 'Entry no. {seq} has already been corrected in full. Entries that correct it: no. {corrections}.',
    reversal_too_large: 'Only {left_nano_usd} of entry no. {seq} is left to reverse.',
    entry_changed: 'Entry no. {seq} was corrected in the meantime: {left_nano_usd} is left of it. Load it again.',
    not_a_payment: 'A payment refund must be linked to the deposit of the payment.',
    refund_archived: 'The call {id} is archived, so its refund cannot be reversed. Debit the account instead.',
    correction_irreversible: 'A charge correction cannot be reversed: the call cost less than was charged. Debit the account instead.',
    reversal_irreversible: 'The reversal of a refund cannot be reversed. Refund the call {id} again instead.',
    charge_not_final: 'The charge for the call {id} is not final yet. Try again when the call is settled.',
    refund_too_large:
      'At most {refundable_nano_usd} of the call {id} can be refunded: {captured_nano_usd} was charged, and {refunded_nano_usd} has already been refunded.',
    credit_limit: 'An account can be credited at most {max_nano_usd} in total.',
    code_redeemed: 'The code has already been redeemed. Debit the account instead.',
    no_alert_destination: 'The alert has no email address. Save one first.',
    webhooks_full: 'An account can have at most {max} webhook endpoints. Delete one first.',
    webhook_disabled: 'The webhook endpoint is disabled. Enable it first.',
    too_many_groups: 'There are more than {max} groups. Narrow the filter.',
    models_full: 'The catalog already has {max} models, which is the maximum.',
    prices_full: '"{model}" already has {max} price versions, which is the maximum.',
    draft_changed: 'The price draft for "{model}" has changed since you reviewed it. Review it again.',
    draft_changed_by: '{author} has changed the price draft for "{model}" since you reviewed it. Review it again.',
    draft_gone: 'The price draft for "{model}" was published or discarded. Review the price again.',
    price_changed: 'The price of "{model}" that this draft replaces has changed since you compared them. Review the difference again.',
    upstream_in_use: 'These models are routed to "{id}": {models}. Change their targets first, or disable the upstream.',
    upstream_locked: 'The upstream "{id}" is built in or set by configuration, and cannot be changed here.',
    upstreams_full: 'There can be at most {max} upstreams. Delete one first.',
    credentials_full: 'An upstream can have at most {max} credentials. Remove one first.',
    secret_unreadable: 'The stored secret cannot be decrypted with the current secret key. Enter the secret again.',
  },
  method_not_allowed: { method_not_allowed: 'This address does not support the operation. Reload the page and try again.' },
  key_missing: { key_missing: 'The request has no platform key. Send one in the authorization or x-api-key header.' },
  key_malformed: {
    key_malformed: 'This is not a platform key. Check that the whole key was copied.',
    key_mistyped: 'The platform key was mistyped or not copied completely. Copy it again.',
    management_key_sent: 'This is a management key, which cannot call models. Use a platform key, which begins with "sk-tg-".',
    platform_key_sent: 'This is a platform key, which can only call models. Use a management key, which begins with "mk-tg-".',
    management_key_malformed: 'The management key was mistyped or not copied completely. Copy it again.',
  },
  key_unknown: {
    key_unknown: 'This key does not exist. Check that the whole key was copied, and that it belongs to this service.',
    management_key_unknown: 'This management key does not exist. Check that the whole key was copied, and that it belongs to this service.',
  },
  key_revoked: {
    key_revoked: 'This platform key was revoked. Use another key.',
    management_key_revoked: 'The management key ending in {last_four} was revoked. Use another key.',
    named_key_revoked: 'The platform key ending in {last_four} was revoked. Use another key.',
    key_rotated:
      'This platform key was rotated, and its old secret stopped working at {replaced_at}. Use the new secret, which ends in {last_four}.',
  },
  key_disabled: {
    key_disabled: 'This platform key is disabled. Enable it or use another key.',
    named_key_disabled: 'The platform key ending in {last_four} is disabled. Enable it or use another key.',
    management_key_orphaned:
      'The user for whom the management key ending in {last_four} acts is disabled or no longer has access. Create another key.',
  },
  key_expired: {
    key_expired: 'This platform key has expired. Use another key.',
    named_key_expired: 'The platform key ending in {last_four} expired at {expired_at}. Use another key.',
    management_key_expired: 'The management key ending in {last_four} expired at {expired_at}. Use another key.',
  },
  account_suspended: {
    account_suspended: 'The operator has suspended the account of this platform key. Contact the operator.',
    suspended_because: 'The operator has suspended the account of this platform key: {why}',
    suspended_here: 'The operator has suspended this account. Contact the operator.',
    suspended_here_because: 'The operator has suspended this account: {why}',
  },
  model_not_permitted: {
    model_not_permitted: 'This platform key may not use the model. Use another model, or change the models of the key.',
    model_not_in_key: 'The platform key ending in {last_four} may not use the model "{model}". GET /v1/models lists the models it may use.',
    model_not_in_project:
      'The project "{project}" of this platform key may not use the model "{model}". GET /v1/models lists the models it may use.',
  },
  address_not_permitted: {
    address_not_permitted:
      'This platform key may not be used from this network address. Call from one of its allowed addresses, or add this one to them.',
    address_not_in_key:
      'The platform key ending in {last_four} may not be used from {address}. Call from one of its allowed addresses, or add this one to them.',
    management_key_address:
      'The management key ending in {last_four} may not be used from {address}. Call from one of its allowed addresses.',
  },
  peer_not_permitted: { peer_not_permitted: 'This process is not permitted to make the call.' },
  sign_in_refused: {
    sign_in_refused: 'Sign-in failed: the details do not match, or the link has expired.',
    factor_refused:
      'The second factor was not accepted: the code is wrong, has already been used or has expired, or the passkey is unknown here.',
    challenge_ended: 'This sign-in took too long, or has already been completed. Start again.',
    email_link_ended: 'The link was already used, has expired, or was requested before another change of your sign-in. Request a new one.',
    email_link_other: 'The link was requested by another user. Sign in as that user, then open the link again.',
  },
  sign_in_throttled: {
    sign_in_throttled: 'Too many attempts. Try again later.',
    attempts_throttled: 'Too many attempts. Try again in {minutes:minute}.',
    failures_throttled: 'Too many failed attempts. Try again in {minutes:minute}, or sign in with a link.',
  },
  session_unknown: { session_unknown: 'You are not signed in. Sign in first.' },
  role_not_permitted: {
    role_not_permitted: 'Your role does not allow this. Ask an owner or admin.',
    no_scope: 'A management key cannot do this. Sign in to the console.',
    scope_missing: 'The management key lacks the scope {scope}. Create a key that has it.',
    permission: 'Your role in this account, {role}, does not have the permission "{permission}". Ask an owner or admin.',
    owners_only:
      'Only an owner can make another user an owner, change or remove an owner, or replace or revoke the invitation of an owner.',
    managers_only: 'Only an owner or admin of the account can change or remove other members.',
    members_only: 'Only a user with the role "{role}" in the account or the project can do this. Being an operator is not enough.',
    account_second_factor: 'This account requires a second factor. Set one up under Settings → Security.',
    oneself_only: 'Only the user, or an operator, can do this.',
    own_session_only: 'Only the user of the session can do this.',
    console_header: 'Changes need the header "x-tollgate-console: 1", which other sites cannot send.',
    other_site: 'The request comes from another site, which may not use your session.',
  },
  actor_refused: { actor_refused: 'The acting user could not be verified.' },
  model_unknown: {
    model_unknown: 'This model does not exist. Choose one from the list of models.',
    no_model_named: 'There is no model named "{name}".',
  },
  model_unpriced: {
    model_unpriced: 'The model has no price in force and cannot be called. Use another model, or ask the operator to publish a price.',
  },
  model_paused: { model_paused: 'The operator has paused this model. Use another model, or try again later.' },
  model_unavailable: { model_unavailable: 'No upstream serves this model at the moment. Use another model, or try again later.' },
  balance_empty: {
    balance_empty: 'The account balance is too low for the highest possible cost of this call. Add funds, or lower the output cap.',
    balance_needed:
      'The account balance is too low: {needed_nano_usd} is needed, but only {available_nano_usd} is available. Add funds to the account.',
    debit_too_large: 'This would remove {needed_nano_usd} from the balance, but only {available_nano_usd} is available.',
    debit_too_large_held:
      'This would remove {needed_nano_usd} from the balance, but only {available_nano_usd} is available, and {held_nano_usd} is held by calls in flight.',
  },
  balance_held: {
    balance_held: 'The account balance is held by calls in flight. Try again when they have ended.',
    balance_needed_held:
      'The account balance is held by calls in flight: {needed_nano_usd} is needed, but only {available_nano_usd} is available, and {held_nano_usd} is held. Try again when those calls have ended.',
  },
  key_limit_reached: {
    key_limit_reached: 'The spending limit of this key does not cover the call. Raise the limit or use another key.',
    key_limit_needed:
      'This call would exceed the spending limit of this key: {needed_nano_usd} is needed, but only {available_nano_usd} of {limit_nano_usd} is left ({spent_nano_usd} spent). Raise the limit or use another key.',
    key_limit_short:
      'This call would exceed the spending limit of this key: {needed_nano_usd} is needed, but only {available_nano_usd} of {limit_nano_usd} is left ({spent_nano_usd} spent, {held_nano_usd} held by calls in flight). Raise the limit or use another key.',
    key_limit_held:
      'Calls in flight hold the rest of the spending limit of this key: {needed_nano_usd} is needed, but only {available_nano_usd} of {limit_nano_usd} is left ({spent_nano_usd} spent, {held_nano_usd} held). Try again when those calls have ended.',
  },
  budget_reached: {
    budget_reached: 'A budget does not cover the call. Raise the budget, or wait for its next period.',
    budget_needed:
      "This call would exceed the {scope}'s budget for this {period}: {needed_nano_usd} is needed, but only {available_nano_usd} of {limit_nano_usd} is left ({spent_nano_usd} spent). The budget resets at {resets_at}. Raise it or wait until then.",
    budget_short:
      "This call would exceed the {scope}'s budget for this {period}: {needed_nano_usd} is needed, but only {available_nano_usd} of {limit_nano_usd} is left ({spent_nano_usd} spent, {held_nano_usd} held by calls in flight). The budget resets at {resets_at}. Raise it or wait until then.",
    budget_held:
      "Calls in flight hold the rest of the {scope}'s budget for this {period}: {needed_nano_usd} is needed, but only {available_nano_usd} of {limit_nano_usd} is left ({spent_nano_usd} spent, {held_nano_usd} held). Try again when those calls have ended.",
    lifetime_budget_needed:
      "This call would exceed the {scope}'s {period} budget: {needed_nano_usd} is needed, but only {available_nano_usd} of {limit_nano_usd} is left ({spent_nano_usd} spent). Raise the budget.",
    lifetime_budget_short:
      "This call would exceed the {scope}'s {period} budget: {needed_nano_usd} is needed, but only {available_nano_usd} of {limit_nano_usd} is left ({spent_nano_usd} spent, {held_nano_usd} held by calls in flight). Raise the budget.",
    lifetime_budget_held:
      "Calls in flight hold the rest of the {scope}'s {period} budget: {needed_nano_usd} is needed, but only {available_nano_usd} of {limit_nano_usd} is left ({spent_nano_usd} spent, {held_nano_usd} held). Try again when those calls have ended.",
  },
  hold_closed: { hold_closed: 'The hold of this call has ended. Try again.' },
  code_refused: {
    code_refused: 'The code does not exist, has already been used, or is no longer valid. Check that you entered all of it.',
  },
  code_throttled: {
    code_throttled: 'Too many codes were rejected. Try again later.',
    codes_throttled: 'Too many codes were rejected. Try again in {minutes:minute}.',
  },
  call_closed: { call_closed: 'The call was recorded as lost. Its usage record shows what was charged.' },
  rate_limited: {
    rate_limited: 'A rate limit is reached. Try again shortly.',
    key_requests: 'This key may make {max:request} per minute and has made {used}. Try again in {seconds} s.',
    key_tokens: 'This key may use {max:token} per minute and has used {used}; this request needs about {needed}. Try again in {seconds} s.',
    key_concurrent: 'This key may have {max:call} in flight and has {used}. Try again when one has ended.',
    project_requests: 'This project may make {max:request} per minute and has made {used}. Try again in {seconds} s.',
    project_tokens:
      'This project may use {max:token} per minute and has used {used}; this request needs about {needed}. Try again in {seconds} s.',
    project_concurrent: 'This project may have {max:call} in flight and has {used}. Try again when one has ended.',
    account_requests: 'This account may make {max:request} per minute and has made {used}. Try again in {seconds} s.',
    account_tokens:
      'This account may use {max:token} per minute and has used {used}; this request needs about {needed}. Try again in {seconds} s.',
    account_concurrent: 'This account may have {max:call} in flight and has {used}. Try again when one has ended.',
    account_model_requests:
      'This account may make {max:request} per minute to the model "{model}" and has made {used}. Try again in {seconds} s.',
    account_model_tokens:
      'This account may use {max:token} per minute of the model "{model}" and has used {used}; this request needs about {needed}. Try again in {seconds} s.',
    account_model_concurrent:
      'This account may have {max:call} to the model "{model}" in flight and has {used}. Try again when one has ended.',
    management_requests: 'This management key may make {max:request} per minute and has made {used}. Try again in {seconds} s.',
    key_counts: 'This key may count tokens {max:time} per minute. Try again in {seconds} s.',
    over_token_limit:
      'This request needs about {needed:token}, more than the limit of {max:token} per minute. Shorten the request, or ask for a higher limit.',
  },
  upstream_rejected: { upstream_rejected: "The model's upstream rejected the request." },
  upstream_rate_limited: { upstream_rate_limited: "The model's upstream is not accepting more calls at the moment. Try again shortly." },
  upstream_overloaded: { upstream_overloaded: "The model's upstream is overloaded. Try again shortly." },
  upstream_unavailable: {
    upstream_unavailable:
      "The upstream cannot be reached, or it rejected the operator's credentials. Try again shortly; if the problem persists, contact the operator.",
    payments_unavailable: 'The payment provider is not responding. Try again shortly.',
  },
  upstream_failed: { upstream_failed: 'The upstream returned an error or ended its response early. Try again.' },
  upstream_timeout: { upstream_timeout: "The model's upstream did not respond in time. Try again." },
  overloaded: {
    overloaded: 'Too many requests at the moment. This one was not processed. Try again shortly.',
    payments_per_minute: 'An account can begin at most {max} payments per minute. Try again in a minute.',
    alerts_per_hour: 'An account can send at most {max} notifications per hour. Try again later.',
    sign_ins_busy: 'Too many users are signing in at the moment. Try again in a few seconds.',
  },
  service_unavailable: {
    service_unavailable: 'A part of the gateway cannot be reached at the moment. Try again shortly.',
    provider_unreachable: 'The identity provider cannot be reached at the moment. Try again shortly.',
  },
  deadline_exceeded: { deadline_exceeded: 'The operation did not finish in time. Try again.' },
  cancelled: { cancelled: 'The request was cancelled.' },
  unimplemented: { unimplemented: 'This version does not support the operation.' },
  internal: { internal: 'Something went wrong on our side. Try again; if the problem persists, give the request id to the operator.' },
} as const satisfies { readonly [R in Reason]: Readonly<Record<R, string> & Record<string, string>> };

type Sentences = typeof sentences;
/** The rule of a sentence. */
export type Rule = Extract<{ [R in keyof Sentences]: keyof Sentences[R] }[keyof Sentences], string>;

/** The template of a rule. */
export type TemplateOf<R extends Rule> = {
  [S in keyof Sentences]: R extends keyof Sentences[S] ? Sentences[S][R] : never;
}[keyof Sentences] &
  string;

const found = new Map<string, { reason: Reason; template: string }>(
  Object.entries(sentences).flatMap(([reason, rules]) =>
    Object.entries(rules).map(([rule, template]) => [rule, { reason: reason as Reason, template }] as const),
  ),
);

/** The reason of an error with this rule. */
export function reasonOf(rule: Rule): Reason {
  return found.get(rule)!.reason;
}

/** The sentence of a rule. */
export function templateOf<R extends Rule>(rule: R): TemplateOf<R> {
  return found.get(rule)!.template as TemplateOf<R>;
}
