// Server reflection, so that grpcurl and its like can list and call what is served without the .proto files.
// https://grpc.io/docs/guides/reflection/
import type { handleBidiStreamingCall, Server } from '@grpc/grpc-js';
import { loadFileDescriptorSetFromBuffer } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import { descriptorSet } from '#proto/descriptor-set.js';

type Registration = Parameters<Server['addService']>;

/** Adds reflection of these services. Services that are not among the generated ones are left out. */
export function addReflection(server: Server, serviceNames: readonly string[]): void {
  // Reading all descriptors takes 200 ms, so that waits for the first question; few servers are ever asked one.
  let full: Registration[] | undefined;
  registrationsOf(new ReflectionService({})).forEach(([definition], index) => {
    const answer: handleBidiStreamingCall<unknown, unknown> = (call) => {
      full ??= registrationsOf(fullReflection(serviceNames));
      (full[index]![1]['ServerReflectionInfo'] as typeof answer)(call);
    };
    server.addService(definition, { ServerReflectionInfo: answer });
  });
}

function fullReflection(serviceNames: readonly string[]): ReflectionService {
  return new ReflectionService(loadFileDescriptorSetFromBuffer(Buffer.from(descriptorSet, 'base64')), { services: [...serviceNames] });
}

/** What the service would add to a server: one definition and implementation for each version of the protocol. */
function registrationsOf(reflection: ReflectionService): Registration[] {
  const registrations: Registration[] = [];
  reflection.addToServer({ addService: (...registration) => void registrations.push(registration) });
  return registrations;
}
