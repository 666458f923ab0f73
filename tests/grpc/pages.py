"""Walks through every paged list of the services, found by server reflection, with pages of one item, and sends each RPC the page tokens of the others.

Prints JSON. The first argument has the address and the certificate of each service, the second is an account.
"""

import json
import sys

import grpc
from google.protobuf import descriptor_pool, json_format, message_factory
from google.rpc import error_details_pb2
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from grpc_status import rpc_status

targets, account_id = json.loads(sys.argv[1]), sys.argv[2]


def read(path):
    with open(path, "rb") as file:
        return file.read()


def channel_of(target):
    if "ca" not in target:
        return grpc.insecure_channel(target["address"])
    return grpc.secure_channel(target["address"], grpc.ssl_channel_credentials(read(target["ca"]), read(target["key"]), read(target["cert"])))


def paged_methods():
    for name, target in targets.items():
        channel = channel_of(target)
        database = ProtoReflectionDescriptorDatabase(channel)
        pool = descriptor_pool.DescriptorPool(database)
        for service in database.get_services():
            if service.startswith(f"tollgate.{name}."):
                for method in pool.FindServiceByName(service).methods:
                    if "page_token" in method.input_type.fields_by_name:
                        yield channel, method


def caller_of(channel, method):
    """Returns a function that requests a page."""
    kinds = [message_factory.GetMessageClass(each) for each in (method.input_type, method.output_type)]
    call = channel.unary_unary(
        f"/{method.containing_service.full_name}/{method.name}",
        request_serializer=kinds[0].SerializeToString,
        response_deserializer=kinds[1].FromString,
    )
    known = method.input_type.fields_by_name
    given = {"account_id": account_id, "filter": {"account_id": account_id}}
    fields = {name: value for name, value in given.items() if name in known}

    def page(token, size):
        paging = {"page_token": token, **({"page_size": size} if "page_size" in known else {})}
        answer = call(json_format.ParseDict({**fields, **paging}, kinds[0]()), timeout=20)
        shown = json_format.MessageToDict(answer, preserving_proto_field_name=True)
        [items] = [shown.get(field.name, []) for field in method.output_type.fields if field.is_repeated and field.message_type][:1]
        return items, answer.next_page_token

    return page


def refused_field(page, token):
    """Returns the code and the field of a refusal; None if there is none."""
    try:
        page(token, 1)
        return None
    except grpc.RpcError as error:
        fields = []
        for detail in rpc_status.from_call(error).details:
            bad = error_details_pb2.BadRequest()
            if detail.Unpack(bad):
                fields = [each.field for each in bad.field_violations]
        return [error.code().name, *fields]


pages = {method.name: caller_of(channel, method) for channel, method in paged_methods()}
walked, tokens = {}, {}
for name, page in pages.items():
    whole, rest = page("", 200)
    single, token = page("", 1)
    while token != "":
        tokens.setdefault(name, token)
        items, token = page(token, 1)
        single += items
    walked[name] = {"items": len(whole), "rest": rest, "same": whole == single}
wrong = {
    f"{name} with {token}": refused_field(page, token)
    for name, page in pages.items()
    for token in ["garbled!", *[token for other, token in tokens.items() if other != name]]
}
print(json.dumps({"walked": walked, "tokens": sorted(tokens), "wrong": wrong}))
