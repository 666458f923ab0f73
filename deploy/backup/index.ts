// The functions of backups that the operator's command may import.
export { backUpDataFolder, backUpServers } from './backup.js';
export type { Manifest } from './manifest.js';
export { restore, type Restored, type RestoreRequest } from './restore.js';
export { schemasOn, serviceNames } from './server-schemas.js';
