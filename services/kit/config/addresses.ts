// Where services are served, and where other processes find them.
import { type ServiceName, servicePorts } from '#rules/services.js';
import { hostAndPort, listenAddress, optionalForm } from './forms.js';
import { optionalText, type Setting, text } from './settings.js';

/** Returns the default address of a service, on this machine. */
export function localAddress(service: ServiceName): string {
  return `127.0.0.1:${servicePorts[service]}`;
}

/** Returns the setting by which a process finds a service that it calls. */
export function addressOf(service: ServiceName): Setting<string> {
  return text(nameOf(service, 'ADDRESS'), addressDescription(service), { default: localAddress(service) });
}

/** Returns the settings of a process that serves `service`, at `listen` by default. */
export function serverSettings(service: string, listen: string) {
  return {
    listen: {
      env: nameOf(service, 'LISTEN'),
      description: `where ${service} serves gRPC: host:port or unix:/path`,
      default: listen,
      parse: listenAddress,
    } satisfies Setting<string>,
    healthListen: optionalForm(
      nameOf(service, 'HEALTH_LISTEN'),
      `host:port where ${service} answers health checks (grpc.health.v1) without certificates, for probes of containers; nothing else is served there; if unset, only its own address answers them`,
      hostAndPort,
    ),
    // The process itself does not use it; declared so that all processes can be given the same addresses.
    address: optionalText(nameOf(service, 'ADDRESS'), addressDescription(service)),
  };
}

function nameOf(service: string, setting: string): string {
  return `TOLLGATE_${service.toUpperCase()}_${setting}`;
}

function addressDescription(service: string): string {
  return `where other processes and the operator's command find ${service}: host:port, or dns:///host:port for a name with several addresses`;
}
