// The supported database engines.

/** SQLite in this process, or MySQL and MariaDB over the network. */
export type Engine = 'sqlite' | 'mysql';

/** What OpenTelemetry calls the server or library (`db.system.name`); a server counts as mysql until its version shows that it is MariaDB. */
export type DbSystem = Engine | 'mariadb';
