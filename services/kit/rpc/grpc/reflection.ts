// Server reflection: grpcurl and other clients can list, describe and call services without the .proto files.
// https://grpc.io/docs/guides/reflection/
import { createFileRegistry, type DescFile, fromBinary, type FileRegistry, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { status } from '@grpc/grpc-js';
import {
  type ServerReflection,
  ServerReflectionDefinition,
  type ServerReflectionRequest,
  type ServerReflectionResponse,
} from '#grpc/reflection/v1/reflection.js';
import { ServerReflectionDefinition as AlphaDefinition } from '#grpc/reflection/v1alpha/reflection.js';
import { descriptorSet } from '#proto/descriptor-set.js';
import type { ServedService } from '../served-service.js';

type Query = NonNullable<ServerReflectionRequest['messageRequest']>;
type Answer = NonNullable<ServerReflectionResponse['messageResponse']>;

/** The services that every server has besides its own. */
const standardServices = ['grpc.health.v1.Health', ServerReflectionDefinition.fullName, AlphaDefinition.fullName];

/**
 * Returns reflection in both versions of the protocol, which differ only in their name. It lists these services and the standard ones, and
 * describes every type of the contracts, options and imports included.
 */
export function createReflection(serviceNames: readonly string[]): ServedService[] {
  const answerTo = (query: Query): Answer => {
    if (query.$case === 'listServices') {
      return { $case: 'listServicesResponse', value: { service: [...serviceNames, ...standardServices].map((name) => ({ name })) } };
    }
    const errorMessage = 'This server has no service, type or file with this name.';
    return describe(query) ?? { $case: 'errorResponse', value: { errorCode: status.NOT_FOUND, errorMessage } };
  };
  const service: ServerReflection = {
    async *serverReflectionInfo(requests) {
      for await (const originalRequest of requests) {
        const { host: validHost, messageRequest } = originalRequest;
        if (messageRequest !== undefined) yield { validHost, originalRequest, messageResponse: answerTo(messageRequest) };
      }
    },
  };
  return [ServerReflectionDefinition, AlphaDefinition].map((definition) => ({ definition, service }));
}

// Reading all descriptors takes long and few servers are ever queried, so the first request does it.
let contracts: FileRegistry | undefined;

function describe(query: Query): Answer | undefined {
  contracts ??= createFileRegistry(fromBinary(FileDescriptorSetSchema, Buffer.from(descriptorSet, 'base64')));
  switch (query.$case) {
    case 'fileByFilename':
      return filesFrom(contracts.getFile(query.value));
    case 'fileContainingSymbol':
      return filesFrom(fileOf(contracts, query.value));
    case 'fileContainingExtension': {
      const { containingType, extensionNumber } = query.value;
      const extendee = contracts.getMessage(containingType);
      return filesFrom(extendee === undefined ? undefined : contracts.getExtensionFor(extendee, extensionNumber)?.file);
    }
    case 'allExtensionNumbersOfType': {
      const baseTypeName = query.value;
      if (contracts.getMessage(baseTypeName) === undefined) return undefined;
      const extensions = [...contracts].filter((each) => each.kind === 'extension');
      const extensionNumber = extensions.filter(({ extendee }) => extendee.typeName === baseTypeName).map((each) => each.number);
      return { $case: 'allExtensionNumbersResponse', value: { baseTypeName, extensionNumber } };
    }
    default:
      return undefined;
  }
}

/** Returns the file that declares a type or service, or one of its fields, values or methods. */
function fileOf(registry: FileRegistry, symbol: string): DescFile | undefined {
  return (registry.get(symbol) ?? registry.get(symbol.slice(0, Math.max(0, symbol.lastIndexOf('.')))))?.file;
}

/** Returns the file and all of its imports, each once, as written. */
function filesFrom(file: DescFile | undefined): Answer | undefined {
  if (file === undefined) return undefined;
  const files = new Set<DescFile>();
  const add = (each: DescFile): void => {
    if (files.has(each)) return;
    files.add(each);
    each.dependencies.forEach(add);
  };
  add(file);
  const fileDescriptorProto = [...files].map(({ proto }) => Buffer.from(toBinary(FileDescriptorProtoSchema, proto)));
  return { $case: 'fileDescriptorResponse', value: { fileDescriptorProto } };
}
