// Accounts, platform keys, users with their sessions and memberships, and the audit log.
import type { Migration } from '#kit/db/migrations/migrate.js';

export const schema: Migration = {
  name: '0001-schema',
  statements: (sql) => [
    // States are the numbers of the protobuf enums. search_name is the name in JavaScript's lower case, which may be longer than the name.
    // rate_limits is a JSON object (requests/rate-limits.ts), or NULL for the operator's defaults. budgets is a JSON list (requests/budgets.ts).
    `CREATE TABLE account (
      id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      name ${sql.text(200)} NOT NULL,
      search_name ${sql.text(600)} NOT NULL,
      state ${sql.int32} NOT NULL CHECK (state IN (1, 2)),
      state_reason ${sql.text(500)} NOT NULL DEFAULT '',
      rate_limits ${sql.longText} NULL,
      budgets ${sql.longText} NOT NULL,
      time_zone ${sql.text(64)} NOT NULL,
      never_log_prompts ${sql.int32} NOT NULL,
      require_second_factor ${sql.int32} NOT NULL,
      created_at_ms ${sql.int64} NOT NULL,
      version ${sql.int64} NOT NULL,
      change_number ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE UNIQUE INDEX account_by_change ON account (change_number)',

    // Processes outside the installation that may call services. grants, account_ids and certificates are JSON lists; account_ids is NULL for
    // every account. A revoked caller is kept as a record until its name or identity is used again or the maximum number of callers is reached.
    `CREATE TABLE caller (
      name ${sql.text(63)} NOT NULL PRIMARY KEY,
      identity ${sql.text(500)} NOT NULL,
      grants ${sql.longText} NOT NULL,
      account_ids ${sql.longText} NULL,
      certificates ${sql.longText} NOT NULL,
      created_at_ms ${sql.int64} NOT NULL,
      rotated_at_ms ${sql.int64} NULL,
      revoked_at_ms ${sql.int64} NULL,
      last_seen_at_ms ${sql.int64} NULL,
      change_number ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE UNIQUE INDEX caller_by_identity ON caller (identity)',
    'CREATE UNIQUE INDEX caller_by_change ON caller (change_number)',

    // The default project of an account has the account's id. model_ids is a JSON list, or NULL for all current and future models. Deleted
    // projects are kept for the usage that was recorded for them.
    `CREATE TABLE project (
      id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      account_id ${sql.bytes(16)} NOT NULL,
      name ${sql.text(200)} NOT NULL,
      model_ids ${sql.longText} NULL,
      rate_limits ${sql.longText} NULL,
      budgets ${sql.longText} NOT NULL,
      fallback_model ${sql.text(200)} NULL,
      fallback_percent ${sql.int32} NULL,
      prompt_log_days ${sql.int32} NOT NULL,
      created_at_ms ${sql.int64} NOT NULL,
      deleted_at_ms ${sql.int64} NULL,
      version ${sql.int64} NOT NULL,
      change_number ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE INDEX project_by_account ON project (account_id, id)',
    'CREATE UNIQUE INDEX project_by_change ON project (change_number)',

    // allowed_addresses is a JSON list.
    `CREATE TABLE platform_key (
      id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      account_id ${sql.bytes(16)} NOT NULL,
      project_id ${sql.bytes(16)} NOT NULL,
      secret_hash ${sql.bytes(32)} NOT NULL,
      secret_version ${sql.int64} NOT NULL DEFAULT 1,
      previous_secrets_expire_at_ms ${sql.int64} NULL,
      last_four ${sql.text(4)} NOT NULL,
      name ${sql.text(200)} NOT NULL,
      model_ids ${sql.longText} NULL,
      lifetime_limit_nano_usd ${sql.int64} NULL CHECK (lifetime_limit_nano_usd > 0),
      rate_limits ${sql.longText} NULL,
      budgets ${sql.longText} NOT NULL,
      allowed_addresses ${sql.longText} NOT NULL,
      created_by ${sql.bytes(16)} NULL,
      expires_at_ms ${sql.int64} NULL,
      state ${sql.int32} NOT NULL CHECK (state IN (1, 2, 3)),
      created_at_ms ${sql.int64} NOT NULL,
      revoked_at_ms ${sql.int64} NULL,
      version ${sql.int64} NOT NULL,
      change_number ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE UNIQUE INDEX platform_key_by_secret ON platform_key (secret_hash)',
    'CREATE INDEX platform_key_by_account ON platform_key (account_id, id)',
    'CREATE INDEX platform_key_by_project ON platform_key (project_id, id)',
    'CREATE UNIQUE INDEX platform_key_by_change ON platform_key (change_number)',

    `CREATE TABLE idempotency (
      method ${sql.text(50)} NOT NULL,
      idempotency_key ${sql.text(200)} NOT NULL,
      created_id ${sql.bytes(16)} NOT NULL,
      fingerprint ${sql.bytes(32)} NOT NULL,
      created_at_ms ${sql.int64} NOT NULL,
      PRIMARY KEY (method, idempotency_key)
    ) ${sql.tableOptions}`,

    // One row. Its lock makes commits happen in the order of their numbers, so that a reader that has seen number n has missed no lower one.
    `CREATE TABLE change_counter (
      id ${sql.int32} NOT NULL PRIMARY KEY CHECK (id = 1),
      last_number ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    'INSERT INTO change_counter (id, last_number) VALUES (1, 0)',

    // Previous secrets of rotated keys.
    `CREATE TABLE former_secret (
      secret_hash ${sql.bytes(32)} NOT NULL PRIMARY KEY,
      key_id ${sql.bytes(16)} NOT NULL,
      expires_at_ms ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE INDEX former_secret_by_key ON former_secret (key_id, expires_at_ms)',

    // Tokens are stored as SHA-256 only, passwords as Argon2id.
    `CREATE TABLE person (
      id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      email ${sql.text(254)} NOT NULL,
      email_verified ${sql.int32} NOT NULL,
      name ${sql.text(200)} NOT NULL,
      password ${sql.text(200)} NULL,
      is_operator ${sql.int32} NOT NULL CHECK (is_operator IN (0, 1)),
      is_disabled ${sql.int32} NOT NULL CHECK (is_disabled IN (0, 1)),
      has_second_factor ${sql.int32} NOT NULL CHECK (has_second_factor IN (0, 1)),
      created_at_ms ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE UNIQUE INDEX person_by_email ON person (email)',

    `CREATE TABLE session (
      id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      token_hash ${sql.bytes(32)} NOT NULL,
      user_id ${sql.bytes(16)} NOT NULL,
      created_at_ms ${sql.int64} NOT NULL,
      last_used_at_ms ${sql.int64} NOT NULL,
      expires_at_ms ${sql.int64} NOT NULL,
      address ${sql.text(64)} NOT NULL,
      user_agent ${sql.text(300)} NOT NULL,
      method ${sql.int32} NOT NULL CHECK (method BETWEEN 1 AND 4),
      authenticated_at_ms ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE UNIQUE INDEX session_by_token ON session (token_hash)',
    'CREATE INDEX session_by_user ON session (user_id, expires_at_ms)',
    'CREATE INDEX session_by_end ON session (expires_at_ms)',

    `CREATE TABLE sign_in_link (
      token_hash ${sql.bytes(32)} NOT NULL PRIMARY KEY,
      user_id ${sql.bytes(16)} NOT NULL,
      expires_at_ms ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE INDEX sign_in_link_by_user ON sign_in_link (user_id)',

    // scope_hash is the SHA-256 of an email address or of a network address.
    `CREATE TABLE sign_in_failure (
      scope_hash ${sql.bytes(32)} NOT NULL PRIMARY KEY,
      since_ms ${sql.int64} NOT NULL,
      failures ${sql.int32} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE INDEX sign_in_failure_by_age ON sign_in_failure (since_ms)',

    // project_roles is a JSON object: role by project id.
    `CREATE TABLE member (
      account_id ${sql.bytes(16)} NOT NULL,
      user_id ${sql.bytes(16)} NOT NULL,
      role ${sql.int32} NOT NULL CHECK (role BETWEEN 1 AND 6),
      project_roles ${sql.longText} NOT NULL,
      since_ms ${sql.int64} NOT NULL,
      PRIMARY KEY (account_id, user_id)
    ) ${sql.tableOptions}`,
    'CREATE INDEX member_by_user ON member (user_id)',

    `CREATE TABLE invitation (
      id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      token_hash ${sql.bytes(32)} NOT NULL,
      account_id ${sql.bytes(16)} NOT NULL,
      email ${sql.text(254)} NOT NULL,
      role ${sql.int32} NOT NULL CHECK (role BETWEEN 1 AND 6),
      project_roles ${sql.longText} NOT NULL,
      invited_by ${sql.bytes(16)} NOT NULL,
      created_at_ms ${sql.int64} NOT NULL,
      expires_at_ms ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE UNIQUE INDEX invitation_by_token ON invitation (token_hash)',
    'CREATE UNIQUE INDEX invitation_by_address ON invitation (account_id, email)',

    // sealed_data is '' if its key was lost. counter only increases: the last step of an authenticator app whose code was accepted, or the signature
    // counter of a passkey. credential_hash is the SHA-256 of a passkey's credential id.
    `CREATE TABLE second_factor (
      id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      user_id ${sql.bytes(16)} NOT NULL,
      kind ${sql.int32} NOT NULL CHECK (kind IN (1, 2)),
      name ${sql.text(200)} NOT NULL,
      sealed_data ${sql.longText} NOT NULL,
      credential_hash ${sql.bytes(32)} NULL,
      counter ${sql.int64} NOT NULL,
      created_at_ms ${sql.int64} NOT NULL,
      last_used_at_ms ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE INDEX second_factor_by_user ON second_factor (user_id, id)',
    'CREATE UNIQUE INDEX second_factor_by_credential ON second_factor (credential_hash)',

    // The SHA-256 of the codes that were not used. A code has 80 random bits, so it needs no slow hash.
    `CREATE TABLE recovery_code (
      user_id ${sql.bytes(16)} NOT NULL,
      code_hash ${sql.bytes(32)} NOT NULL,
      PRIMARY KEY (user_id, code_hash)
    ) ${sql.tableOptions}`,

    // Challenges that were met, until they expire.
    `CREATE TABLE used_challenge (
      token_hash ${sql.bytes(32)} NOT NULL PRIMARY KEY,
      expires_at_ms ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE INDEX used_challenge_by_end ON used_challenge (expires_at_ms)',

    // identity_hash is the SHA-256 of issuer and subject.
    `CREATE TABLE person_identity (
      id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      identity_hash ${sql.bytes(32)} NOT NULL,
      user_id ${sql.bytes(16)} NOT NULL,
      issuer ${sql.text(300)} NOT NULL,
      subject ${sql.text(255)} NOT NULL,
      email ${sql.text(254)} NOT NULL,
      created_at_ms ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE UNIQUE INDEX person_identity_by_hash ON person_identity (identity_hash)',
    'CREATE INDEX person_identity_by_user ON person_identity (user_id)',

    // scopes and allowed_addresses are JSON lists. project_id is NULL for all projects.
    `CREATE TABLE management_key (
      id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      account_id ${sql.bytes(16)} NOT NULL,
      user_id ${sql.bytes(16)} NOT NULL,
      project_id ${sql.bytes(16)} NULL,
      secret_hash ${sql.bytes(32)} NOT NULL,
      last_four ${sql.text(4)} NOT NULL,
      name ${sql.text(200)} NOT NULL,
      scopes ${sql.longText} NOT NULL,
      allowed_addresses ${sql.longText} NOT NULL,
      expires_at_ms ${sql.int64} NULL,
      created_at_ms ${sql.int64} NOT NULL,
      revoked_at_ms ${sql.int64} NULL,
      last_used_at_ms ${sql.int64} NULL
    ) ${sql.tableOptions}`,
    'CREATE UNIQUE INDEX management_key_by_secret ON management_key (secret_hash)',
    'CREATE INDEX management_key_by_account ON management_key (account_id, id)',

    // email is the address to which the link was mailed; the link is invalid once the user has changed it.
    `CREATE TABLE password_reset (
      token_hash ${sql.bytes(32)} NOT NULL PRIMARY KEY,
      user_id ${sql.bytes(16)} NOT NULL,
      email ${sql.text(254)} NOT NULL,
      expires_at_ms ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE INDEX password_reset_by_user ON password_reset (user_id)',
    'CREATE INDEX password_reset_by_end ON password_reset (expires_at_ms)',

    // scope_hash is the SHA-256 of the scope in which mails are counted, such as an account or an address.
    `CREATE TABLE mail_count (
      scope_hash ${sql.bytes(32)} NOT NULL PRIMARY KEY,
      since_ms ${sql.int64} NOT NULL,
      mails ${sql.int32} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE INDEX mail_count_by_age ON mail_count (since_ms)',

    // Mails and webhook requests. sealed_content, that of a mail, is NULL once the notification is completed. due_at_ms is the time of the next
    // attempt, which an attempt in progress moves ahead; for a completed notification, the time it was completed. A request without an endpoint is
    // an event for every account that is not handed to the endpoints yet.
    `CREATE TABLE notification (
      id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      account_id ${sql.bytes(16)} NULL,
      depends_on ${sql.text(100)} NOT NULL,
      channel ${sql.int32} NOT NULL,
      endpoint_id ${sql.bytes(16)} NULL,
      destination ${sql.text(2048)} NOT NULL,
      event ${sql.longText} NOT NULL,
      state ${sql.int32} NOT NULL,
      attempts ${sql.int32} NOT NULL,
      attempts_max ${sql.int32} NOT NULL,
      outcome ${sql.text(1100)} NOT NULL,
      sealed_content ${sql.longText} NULL,
      due_at_ms ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE INDEX notification_by_due ON notification (state, due_at_ms)',
    'CREATE INDEX notification_by_account ON notification (account_id, id)',
    'CREATE INDEX notification_by_endpoint ON notification (endpoint_id, state, id)',

    // event_types is a JSON list. States are the numbers of the protobuf enum. failing_since_ms is NULL after an attempt that succeeded;
    // last_failed_at_ms does not change then.
    `CREATE TABLE webhook_endpoint (
      id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      account_id ${sql.bytes(16)} NOT NULL,
      url ${sql.text(2048)} NOT NULL,
      description ${sql.text(200)} NOT NULL,
      event_types ${sql.longText} NOT NULL,
      sealed_secret ${sql.text(400)} NULL,
      sealed_previous_secret ${sql.text(400)} NULL,
      previous_secret_expires_at_ms ${sql.int64} NULL,
      state ${sql.int32} NOT NULL CHECK (state IN (1, 2, 3)),
      failing_since_ms ${sql.int64} NULL,
      last_failed_at_ms ${sql.int64} NULL,
      language ${sql.text(20)} NOT NULL,
      created_at_ms ${sql.int64} NOT NULL,
      updated_at_ms ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE INDEX webhook_endpoint_by_account ON webhook_endpoint (account_id, id)',

    // store/installation.ts
    `CREATE TABLE installation (
      name ${sql.text(40)} NOT NULL PRIMARY KEY,
      at_ms ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,

    // The keys under which actor tokens are signed; private keys are sealed under the key of the secret key file.
    `CREATE TABLE signing_key (
      number ${sql.int64} NOT NULL PRIMARY KEY,
      kid ${sql.text(43)} NOT NULL,
      public_key ${sql.bytes(32)} NOT NULL,
      sealed_private_key ${sql.text(500)} NOT NULL,
      created_at_ms ${sql.int64} NOT NULL,
      signs_from_ms ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,

    `CREATE TABLE audit_entry (
      id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      at_ms ${sql.int64} NOT NULL,
      actor_user_id ${sql.text(40)} NOT NULL,
      actor_name ${sql.text(254)} NOT NULL,
      client_address ${sql.text(64)} NOT NULL,
      caller ${sql.text(200)} NOT NULL,
      account_id ${sql.text(40)} NOT NULL,
      action ${sql.text(64)} NOT NULL,
      target_id ${sql.text(200)} NOT NULL,
      detail ${sql.longText} NOT NULL,
      number ${sql.int64} NOT NULL,
      hash ${sql.bytes(32)} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE INDEX audit_entry_by_account ON audit_entry (account_id, id)',
    'CREATE UNIQUE INDEX audit_entry_by_number ON audit_entry (number)',
    'CREATE INDEX audit_entry_by_actor ON audit_entry (actor_user_id, id)',
    'CREATE INDEX audit_entry_by_action ON audit_entry (action, id)',
    'CREATE INDEX audit_entry_by_target ON audit_entry (target_id, id)',

    // One row: the end of the chain. Its lock serialises appends.
    `CREATE TABLE audit_chain (
      id ${sql.int32} NOT NULL PRIMARY KEY CHECK (id = 1),
      last_number ${sql.int64} NOT NULL,
      last_hash ${sql.bytes(32)} NOT NULL
    ) ${sql.tableOptions}`,
    `INSERT INTO audit_chain (id, last_number, last_hash) VALUES (1, 0, x'${'00'.repeat(32)}')`,
  ],
};
