#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <string.h>

// MHD_start_daemon(3) and MHD_get_daemon_info(3) are variadic, which Swift cannot call.

/// Starts a server on 127.0.0.1 with a thread for each connection; port 0 takes a free one. NULL if it cannot.
static inline struct MHD_Daemon *llvs_http_start(uint16_t port, MHD_AccessHandlerCallback answer,
                                                 MHD_RequestCompletedCallback completed,
                                                 void *context) {
  struct sockaddr_in address;
  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return MHD_start_daemon(
      MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL, port, NULL,
      NULL, answer, context, MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_LIMIT, 64u,
      MHD_OPTION_CONNECTION_TIMEOUT, 30u, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)65536,
      MHD_OPTION_NOTIFY_COMPLETED, completed, context, MHD_OPTION_END);
}

/// The port that a server listens on; 0 if that is not known.
static inline uint16_t llvs_http_port(struct MHD_Daemon *server) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(server, MHD_DAEMON_INFO_BIND_PORT);
  return info ? info->port : 0;
}

/// MHD_queue_response(3), and the reference to the response is given back.
static inline enum MHD_Result llvs_http_answer(struct MHD_Connection *connection, unsigned status,
                                               struct MHD_Response *response) {
  enum MHD_Result result = MHD_queue_response(connection, status, response);
  MHD_destroy_response(response);
  return result;
}

/// What a content reader returns when it can read no more.
static const ssize_t llvs_http_failed = MHD_CONTENT_READER_END_WITH_ERROR;

// Swift would rename the cases of these enumerations, each version of it in its own way.

static const enum MHD_Result llvs_http_yes = MHD_YES;
static const enum MHD_Result llvs_http_no = MHD_NO;
static const enum MHD_ValueKind llvs_http_fields = MHD_HEADER_KIND;
static const enum MHD_ValueKind llvs_http_arguments = MHD_GET_ARGUMENT_KIND;

/// A response with a copy of bytes.
static inline struct MHD_Response *llvs_http_response(size_t count, void *bytes) {
  return MHD_create_response_from_buffer(count, bytes, MHD_RESPMEM_MUST_COPY);
}
