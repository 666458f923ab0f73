// Server reflection, so that grpcurl and its like can list and call what is served without the .proto files.
// https://grpc.io/docs/guides/reflection/
import type { Server } from '@grpc/grpc-js';
import { loadFileDescriptorSetFromBuffer } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import { descriptorSet } from '#proto/descriptor-set.js';

/** Adds reflection of these services. Services that are not among the generated ones are left out. */
export function addReflection(server: Server, serviceNames: readonly string[]): void {
  const definition = loadFileDescriptorSetFromBuffer(Buffer.from(descriptorSet, 'base64'));
  new ReflectionService(definition, { services: [...serviceNames] }).addToServer(server);
}
