// The supported database engines.

/** SQLite in this process, or MySQL and MariaDB over the network. */
export type Engine = 'sqlite' | 'mysql';
