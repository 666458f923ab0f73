// The services that processes offer over gRPC.

/** The port of each service unless it is configured. */
export const servicePorts = { auth: 7101, catalog: 7102, ledger: 7103, metering: 7104, inference: 7105 } as const;

/** The name of a service: of its process, its certificate and its settings. */
export type ServiceName = keyof typeof servicePorts;

/** Every service. */
export const serviceNames = Object.keys(servicePorts) as readonly ServiceName[];
