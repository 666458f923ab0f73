// The settings that each process reads, as its main.ts passes them on.
import { localAddress, serverSettings } from '#kit/config/addresses.js';
import { commonSettings } from '#kit/config/common.js';
import { otelLibrarySettings } from '#kit/config/otel/library-settings.js';
import type { Settings } from '#kit/config/settings.js';
import type { ServiceName } from '#rules/services.js';
import { cliSettings } from '../../cli/config.js';
import { gatewaySettings, peerSettings } from '../../gateway/config.js';
import { authProcessSettings } from '../../services/auth/config.js';
import { catalogProcessSettings } from '../../services/catalog/config.js';
import { inferenceProcessSettings } from '../../services/inference/config.js';
import { ledgerProcessSettings } from '../../services/ledger/config.js';
import { meteringProcessSettings } from '../../services/metering/config.js';

/** The processes of an installation. */
export type ProcessName = ServiceName | 'gateway' | 'operator';

/** The settings of each process by the names that the code uses. */
export const processSettings: Readonly<Record<ProcessName, Settings>> = {
  auth: ofService('auth', authProcessSettings),
  catalog: ofService('catalog', catalogProcessSettings),
  ledger: ofService('ledger', ledgerProcessSettings),
  metering: ofService('metering', meteringProcessSettings),
  inference: ofService('inference', inferenceProcessSettings),
  gateway: { ...gatewaySettings, ...peerSettings, ...ofEveryProcess('gateway') },
  operator: cliSettings,
};

function ofService(name: ServiceName, settings: Settings): Settings {
  return { ...serverSettings(name, localAddress(name)), ...settings, ...ofEveryProcess(name) };
}

function ofEveryProcess(name: string): Settings {
  return { ...commonSettings(name), ...otelLibrarySettings };
}
