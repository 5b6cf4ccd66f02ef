#include <curl/curl.h>

// curl_easy_setopt(3) and curl_easy_getinfo(3) are variadic, which Swift cannot call.

static inline CURLcode llvs_curl_set_number(CURL *handle, CURLoption option, long value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode llvs_curl_set_size(CURL *handle, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode llvs_curl_set_text(CURL *handle, CURLoption option, const char *value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode llvs_curl_set_pointer(CURL *handle, CURLoption option, void *value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode llvs_curl_set_list(CURL *handle, CURLoption option,
                                          struct curl_slist *value) {
  return curl_easy_setopt(handle, option, value);
}

typedef size_t (*llvs_curl_transfer)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode llvs_curl_set_transfer(CURL *handle, CURLoption option,
                                              llvs_curl_transfer value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode llvs_curl_set_seek(CURL *handle, curl_seek_callback value) {
  return curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, value);
}

/// The socket that a request uses, -1 where there is none yet.
static inline int llvs_curl_socket(CURL *handle) {
  curl_socket_t socket = CURL_SOCKET_BAD;
  return curl_easy_getinfo(handle, CURLINFO_ACTIVESOCKET, &socket) == CURLE_OK ? (int)socket : -1;
}

// ioctl(2) is variadic too: the bytes that a socket was handed and the other side has not confirmed (tcp(7)); -1
// if that is unknown.

#include <linux/sockios.h>
#include <sys/ioctl.h>

static inline int llvs_unsent_bytes(int socket) {
  int count = 0;
  return ioctl(socket, SIOCOUTQ, &count) == 0 ? count : -1;
}
