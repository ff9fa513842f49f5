"""grpc_origin - a gRPC server of real gRPC; says its port, ends with stdin."""
import sys
from concurrent import futures

try:
    import grpc
except ImportError:
    sys.exit(0)


def one(data, context):
    context.set_trailing_metadata((("x-sum", str(len(data))),))
    return data


def many(pieces, context):
    yield from pieces


def fail(data, context):
    context.abort(grpc.StatusCode.NOT_FOUND, "nothing here")


class Handler(grpc.GenericRpcHandler):
    def service(self, details):
        return {
            "/test.Echo/One": grpc.unary_unary_rpc_method_handler(one),
            "/test.Echo/Many": grpc.stream_stream_rpc_method_handler(many),
            "/test.Echo/Fail": grpc.unary_unary_rpc_method_handler(fail),
        }.get(details.method)


def main():
    with open(sys.argv[1], "rb") as cert, open(sys.argv[2], "rb") as key:
        creds = grpc.ssl_server_credentials([(key.read(), cert.read())])
    server = grpc.server(futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((Handler(),))
    print(server.add_secure_port("127.0.0.1:0", creds), flush=True)
    server.start()
    sys.stdin.read()
    server.stop(None)


main()
